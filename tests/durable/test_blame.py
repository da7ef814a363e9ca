"""Which run a process died of: others go on, the one to blame is parked, and can be tried again."""

import asyncio
from collections.abc import Sequence
from time import time

import pytest
import sqlalchemy as sa

import rightcall as rc
from durable import cast
from durable.conftest import long, until
from rightcall.durable import blame
from rightcall.durable.blame import Casualty, Company, Suspects, Suspicion, is_to_blame, suspect
from rightcall.durable.database import open_database
from rightcall.durable.dbos_worker import VERSION
from rightcall.errors import RunStopped, UsageError

on_databases = pytest.mark.parametrize("address", ["sqlite", "postgres"], indirect=True)
_ANY = 2**31 - 1


async def _supervise(app, another_process, runs: Sequence[str]) -> int:
    """Start a worker, and another when that one dies, until all runs are over; how many died."""
    deaths = 0
    child = another_process()
    while {(await app.show(run)).info.status for run in runs} & {"queued", "running"}:
        if child.poll() is not None:
            deaths += 1
            child = another_process()
        await asyncio.sleep(0.1)
    child.kill()
    child.wait()
    return deaths


async def _innocents_and(app, killers: Sequence[str], run: str) -> list[str]:
    """Twenty runs that take a while, and some in the middle of them that kill."""
    innocents = [f"{run}.{number}" for number in range(20)]
    for number, name in enumerate(innocents):
        await app.submit("worker", "look rest pay", run=name)
        if number == 10:
            for killer in killers:
                await app.submit("worker", "look die_unless_mended pay", run=killer)
    return innocents


@on_databases
@pytest.mark.parametrize("killers", [["killer"], pytest.param(["one", "two"], marks=long)])
async def test_of_many_runs_those_that_kill_are_parked_and_all_others_end(
    asking, another_process, run, killers
):
    async with asking() as app:
        innocents = await _innocents_and(app, killers, run)
        deaths = await _supervise(app, another_process, [*innocents, *killers])
        assert {(await app.show(each)).info.status for each in innocents} == {"done"}
        assert cast.logged().count("pay") == 20, "each paid once"
        for killer in killers:
            with pytest.raises(RunStopped, match=rf"'{killer}'.* processes died") as stopped:
                await app.result(killer)
            assert stopped.value.status == "parked"
        assert deaths <= 11 * len(killers)
        cast.log("mended")
        for killer in killers:
            await app.retry(killer)
        assert await _supervise(app, another_process, killers) == 0
        for killer in killers:
            assert (await app.result(killer)).text == "done after 3 turns"
            with pytest.raises(UsageError, match="is done, and only a parked one"):
                await app.retry(killer)


@pytest.mark.parametrize(
    ("deaths", "known", "together", "then"),
    [
        (1, None, 21, Suspicion(1, _ANY, 0)),
        (1, None, 1, Suspicion(1, _ANY, 1)),
        (2, Suspicion(1, _ANY, 0), 21, Suspicion(2, 10, 0)),
        (3, Suspicion(2, 10, 0), 10, Suspicion(3, 5, 0)),
        # Others had come to it after a while.
        (3, Suspicion(2, 10, 0), 40, Suspicion(3, 5, 0)),
        (3, Suspicion(2, 10, 1), 2, Suspicion(3, 1, 1)),
        (4, Suspicion(3, 1, 1), 1, Suspicion(4, 1, 2)),
    ],
)
def test_a_company_is_halved_by_every_death_but_the_first(deaths, known, together, then):
    assert suspect(Casualty("r/0", "me", deaths, known), together) == then


@pytest.mark.parametrize(
    ("deaths", "alone", "parked"), [(5, 2, True), (4, 2, False), (5, 1, False), (9, 1, False)]
)
def test_a_segment_is_parked_for_deaths_alone(deaths, alone, parked):
    assert is_to_blame(Casualty("r/0", "me", deaths, None), Suspicion(deaths, 1, alone)) is parked


@pytest.fixture
def suspects(database):
    made = open_database(database)
    found = Suspects(made)
    found.database = made
    found.create()
    yield found
    made.close()


async def _dead(database: str, suspects: Suspects, rows: dict[str, dict[str, object]]) -> None:
    """Submit runs, and have their rows say what a dead worker left."""
    async with rc.durable.App(database) as app:
        for name in rows:
            await app.submit("worker", "look", run=name)
    everything = {"status": "PENDING", "executor_id": "dead", "owner_xid": "o1", "recovery_attempts": 2}
    for name, row in rows.items():
        values = everything | row
        table = suspects.database.table("workflow_status", "workflow_uuid", *values)
        with suspects.database.engine.begin() as connection:
            connection.execute(
                sa.update(table).where(table.c.workflow_uuid == f"{name}/0").values(values)
            )


def _rows(suspects: Suspects, *names: str) -> dict[str, tuple[object, ...]]:
    table = suspects.database.table("workflow_status", "workflow_uuid", *names)
    query = sa.select(table.c.workflow_uuid, *[table.c[name] for name in names])
    with suspects.database.engine.connect() as connection:
        rows = connection.execute(query).all()
    return {row[0].removesuffix("/0"): tuple(row[1:]) for row in rows}


async def test_a_death_is_counted_for_what_was_executed_and_not_for_what_waited(database, suspects):
    await _dead(
        database,
        suspects,
        {
            "fresh": {},
            "began": {},
            "waited": {},
            "elsewhere": {"executor_id": "living"},
            "older": {"application_version": "rightcall-journal-0"},
            "over": {"status": "SUCCESS"},
        },
    )
    suspects.note("began/0", "o1")
    suspects.note("waited/0", "")
    suspects.bury("dead", VERSION)
    assert _rows(suspects, "status", "recovery_attempts") == {
        "fresh": ("ENQUEUED", 2),
        "began": ("ENQUEUED", 2),
        "waited": ("ENQUEUED", 1),
        "elsewhere": ("PENDING", 2),
        "older": ("PENDING", 2),
        "over": ("SUCCESS", 2),
    }
    names = ("owner_xid", "started_at_epoch_ms", "queue_name")
    assert _rows(suspects, *names)["fresh"] == (None, None, "default")
    found = {name: suspects.find(f"{name}/0") for name in ("fresh", "began", "waited", "elsewhere")}
    assert found == {
        "fresh": Suspicion(2, 1, 0),
        "began": Suspicion(2, 1, 0),
        "waited": Suspicion(),
        "elsewhere": None,
    }


async def test_one_that_was_alone_is_parked_and_pardoned(database, suspects):
    await _dead(database, suspects, {"killer": {"recovery_attempts": 5}, "waits": {}})
    suspects.note("waits/0", "")
    suspects.note("killer/0", "o1")
    suspects.bury("dead", VERSION)
    assert _rows(suspects, "status")["killer"] == ("ENQUEUED",), "it was alone once"
    await asyncio.to_thread(_begin_again, suspects, "killer/0", 6)
    suspects.bury("dead", VERSION)
    names = ("status", "queue_name", "owner_xid", "recovery_attempts")
    assert _rows(suspects, *names) == {
        "killer": ("MAX_RECOVERY_ATTEMPTS_EXCEEDED", None, None, 6),
        "waits": ("ENQUEUED", "default", None, 1),
    }
    for moment in _rows(suspects, "updated_at", "completed_at")["killer"]:
        assert abs(moment / 1000 - time()) < 60
    assert not suspects.pardon("waits/0", "default")
    assert not suspects.pardon("nobody/0", "default")
    assert suspects.pardon("killer/0", "urgent")
    assert _rows(suspects, *names, "completed_at")["killer"] == ("ENQUEUED", "urgent", None, 0, None)
    assert abs(_rows(suspects, "updated_at")["killer"][0] / 1000 - time()) < 60
    assert suspects.find("killer/0") is None, "it begins as if nobody had died of it"
    assert suspects.find("waits/0") == Suspicion()


def _begin_again(suspects: Suspects, workflow: str, starts: int) -> None:
    suspects.note(workflow, "o2")
    values = {"status": "PENDING", "owner_xid": "o2", "recovery_attempts": starts}
    table = suspects.database.table("workflow_status", "workflow_uuid", *values)
    with suspects.database.engine.begin() as connection:
        connection.execute(sa.update(table).where(table.c.workflow_uuid == workflow).values(values))


async def test_one_that_a_living_process_gives_up_counts_as_alone(database, suspects):
    await _dead(database, suspects, {"given up": {}, "going on": {}})
    suspects.blame("dead", VERSION, {"given up/0"})
    assert _rows(suspects, "status") == {"given up": ("ENQUEUED",), "going on": ("PENDING",)}
    assert suspects.find("given up/0") == Suspicion(2, 1, 1)
    assert suspects.find("going on/0") is None


async def test_a_parked_run_can_be_cancelled_and_its_row_goes_with_it(database, suspects):
    await _dead(database, suspects, {"killer": {"status": "MAX_RECOVERY_ATTEMPTS_EXCEEDED"}, "b": {}})
    suspects.note("killer/0", "o1")
    suspects.note("b/0", "o1")
    async with rc.durable.App(database) as app:
        assert [each.status for each in await app.list()].count("parked") == 1
        assert await app.cancel("killer")
        assert (await app.show("killer")).info.status == "cancelled"
        with pytest.raises(UsageError, match="'killer' is cancelled, and only a parked one"):
            await app.retry("killer")
        await app._engine.delete(["killer"])
    assert suspects.find("killer/0") is None
    assert suspects.find("b/0") == Suspicion(begun="o1")


class Guests:
    """Segments that come to a company, and stay until they are sent away."""

    def __init__(self, company: Company) -> None:
        self._company = company
        self.inside: set[str] = set()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, name: str, known: Suspicion | None = None) -> None:
        self._tasks[name] = asyncio.create_task(self._stay(name, known))
        await asyncio.sleep(0.05)

    async def _stay(self, name: str, known: Suspicion | None) -> None:
        async with self._company.admit(name, "me", known):
            self.inside.add(name)
            try:
                await asyncio.Event().wait()
            finally:
                self.inside.remove(name)

    async def are(self, *names: str) -> None:
        """Wait until these are inside, and see that nobody follows them."""
        await until(lambda: self.inside >= set(names), 20)
        await asyncio.sleep(0.05)
        assert self.inside == set(names)

    async def send(self, name: str) -> None:
        task = self._tasks.pop(name)
        task.cancel()
        await asyncio.wait({task})


@pytest.fixture
async def guests(suspects):
    made = Guests(Company(suspects))
    yield made
    for name in list(made._tasks):
        await made.send(name)


def _of(company: int, deaths: int = 2) -> Suspicion:
    return Suspicion(deaths, company, 0)


async def test_a_suspect_is_executed_in_no_larger_company_than_it_may(suspects, guests):
    for name in ("a", "b", "c"):
        await guests.come(name)
    await guests.are("a", "b", "c")
    assert [suspects.find(name) for name in ("a", "b", "c")] == [None] * 3, "they cost no row"
    suspects.note("half", "before")
    await guests.come("half", _of(2))
    await guests.come("behind")
    await until(lambda: suspects.find("behind") == Suspicion(), 20)
    await guests.are("a", "b", "c")
    assert suspects.find("half").begun == "before", "it waits, and is not executed"
    await guests.send("a")
    await guests.are("b", "c")
    await guests.send("c")
    await guests.are("b", "half")
    assert suspects.find("half").begun == "me"
    assert suspects.find("behind").begun == "", "one beside a suspect is as many as there may be"
    await guests.send("half")
    await guests.are("b", "behind")
    assert suspects.find("behind").begun == "me"


async def test_one_that_stops_waiting_holds_nobody_back(suspects, guests):
    await guests.come("a")
    await guests.come("lonely", _of(1))
    await guests.come("b")
    await guests.are("a")
    await guests.send("lonely")
    await guests.are("a", "b")


async def test_one_that_has_its_turn_and_is_cancelled_leaves_it_to_the_next(guests):
    await guests.come("a")
    await guests.come("lonely", _of(1))
    await guests.come("b")
    leaving = [asyncio.create_task(guests.send(name)) for name in ("a", "lonely")]
    await asyncio.wait(leaving)
    await guests.are("b")


async def test_a_first_death_changes_nothing(suspects, guests):
    await guests.come("a")
    await guests.come("again", Suspicion(1, _ANY, 1))
    await guests.come("b")
    await guests.are("a", "again", "b")
    assert suspects.find("again").begun == "me", "a row that is there must say that it began"


async def test_a_suspect_holds_others_back_for_a_while_only(guests, monkeypatch):
    monkeypatch.setattr(blame, "_PATIENCE", 0.05)
    await guests.come("a")
    await guests.come("lonely", _of(1))
    await guests.come("b")
    await guests.are("a", "lonely", "b")
    for name in ("a", "lonely", "b"):
        await guests.send(name)
    await guests.come("lonely", _of(1))
    await guests.come("c")
    await guests.are("lonely", "c")


async def test_patience_grows_with_deaths_up_to_an_hour(guests, monkeypatch):
    loop = asyncio.get_running_loop()
    seconds = []
    call_later = loop.call_later

    def noted(delay, *arguments, **options):
        if delay > 25:
            seconds.append(delay)
        return call_later(delay, *arguments, **options)

    monkeypatch.setattr(loop, "call_later", noted)
    for number, deaths in enumerate((2, 3, 7, 2000)):
        await guests.come(f"{number}", _of(9, deaths))
    await guests.come("free", Suspicion(1, _ANY, 1))
    await guests.are("0", "1", "2", "3", "free")
    assert seconds == [120, 240, 3840, 3840]
