"""A failure that the tool calls retryable is tried again, with pauses that double, until time is up."""

import asyncio

import pytest

import rightcall as rc
from rightcall.core.outcome import Failed, Returned, TimedOut


def flaky(failures: int, limits: rc.Limits, clock, *, takes: float = 0.0, error=None) -> rc.Tool:
    """A tool that fails so many times before it succeeds, each attempt taking so long."""
    attempts: list[tuple[int, str]] = []

    @rc.tool(name="flaky", limits=limits)
    async def flaky(context: rc.Context) -> list[tuple[int, str]]:
        attempts.append((context.attempt, context.key))
        clock.time += takes
        if len(attempts) <= failures:
            raise error or rc.ToolFailure("Busy.", retryable=True)
        return attempts

    return flaky


async def run(tool: rc.Tool, clock) -> rc.gate.Execution:
    call = rc.Call(id="c1", name=tool.name)
    (done,) = await rc.gate.Executor(clock=clock).execute([call], rc.Toolbox(tool))
    return done


async def test_each_attempt_is_counted_and_told_its_number_and_one_key(clock):
    done = await run(flaky(2, rc.Limits(retries=5), clock), clock)
    assert done.outcome == Returned([(1, "c1"), (2, "c1"), (3, "c1")])
    assert (done.attempts, clock.pauses, done.seconds) == (3, [0.5, 1.0], 1.5)


async def test_pauses_double_from_the_tools_own_backoff(clock):
    done = await run(flaky(4, rc.Limits(retries=4, backoff=3.0), clock), clock)
    assert (done.attempts, clock.pauses) == (5, [3.0, 6.0, 12.0, 24.0])


@pytest.mark.parametrize(("retries", "backoff"), [(1100, 0.0), (1100, 5e-324)])
async def test_however_many_retries_there_are_the_pauses_can_be_told(clock, retries, backoff):
    limits = rc.Limits(retries=retries, backoff=backoff)
    done = await run(flaky(retries, limits, clock), clock)
    assert (done.outcome.kind, done.attempts, len(clock.pauses)) == ("returned", retries + 1, retries)


async def test_when_retries_run_out_the_last_failure_stands(clock):
    done = await run(flaky(9, rc.Limits(retries=2), clock), clock)
    assert (done.outcome, done.attempts) == (Failed("Busy.", retryable=True), 3)


async def test_nothing_is_retried_unless_the_limits_say_so(clock):
    done = await run(flaky(1, rc.Limits(), clock), clock)
    assert (done.outcome, done.attempts, clock.pauses) == (Failed("Busy.", retryable=True), 1, [])


@pytest.mark.parametrize(
    "error",
    [rc.ToolFailure("No."), KeyError("x"), TimeoutError(), asyncio.CancelledError()],
    ids=lambda error: type(error).__name__,
)
async def test_only_what_the_tool_calls_retryable_is_retried(error, clock):
    done = await run(flaky(1, rc.Limits(retries=5), clock, error=error), clock)
    assert (done.outcome.kind in {"failed", "cancelled"}, done.attempts) == (True, 1)


async def test_no_attempt_begins_that_the_deadline_would_not_let_begin(clock):
    limits = rc.Limits(retries=9, backoff=1.0, timeout=10.0)
    done = await run(flaky(9, limits, clock, takes=2.0), clock)
    # 2 + (1) + 2 + (2) + 2 = 9 seconds; a third pause of 4 would end at 13.
    assert (done.attempts, clock.pauses, done.seconds) == (3, [1.0, 2.0], 9.0)
    assert done.outcome == Failed("Busy.", retryable=True)


async def test_a_later_attempt_has_only_the_time_that_is_left(clock):
    @rc.tool(limits=rc.Limits(retries=1, backoff=9.98, timeout=10.0))
    async def slow(context: rc.Context) -> None:
        if context.attempt == 1:
            raise rc.ToolFailure("Busy.", retryable=True)
        # The pause took all but 20 ms, on the fake clock; the real one lets no more than that pass.
        await asyncio.sleep(5)

    done = await asyncio.wait_for(run(slow, clock), 2)
    assert (done.outcome, done.attempts) == (TimedOut(10.0), 2)


async def test_a_blocking_tool_is_retried_as_well(clock):
    attempts = []

    @rc.tool(limits=rc.Limits(retries=1))
    def f() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise rc.ToolFailure("Busy.", retryable=True)
        return "done"

    done = await run(f, clock)
    assert (done.outcome, done.attempts, clock.pauses) == (Returned("done"), 2, [0.5])


async def test_a_call_keeps_its_place_while_it_waits_to_try_again(clock):
    running = []

    @rc.tool(limits=rc.Limits(retries=1, concurrency=1))
    async def f(context: rc.Context) -> None:
        running.append(context.call_id)
        if context.attempt == 1:
            raise rc.ToolFailure("Busy.", retryable=True)

    calls = [rc.Call(id=each, name="f") for each in "ab"]
    await rc.gate.Executor(clock=clock).execute(calls, rc.Toolbox(f))
    assert running == ["a", "a", "b", "b"]


class Reset(ConnectionError):
    """A kind of connection error."""


@pytest.mark.parametrize("retry_on", [(ConnectionError, KeyError), ConnectionError])
@pytest.mark.parametrize(
    "error", [ConnectionError("gone"), Reset("gone")], ids=["itself", "a kind of it"]
)
async def test_an_exception_that_the_limits_name_is_tried_again(clock, retry_on, error):
    limits = rc.Limits(retries=3, retry_on=retry_on)
    done = await run(flaky(2, limits, clock, error=error), clock)
    assert done.outcome == Returned([(1, "c1"), (2, "c1"), (3, "c1")])
    assert (done.attempts, clock.pauses) == (3, [0.5, 1.0])


@pytest.mark.parametrize(
    "error", [ValueError("x"), OSError("x"), asyncio.CancelledError(), SystemExit(1)]
)
async def test_an_exception_that_they_do_not_name_is_not(clock, error):
    limits = rc.Limits(retries=3, retry_on=(ConnectionError,))
    done = await run(flaky(1, limits, clock, error=error), clock)
    assert (done.outcome.kind in {"failed", "cancelled"}, done.attempts) == (True, 1)


async def test_when_they_run_out_the_model_reads_the_last_ones_words(clock):
    limits = rc.Limits(retries=1, retry_on=ConnectionError)
    done = await run(flaky(9, limits, clock, error=ConnectionError("db-7 gone")), clock)
    assert done.attempts == 2
    assert done.result.text == "ConnectionError: db-7 gone"
    assert "db-7 gone" in done.outcome.error


async def test_a_blocking_tool_is_tried_again_on_what_it_raises(clock):
    attempts = []

    @rc.tool(retries=1, retry_on=(ConnectionError,), backoff=2)
    def f() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise ConnectionResetError
        return "done"

    done = await run(f, clock)
    assert (done.outcome, done.attempts, clock.pauses) == (Returned("done"), 2, [2])
