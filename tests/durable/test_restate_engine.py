"""Restate as an engine, below the app: what the seam asks, asked of the real server."""

import asyncio
import socket
from contextlib import asynccontextmanager, suppress
from itertools import count
from time import monotonic

import pytest
from msgspec import to_builtins

from durable.conftest import until
from durable.servers import free_port
from rightcall.durable import restate_engine, restate_objects, restate_worker
from rightcall.durable.engine import MOST_DEATHS, Queue, SegmentJob
from rightcall.durable.restate_engine import RestateEngine
from rightcall.durable.restate_objects import JOURNAL, LIVE
from rightcall.errors import JournalError, RunHeld, UsageError

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
_numbers = count(1)


@pytest.fixture
def server(restate_server):
    return restate_server


@pytest.fixture
def run():
    return f"run {next(_numbers)}/é'"


@asynccontextmanager
async def working(server, execute, *, concurrency=50):
    engine = RestateEngine(server.address)
    await engine.open(execute, [Queue(concurrency=concurrency)])
    try:
        yield engine
    finally:
        await engine.close()


def job(run, **fields):
    return SegmentJob(run=run, segment=0, agent="a", **{"input": "hello", **fields})


async def test_a_segment_is_executed_and_its_outcome_kept(server, run):
    async def execute(job, journal):
        await journal.record("t1.model", '{"x":"é"}')
        await journal.record("t1.0.look", "2")
        return f"{job.input} by {journal.attempt}, {dict(journal.known)}"

    async with working(server, execute) as engine:
        assert await engine.submit(job(run)) == job(run)
        ended = await engine.wait(run, 0)
        assert (ended.status, ended.outcome, ended.attempts) == ("ended", "hello by 1, {}", 1)
        steps = await engine.history(run, 0)
        assert [(step.key, step.value) for step in steps] == [
            ("t1.model", '{"x":"é"}'),
            ("t1.0.look", "2"),
        ]
        assert [each.job for each in await engine.segments(run)] == [job(run)]
    client = RestateEngine(server.address)
    await client.open(None, [])
    assert (await client.wait(run, 0)).outcome == ended.outcome
    await client.close()


async def test_of_two_submissions_the_first_stands(server, run):
    async def execute(job, journal):
        return job.input

    async with working(server, execute) as engine:
        assert await engine.submit(job(run, input="first")) == job(run, input="first")
        assert await engine.submit(job(run, input="second")) == job(run, input="first")
        assert (await engine.wait(run, 0)).outcome == "first"


async def test_what_was_recorded_is_known_to_the_next_execution(server, run):
    executions = []

    async def execute(job, journal):
        executions.append((journal.attempt, dict(journal.known)))
        if journal.attempt == 1:
            await journal.record("a", "1")
            await journal.record("b", "2")
            await asyncio.sleep(60)
        return "done"

    async with working(server, execute) as first:
        await first.submit(job(run))
        while len(executions) < 1 or len(await first.history(run, 0)) < 2:
            await asyncio.sleep(0.02)
    # The first worker has closed in good order, and somebody else goes on.
    async with working(server, execute) as second:
        assert (await second.wait(run, 0)).outcome == "done"
    assert executions == [(1, {}), (2, {"a": "1", "b": "2"})]


async def test_an_execution_that_was_passed_over_records_nothing(server, run):
    held = asyncio.Future()

    async def execute(job, journal):
        if journal.attempt == 1:
            # As if the server had given the segment to another worker in between.
            await engine._client.call(JOURNAL, job.id, "begin", {"worker": "other", "at": 0, "job": {}})
            try:
                await journal.record("late", "1")
            except RunHeld as error:
                held.set_result(error)
                raise
        return "done"

    async with working(server, execute) as engine:
        await engine.submit(job(run))
        assert (await engine.wait(run, 0)).status == "ended"
        assert held.result().holder == "other"
        assert await engine.history(run, 0) == []


async def test_cancelling_reaches_a_running_execution_at_once_and_fences_it(server, run):
    begun, cancelled, journals = asyncio.Event(), asyncio.Event(), []

    async def execute(job, journal):
        journals.append(journal)
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with working(server, execute) as engine:
        await engine.submit(job(run))
        await asyncio.wait_for(begun.wait(), 10)
        assert await engine.cancel(run)
        await asyncio.wait_for(cancelled.wait(), 1)
        assert (await engine.wait(run, 0)).status == "cancelled"
        with pytest.raises(RunHeld, match="cancelled"):
            await journals[0].record("late", "1")
        assert not await engine.cancel(run)


async def test_one_that_kills_its_workers_is_parked(server, run):
    async def execute(job, journal):
        raise AssertionError("nobody dies of it again")

    async with working(server, execute) as engine:
        for number in range(MOST_DEATHS):
            # As workers that died: nobody says how these ended.
            told = {"worker": f"w{number}", "at": 0, "job": to_builtins(job(run))}
            await engine._client.call(JOURNAL, job(run).id, "begin", told)
        await engine.submit(job(run))
        parked = await engine.wait(run, 0)
        assert parked.status == "parked"
        assert parked.reason == f"{MOST_DEATHS} processes died while they executed it"
        with pytest.raises(UsageError, match=r"not try .* again: fork the run at its last step"):
            await engine.retry(run, 0)


async def test_a_worker_that_lives_and_lost_its_segment_is_no_death(server, run):
    attempts = []

    async def execute(job, journal):
        attempts.append(journal.attempt)
        if len(attempts) <= MOST_DEATHS + 2:
            raise RunHeld(job.run, "another")
        return "done"

    async with working(server, execute) as engine:
        await engine.submit(job(run))
        assert (await engine.wait(run, 0)).outcome == "done"
    assert attempts == list(range(1, MOST_DEATHS + 4))


async def test_what_an_execution_raises_is_kept_as_the_reason(server, run):
    async def execute(job, journal):
        raise ValueError("no such agent")

    async with working(server, execute) as engine:
        await engine.submit(job(run))
        broken = await engine.wait(run, 0)
        assert (broken.status, broken.reason) == ("broken", "ValueError: no such agent")


async def test_a_deadline_ends_a_segment(server, run):
    async def execute(job, journal):
        await asyncio.sleep(60)

    async with working(server, execute) as engine:
        await engine.submit(job(run, deadline=1.0))
        ended = await engine.wait(run, 0)
        assert (ended.status, ended.reason) == ("cancelled", "its deadline has passed")


async def test_a_fork_begins_with_what_was_recorded_before_a_key(server, run):
    async def execute(job, journal):
        if "a" not in journal.known:
            await journal.record("a", "1")
        await journal.record("b", journal.known.get("b", "2"))
        return f"{job.run} knew {dict(journal.known)}"

    new = f"{run} again"
    async with working(server, execute) as engine:
        await engine.submit(job(run))
        await engine.wait(run, 0)
        await engine.fork(run, 0, "b", new)
        forked = await engine.wait(new, 0)
        assert forked.outcome == f"{new} knew {{'a': '1'}}"
        assert forked.forked_from == f"{run}/0"
        assert [step.key for step in await engine.history(new, 0)] == ["a", "b"]
        with pytest.raises(UsageError, match="has recorded no step 'c'"):
            await engine.fork(run, 0, "c", f"{run} third")
        with pytest.raises(UsageError, match="already"):
            await engine.fork(run, 0, "b", new)


async def test_long_values_are_kept_until_their_last_run_is_deleted(server, run):
    async def execute(job, journal):
        return "done"

    data = bytes(range(256)) * 40_000
    async with working(server, execute) as engine:
        await engine.submit(job(run))
        await engine.wait(run, 0)
        reference = await engine.blobs.put(run, data)
        assert await engine.blobs.put("other", data) == reference
        assert await engine.blobs.get(reference) == data
        await engine.delete([run])
        assert await engine.blobs.get(reference) == data
        assert await engine.blobs.drop(["other"]) == 1
        with pytest.raises(JournalError, match="is gone"):
            await engine.blobs.get(reference)
        assert await engine.segments(run) == []
        with pytest.raises(UsageError, match="there is no segment 0"):
            await engine.wait(run, 0)


async def test_no_more_are_executed_at_a_time_than_a_queue_allows(server, run):
    now = most = 0

    async def execute(job, journal):
        nonlocal now, most
        now += 1
        most = max(most, now)
        # The server hands out the second run when it comes to it; a third would come right after.
        with suppress(AssertionError):
            await until(lambda: most > 1, 10)
        await asyncio.sleep(0.2)
        now -= 1
        return ""

    async with working(server, execute, concurrency=2) as engine:
        for number in range(6):
            await engine.submit(job(f"{run}-{number}"))
        for number in range(6):
            await engine.wait(f"{run}-{number}", 0)
    assert most == 2


async def test_live_events_are_for_those_who_watch_and_leave_nothing(server, run, monkeypatch):
    monkeypatch.setattr(restate_engine, "_WATCH", 1.5)
    seen = []

    async def execute(job, journal):
        return ""

    async def watching(channel):
        async for texts in channel.follow(run):
            seen.extend(texts)

    async def published(text):
        await engine.channel.publish(run, [text, "x" * 1_000_001])
        return text in seen

    async with working(server, execute) as engine, working_beside(server) as other:
        await engine.channel.publish(run, ["nobody sees it"])
        assert not await kept(engine, LIVE)
        watcher = asyncio.create_task(watching(other.channel))
        await until(lambda: published("first"))
        for number in range(20):
            await engine.channel.publish(run, [f"{number}"])
        await until(lambda: "19" in seen)
        assert [text for text in seen if text != "first"] == [f"{number}" for number in range(20)]
        assert max(map(len, seen)) < 10, "what is very long is not sent"
        watcher.cancel()

        async def is_clear():
            return not await kept(engine, LIVE)

        await until(is_clear)


async def test_what_was_asked_while_no_worker_was_there_is_done_as_soon_as_one_is(server, run):
    async def execute(job, journal):
        return "done"

    async with working(server, execute):
        pass
    async with working_beside(server) as client:
        await client._client.send(JOURNAL, f"{run}/0", "fence", {"at": 1.0})
        # By itself the server would try again after longer and longer.
        await asyncio.sleep(6)
        async with working(server, execute) as engine:
            began = monotonic()
            await engine.submit(job(run))
            assert (await engine.wait(run, 0)).status == "cancelled"
            assert monotonic() - began < 4


async def test_a_server_that_knows_older_workers_looks_again(server, monkeypatch):
    place = f"{server.address.rpartition(':')[0]}:{free_port()}"
    names = []
    for other in (lambda: restate_objects._object("older_live"), restate_objects.live):
        monkeypatch.setattr(restate_worker, "live", other)
        engine = RestateEngine(place)
        await engine.open(_nothing, [Queue()])
        rows = await engine._client.query(
            "select s.name from sys_service s join sys_deployment d on s.deployment_id = d.id"
            f" where d.endpoint like '%:{place.rpartition(':')[2]}/'"
        )
        names.append({row["name"] for row in rows})
        await engine.close()
    assert [LIVE in each for each in names] == [False, True]


@asynccontextmanager
async def working_beside(server):
    """A client of its own, as of another process."""
    client = RestateEngine(server.address)
    await client.open(None, [])
    try:
        yield client
    finally:
        await client.close()


async def kept(engine, service):
    return await engine._client.query(
        f"select service_key, key from state where service_name = '{service}'"
    )


@pytest.mark.parametrize("address", ["restate://", "restate://h?x=1", "restate://h?serve=9080"])
def test_an_address_that_makes_no_sense_is_refused(address):
    with pytest.raises(UsageError, match="restate://HOST:PORT"):
        RestateEngine(address)


async def test_a_worker_that_cannot_listen_says_where(server):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        engine = RestateEngine(f"restate://127.0.0.1:1?admin=2&serve=127.0.0.1:{port}")
        with pytest.raises(UsageError, match=f"cannot listen at 127.0.0.1:{port}"):
            await engine.open(_nothing, [Queue()])


async def _nothing(job, journal):
    return ""
