"""The studio's API: routes that read runs, tools and waiting calls, and routes that change something."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from secrets import token_urlsafe
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec.structs import asdict
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from rightcall.agent import Agent
from rightcall.core.lazy import own_version
from rightcall.core.sanitize import encodable_json
from rightcall.durable.app import App
from rightcall.errors import RunStopped
from rightcall.serve.studio.agents import StudioAgent, agents_of
from rightcall.serve.studio.compare import compare
from rightcall.serve.studio.export import export
from rightcall.serve.studio.http_messages import (
    RefusedRequest,
    RequestBody,
    json_response,
    parse_filter,
    read_body,
    text_parameter,
    whole_parameter,
)
from rightcall.serve.studio.live import Subscribers, Watcher, list_events, progress_json, run_events
from rightcall.serve.studio.run_actions import Forking, NoAgent, RunActions, decisions_from, try_call
from rightcall.serve.studio.run_reader import RunReader
from rightcall.serve.studio.run_view import RunView, media_in
from rightcall.serve.studio.search import facets, find, known_models, rows_of
from rightcall.serve.studio.sent_request import sent_json, turn_of
from rightcall.serve.studio.sources import Place
from rightcall.serve.studio.timeline import timeline_of
from rightcall.serve.studio.to_json import INLINE, Json
from rightcall.serve.studio.tool_stats import one_tool

_READ_ONLY = "This studio only shows: start it with --write to decide here."


class Studio:
    """Everything that the routes share. Belongs to one event loop."""

    def __init__(
        self,
        journal: Place,
        *,
        agents: Mapping[str, Agent[Any, Any]] | Sequence[Agent[Any, Any]] | Agent[Any, Any] = (),
        can_write: bool = False,
        cache: Path | None = None,
    ) -> None:
        self.can_write = can_write
        self.csrf = token_urlsafe(24)
        """The token that changes must carry: only a page that can read our answers knows it."""
        if isinstance(journal, App) and not agents:
            agents = journal.agents
        self.reader = RunReader(journal, agents=agents_of(agents), cache=cache, may_make=can_write)
        self.subscribers = Subscribers()
        self.watcher = Watcher(self.reader, self.subscribers)
        self.actions = RunActions(self.reader, self.subscribers)

    @property
    def why_not(self) -> str:
        """Why nobody can decide here; empty if somebody can."""
        return "" if self.can_write else _READ_ONLY

    async def close(self) -> None:
        """Stop the runs, and close the journal."""
        await self.actions.close()
        await self.reader.close()


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
        source = self._reader.source
        standing = await self._reader.progress()
        return json_response(
            {
                "version": own_version(),
                "journal": source.name,
                "kind": source.kind,
                "can_write": self._studio.can_write,
                "csrf": self._studio.csrf,
                "agents": [here.name for here in self._reader.agents],
                "models": await self._reader.ask(known_models),
                "index": progress_json(standing),
            }
        )

    async def runs(self, request: Request) -> Response:
        """A page of the list."""
        begun = time.perf_counter()
        asked = parse_filter(request)
        reader = self._reader
        await reader.catch_up()
        held = reader.held_locks()
        found = await reader.ask(find, asked, held)
        shown = (*found.live, *found.runs)
        rows = await reader.ask(rows_of, shown, held)
        for facts, row in zip(shown, rows, strict=True):
            if facts.id in found.snippets:
                row["snippet"] = found.snippets[facts.id]
        live = len(found.live)
        return json_response(
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
        return json_response(await self._reader.ask(facets, self._reader.held_locks()))

    async def list_events(self, _: Request) -> Response:
        """The changes of the list, as events."""
        return self._stream(list_events(self._reader, self._studio.subscribers))

    async def run(self, request: Request) -> Response:
        """A run as the page shows it."""
        reading = await self._reading(request)
        judged = await self._reader.trust_verdicts(reading)
        items = await self._reader.items(reading)
        first = whole_parameter(request, "from", 0)
        last = first + whole_parameter(request, "count", 200, _MOST_ITEMS)
        why_not = self._studio.why_not
        forks = "SELECT run FROM runs WHERE parent = ? ORDER BY id DESC LIMIT 50"
        names = await asyncio.to_thread(self._reader.index.query, forks, (reading.run,))
        return json_response(
            {
                "row": await self._reader.row(reading.run),
                **_start_json(reading),
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
        run = text_parameter(request, "run")
        await self._reader.facts(run)
        seen = whole_parameter(request, "version", 0)
        why_not = self._studio.why_not
        return self._stream(run_events(self._reader, self._studio.subscribers, run, seen, why_not))

    def _stream(self, events: AsyncIterator[bytes]) -> Response:
        if self._studio.subscribers.is_full:
            words = "Too many pages watch already; close some."
            raise RefusedRequest(503, "too_many", words)
        return StreamingResponse(events, media_type="text/event-stream", headers=_EVENTS)

    async def timeline(self, request: Request) -> Response:
        """The timeline of a run."""
        reading = await self._reading(request)
        is_live = await self._reader.state(reading.run) in ("running", "paused", "decided")
        moment = time.time() if is_live else None
        timeline = await asyncio.to_thread(timeline_of, reading.written, moment)
        places = {item["id"]: item["place"] for item in await self._reader.items(reading)}
        for span in timeline["spans"]:
            span["place"] = places.get(span["item"])
        return json_response(timeline)

    async def sent(self, request: Request) -> Response:
        """What the model was sent in a turn."""
        reading = await self._reading(request)
        key = text_parameter(request, "key")
        here = self._reader.agent_of(reading)
        turn = await turn_of(reading, key, here.window if here else None)
        if turn is None:
            raise RefusedRequest(404, "not_found", "There is no such turn in the record.")
        form = text_parameter(request, "form", "")
        return json_response(await asyncio.to_thread(sent_json, turn, key, form))

    async def raw(self, request: Request) -> Response:
        """The vendor's own bytes."""
        reading = await self._reading(request)
        key = text_parameter(request, "key")
        turn = await turn_of(reading, key, None)
        data = turn.reply.raw if turn is not None and turn.reply is not None else None
        if data is None:
            raise RefusedRequest(404, "not_found", "The vendor's bytes were not kept.")
        if request.query_params.get("show"):
            text = data[:_MOST_RAW].decode(errors="replace")
            return json_response({"text": text, "bytes": len(data), "is_cut": len(data) > _MOST_RAW})
        return _file(data, "text/plain; charset=utf-8", "raw.txt")

    async def entries(self, request: Request) -> Response:
        """The record itself."""
        reading = await self._reading(request)
        first = whole_parameter(request, "from", 0)
        last = first + whole_parameter(request, "count", 200, _MOST_ITEMS)
        shown: list[Json] = []
        for index, (entry, at) in enumerate(reading.written[first:last], first):
            plain = encodable_json(json.loads(json.dumps(msgspec.to_builtins(entry))))
            shown.append({"index": index, "at": at, "type": plain.pop("type"), "entry": plain})
        total = len(reading.written)
        return json_response({"entries": shown, "total": total, "next": last if last < total else None})

    async def media(self, request: Request) -> Response:
        """The bytes of a picture or a sound. A type that could hold a script is only ever a download."""
        reading = await self._reading(request)
        found = await asyncio.to_thread(media_in, reading.entries, text_parameter(request, "id"))
        if found is None:
            raise RefusedRequest(404, "not_found", "There is no such picture or file in the run.")
        if found.media_type in INLINE:
            headers = {"content-security-policy": _DOWNLOAD, "content-disposition": "inline"}
            return Response(found.data, media_type=found.media_type, headers=headers)
        return _file(found.data, "application/octet-stream", found.name or "file")

    async def export(self, request: Request) -> Response:
        """A run as a file."""
        reading = await self._reading(request)
        row = await self._reader.row(reading.run)
        made = await asyncio.to_thread(export, reading, row, text_parameter(request, "format", "json"))
        kind = f"{made.media_type}; charset=utf-8"
        return _file(made.text.encode(errors="replace"), kind, made.name)

    async def compare(self, request: Request) -> Response:
        """Two runs compared."""
        one, other = [await self._reader.read(text_parameter(request, name)) for name in ("a", "b")]
        items = (await self._reader.items(one), await self._reader.items(other))
        pairs = await asyncio.to_thread(compare, one, other, items)
        rows = {"a": await self._reader.row(one.run), "b": await self._reader.row(other.run)}
        return json_response({**rows, **pairs})

    async def pending(self, _: Request) -> Response:
        """Everything that waits for a person."""
        await self._reader.catch_up()
        found: list[Json] = []
        for reading in await self._reader.waiting(_MOST_WAITING):
            judged = await self._reader.trust_verdicts(reading)
            found += self._reader.pending(reading, judged, self._studio.why_not)
        return json_response({"pending": found[:_MOST_WAITING], "count": len(found)})

    async def tools(self, _: Request) -> Response:
        """The statistics of every tool."""
        await self._reader.catch_up()
        return json_response(await self._reader.tool_statistics())

    async def tool(self, request: Request) -> Response:
        """Everything about one tool."""
        await self._reader.catch_up()
        found = await self._reader.ask(one_tool, text_parameter(request, "name"), self._reader.tools())
        if found is None:
            raise RefusedRequest(404, "not_found", "Nobody has heard of this tool.")
        return json_response(found)

    async def agents(self, _: Request) -> Response:
        """The agents that can be tried."""
        return json_response({"agents": [here.to_json() for here in self._reader.agents]})

    async def _reading(self, request: Request) -> RunView:
        return await self._reader.read(text_parameter(request, "run"))


def _start_json(reading: RunView) -> Json:
    begun: Json = {"started": reading.written[0][1], "version": reading.version}
    start = reading.start
    if start is None:
        nothing = {"system": "", "dry_run": False, "budget": {}, "wanted": None, "intents": None}
        return begun | nothing | {"tools": []}
    tools = []
    for spec in start.specs:
        names = ("name", "description", "parameters", "origin")
        tools.append({name: getattr(spec, name) for name in names})
    return begun | {
        "system": start.system,
        "dry_run": start.dry_run,
        "budget": asdict(start.budget),
        "wanted": msgspec.to_builtins(start.wanted),
        "intents": msgspec.to_builtins(start.intents),
        "tools": tools,
    }


def _file(data: bytes, media_type: str, name: str) -> Response:
    """A download under a sanitized file name."""
    safe = "".join(each if each.isalnum() or each in "._-" else "_" for each in name)[:100]
    plain = safe.encode("ascii", "replace").decode().replace("?", "_").lstrip(".") or "file"
    named = f"filename=\"{plain}\"; filename*=UTF-8''{quote(safe, safe='')}"
    disposition = f"attachment; {named}"
    headers = {"content-disposition": disposition, "content-security-policy": _DOWNLOAD}
    return Response(data, media_type=media_type, headers=headers)


_WORDS = {
    "resumed": "The run goes on.",
    "recorded": "Recorded. The run goes on when its program recovers it.",
    "running": "The new run goes on here.",
    "queued": "Queued. A worker of the store takes it.",
}
_LONGEST_NAME = 200


class WritingRoutes:
    """Handles requests that change something: decisions, forks, replays, tries, chats."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._reader = studio.reader
        self._actions = studio.actions

    def routes(self) -> list[Route]:
        """Every route, by its path."""
        return [
            Route("/api/run/decide", self.decide, methods=["POST"]),
            Route("/api/run/replay", self.replay, methods=["POST"]),
            Route("/api/run/fork", self.fork, methods=["POST"]),
            Route("/api/run/say", self.say, methods=["POST"]),
            Route("/api/run/stop", self.stop, methods=["POST"]),
            Route("/api/try", self.try_tool, methods=["POST"]),
            Route("/api/chat", self.chat, methods=["POST"]),
        ]

    async def decide(self, request: Request) -> Response:
        """Take a person's decision: yes, no, or other arguments."""
        self._check_write()
        given = await read_body(request)
        run = await self._run(given)
        decisions = decisions_from(given.object("decisions"))
        state = await self._actions.decide(run, given.text("pause"), decisions)
        await self._reader.catch_up()
        return json_response({"state": state, "run": run, "words": _WORDS[state]})

    async def replay(self, request: Request) -> Response:
        """Replay a run from its record; with a model or live tools only if that is allowed."""
        given = await read_body(request)
        run = await self._run(given)
        model = given.text("model")
        is_live = given.text("tools") == "live"
        if model or is_live:
            self._check_write()
        agent = given.text("agent")
        return json_response(await self._actions.replay(run, model, agent, live_tools=is_live))

    async def fork(self, request: Request) -> Response:
        """Fork a run."""
        self._check_write()
        given = await read_body(request)
        run = await self._run(given)
        edited = None
        if (message := given.object("message")) is not None:
            inner = RequestBody(message)
            edited = (inner.whole("index") or 0, inner.text("text", needed=True))
        forking = Forking(
            before_turn=given.whole("before_turn"),
            message=edited,
            say=given.text("say"),
            name=given.text("as", most=_LONGEST_NAME),
        )
        model = given.text("model")
        if model and not self._reader.agents:
            raise NoAgent
        new, state = await self._actions.fork(run, forking, model, given.text("agent"))
        return json_response({"run": new, "shown": new, "state": state, "words": _WORDS[state]})

    async def say(self, request: Request) -> Response:
        """Add a message to a run that goes on."""
        self._check_write()
        given = await read_body(request)
        run = await self._run(given)
        text = given.text("text", needed=True)
        try:
            is_here = await self._actions.say(run, text, now=given.flag("now"))
        except RunStopped as error:
            raise RefusedRequest(409, "run_over", str(error)) from error
        if not is_here:
            words = "This run is not this studio's to add a message to."
            raise RefusedRequest(409, "run_held", words, holder="")
        return json_response({"state": "queued"})

    async def stop(self, request: Request) -> Response:
        """Cancel a run of this process."""
        self._check_write()
        given = await read_body(request)
        if not await self._actions.stop(given.text("run", needed=True)):
            raise RefusedRequest(409, "run_held", "This run is not this studio's to stop.", holder="")
        return json_response({"state": "stopping"})

    async def try_tool(self, request: Request) -> Response:
        """Call a tool, from a form."""
        self._check_write()
        given = await read_body(request)
        here = self._agent(given)
        tool = given.text("tool", needed=True)
        if here.agent.tools.get(tool) is None:
            raise RefusedRequest(404, "not_found", "The agent has no such tool.")
        arguments = given.object("arguments") or {}
        dry_run = given.flag("dry_run")
        approve = given.flag("approve")
        return json_response(await try_call(here, tool, arguments, dry_run=dry_run, is_approved=approve))

    async def chat(self, request: Request) -> Response:
        """Send a message to an agent."""
        self._check_write()
        given = await read_body(request)
        here = self._agent(given)
        prompt = given.text("prompt", needed=True)
        after = given.text("after") or None
        if after is not None:
            await self._reader.facts(after)
        dry_run = given.flag("dry_run")
        run = await self._actions.chat(here, prompt, after, given.text("model"), dry_run=dry_run)
        return json_response({"run": run, "shown": run})

    async def _run(self, given: RequestBody) -> str:
        run = given.text("run", needed=True)
        await self._reader.facts(run)
        return run

    def _agent(self, given: RequestBody) -> StudioAgent:
        name = given.text("agent")
        here = self._reader.find_agent(name)
        if here is None and name and self._reader.agents:
            raise RefusedRequest(404, "not_found", "This studio has no agent of that name.")
        if here is None:
            raise NoAgent
        return here

    def _check_write(self) -> None:
        if not self._studio.can_write:
            raise RefusedRequest(
                403, "read_only", "This studio only shows: start it with --write to change things."
            )
