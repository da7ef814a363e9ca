"""The routes that only read: runs, one run, tools, waiting calls."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from rightcall.core.sanitize import encodable_json
from rightcall.core.version import own_version
from rightcall.serve.studio.answers import Refused, answer
from rightcall.serve.studio.compare import compare
from rightcall.serve.studio.export import export
from rightcall.serve.studio.live import list_events, run_events, standing_json
from rightcall.serve.studio.queries import text, wanted, whole
from rightcall.serve.studio.reading import Reading, media_in
from rightcall.serve.studio.rows import facets, known_models, rows_of
from rightcall.serve.studio.search import find
from rightcall.serve.studio.sent import raw_of, sent_json, turn_of
from rightcall.serve.studio.state import Studio
from rightcall.serve.studio.timeline import timeline_of
from rightcall.serve.studio.to_json import INLINE, Json
from rightcall.serve.studio.tool_stats import one_tool

_MOST_ITEMS = 500
_MOST_WAITING = 100
_MOST_RAW = 1024 * 1024
_EVENTS = {"cache-control": "no-store", "x-accel-buffering": "no"}
_DOWNLOAD = "sandbox; default-src 'none'"


class ReadingRoutes:
    """Handles requests that read the record."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._reader = studio.reader

    def routes(self) -> list[Route]:
        """Every route, by its path."""
        return [
            Route("/api/session", self.session),
            Route("/api/runs", self.runs),
            Route("/api/runs/facets", self.facets),
            Route("/api/runs/events", self.list_events),
            Route("/api/run", self.run),
            Route("/api/run/events", self.run_events),
            Route("/api/run/timeline", self.timeline),
            Route("/api/run/sent", self.sent),
            Route("/api/run/raw", self.raw),
            Route("/api/run/entries", self.entries),
            Route("/api/run/media", self.media),
            Route("/api/run/export", self.export),
            Route("/api/compare", self.compare),
            Route("/api/pending", self.pending),
            Route("/api/tools", self.tools),
            Route("/api/tool", self.tool),
            Route("/api/agents", self.agents),
        ]

    async def session(self, _: Request) -> Response:
        """The session: what this studio is, and what it may do."""
        source, standing = self._reader.source, await self._reader.standing()
        return answer(
            {
                "version": own_version(),
                "journal": source.name,
                "kind": source.kind,
                "can_write": self._studio.can_write,
                "csrf": self._studio.csrf,
                "agents": [here.name for here in self._reader.agents],
                "models": await self._reader.ask(known_models),
                "index": standing_json(standing),
            }
        )

    async def runs(self, request: Request) -> Response:
        """A page of the list."""
        begun, asked, reader = time.perf_counter(), wanted(request), self._reader
        await reader.catch_up()
        held = reader.held()
        found = await reader.ask(find, asked, held)
        rows = await reader.ask(rows_of, (*found.live, *found.runs), held)
        numbers = [facts.id for facts in (*found.live, *found.runs)]
        for row, id_ in zip(rows, numbers, strict=True):
            if id_ in found.snippets:
                row["snippet"] = found.snippets[id_]
        live = len(found.live)
        return answer(
            {
                "runs": rows[live:],
                "live": rows[:live],
                "next": None if found.next is None else str(found.next),
                "total": found.total,
                "total_is_exact": found.is_exact,
                "ms": round(1000 * (time.perf_counter() - begun), 1),
            }
        )

    async def facets(self, _: Request) -> Response:
        """The values to filter by."""
        return answer(await self._reader.ask(facets, self._reader.held()))

    async def list_events(self, _: Request) -> Response:
        """The changes of the list, as events."""
        return self._stream(list_events(self._reader, self._studio.subscribers))

    async def run(self, request: Request) -> Response:
        """A run as the page shows it."""
        reading = await self._reading(request)
        judged = await self._reader.judged(reading)
        items = await self._reader.items(reading)
        first = whole(request, "from", 0)
        last = first + whole(request, "count", 200, _MOST_ITEMS)
        why_not = self._studio.why_not
        forks = "SELECT run FROM runs WHERE parent = ? ORDER BY id DESC LIMIT 50"
        names = await asyncio.to_thread(self._reader.index.query, forks, (reading.run,))
        return answer(
            {
                "row": await self._reader.row(reading.run),
                **_begun(reading),
                "items": items[first:last],
                "from": first,
                "items_total": len(items),
                "next": last if last < len(items) else None,
                "pending": self._reader.pending(reading, judged, why_not),
                "forks": [await self._reader.row(run) for (run,) in names],
                "trust": {
                    "how": judged.how,
                    "note": judged.note,
                    "tainted": judged.tainted,
                    "private": judged.private,
                },
                "can_decide": not why_not,
                "why_not": why_not,
            }
        )

    async def run_events(self, request: Request) -> Response:
        """The changes of a run, as events."""
        run = text(request, "run")
        await self._reader.facts(run)
        seen, why_not = whole(request, "version", 0), self._studio.why_not
        return self._stream(run_events(self._reader, self._studio.subscribers, run, seen, why_not))

    def _stream(self, events: AsyncIterator[bytes]) -> Response:
        if self._studio.subscribers.is_full:
            words = "Too many pages watch already; close some."
            raise Refused(503, "too_many", words)
        return StreamingResponse(events, media_type="text/event-stream", headers=_EVENTS)

    async def timeline(self, request: Request) -> Response:
        """The timeline of a run."""
        reading = await self._reading(request)
        is_live = await self._reader.state(reading.run) in ("running", "paused", "decided")
        moment = time.time() if is_live else None
        told = await asyncio.to_thread(timeline_of, reading.written, moment)
        places = {item["id"]: item["place"] for item in await self._reader.items(reading)}
        for span in told["spans"]:
            span["place"] = places.get(span["item"])
        return answer(told)

    async def sent(self, request: Request) -> Response:
        """What the model was sent in a turn."""
        reading, key = await self._reading(request), text(request, "key")
        here = self._reader.agent_of(reading)
        turn = await turn_of(reading, key, here.window if here else None)
        if turn is None:
            raise Refused(404, "not_found", "There is no such turn in the record.")
        return answer(await asyncio.to_thread(sent_json, turn, key, text(request, "form", "")))

    async def raw(self, request: Request) -> Response:
        """The vendor's own bytes."""
        reading, key = await self._reading(request), text(request, "key")
        turn = await turn_of(reading, key, None)
        data = None if turn is None else raw_of(turn)
        if data is None:
            raise Refused(404, "not_found", "The vendor's bytes were not kept.")
        if request.query_params.get("show"):
            told = data[:_MOST_RAW].decode(errors="replace")
            return answer({"text": told, "bytes": len(data), "is_cut": len(data) > _MOST_RAW})
        return _file(data, "text/plain; charset=utf-8", "raw.txt")

    async def entries(self, request: Request) -> Response:
        """The record itself."""
        reading = await self._reading(request)
        first = whole(request, "from", 0)
        last = first + whole(request, "count", 200, _MOST_ITEMS)
        told = [
            _entry_json(index, entry, at)
            for index, (entry, at) in enumerate(reading.written[first:last], first)
        ]
        total = len(reading.written)
        return answer({"entries": told, "total": total, "next": last if last < total else None})

    async def media(self, request: Request) -> Response:
        """The bytes of a picture or a sound. A type that could hold a script is only ever a download."""
        reading = await self._reading(request)
        found = await asyncio.to_thread(media_in, reading.entries, text(request, "id"))
        if found is None:
            raise Refused(404, "not_found", "There is no such picture or file in the run.")
        if found.media_type in INLINE:
            headers = {"content-security-policy": _DOWNLOAD, "content-disposition": "inline"}
            return Response(found.data, media_type=found.media_type, headers=headers)
        return _file(found.data, "application/octet-stream", found.name or "file")

    async def export(self, request: Request) -> Response:
        """A run as a file."""
        reading = await self._reading(request)
        row = await self._reader.row(reading.run)
        made = await asyncio.to_thread(export, reading, row, text(request, "format", "json"))
        kind = f"{made.media_type}; charset=utf-8"
        return _file(made.text.encode(errors="replace"), kind, made.name)

    async def compare(self, request: Request) -> Response:
        """Two runs compared."""
        one, other = [await self._reader.read(text(request, name)) for name in ("a", "b")]
        items = (await self._reader.items(one), await self._reader.items(other))
        told = await asyncio.to_thread(compare, one, other, items)
        rows = {"a": await self._reader.row(one.run), "b": await self._reader.row(other.run)}
        return answer({**rows, **told})

    async def pending(self, _: Request) -> Response:
        """Everything that waits for a person."""
        await self._reader.catch_up()
        found: list[Json] = []
        for reading in await self._reader.waiting(_MOST_WAITING):
            judged = await self._reader.judged(reading)
            found += self._reader.pending(reading, judged, self._studio.why_not)
        return answer({"pending": found[:_MOST_WAITING], "count": len(found)})

    async def tools(self, _: Request) -> Response:
        """The statistics of every tool."""
        await self._reader.catch_up()
        return answer(await self._reader.tools_told())

    async def tool(self, request: Request) -> Response:
        """Everything about one tool."""
        await self._reader.catch_up()
        found = await self._reader.ask(one_tool, text(request, "name"), self._reader.tools())
        if found is None:
            raise Refused(404, "not_found", "Nobody has heard of this tool.")
        return answer(found)

    async def agents(self, _: Request) -> Response:
        """The agents that can be tried."""
        return answer({"agents": [here.told() for here in self._reader.agents]})

    async def _reading(self, request: Request) -> Reading:
        return await self._reader.read(text(request, "run"))


def _begun(reading: Reading) -> Json:
    start = reading.start
    told: Json = {"system": "", "started": reading.written[0][1], "dry_run": False}
    told |= {"version": reading.version, "budget": {}, "wanted": None, "grant": None, "tools": []}
    if start is None:
        return told
    budget = {name: getattr(start.budget, name) for name in start.budget.__struct_fields__}
    tools = [
        {"name": s.name, "description": s.description, "parameters": s.parameters, "origin": s.origin}
        for s in start.specs
    ]
    return told | {
        "system": start.system,
        "dry_run": start.dry_run,
        "budget": budget,
        "wanted": msgspec.to_builtins(start.wanted),
        "grant": msgspec.to_builtins(start.grant),
        "tools": tools,
    }


def _entry_json(index: int, entry: Any, at: float | None) -> Json:
    plain = encodable_json(json.loads(json.dumps(msgspec.to_builtins(entry))))
    return {"index": index, "at": at, "type": plain.pop("type"), "entry": plain}


def _file(data: bytes, media_type: str, name: str) -> Response:
    """A download under a sanitized file name."""
    safe = "".join(each if each.isalnum() or each in "._-" else "_" for each in name)[:100]
    plain = safe.encode("ascii", "replace").decode().replace("?", "_").lstrip(".") or "file"
    named = f"filename=\"{plain}\"; filename*=UTF-8''{quote(safe, safe='')}"
    headers = {
        "content-disposition": f"attachment; {named}",
        "content-security-policy": _DOWNLOAD,
    }
    return Response(data, media_type=media_type, headers=headers)
