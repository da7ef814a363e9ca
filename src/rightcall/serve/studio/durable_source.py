"""Durable runs as the studio reads them: a store whose workers execute the runs.

The studio is a client of it, and never a worker: its decisions are carried out by others.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from rightcall.core.decision import FinalDecision
from rightcall.core.entry import Entry
from rightcall.core.message import Transcript
from rightcall.core.ports import AsyncJournal
from rightcall.durable.app import App
from rightcall.durable.standing import RunInfo
from rightcall.durable.store_file import is_store
from rightcall.errors import UsageError
from rightcall.serve.studio.run_facts import new_facts
from rightcall.serve.studio.source import Batch, Recorded, Written

_LATEST = 500
"""Segments that are listed at each look; of older runs, only those that had not ended are checked."""
_OVER = ("done", "failed", "cancelled")


def store_at(place: str | App) -> App:
    """A client of the store at an address, or of an app's store."""
    app = App(place) if isinstance(place, str) else App(place.address, place.agents.values(), queues=())
    address = urlsplit(app.address)
    if address.scheme.startswith("sqlite"):
        path = Path(unquote(address.path.removeprefix("/")))
        # A client creates what is missing, and a studio must not.
        if not path.is_file() or not is_store(path):
            raise UsageError(f"there is no store of durable runs at {app.address}")
    return app


class DurableSource:
    """The runs of a store. What has been seen of them is known to this object alone."""

    kind = "durable"

    def __init__(self, place: str | App) -> None:
        self._app = store_at(place)
        address = urlsplit(self._app.address)
        # Without the user and the password.
        self.name = f"{address.scheme}://{address.netloc.rpartition('@')[2]}{address.path}"
        self._journal = _StoreJournal(self._app)
        self._runs: dict[str, RunInfo] = {}
        self._seen: dict[str, tuple[int, Entry]] = {}
        """By run: how many entries were returned, and the last of them."""
        self._todo: dict[str, None] = {}

    async def read(self, cursor: str, most: int) -> Batch:
        """The new entries of runs since the last look."""
        is_anew = not cursor
        if is_anew:
            self._runs.clear()
            self._seen.clear()
            self._todo.clear()
        await self._look()
        found: list[Written] = []
        while self._todo and len(found) < most:
            run = next(iter(self._todo))
            story = await self._story(run)
            count, last = self._seen.get(run, (0, None))
            if count and (len(story) < count or story[count - 1][1] != last):
                # Its entries have changed, as if a run that had ended goes on after all: start over.
                return Batch((), "")
            found += [Written(run, at, entry) for at, entry in story[count:]]
            if story:
                self._seen[run] = (len(story), story[-1][1])
            del self._todo[run]
        share = len(self._seen) / max(1, len(self._seen) + len(self._todo))
        return Batch(found, "seen", is_anew=is_anew, share=share)

    async def _look(self) -> None:
        """Find runs that are new, have changed, or are under way."""
        listed = await self._app.list(limit=_LATEST if self._runs else None)
        there = {info.run for info in listed}
        older = [info.run for info in self._runs.values() if info.status not in _OVER]
        later = [await self._info(run) for run in older if run not in there]
        for info in (*reversed(listed), *filter(None, later)):
            if self._runs.get(info.run) != info or info.status == "running":
                self._runs[info.run] = info
                self._todo[info.run] = None

    async def _info(self, run: str) -> RunInfo | None:
        try:
            return (await self._app.show(run)).info
        except UsageError:
            # Deleted from the store.
            del self._runs[run]
            return None

    async def _story(self, run: str) -> Sequence[tuple[float, Entry]]:
        try:
            return await self._app.story(run)
        except UsageError:
            return ()

    async def newest(self, _: int) -> Sequence[Written]:
        """Nothing: the latest are read with all others."""
        return ()

    async def run(self, name: str, _: Sequence[tuple[int, int]]) -> Recorded:
        """The run as the store has it."""
        story = await self._story(name)
        return Recorded(tuple([entry for _, entry in story]), tuple([at for at, _ in story]))

    def held(self) -> frozenset[str]:
        """Runs that a worker executes, or will take."""
        under_way = [each.run for each in self._runs.values() if each.status in ("queued", "running")]
        return frozenset(new_facts(run).hold for run in under_way)

    def holder(self, lock: str) -> str:
        """The worker of a run."""
        found = (each for each in self._runs.values() if new_facts(each.run).hold == lock)
        return next((each.worker or "the queue" for each in found), "")

    def journal(self) -> AsyncJournal:
        """The store as a journal, for reading a run or deciding."""
        return self._journal

    async def close(self) -> None:
        """Disconnect from the store."""
        await self._app.close()


class _StoreJournal:
    """A store in the place of a journal: read like one, and written only by its workers."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def runs(self) -> Sequence[str]:
        """The names of all runs, oldest first."""
        return [info.run for info in reversed(await self._app.list())]

    async def entries(self, run: str) -> Sequence[Entry]:
        """The entries of a run."""
        try:
            return [entry for _, entry in await self._app.story(run)]
        except UsageError:
            return ()

    async def decide(self, run: str, decisions: Mapping[str, FinalDecision]) -> object:
        """Answer the calls that a run waits for."""
        return await self._app.decide(run, decisions)

    async def fork(self, run: str, before_turn: int, new: str) -> None:
        """Begin another run from before a turn of this one."""
        await self._app.fork(run, at=f"t{before_turn}.model", new=new)

    async def submit(
        self, agent: str, prompt: str, run: str, history: Transcript, *, dry_run: bool
    ) -> None:
        """Submit a run; a worker that has the agent takes it."""
        await self._app.submit(agent, prompt, run=run, history=history, dry_run=dry_run)

    async def append(self, run: str, _: Entry) -> None:
        """Refuse: only workers write."""
        raise UsageError(
            f"run {run!r}: what is written into a store of durable runs is written by its workers; "
            "use rightcall runs fork, or submit a run"
        )
