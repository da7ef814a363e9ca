"""Functions that block run in threads, and one that never ends is given up and accounted for."""

import asyncio
import contextvars
import threading
import time

import pytest

from rightcall.errors import ToolFailure
from rightcall.gate import concurrency
from rightcall.gate.concurrency import AbandonableJob, Threads, WrappedBaseException

SECONDS = 5
"""How long a test waits for something that must happen."""


async def until(condition) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.001)


async def test_a_value_and_an_exception_come_back():
    pool = Threads()
    assert await pool.run(lambda: 42, AbandonableJob()) == 42
    with pytest.raises(ZeroDivisionError):
        await pool.run(lambda: 1 / 0, AbandonableJob())


async def test_the_function_runs_in_a_daemon_thread_and_the_loop_goes_on():
    pool = Threads()
    turns = 0
    go = threading.Event()

    def wait() -> tuple[bool, bool]:
        assert go.wait(SECONDS)
        current = threading.current_thread()
        return current is threading.main_thread(), current.daemon

    running = asyncio.create_task(pool.run(wait, AbandonableJob()))
    for _ in range(10):
        await asyncio.sleep(0)
        turns += 1
    assert not running.done()
    go.set()
    assert (await running, turns) == ((False, True), 10)


async def test_a_thread_that_is_done_is_used_again():
    pool = Threads()
    first = await pool.run(threading.get_ident, AbandonableJob())
    await until(lambda: pool._idle)
    assert await pool.run(threading.get_ident, AbandonableJob()) == first


async def test_jobs_run_side_by_side_each_in_its_own_thread():
    pool = Threads()
    meeting = threading.Barrier(3, timeout=SECONDS)
    await asyncio.gather(*(pool.run(meeting.wait, AbandonableJob()) for _ in range(3)))


async def test_an_idle_thread_goes_home(monkeypatch):
    monkeypatch.setattr(concurrency, "IDLE_SECONDS", 0.01)
    pool = Threads()
    thread = await pool.run(threading.current_thread, AbandonableJob())
    await asyncio.to_thread(thread.join, SECONDS)
    assert (thread.is_alive(), pool._idle) == (False, [])
    assert await pool.run(lambda: "again", AbandonableJob()) == "again"


async def test_context_variables_go_in_and_do_not_come_out():
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("caller")

    def work() -> str:
        seen = variable.get()
        variable.set("thread")
        return seen

    assert (await Threads().run(work, AbandonableJob()), variable.get()) == ("caller", "caller")


async def test_a_job_that_is_given_up_is_counted_until_it_ends():
    pool, job, go = Threads(), AbandonableJob(), threading.Event()
    running = asyncio.create_task(pool.run(lambda: go.wait(SECONDS), job))
    await asyncio.sleep(0.01)
    assert (pool.abandoned_count, job.is_abandoned()) == (0, False)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (pool.abandoned_count, job.is_abandoned()) == (1, True)
    go.set()
    await until(lambda: pool.abandoned_count == 0)
    assert not job.is_abandoned()


async def test_beyond_so_many_stuck_threads_no_new_one_is_started(monkeypatch):
    monkeypatch.setattr(concurrency, "MAX_ABANDONED", 2)
    pool, go = Threads(), threading.Event()
    for _ in range(2):
        stuck = asyncio.create_task(pool.run(lambda: go.wait(SECONDS), AbandonableJob()))
        await asyncio.sleep(0.01)
        stuck.cancel()
        await asyncio.wait([stuck])
    with pytest.raises(ToolFailure) as refused:
        await pool.run(lambda: 1, AbandonableJob())
    assert str(refused.value) == "Too many earlier calls are stuck and still running; try again later."
    go.set()
    await until(lambda: pool.abandoned_count == 0)
    assert await pool.run(lambda: 1, AbandonableJob()) == 1


@pytest.mark.parametrize(
    ("raised", "received"),
    [
        (SystemExit(3), WrappedBaseException),
        (GeneratorExit(), WrappedBaseException),
        (StopIteration(1), RuntimeError),
        (KeyboardInterrupt(), WrappedBaseException),
        (asyncio.CancelledError(), asyncio.CancelledError),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_exceptions_that_mean_something_else_to_a_loop(raised, received):
    pool = Threads()

    def work() -> None:
        raise raised

    async def run() -> None:
        async with asyncio.timeout(SECONDS):
            await pool.run(work, AbandonableJob())

    with pytest.raises(received):
        asyncio.run(run())
    assert pool.abandoned_count == 0


def test_a_job_may_outlive_its_event_loop():
    pool, go, ended = Threads(), threading.Event(), threading.Event()

    def work() -> None:
        go.wait(SECONDS)
        ended.set()

    async def leave() -> None:
        running = asyncio.create_task(pool.run(work, AbandonableJob()))
        await asyncio.sleep(0.01)
        running.cancel()

    asyncio.run(leave())
    assert pool.abandoned_count == 1
    go.set()
    assert ended.wait(SECONDS)
    deadline = time.monotonic() + SECONDS
    while pool.abandoned_count and time.monotonic() < deadline:
        time.sleep(0.001)
    assert pool.abandoned_count == 0
    assert asyncio.run(pool.run(lambda: "next", AbandonableJob())) == "next"
