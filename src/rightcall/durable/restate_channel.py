"""Live events through a Restate server: objects that keep them for seconds, while somebody watches.

A server cannot carry data without storing it, so every few events are a record that is cleared again.
Nothing is written that nobody reads: a watcher registers in one object, which workers check. Events are
read in SQL, like everything that is only read. All this takes longer than through a database.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from time import monotonic, time

from msgspec import json

from rightcall.durable.restate_client import RestateClient, quoted
from rightcall.durable.restate_objects import LIVE, WATCHERS, events_of

_POLL = 0.05
"""Seconds between two polls of a watcher."""
_ASK = 0.3
"""Seconds for which a process caches which runs are watched."""
_WATCH = 10.0
"""Seconds until a watcher that does not register again no longer counts."""
_LONGEST = 1_000_000
"""Characters of an event; a longer one is not sent, as the run's end is read from the store."""


class RestateChannel:
    """Carries live events through the server that holds the runs."""

    def __init__(self, client: RestateClient) -> None:
        self._client = client
        self._watched: frozenset[str] = frozenset()
        self._asked = float("-inf")

    async def publish(self, run: str, texts: Sequence[str]) -> None:
        """Write events for the run's watchers, if there are any."""
        if monotonic() - self._asked > _ASK:
            self._asked = monotonic()
            self._watched = await self._who_is_watched()
        short = [text for text in texts if len(text) <= _LONGEST]
        if run in self._watched and short:
            await self._client.call(LIVE, events_of(run), "publish", {"at": time(), "texts": short})

    async def follow(self, run: str) -> AsyncIterator[Sequence[str]]:
        """The events that are written from now on."""
        last, said = await self._last(run), float("-inf")
        while True:
            if monotonic() - said > _WATCH / 2:
                said = monotonic()
                # Not awaited: there may be no worker yet, and the run's end can be read without one.
                await self._client.send(
                    LIVE, WATCHERS, "watch", {"run": run, "until": time() + _WATCH, "seconds": _WATCH}
                )
            rows = await self._after(run, last)
            last = rows[-1][0] if rows else last
            yield [text for _, texts in rows for text in texts]
            await asyncio.sleep(_POLL)

    async def _who_is_watched(self) -> frozenset[str]:
        rows = await self._client.query(
            f"select key, value_utf8 from state where service_name = {quoted(LIVE)}"  # noqa: S608
            f" and service_key = {quoted(WATCHERS)}"
        )
        now = time()
        return frozenset(row["key"] for row in rows if float(row["value_utf8"]) > now)

    async def _last(self, run: str) -> str:
        rows = await self._client.query(
            f"select max(key) as last from state where service_name = {quoted(LIVE)}"  # noqa: S608
            f" and service_key = {quoted(events_of(run))} and key like 'e/%'"
        )
        return (rows[0].get("last") if rows else None) or "e/"

    async def _after(self, run: str, last: str) -> list[tuple[str, list[str]]]:
        rows = await self._client.query(
            f"select key, value_utf8 from state where service_name = {quoted(LIVE)}"  # noqa: S608
            f" and service_key = {quoted(events_of(run))} and key like 'e/%' and key > {quoted(last)}"
            " order by key"
        )
        return [(row["key"], json.decode(row["value_utf8"], type=list[str])) for row in rows]
