"""Changes as server-sent events: of the list of runs, and of one run while it grows."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b

from rightcall.errors import JournalError
from rightcall.log import logger
from rightcall.serve.studio.index import IndexProgress
from rightcall.serve.studio.run_reader import NoRun, RunReader
from rightcall.serve.studio.search import changed_since, rows_of
from rightcall.serve.studio.to_json import Json, make_visible

_MOST_WAITING = 2000
"""Pieces that may wait for a slow reader; more are dropped, because the record has the whole."""

MOST_WATCHING = 64
"""Streams at once: each reads its run by itself, and one that nobody reads costs as much."""

StreamPiece = Json | None
"""A streamed piece, or None: look again."""


class Subscribers:
    """The watchers of each run. For the event loop's thread only."""

    def __init__(self) -> None:
        self._queues: dict[str, set[asyncio.Queue[StreamPiece]]] = {}
        self._came = asyncio.Event()

    @contextmanager
    def watching(self, name: str) -> Iterator[asyncio.Queue[StreamPiece]]:
        """Watch a run, or ``""`` for everything, within this scope."""
        queue: asyncio.Queue[StreamPiece] = asyncio.Queue(_MOST_WAITING)
        self._queues.setdefault(name, set()).add(queue)
        self._came.set()
        try:
            yield queue
        finally:
            left = self._queues[name]
            left.discard(queue)
            if not left:
                del self._queues[name]

    @property
    def is_full(self) -> bool:
        """Whether the limit of watchers is reached."""
        return sum(map(len, self._queues.values())) >= MOST_WATCHING

    async def pause(self, often: float, seldom: float) -> None:
        """Wait ``often`` seconds, or ``seldom`` without watchers; a new watcher ends the wait."""
        self._came.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(often if self._queues else seldom):
                await self._came.wait()

    def tell(self, name: str, told: StreamPiece) -> None:
        """Send something to the watchers of a run."""
        for queue in self._queues.get(name, ()):
            if not queue.full():
                queue.put_nowait(told)

    def wake_all(self) -> None:
        """Have all watchers look again."""
        for queues in self._queues.values():
            for queue in queues:
                if not queue.full():
                    queue.put_nowait(None)


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
            else:
                await self._subscribers.pause(_OFTEN, _SELDOM)


def message(event: str, data: object) -> bytes:
    """One server-sent event. JSON contains no line ends, so nothing in it can end the event."""
    text = json.dumps(make_visible(data), separators=(",", ":"))
    return f"event: {event}\ndata: {text}\n\n".encode()


async def list_events(reader: RunReader, subscribers: Subscribers) -> AsyncIterator[bytes]:
    """The changes of the list."""
    with subscribers.watching("") as queue:
        standing = await reader.progress()
        yield message("index", progress_json(standing))
        waiting = await _count_waiting(reader)
        yield message("pending", {"count": waiting})
        change = standing.change
        while True:
            if await _next(queue) is False:
                yield COMMENT
                continue
            before = standing
            standing = await reader.progress()
            if (standing.runs, standing.is_ready) != (before.runs, before.is_ready):
                yield message("index", progress_json(standing))
            if standing.change != change:
                found = await reader.ask(changed_since, change, _MANY + 1)
                change = standing.change
                if len(found) > _MANY:
                    yield message("runs", {"many": True})
                else:
                    rows = await reader.ask(rows_of, found, reader.held_locks())
                    yield message("runs", {"runs": rows})
            if (now := await _count_waiting(reader)) != waiting:
                waiting = now
                yield message("pending", {"count": waiting})
            await asyncio.sleep(_AT_MOST)


async def run_events(
    reader: RunReader, subscribers: Subscribers, run: str, version: int, why_not: str
) -> AsyncIterator[bytes]:
    """The changes of one run: new or changed items, and streamed pieces."""
    # The items that a client has seen that had read so many entries of a run.
    sent: dict[str, bytes] = {}
    if version > 0:
        reading = await reader.read(run)
        if version <= reading.version:
            _new_items(await reader.items_before(reading, version), sent)
    state = ""
    with subscribers.watching(run) as queue:
        told: StreamPiece | bool = None
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


async def _changes(
    reader: RunReader, run: str, sent: dict[str, bytes], version: int, why_not: str
) -> list[Json]:
    """The changed items, in parts: a client that does not read holds up no more than one part.

    All but the last carry the earlier version, for a client that reconnects in between.
    """
    reading = await reader.read(run)
    judged = await reader.trust_verdicts(reading)
    items = await reader.items(reading)
    fresh = await asyncio.to_thread(_new_items, items, sent)
    shared = {
        "row": await reader.row(run),
        "items_total": len(items),
        "pending": reader.pending(reading, judged, why_not),
    }
    parts = []
    for at in range(0, len(fresh), _PART):
        parts.append({**shared, "version": version, "items": fresh[at : at + _PART]})
    if parts:
        parts[-1]["version"] = reading.version
    return parts


def _new_items(items: Sequence[Json], sent: dict[str, bytes]) -> list[Json]:
    """The items that are new or have changed; ``sent`` holds the digest of each."""
    fresh = []
    for item in items:
        placeless = dict(item)
        placeless.pop("place", None)
        digest = blake2b(json.dumps(placeless, default=str).encode(), digest_size=16).digest()
        if sent.get(item["id"]) != digest:
            sent[item["id"]] = digest
            fresh.append(item)
    return fresh


async def _next(queue: asyncio.Queue[StreamPiece]) -> StreamPiece | bool:
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


def progress_json(standing: IndexProgress) -> Json:
    """How far the index is, as the API sends it."""
    return {
        "runs": standing.runs,
        "entries": standing.entries,
        "ready": standing.is_ready,
        "progress": round(standing.share, 4),
    }
