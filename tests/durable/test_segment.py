"""A segment is executed as it was submitted: settings, dependencies, what others find of it."""

import sqlite3
from contextlib import asynccontextmanager, closing
from itertools import pairwise
from threading import Event
from time import monotonic
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from msgspec import json

import rightcall as rc
from durable import cast
from durable.conftest import until
from rightcall.core.decision import Deny
from rightcall.durable import database, dbos_worker
from rightcall.durable.app import App
from rightcall.durable.database import SqlChannel, open_database
from rightcall.durable.engine import check_has_runs, checked_bytes, engine_at, reference_to
from rightcall.durable.liveness import FileLocks
from rightcall.durable.segment import BeginInput, InputReference, encode_input, read_input, read_outcome
from rightcall.errors import JournalError, RunStopped, UsageError
from rightcall.testing import ScriptedModel, call, reply


@pytest.fixture
def address(tmp_path):
    return f"sqlite:///{tmp_path / 'runs.db'}"


def _clerk(*replies: Any, **options: Any) -> tuple[ScriptedModel, rc.Agent[Any, Any]]:
    model = ScriptedModel(list(replies))
    return model, rc.Agent(model, [cast.look, cast.pay, cast.refund], name="clerk", **options)


async def test_a_run_has_the_settings_that_it_was_submitted_with(address, run):
    model, clerk = _clerk(
        reply(call("look")), reply(call("refund")), "Hi.", instructions="Be long.", max_tokens=9
    )
    async with App(address, [clerk]) as app:
        handle = await app.submit(
            "clerk",
            "And now?",
            run=run,
            history=[{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}],
            choice="required",
            instructions="Be brief.",
            options={"temperature": 0.5},
            max_tokens=77,
            budget=rc.Budget(turns=5),
        )
        waiting = await handle.result()
        first = model.requests[0]
        assert (first.system, first.choice, first.max_tokens) == ("Be brief.", "required", 77)
        assert dict(first.options) == {"temperature": 0.5}
        assert [type(each).__name__ for each in first.messages] == ["User", "Reply", "User"]
        assert model.requests[1].choice == "auto", "a choice is for the first turn"
        assert waiting.state.budget == rc.Budget(turns=5)
        await app.decide(run, {each.call_id: Deny("no money") for each in waiting.pending})
        result = await handle.result()
        last = model.requests[-1]
        assert (last.system, last.max_tokens, dict(last.options)) == (
            "Be brief.",
            77,
            {"temperature": 0.5},
        )
        assert result.text == "Hi."
        assert "no money" in result.calls[-1].result.text


async def test_a_choice_that_sticks_and_a_dry_run_are_kept_to(address, run):
    model, clerk = _clerk(reply(call("pay")), reply(call("look")), "Done.")
    async with App(address, [clerk]) as app:
        options: dict[str, Any] = {"choice": "required", "sticky_choice": True, "dry_run": True}
        handle = await app.submit("clerk", "Pay.", run=run, **options)
        result = await handle.result()
    assert {each.choice for each in model.requests} == {"required"}
    assert result.state.dry_run
    assert [each.outcome for each in result.calls] == ["dry_run", "returned"]
    assert cast.logged() == ["look"], "nothing was paid"


@pytest.mark.parametrize("kind", ["plain", "async", "scope"])
async def test_dependencies_are_made_for_each_segment(address, run, kind):
    made: list[Any] = []

    @rc.tool(effect="read")
    def who(context: rc.Context) -> str:
        """Who it is for."""
        return str(context.dependencies)

    @asynccontextmanager
    async def scope(submitted):
        made.append(submitted)
        yield submitted.details["tenant"]
        made.append("left")

    async def later(submitted):
        return plain(submitted)

    def plain(submitted):
        made.append(submitted)
        return submitted.details["tenant"]

    makers = {"plain": plain, "async": later, "scope": scope}
    model = ScriptedModel([reply(call("who"), call("refund")), reply(call("who")), "Done."])
    clerk = rc.Agent(model, [who, cast.refund], name="clerk")
    async with App(address, [clerk], dependencies=makers[kind]) as app:
        handle = await app.submit("clerk", "Who?", run=run, lane="gold", details={"tenant": "t7"})
        waiting = await handle.result()
        await app.decide(run, {each.call_id: True for each in waiting.pending})
        result = await handle.result()
    assert [each.result.text for each in result.calls if each.call.name == "who"] == ["t7"] * 2
    submitted = rc.durable.Submitted(run=run, agent="clerk", lane="gold", details={"tenant": "t7"})
    left = ["left"] if kind == "scope" else []
    assert made == [submitted, *left] * 2


async def test_what_a_tool_did_before_its_run_failed_is_in_the_error(address, run):
    _, clerk = _clerk(reply(call("look")))
    async with App(address, [clerk]) as app:
        with pytest.raises(RunStopped, match="the script has only") as stopped:
            await (await app.submit("clerk", "Look.", run=run)).result()
        assert stopped.value.status == "failed"
        assert stopped.value.result is not None
        assert [each.call.name for each in stopped.value.result.calls] == ["look"]
        info = (await app.show(run)).info
        assert (info.reason.partition(":")[0], info.stop) == ("usage", "")

    def broken(_):
        raise ZeroDivisionError("of the worker's own")

    async with App(address, [clerk], dependencies=broken) as app:
        with pytest.raises(RunStopped, match="ZeroDivisionError: of the worker's own"):
            await (await app.submit("clerk", "Look.", run=f"{run} b")).result()


async def test_a_run_is_described_as_it_stands(address, run):
    _, clerk = _clerk(reply(call("refund")), "Done.")
    async with App(address) as other:
        await other.submit("clerk", "Refund.", run=run, queue="slow")
        info = (await other.show(run)).info
        assert (info.status, info.attempts, info.queue, info.segment) == ("queued", 0, "slow", 0)
        assert (info.worker, info.stop, info.pending) == ("", "", ())
        async with App(address, [clerk], queues=["slow"]) as app:
            waiting = await app.result(run)
            info = (await other.show(run)).info
            assert (info.status, info.attempts, info.stop) == ("waiting", 1, "pending")
            assert [each.name for each in info.pending] == ["refund"]
            assert info.worker
            await other.decide(run, {each.call_id: True for each in waiting.pending})
            await app.result(run)
            info = (await other.show(run)).info
            assert (info.status, info.segment, info.stop, info.pending) == ("done", 1, "end", ())
        await other.submit("clerk", "Later.", run="later")
        assert [each.run for each in await other.list()] == ["later", run], "the latest first"
        assert [each.run for each in await other.list(limit=1)] == ["later"]
        assert [each.segment for each in await other.list() if each.run == run] == [1]


@pytest.mark.parametrize("size", [10, 100_000])
async def test_an_input_is_read_as_it_was_written_or_refused(address, run, size):
    engine = engine_at(address)
    await engine.open(None, ())
    try:
        given = BeginInput(message=rc.User((rc.models.Text("x" * size),)))
        text = await encode_input(run, given, engine.blobs)
        assert (len(text) < 200) is True if size > 10 else "xxx" in text
        job = dbos_worker.SegmentJob(run=run, segment=0, agent="clerk", input=text)
        assert await read_input(job, engine.blobs) == given
        reference = json.encode(InputReference(blob=await engine.blobs.put(run, text.encode()))).decode()
        job = dbos_worker.SegmentJob(run=run, segment=0, agent="clerk", input=reference)
        if size > 10:
            with pytest.raises(JournalError, match="refers to another reference"):
                await read_input(job, engine.blobs)
        job = dbos_worker.SegmentJob(run=run, segment=3, agent="clerk", input="[]")
        with pytest.raises(JournalError, match=rf"'{run}', the input of segment 3: this is no input"):
            await read_input(job, engine.blobs)
        with pytest.raises(JournalError, match=f"'{run}': this is no outcome"):
            read_outcome("{}", run)
    finally:
        await engine.close()


def test_a_blob_is_what_was_put():
    reference = reference_to(b"x")
    assert checked_bytes(reference, b"x") == b"x"
    with pytest.raises(JournalError, match="is gone"):
        checked_bytes(reference, None)
    with pytest.raises(JournalError, match="does not hold what was put"):
        checked_bytes(reference, b"y")


def test_a_process_is_dead_once_its_lock_can_be_taken(tmp_path):
    mine = FileLocks("mine", tmp_path / "workers")
    other = FileLocks("other", tmp_path / "workers")
    mine.hold()
    other.hold()
    other.hold()
    names = ["other", "nobody", "mine"]
    assert list(mine.dead(names)) == ["nobody"]
    held = other._held
    assert held is not None
    other._held = None
    with open(held, "rb", closefd=True):  # noqa: PTH123 - as the system closes it when a process dies
        pass
    seen = []
    for name in mine.dead(["other"]):
        seen.append(name)
        assert list(FileLocks("third", tmp_path / "workers").dead(["other"])) == [], "one buries it"
    assert seen == ["other"]
    assert sorted(each.name for each in (tmp_path / "workers").iterdir()) == ["mine.lock"]
    mine.release()
    assert not list((tmp_path / "workers").iterdir())


async def test_a_segment_that_is_given_up_here_is_queued_again(address, run, monkeypatch):
    monkeypatch.setattr(dbos_worker, "_GIVEN_UP", 0.3)
    async with App(address) as other:
        await other.submit("worker", "look", run=run, queue="nobody's")
        async with App(address, cast.agents()) as app:
            worker = app._engine._worker
            with closing(sqlite3.connect(address.removeprefix("sqlite:///"))) as rows:
                rows.execute(
                    "update workflow_status set status = 'PENDING', executor_id = ?, owner_xid = 'x',"
                    f" application_version = '{dbos_worker.VERSION}', recovery_attempts = 1",
                    [worker._liveness.name],
                )
                rows.commit()

            async def is_queued() -> bool:
                return (await other.show(run)).info.status == "queued"

            await until(is_queued, 30)
            assert worker._suspects.find(f"{run}/0").alone == 1
    assert cast.logged() == []


async def test_live_events_are_for_those_who_watch_and_are_swept(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(database, "time", lambda: now[0])
    monkeypatch.setattr(database, "monotonic", lambda: now[0])
    opened = open_database(f"sqlite:///{tmp_path / 'runs.db'}")
    channel = SqlChannel(opened)
    channel.create()
    try:
        await channel.publish("a", ["nobody sees this"])
        followed = channel.follow("a")
        assert await anext(followed) == []
        now[0] += 1
        await channel.publish("a", ["1", "2"])
        await channel.publish("b", ["of another run"])
        assert await anext(followed) == ["1", "2"]
        assert await anext(followed) == []
        # A watcher says again that it is there; one that left does not.
        await followed.aclose()
        now[0] += 3600
        await channel.publish("a", ["too late"])
        again = channel.follow("a")
        assert await anext(again) == []
        now[0] += 1
        await channel.publish("a", ["3"])
        assert await anext(again) == ["3"]
        with channel._engine.connect() as connection:
            left = connection.exec_driver_sql("select count(*) from rightcall_live").scalar_one()
        assert left == 1, "the old ones are deleted"
        await again.aclose()
    finally:
        channel.close()
        opened.close()


async def test_two_agents_of_one_name_and_a_priority_below_none_are_refused(address, run):
    _, clerk = _clerk()
    with pytest.raises(UsageError, match="two agents are named 'clerk'"):
        App(address, [clerk, clerk])
    async with App(address, [clerk], queues=()) as app:
        with pytest.raises(UsageError, match=r"0 for what goes first, or more.*and not -1"):
            await app.submit("clerk", "Hi.", priority=-1)
        for priority in (0, 2**31 - 1):
            await app.submit(clerk, "Hi.", run=f"{run} {priority}", priority=priority)
        handle = app.handle(f"{run} 0")
        assert repr(handle) == f"Handle('{run} 0')"
        assert {each.segments[0].job.priority for each in [await app.show(f"{run} 0")]} == {0}
        with pytest.raises(UsageError, match=rf"there is a run '{run} 0' already, of 'clerk'"):
            await app.submit("clerk", "Another.", run=f"{run} 0")


async def test_an_answer_to_a_run_that_does_not_wait_is_refused_unless_it_was_given(address, run):
    _, clerk = _clerk(reply(call("refund")), "Done.")
    async with App(address, [clerk]) as app:
        handle = await app.submit("clerk", "Refund.", run=run)
        waiting = await handle.result()
        yes = {each.call_id: True for each in waiting.pending}
        await app.decide(run, yes)
        assert (await handle.result()).text == "Done."
        assert (await app.decide(run, yes)).run == run
        with pytest.raises(UsageError, match="has no pending calls: it is done"):
            await app.decide(run, {**yes, "call_9": True})
        with pytest.raises(rc.errors.AlreadyDecided, match="the first answer stands"):
            await app.decide(run, dict.fromkeys(yes, False))
        assert await app.cancel(run) is False
        assert [each.event.result.text async for each in app.watch(run)] == ["Done."]
        for missing in (app.cancel, app.result, app.retry, app.show):
            with pytest.raises(UsageError, match="there is no run 'nobody'"):
                await missing("nobody")


async def test_a_cancellation_that_a_worker_takes_first_is_one_too(address, run, monkeypatch):
    _, clerk = _clerk(reply(call("refund")), "Done.")

    async def miss(_: str) -> bool:
        return False

    async with App(address, [clerk]) as app:
        await (await app.submit("clerk", "Refund.", run=run)).result()
        monkeypatch.setattr(app._engine, "cancel", miss)
        assert await app.cancel(run)
        with pytest.raises(RunStopped) as stopped:
            await app.result(run)
        assert stopped.value.status == (await app.show(run)).info.status == "cancelled"


async def test_what_is_forgotten_is_over_and_old_enough(address, run):
    _, clerk = _clerk(reply(call("refund")), "Done.", "Done.")
    async with App(address, [clerk]) as app:
        await (await app.submit("clerk", "Refund.", run="waits")).result()
        await (await app.submit("clerk", "Hi.", run="done")).result()
        await app.submit("clerk", "Hi.", run="queued", queue="nobody's")
        await app.submit("clerk", "Hi.", run="quit", queue="nobody's")
        assert await app.cancel("quit")
        with closing(sqlite3.connect(address.removeprefix("sqlite:///"))) as rows:
            rows.execute("update workflow_status set updated_at = updated_at - 100000")
            rows.commit()
        assert await app.gc(older=200) == 0
        assert await app.gc(older=50) == 2
        assert sorted(each.run for each in await app.list()) == ["queued", "waits"]


async def test_a_database_that_is_away_is_asked_at_a_pace_and_not_for_ever(monkeypatch):
    asked: list[float] = []

    def away() -> str:
        asked.append(monotonic())
        if len(asked) == 4:
            return "back"
        raise sa.exc.OperationalError("select", {}, psycopg.OperationalError("closed"))

    monkeypatch.setattr(database, "PAUSE", 0.2)
    assert await database.when_it_is_there(away) == "back"
    pauses = [after - before for before, after in pairwise(asked)]
    assert min(pauses) >= 0.09
    del asked[:]
    monkeypatch.setattr(database, "_AWAY", -1.0)
    with pytest.raises(sa.exc.OperationalError, match="closed"):
        await database.when_it_is_there(away)
    assert len(asked) == 1


class _Server:
    """A server that is there as often as it is told, as SQLAlchemy's dialect connects to it."""

    loaded_dbapi = psycopg

    def __init__(self, *answers: bool) -> None:
        self.asked = 0
        self._answers = list(answers)

    def connect(self, host: str, *, port: int) -> str:
        self.asked += 1
        if self._answers.pop(0):
            return f"{host}:{port}"
        raise psycopg.OperationalError("refused")


def test_a_server_is_waited_for_once_it_was_there(monkeypatch):
    monkeypatch.setattr(database, "_PAUSE", 0.01)
    closed = Event()
    patient = database._Patient(closed)

    def connect(server: _Server) -> str:
        return patient.connect(server, None, ["here"], {"port": 1})

    never = _Server(False, True)
    with pytest.raises(psycopg.OperationalError, match="refused"):
        connect(never)
    assert never.asked == 1, "nobody waits for an address that may be wrong"
    restarted = _Server(True, False, False, True)
    assert [connect(restarted), connect(restarted)] == ["here:1"] * 2
    closed.set()
    left = _Server(False, True)
    with pytest.raises(psycopg.OperationalError):
        connect(left)
    assert left.asked == 1, "whoever closes waits for nothing"
    closed.clear()
    monkeypatch.setattr(database, "_AWAY", -1.0)
    gone = _Server(False, True)
    with pytest.raises(psycopg.OperationalError):
        connect(gone)
    assert gone.asked == 1, "not for ever"


def test_an_address_of_postgres_is_opened_without_connecting(monkeypatch):
    asked = []

    def connect(*_: Any, **options: Any) -> None:
        asked.append(options)
        raise psycopg.OperationalError("refused")

    monkeypatch.setattr(psycopg, "connect", connect)
    opened = open_database("postgresql://ann:pass%40word@db.example:5433/runs?sslmode=require")
    assert not asked
    assert (opened.is_sqlite, opened.path) == (False, None)
    assert opened.lock_url == "postgresql://ann:pass%40word@db.example:5433/runs?sslmode=require"
    table = opened.table("workflow_status", "status")
    assert " ".join(str(sa.select(table.c.status)).split()) == (
        "SELECT dbos.workflow_status.status FROM dbos.workflow_status"
    )
    with pytest.raises(sa.exc.OperationalError, match="refused"):
        opened.engine.connect()
    # SQLAlchemy's own.
    del asked[0]["context"]
    assert asked == [
        {
            "host": "db.example",
            "port": 5433,
            "dbname": "runs",
            "user": "ann",
            "password": "pass@word",
            "sslmode": "require",
            "application_name": "rightcall",
            "connect_timeout": 10,
        }
    ]
    opened.close()


async def test_an_app_that_was_closed_says_so_until_it_is_opened_again(address, run):
    _, clerk = _clerk("Hi.")
    app = App(address, [clerk])
    handle = await app.submit("clerk", "Hello.", run=run)
    assert (await handle.result()).text == "Hi."
    await app.close()
    await app.close()
    with pytest.raises(rc.errors.UsageError, match=r"this app is closed; await app\.open"):
        await app.list()
    await app.open()
    assert [each.run for each in await app.list()] == [run]
    await app.close()


async def test_who_only_reads_is_told_that_there_are_no_runs_and_makes_no_file(tmp_path, address, run):
    place = tmp_path / "runs.db"
    with pytest.raises(UsageError, match="there are no runs at"):
        check_has_runs(address)
    assert not place.exists()
    with closing(sqlite3.connect(place)) as other:
        other.execute("create table notes (text)")
    with pytest.raises(UsageError, match="there are no runs at"):
        check_has_runs(address)
    place.unlink()
    async with App(address) as app:
        await app.submit("clerk", "Hi.", run=run)
    before = place.read_bytes()
    check_has_runs(address)
    assert place.read_bytes() == before


async def test_who_is_watched_is_asked_at_a_pace(address, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(database, "time", lambda: now[0])
    monkeypatch.setattr(database, "monotonic", lambda: now[0])
    opened = open_database(address)
    channel = SqlChannel(opened)
    channel.create()
    asked: list[str] = []

    @sa.event.listens_for(channel._engine, "before_cursor_execute")
    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    try:
        for _ in range(3):
            await channel.publish("a", ["nobody sees this"])
        assert len(asked) == 1
        now[0] += 0.5
        await channel.publish("a", ["nor this"])
        assert len(asked) == 2
    finally:
        channel.close()
        opened.close()
