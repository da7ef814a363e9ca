"""Changes as server-sent events: of the list of runs, and of one run while it grows."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from hashlib import blake2b

from rightcall.errors import JournalError
from rightcall.log import logger
from rightcall.serve.studio.answers import shown
from rightcall.serve.studio.index import Standing
from rightcall.serve.studio.rows import changed_since, rows_of
from rightcall.serve.studio.run_reader import NoRun, RunReader
from rightcall.serve.studio.subscribers import Subscribers, Told
from rightcall.serve.studio.to_json import Json

_OFTEN = 0.3
"""Seconds between two reads of the journal while somebody watches."""
_SELDOM = 2.0
_KEEP_OPEN = 15.0
_MANY = 50
_PART = 100
"""Items that are sent together."""
_AT_MOST = 0.5
"""Seconds between two messages about the list."""
COMMENT = b": still here\n\n"


class Watcher:
    """Polls the journal, and wakes watchers when something was written."""

    def __init__(self, reader: RunReader, subscribers: Subscribers) -> None:
        self._reader = reader
        self._subscribers = subscribers

    async def watch(self) -> None:
        """Watch until cancelled."""
        while True:
            try:
                news = await self._reader.catch_up()
            except (JournalError, OSError, sqlite3.Error) as error:
                # A full disk, or a file that is gone for a moment: the next read may well succeed.
                logger.warning("the journal cannot be looked at: %s", error)
                news = False
            except Exception:
                # A store's own error, such as a server that is away: watching must not end for good.
                logger.exception("the runs cannot be looked at")
                news = False
            if news:
                self._subscribers.wake_all()
            if not news:
                await self._subscribers.pause(_OFTEN, _SELDOM)


def message(event: str, data: object) -> bytes:
    """One server-sent event. JSON contains no line ends, so nothing in it can end the event."""
    text = json.dumps(shown(data), separators=(",", ":"))
    return f"event: {event}\ndata: {text}\n\n".encode()


async def list_events(reader: RunReader, subscribers: Subscribers) -> AsyncIterator[bytes]:
    """The changes of the list."""
    with subscribers.watching("") as queue:
        standing = await reader.standing()
        yield message("index", standing_json(standing))
        waiting = await _count_waiting(reader)
        yield message("pending", {"count": waiting})
        change = standing.change
        while True:
            if await _next(queue) is False:
                yield COMMENT
                continue
            before, standing = standing, await reader.standing()
            if (standing.runs, standing.is_ready) != (before.runs, before.is_ready):
                yield message("index", standing_json(standing))
            if standing.change != change:
                found = await reader.ask(changed_since, change, _MANY + 1)
                change = standing.change
                if len(found) > _MANY:
                    yield message("runs", {"many": True})
                else:
                    yield message("runs", {"runs": await reader.ask(rows_of, found, reader.held())})
            if (now := await _count_waiting(reader)) != waiting:
                waiting = now
                yield message("pending", {"count": waiting})
            await asyncio.sleep(_AT_MOST)


async def run_events(
    reader: RunReader, subscribers: Subscribers, run: str, version: int, why_not: str
) -> AsyncIterator[bytes]:
    """The changes of one run: new or changed items, and streamed pieces."""
    sent, state = await _known(reader, run, version), ""
    with subscribers.watching(run) as queue:
        told: Told | bool = None
        while True:
            if isinstance(told, dict):
                yield message("delta", told)
            elif told is False:
                yield COMMENT
            else:
                try:
                    # The state first, so that an end is never reported before its items.
                    now = await reader.state(run)
                    parts = await _changes(reader, run, sent, version, why_not)
                except NoRun:
                    return
                for news in parts:
                    version = news["version"]
                    yield await asyncio.to_thread(message, "items", news)
                if now != state:
                    state = now
                    if state != "running":
                        stop = (await reader.row(run))["stop"]
                        yield message("ended", {"state": state, "stop": stop})
            told = await _next(queue)


async def _known(reader: RunReader, run: str, version: int) -> dict[str, bytes]:
    """The items that a client has seen that had read so many entries of a run."""
    sent: dict[str, bytes] = {}
    if version > 0:
        reading = await reader.read(run)
        if version <= reading.version:
            for item in await reader.items_before(reading, version):
                _is_new(item, sent)
    return sent


async def _changes(
    reader: RunReader, run: str, sent: dict[str, bytes], version: int, why_not: str
) -> list[Json]:
    """The changed items, in parts: a client that does not read holds up no more than one part.

    All but the last carry the earlier version, for a client that reconnects in between.
    """
    reading = await reader.read(run)
    judged = await reader.judged(reading)
    items = await reader.items(reading)
    fresh = await asyncio.to_thread(lambda: [item for item in items if _is_new(item, sent)])
    shared = {
        "row": await reader.row(run),
        "items_total": len(items),
        "pending": reader.pending(reading, judged, why_not),
    }
    return [
        {
            **shared,
            "version": reading.version if at + _PART >= len(fresh) else version,
            "items": fresh[at : at + _PART],
        }
        for at in range(0, len(fresh), _PART)
    ]


def _is_new(item: Json, sent: dict[str, bytes]) -> bool:
    told = {name: value for name, value in item.items() if name != "place"}
    digest = blake2b(json.dumps(told, default=str).encode(), digest_size=16).digest()
    is_new = sent.get(item["id"]) != digest
    sent[item["id"]] = digest
    return is_new


async def _next(queue: asyncio.Queue[Told]) -> Told | bool:
    """The next piece from a queue; False after a while without any."""
    try:
        async with asyncio.timeout(_KEEP_OPEN):
            return await queue.get()
    except TimeoutError:
        return False


async def _count_waiting(reader: RunReader) -> int:
    query = "SELECT coalesce(sum(pending), 0) FROM runs WHERE state = 'paused'"
    ((count,),) = await asyncio.to_thread(reader.index.query, query)
    return int(count)


def standing_json(standing: Standing) -> Json:
    """How far the index is, as the API sends it."""
    return {
        "runs": standing.runs,
        "entries": standing.entries,
        "ready": standing.is_ready,
        "progress": round(standing.share, 4),
    }
