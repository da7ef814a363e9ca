"""The working state of a studio: a journal, the index of its runs, and the agents that continue them.

Everything that pages and programs read is read through here. Changes are in ``run_actions``.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from rightcall.core.entry import Entry, RunStarted
from rightcall.core.tool import Tool
from rightcall.errors import JournalError
from rightcall.log import logger
from rightcall.record.entry_text import restore_history
from rightcall.serve.studio.agents import StudioAgent
from rightcall.serve.studio.index import Index, IndexProgress, RunFacts, index_path
from rightcall.serve.studio.pending_calls import pending_json, waiting_ids
from rightcall.serve.studio.run_items import Extra, items_of
from rightcall.serve.studio.run_view import RunView, read_run
from rightcall.serve.studio.search import rows_of
from rightcall.serve.studio.sources import Place, RunRecord, RunSource, source_of
from rightcall.serve.studio.to_json import Json
from rightcall.serve.studio.tool_stats import all_tools
from rightcall.serve.studio.trust_view import TrustVerdicts, judge

_BATCH = 2000
"""Entries that are indexed at once: a page that is requested meanwhile waits for no more than these."""
_MOST_READ = 8
"""Runs that are cached after they were read."""
T = TypeVar("T")


class NoRun(Exception):
    """There is no run of that name."""


class _ShownRun(Struct, frozen=True, eq=False):
    reading: RunView
    judged: TrustVerdicts
    items: list[Json]


class RunReader:
    """A journal and its index, for reading."""

    def __init__(
        self,
        journal: Place,
        *,
        agents: Sequence[StudioAgent] = (),
        cache: Path | None = None,
        may_make: bool = False,
    ) -> None:
        self.source: RunSource = source_of(journal, may_make=may_make)
        self.agents = tuple(agents)
        path = getattr(self.source, "path", None)
        self.index = Index(None if path is None or cache is None else index_path(path, cache))
        self._catching_up = asyncio.Lock()
        self.stopped: set[str] = set()
        """Runs that were stopped here: they need not be waited for as possibly still running."""
        self._tools: tuple[int, Json] | None = None
        self._read: OrderedDict[str, tuple[int, RunView, Entry]] = OrderedDict()
        """By run: how many entries it had, what was read, and its first entry."""
        self._shown: OrderedDict[str, _ShownRun] = OrderedDict()

    async def catch_up(self) -> bool:
        """Index what was written since the last call; returns whether there was anything."""
        async with self._catching_up:
            since = self.index.cursor
            if not since:
                newest = await self.source.newest(_BATCH)
                await asyncio.to_thread(self.index.preview, newest)
            batch = await self.source.read(since, _BATCH)
            await asyncio.to_thread(self.index.take, batch, since)
            return bool(batch.written)

    async def catch_up_fully(self) -> None:
        """Index everything that there is."""
        while await self.catch_up():
            pass

    async def ask(self, question: Callable[..., T], *values: Any) -> T:
        """Query the index, in a thread."""
        return await asyncio.to_thread(question, self.index, *values)

    async def progress(self) -> IndexProgress:
        """How far the index is."""
        return await asyncio.to_thread(self.index.progress)

    def held_locks(self) -> frozenset[str]:
        """The locks of runs that a process holds."""
        return self.source.held_locks()

    async def facts(self, run: str) -> RunFacts:
        """The indexed facts of a run; new entries are indexed first if it is unknown."""
        facts = await asyncio.to_thread(self.index.facts, run)
        if facts is None:
            await self.catch_up()
            facts = await asyncio.to_thread(self.index.facts, run)
        if facts is None:
            raise NoRun(run)
        return facts

    async def read(self, run: str) -> RunView:
        """A whole run. One that has not grown is not read again."""
        facts = await self.facts(run)
        known = self._read.get(run)
        if known is not None and known[0] == facts.entries:
            self._read.move_to_end(run)
            return known[1]
        recorded = await self._read_record(facts)
        # With the messages that earlier runs of the conversation hold.
        starts: dict[str, RunStarted] = {}
        start = recorded.entries[0] if recorded.entries else None
        while isinstance(start, RunStarted) and start.after and start.after.run not in starts:
            name = start.after.run
            earlier = await asyncio.to_thread(self.index.facts, name)
            entries = () if earlier is None else (await self._read_record(earlier)).entries
            start = entries[0] if entries else None
            if isinstance(start, RunStarted):
                starts[name] = start
        where = f"{self.source.name}, run {run!r}"
        whole = restore_history(recorded.entries, starts.get, where)
        recorded = RunRecord(tuple(whole), recorded.times)
        if not recorded.entries:
            await asyncio.to_thread(self.index.forget, run)
            raise NoRun(run)
        reading = await read_run(run, recorded, _before(known, recorded))
        self._read[run] = (len(recorded.entries), reading, recorded.entries[0])
        while len(self._read) > _MOST_READ:
            self._read.popitem(last=False)
        return reading

    async def _read_record(self, facts: RunFacts) -> RunRecord:
        places = await asyncio.to_thread(self.index.places, facts.id)
        return await self.source.run(facts.run, places)

    async def row(self, run: str) -> Json:
        """A run as lists show it."""
        facts = await self.facts(run)
        held = self.held_locks()
        (row,) = await self.ask(rows_of, (facts,), held)
        if run in self.stopped and row["state"] == "running":
            row |= {"state": "cut_off", "stop": "cut off"}
        return row | {"holder": self.source.holder(facts.hold) if facts.hold in held else ""}

    async def state(self, run: str) -> str:
        """The state of a run."""
        return str((await self.row(run))["state"])

    def find_agent(self, name: str) -> StudioAgent | None:
        """The agent of that name; for a run without an agent's name, the only agent there is.

        Another agent would continue the run with tools and rules that are not its own.
        """
        if not name:
            return self.agents[0] if len(self.agents) == 1 else None
        return next((each for each in self.agents if each.name == name), None)

    def agent_of(self, reading: RunView) -> StudioAgent | None:
        """The agent of a run."""
        return self.find_agent(reading.start.agent if reading.start else "")

    def tools(self) -> tuple[Tool, ...]:
        """The tools of all agents, each name once."""
        return tuple({tool.name: tool for here in self.agents for tool in here.tools}.values())

    async def tool_statistics(self) -> Json:
        """The statistics of every tool; computed again only when something was written."""
        change = (await self.progress()).change
        if self._tools is None or self._tools[0] != change:
            self._tools = (change, await self.ask(all_tools, self.tools()))
        return self._tools[1]

    async def trust_verdicts(self, reading: RunView) -> TrustVerdicts:
        """The verdicts of the rules on a run, and on its waiting calls."""
        return (await self._shown_run(reading)).judged

    async def items(self, reading: RunView) -> list[Json]:
        """A run as the page shows it."""
        return (await self._shown_run(reading)).items

    async def items_before(self, reading: RunView, version: int) -> list[Json]:
        """A run as it was shown when it had so many entries.

        Messages of the runtime to the model are not in the entries, and so count as new.
        """
        extra = Extra((await self.trust_verdicts(reading)).labels, {}, reading.counts())
        return await asyncio.to_thread(items_of, reading.written[:version], reading.run, extra)

    async def _shown_run(self, reading: RunView) -> _ShownRun:
        """What is shown of a run; cached for the last few, which are requested again and again."""
        known = self._shown.get(reading.run)
        if known is not None and known.reading is reading:
            return known
        here = self.agent_of(reading)

        def look() -> _ShownRun:
            judged = judge(reading, here, waiting_ids(reading))
            extra = Extra(judged.labels, reading.notes(), reading.counts())
            return _ShownRun(reading, judged, items_of(reading.written, reading.run, extra))

        seen = await asyncio.to_thread(look)
        self._shown[reading.run] = seen
        self._shown.move_to_end(reading.run)
        while len(self._shown) > _MOST_READ:
            self._shown.popitem(last=False)
        return seen

    def pending(self, reading: RunView, judged: TrustVerdicts, why_not: str) -> list[Json]:
        """The calls of a run that wait for a person."""
        return pending_json(reading, judged, self.agent_of(reading), why_not)

    async def waiting(self, most: int) -> list[RunView]:
        """The runs that wait for a person, newest first."""
        query = "SELECT run FROM runs WHERE state = 'paused' ORDER BY id DESC LIMIT ?"
        found = []
        for (run,) in await asyncio.to_thread(self.index.query, query, (most,)):
            try:
                found.append(await self.read(run))
            except (JournalError, NoRun) as error:
                logger.warning("a run that waits cannot be read: %s", error)
        return found

    async def close(self) -> None:
        """Close the index and the source."""
        self.index.close()
        await self.source.close()


def _before(known: tuple[int, RunView, Entry] | None, recorded: RunRecord) -> RunView | None:
    """The earlier reading of a run, if the run still begins in the same way."""
    if known is None or not 0 < known[0] <= len(recorded.entries):
        return None
    last = known[1].written[-1][1]
    is_same = not recorded.times or recorded.times[known[0] - 1] == last
    # Of a durable run, more may be known of its start than before.
    is_same = is_same and recorded.entries[0] == known[2]
    return known[1] if is_same else None
