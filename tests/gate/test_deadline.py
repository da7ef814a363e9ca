"""A coroutine under a deadline, in a task of its own: who may stop it, and who hears of it."""

import asyncio
import gc
import weakref
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar

import anyio
import pytest

from rightcall.gate import attempt as deadline
from rightcall.gate.attempt import CancelledInside, DeadlinePassed, adrift, within
from rightcall.gate.concurrency import WrappedBaseException

GRACE = 0.05
FOREVER = 60.0


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "GRACE", GRACE)


async def run(coroutine, seconds: float = FOREVER) -> object:
    return await within(seconds, coroutine)


async def ends_as(coroutine, seconds: float = FOREVER) -> object:
    """How driving it ends; bounded, and with this task as it was before."""
    async with asyncio.timeout(5):
        try:
            return await run(coroutine, seconds)
        except Exception as error:
            return (type(error), getattr(error, "abandoned", None))
        finally:
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0


PASSED = (DeadlinePassed, False)
ABANDONED = (DeadlinePassed, True)


async def returns():
    await asyncio.sleep(0)
    return "value"


async def raises():
    await asyncio.sleep(0)
    raise KeyError("x")


async def exits():
    await asyncio.sleep(0)
    raise SystemExit


async def raises_timeout():
    await asyncio.sleep(0)
    raise TimeoutError


async def cancels_itself():
    await asyncio.sleep(0)
    raise asyncio.CancelledError


async def awaits_a_cancelled_task():
    task = asyncio.ensure_future(asyncio.sleep(FOREVER))
    task.cancel()
    await task


async def many_steps():
    for _ in range(100):
        await asyncio.sleep(0)
    return 100


@pytest.mark.parametrize(
    ("body", "end"),
    [
        (returns, "value"),
        (many_steps, 100),
        (raises, (KeyError, None)),
        (raises_timeout, (TimeoutError, None)),
        (exits, (WrappedBaseException, None)),
        (cancels_itself, (CancelledInside, None)),
        (awaits_a_cancelled_task, (CancelledInside, None)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_a_coroutine_that_ends_in_time_ends_as_it_would_by_itself(body, end):
    assert await ends_as(body()) == end


async def sleeps():
    await asyncio.sleep(FOREVER)


async def cleans_up():
    try:
        await asyncio.sleep(FOREVER)
    finally:
        await asyncio.sleep(GRACE / 5)


async def obeys_the_second_time():
    try:
        await asyncio.sleep(FOREVER)
    except asyncio.CancelledError:
        await asyncio.sleep(FOREVER)


async def gives_a_value_late():
    try:
        await asyncio.sleep(FOREVER)
    except asyncio.CancelledError:
        await asyncio.sleep(0)
        return "what there is"


async def fails_to_clean_up():
    try:
        await asyncio.sleep(FOREVER)
    finally:
        raise KeyError("x")


async def never_listens():
    end = asyncio.get_running_loop().time() + GRACE * 4
    while asyncio.get_running_loop().time() < end:
        try:
            await asyncio.sleep(GRACE / 5)
        except asyncio.CancelledError:
            continue


@pytest.mark.parametrize(
    ("body", "end"),
    [
        (sleeps, PASSED),
        (cleans_up, PASSED),
        (obeys_the_second_time, PASSED),
        (gives_a_value_late, "what there is"),
        (fails_to_clean_up, (KeyError, None)),
        (never_listens, ABANDONED),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_at_its_deadline_a_coroutine_is_cancelled_and_at_last_abandoned(body, end):
    assert await ends_as(body(), seconds=0.01) == end


async def test_an_abandoned_coroutine_is_counted_until_it_ends_by_itself():
    ended = asyncio.Event()

    async def body():
        await never_listens()
        ended.set()

    before = adrift()
    assert await ends_as(body(), seconds=0.01) == ABANDONED
    assert (adrift() - before, ended.is_set()) == (1, False)
    await asyncio.wait_for(ended.wait(), 5)
    await asyncio.sleep(0)
    assert adrift() == before


def test_an_abandoned_coroutine_does_not_hold_up_the_end_of_the_loop():
    listening = False

    async def deaf():
        while not listening:
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    async def main():
        assert await ends_as(deaf(), seconds=0.01) == ABANDONED

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    # What asyncio.run does at the end: cancel all tasks and wait for them.
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5))
    listening = True
    while left := asyncio.all_tasks(loop):
        loop.run_until_complete(asyncio.wait(left))
    loop.close()


async def slow_to_clean_up():
    try:
        await asyncio.sleep(FOREVER)
    finally:
        await asyncio.sleep(GRACE * 2)


async def inner_timeout():
    try:
        async with asyncio.timeout(0.01):
            await slow_to_clean_up()
    except TimeoutError:
        await asyncio.sleep(GRACE * 2)
        return "went on"


async def inner_timeout_with_quick_cleanup():
    try:
        async with asyncio.timeout(0.01):
            await cleans_up()
    except TimeoutError:
        # Longer than what is left of a grace that began, wrongly, at the inner timeout.
        await asyncio.sleep(GRACE * 2)
        return "went on"


async def inner_wait_for():
    try:
        await asyncio.wait_for(slow_to_clean_up(), 0.01)
    except TimeoutError:
        return "went on"


async def inner_group():
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(slow_to_clean_up())
            await asyncio.sleep(0)
            group.create_task(raises())
    except* KeyError:
        await asyncio.sleep(GRACE * 2)
    return "went on"


async def inner_group_that_fails_at_its_end():
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(cleans_up())
            group.create_task(raises())
    except* KeyError:
        await asyncio.sleep(GRACE * 2)
    return "went on"


@asynccontextmanager
async def background(*bodies):
    async with asyncio.TaskGroup() as group:
        for body in bodies:
            group.create_task(body())
        yield


async def inner_group_behind_a_generator():
    with suppress(BaseException):
        async with background(cleans_up, raises):
            pass
    await asyncio.sleep(0)
    return "went on"


async def inner_group_that_nobody_catches():
    async with asyncio.TaskGroup() as group:
        group.create_task(raises())


async def inner_group_that_succeeds():
    async with asyncio.TaskGroup() as group:
        task = group.create_task(returns())
    return task.result()


@pytest.mark.parametrize(
    ("body", "end"),
    [
        (inner_timeout, "went on"),
        (inner_timeout_with_quick_cleanup, "went on"),
        (inner_wait_for, "went on"),
        (inner_group, "went on"),
        (inner_group_that_fails_at_its_end, "went on"),
        (inner_group_behind_a_generator, "went on"),
        (inner_group_that_nobody_catches, (ExceptionGroup, None)),
        (inner_group_that_succeeds, "value"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_timeouts_and_task_groups_inside_take_all_the_time_they_need(body, end):
    assert await ends_as(body()) == end


@pytest.mark.parametrize("after", [sleeps, never_listens], ids=lambda body: body.__name__)
async def test_a_group_that_failed_earlier_does_not_confuse_the_deadline(after):
    async def body():
        await inner_group_that_fails_at_its_end()
        await after()

    end = PASSED if after is sleeps else ABANDONED
    assert await ends_as(body(), seconds=GRACE * 4) == end


async def test_a_cancelled_caller_ends_as_cancelled_after_a_group_that_failed():
    async def body():
        await inner_group_that_fails_at_its_end()
        await gives_a_value_late()

    caller = asyncio.create_task(run(body()))
    await asyncio.sleep(GRACE * 3.5)
    caller.cancel()
    await asyncio.wait([caller], timeout=5)
    assert caller.cancelled()


async def test_a_deadline_ends_an_inner_timeout_too():
    async def body():
        async with asyncio.timeout(FOREVER):
            await asyncio.sleep(FOREVER)

    assert await ends_as(body(), seconds=0.01) == PASSED


@pytest.mark.parametrize(
    "body",
    [sleeps, cleans_up, slow_to_clean_up, gives_a_value_late, fails_to_clean_up, never_listens],
    ids=lambda body: body.__name__,
)
async def test_a_cancelled_caller_ends_as_cancelled_whatever_the_coroutine_makes_of_it(body):
    caller = asyncio.create_task(run(body()))
    await asyncio.sleep(0.001)
    caller.cancel()
    await asyncio.wait([caller], timeout=5)
    assert caller.cancelled()


async def test_a_caller_cancelled_during_the_grace_ends_as_cancelled():
    caller = asyncio.create_task(run(never_listens(), 0.01))
    await asyncio.sleep(0.01 + GRACE / 2)
    assert not caller.done()
    caller.cancel()
    await asyncio.wait([caller], timeout=5)
    assert caller.cancelled()


async def test_a_caller_that_was_cancelled_before_can_still_drive_while_it_cleans_up():
    ends = []

    async def caller():
        try:
            await asyncio.sleep(FOREVER)
        finally:
            ends.append(await run(returns()))
            with pytest.raises(DeadlinePassed):
                await run(sleeps(), 0.01)
            ends.append("timed out")

    task = asyncio.create_task(caller())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task], timeout=5)
    assert (task.cancelled(), ends) == (True, ["value", "timed out"])


async def test_the_coroutine_keeps_its_context_at_every_step():
    variable = ContextVar("variable", default="outside")

    async def body():
        variable.set("inside")
        seen = []
        for _ in range(3):
            await asyncio.sleep(0)
            seen.append(variable.get())
        return seen

    assert await run(body()) == ["inside"] * 3
    assert variable.get() == "outside"


async def test_a_coroutine_is_closed_with_whoever_drives_it():
    closed = []

    async def body():
        try:
            await asyncio.Future()
        finally:
            closed.append(True)

    driving = run(body())
    driving.send(None)
    await asyncio.sleep(0)
    assert closed == []
    driving.close()
    for _ in range(3):
        await asyncio.sleep(0)
    assert closed == [True]


async def test_a_coroutine_that_never_waits_ends_by_itself_whatever_the_deadline():
    async def body():
        return "value"

    assert await ends_as(body(), seconds=0) == "value"


async def test_an_abandoned_coroutine_that_is_cancelled_again_ends_there():
    closed = []

    async def deaf():
        try:
            while True:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(FOREVER)
        finally:
            closed.append(True)

    before = adrift()
    assert await ends_as(deaf(), seconds=0.01) == ABANDONED
    (left,) = (task for task in asyncio.all_tasks() if task.get_name() == "rightcall: abandoned")
    assert (adrift() - before, closed) == (1, [])
    left.cancel()
    await asyncio.wait([left], timeout=5)
    await asyncio.sleep(0)
    assert (left.cancelled(), adrift(), closed) == (True, before, [True])


async def fails_late():
    with suppress(asyncio.CancelledError):
        await never_listens()
    raise KeyError("x")


@pytest.mark.parametrize("body", [fails_to_clean_up, fails_late], ids=lambda body: body.__name__)
@pytest.mark.parametrize("cancelled", [False, True])
async def test_nobody_is_told_of_an_exception_that_nobody_waits_for(body, cancelled):
    told = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    before = adrift()
    caller = asyncio.create_task(run(body(), 0.01))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    if cancelled:
        caller.cancel()
    await asyncio.wait([caller], timeout=5)
    assert caller.cancelled() or isinstance(caller.exception(), KeyError | DeadlinePassed)
    assert caller.cancelled() is cancelled
    async with asyncio.timeout(5):
        while adrift() > before:
            await asyncio.sleep(GRACE)
    del caller
    gc.collect()
    assert told == []


@pytest.mark.parametrize(
    ("body", "seconds"),
    [(returns, FOREVER), (raises, FOREVER), (exits, FOREVER), (cancels_itself, FOREVER), (sleeps, 0.01)],
    ids=["returns", "raises", "exits", "cancels-itself", "sleeps"],
)
async def test_nothing_is_left_to_the_garbage_collector(body, seconds):
    class Witness:
        pass

    async def watched(_witness):
        return await body()

    witness = Witness()
    alive = weakref.ref(witness)
    gc.collect()
    gc.disable()
    try:
        coroutine = watched(witness)
        del witness
        with suppress(Exception):
            await within(seconds, coroutine)
        del coroutine
        await asyncio.sleep(0)
        assert alive() is None
    finally:
        gc.enable()


async def test_it_can_be_seen_where_a_coroutine_stands():
    caller = asyncio.create_task(run(sleeps()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    (task,) = asyncio.all_tasks() - {caller, asyncio.current_task()}
    assert [frame.f_code.co_name for frame in task.get_stack()] == ["sleeps"]
    assert "sleeps() running at" in repr(task)
    caller.cancel()
    await asyncio.wait([caller], timeout=5)


async def test_a_scope_of_anyio_around_it_ends_as_scopes_do():
    with anyio.move_on_after(GRACE) as scope:
        await run(sleeps())
    assert scope.cancelled_caught
    with pytest.raises(TimeoutError), anyio.fail_after(GRACE):
        await run(cleans_up(), 10 * GRACE)


async def test_a_cancelled_caller_is_told_what_was_said_to_it():
    caller = asyncio.create_task(run(sleeps()))
    await asyncio.sleep(0)
    caller.cancel("because")
    with pytest.raises(asyncio.CancelledError, match="because"):
        await caller


@pytest.mark.parametrize("cancelled", [False, True], ids=["by-itself", "while-it-cleans-up"])
async def test_an_interrupt_is_raised_where_the_coroutine_was_awaited(cancelled):
    async def leaves():
        try:
            await asyncio.sleep(FOREVER if cancelled else 0)
        finally:
            raise KeyboardInterrupt

    async def catches():
        try:
            await run(leaves())
        except KeyboardInterrupt:
            return "caught"

    caller = asyncio.create_task(catches())
    await asyncio.sleep(GRACE)
    if cancelled:
        caller.cancel()
    assert await caller == "caught"


async def test_a_deadline_that_was_not_needed_keeps_nothing_of_its_caller():
    class Large:
        """What a caller has in its context."""

    variable: ContextVar[Large | None] = ContextVar("large", default=None)

    async def call() -> weakref.ref:
        large = Large()
        variable.set(large)
        await within(3600, asyncio.sleep(0))
        return weakref.ref(large)

    # The event loop drops a cancelled timer at once only if no other is due before it.
    earlier = asyncio.get_running_loop().call_later(60, print)
    kept = await asyncio.create_task(call())
    await asyncio.sleep(0)  # the event loop's current step refers to the task that has ended
    gc.collect()
    assert kept() is None
    earlier.cancel()
