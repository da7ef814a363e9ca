"""One call into its outcome: in its thread or its task, under its deadline, and again where it may."""

import argparse
import asyncio
import contextvars
import functools
import signal
import sys
import threading

import pytest
from pydantic import BaseModel

import rightcall as rc
from rightcall.core.outcome import Cancelled, Failed, Returned, TimedOut
from rightcall.gate import attempt as deadline
from rightcall.gate import concurrency

SECONDS = 5
"""How long a test waits for something that must happen."""


async def run(tool: rc.Tool, arguments: str = "", *, clock=None, **more) -> rc.gate.Execution:
    call = rc.Call(id="c1", name=tool.name, arguments=arguments)
    async with asyncio.timeout(SECONDS):
        (done,) = await rc.gate.Executor(clock=clock).execute([call], rc.Toolbox(tool), **more)
    return done


def stuck(event: threading.Event, seconds: float = 0.02) -> rc.Tool:
    """A tool that blocks its thread until the event is set."""

    @rc.tool(name="stuck", limits=rc.Limits(timeout=seconds))
    def wait() -> bool:
        return event.wait(SECONDS)

    return wait


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "rightcall.gate"]


def plain(number: int) -> int:
    return number + 1


async def plain_async(number: int) -> int:
    await asyncio.sleep(0)
    return number + 1


async def never_waits(number: int) -> int:
    return number + 1


class Adder:
    def __init__(self, amount: int) -> None:
        self.amount = amount

    def add(self, number: int) -> int:
        return number + self.amount

    async def __call__(self, number: int) -> int:
        return number + self.amount


@functools.wraps(plain_async)
def wrapped(*args, **kwargs):
    """An async function behind a decorator that is not."""
    return plain_async(*args, **kwargs)


def positional(number: int, /, *, more: int = 1) -> int:
    return number + more


@pytest.mark.parametrize(
    "function",
    [
        plain,
        plain_async,
        never_waits,
        wrapped,
        positional,
        Adder(1).add,
        Adder(1),
        functools.partial(positional, more=1),
    ],
    ids=lambda each: getattr(each, "__qualname__", type(each).__name__),
)
async def test_every_kind_of_function_runs(function):
    done = await run(rc.tool(function, name="add"), '{"number": 41}')
    assert (done.outcome, done.result.text, done.attempts) == (Returned(42), "42", 1)


async def test_a_raw_tool_gets_its_json_by_name():
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}
    tool = rc.Tool("raw", "", schema, lambda a, b=None: [a, b])
    assert (await run(tool, '{"a": {"x": 1}}')).outcome == Returned([{"x": 1}, None])


async def test_a_tool_without_a_handler_gives_its_arguments_back():
    class Form(BaseModel):
        name: str
        age: int = 0

    done = await run(rc.tool(Form), '{"name": "Ada"}')
    assert (done.outcome, done.result.text) == (Returned(Form(name="Ada")), '{"name":"Ada","age":0}')
    raw = rc.Tool("form", "", {"type": "object", "properties": {"x": {}}})
    assert (await run(raw, '{"x": [1]}')).outcome == Returned({"x": [1]})


def raises_key_error():
    raise KeyError("x")


async def raises_late():
    await asyncio.sleep(0)
    raise KeyError("x")


async def raises_at_once():
    raise KeyError("x")


def runs_dry():
    return next(iter([]))


async def runs_dry_async():
    return next(iter([]))


class Panic(BaseException):
    """As PyO3 raises it when Rust panics."""


def exits():
    raise SystemExit(3)


async def exits_async():
    raise SystemExit(3)


async def exits_late():
    await asyncio.sleep(0)
    raise SystemExit(3)


async def parses_wrong_options():
    argparse.ArgumentParser().parse_args(["--unknown"])


def interrupts():
    raise KeyboardInterrupt


def panics():
    raise Panic("index out of bounds")


async def panics_async():
    raise Panic("index out of bounds")


async def panics_in_a_group():
    async with asyncio.TaskGroup() as group:
        group.create_task(panics_async())


async def panics_when_cancelled():
    task = asyncio.current_task()
    asyncio.get_running_loop().call_soon(task.cancel)
    try:
        await asyncio.sleep(SECONDS)
    finally:
        raise Panic("index out of bounds")


def closes():
    raise GeneratorExit


async def closes_async():
    raise GeneratorExit


async def closes_late():
    await asyncio.sleep(0)
    raise GeneratorExit


async def inner_timeout():
    async with asyncio.timeout(0):
        await asyncio.sleep(SECONDS)


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (raises_key_error, "KeyError: 'x'"),
        (raises_late, "KeyError: 'x'"),
        (raises_at_once, "KeyError: 'x'"),
        (runs_dry, "StopIteration"),
        (runs_dry_async, "StopIteration"),
        (exits, "SystemExit: 3"),
        (exits_async, "SystemExit: 3"),
        (exits_late, "SystemExit: 3"),
        (parses_wrong_options, "SystemExit: 2"),
        (interrupts, "KeyboardInterrupt"),
        (panics, "Panic: index out of bounds"),
        (panics_async, "Panic: index out of bounds"),
        (panics_in_a_group, "Panic: index out of bounds"),
        (panics_when_cancelled, "Panic: index out of bounds"),
        (closes, "GeneratorExit"),
        (closes_async, "GeneratorExit"),
        (closes_late, "GeneratorExit"),
        (inner_timeout, "TimeoutError"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_whatever_a_tool_raises_is_a_failure_with_the_traceback_on_record(function, named):
    outcome = (await run(rc.tool(function, name="f"))).outcome
    assert isinstance(outcome, Failed)
    assert (named in outcome.message, outcome.retryable) == (True, False)
    assert "Traceback" in outcome.error.splitlines()[0]
    assert named in outcome.error
    assert function.__name__ in outcome.error


@pytest.mark.parametrize("retryable", [False, True])
async def test_a_failure_the_tool_foresaw_is_in_its_own_words(retryable):
    @rc.tool
    def f() -> None:
        raise rc.ToolFailure("Closed on Sundays.", retryable=retryable)

    done = await run(f)
    assert done.outcome == Failed("Closed on Sundays.", retryable=retryable)
    assert done.result.text == "Closed on Sundays."


async def cancelled_at_once():
    raise asyncio.CancelledError


async def cancelled_late():
    await asyncio.sleep(0)
    raise asyncio.CancelledError


def cancelled_in_a_thread():
    raise asyncio.CancelledError


@pytest.mark.parametrize("function", [cancelled_at_once, cancelled_late, cancelled_in_a_thread])
async def test_a_tool_that_cancels_itself_was_cancelled_and_nobody_else(function):
    done = await run(rc.tool(function, name="f"))
    assert (done.outcome, done.result.text) == (Cancelled(), "f was cancelled before it finished.")
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def cancels_its_task() -> str:
    asyncio.current_task().cancel()
    return "value"


async def cancels_its_task_and_waits() -> str:
    asyncio.current_task().cancel()
    await asyncio.sleep(0)
    return "value"


@pytest.mark.parametrize("function", [cancels_its_task, cancels_its_task_and_waits])
@pytest.mark.parametrize("calls", [1, 2])
async def test_a_tool_that_cancels_its_task_does_not_cancel_what_its_caller_awaits_next(function, calls):
    asked = [rc.Call(id=str(n), name="f") for n in range(calls)]
    done = await rc.run_calls(asked, rc.tool(function, name="f"))
    await asyncio.sleep(0)
    assert [each.outcome for each in done] == [Cancelled()] * calls
    assert asyncio.current_task().cancelling() == 0


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("calls", [1, 2])
def test_ctrl_c_is_never_swallowed(late, calls):
    @rc.tool
    async def interrupted() -> None:
        if late:
            await asyncio.sleep(0)
        signal.default_int_handler(signal.SIGINT, None)

    asked = [rc.Call(id=str(n), name="interrupted") for n in range(calls)]
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(rc.gate.Executor().execute(asked, rc.Toolbox(interrupted)))


class Handler:
    def __call__(self, *_: object) -> None:
        sys.exit(7)

    def leave(self, code: int, *_: object) -> None:
        raise SystemExit(code)


HANDLERS = {
    "function": lambda *_: sys.exit(7),
    "object": Handler(),
    "method": functools.partial(Handler().leave, 7),
}


@pytest.mark.parametrize("handler", HANDLERS.values(), ids=HANDLERS)
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("calls", [1, 2])
def test_a_signal_that_ends_the_program_ends_it_in_the_middle_of_a_tool(handler, late, calls):
    @rc.tool
    async def busy() -> None:
        if late:
            await asyncio.sleep(0)
        signal.raise_signal(signal.SIGUSR1)

    asked = [rc.Call(id=str(n), name="busy") for n in range(calls)]
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(SystemExit) as caught:
            asyncio.run(rc.gate.Executor().execute(asked, rc.Toolbox(busy)))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert caught.value.code == 7


async def test_a_blocking_tool_does_not_block_the_loop():
    released = threading.Event()

    @rc.tool
    def blocks() -> bool:
        return released.wait(SECONDS)

    running = asyncio.create_task(run(blocks))
    for _ in range(20):
        await asyncio.sleep(0)
    released.set()
    assert (await running).outcome == Returned(value=True)


variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


def look_and_set() -> str:
    seen = variable.get()
    variable.set("tool")
    return seen


async def look_and_set_async() -> str:
    seen = look_and_set()
    await asyncio.sleep(0)
    return f"{seen} {variable.get()}"


@pytest.mark.parametrize(
    ("function", "seen"), [(look_and_set, "caller"), (look_and_set_async, "caller tool")]
)
async def test_context_variables_are_seen_by_the_tool_and_set_for_nobody_else(function, seen):
    variable.set("caller")
    assert (await run(rc.tool(function, name="f"))).outcome == Returned(seen)
    assert variable.get() == "caller"


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_tool_is_told_about_its_call(is_async):
    seen: list[rc.Context[dict]] = []

    def sync(context: rc.Context[dict]) -> None:
        seen.append(context)

    async def later(context: rc.Context[dict]) -> None:
        seen.append(context)

    shared = {"database": object()}
    await run(rc.tool(later if is_async else sync, name="f"), dependencies=shared)
    (context,) = seen
    assert (context.call_id, context.tool, context.attempt, context.key) == ("c1", "f", 1, "c1")
    assert context.dependencies is shared
    assert context.is_cancelled() is False


async def test_a_thread_that_nobody_waits_for_can_find_out(own_threads):
    told = asyncio.Event()
    judged = threading.Event()
    loop = asyncio.get_running_loop()

    @rc.tool(limits=rc.Limits(timeout=0.02))
    def loops(context: rc.Context) -> None:
        while not context.is_cancelled():
            threading.Event().wait(0.001)
        loop.call_soon_threadsafe(told.set)
        judged.wait(SECONDS)

    outcome = (await run(loops)).outcome
    judged.set()
    assert outcome == TimedOut(0.02, abandoned=True)
    await asyncio.wait_for(told.wait(), SECONDS)


async def test_at_its_deadline_an_async_tool_is_cancelled():
    ended = []

    @rc.tool(limits=rc.Limits(timeout=0.01))
    async def waits() -> None:
        try:
            await asyncio.sleep(SECONDS)
        finally:
            ended.append(True)

    done = await run(waits)
    assert (done.outcome, ended) == (TimedOut(0.01), [True])


async def test_a_deaf_async_tool_is_abandoned_after_a_grace_and_logged(monkeypatch, caplog):
    monkeypatch.setattr(deadline, "GRACE", 0.02)
    listening = asyncio.Event()

    @rc.tool(limits=rc.Limits(timeout=0.01))
    async def deaf() -> None:
        while not listening.is_set():
            try:
                await listening.wait()
            except asyncio.CancelledError:
                continue

    done = await run(deaf)
    assert done.outcome == TimedOut(0.01, abandoned=True)
    assert logged(caplog) == ["deaf could not be stopped at its deadline; abandoned"]
    assert (await run(rc.tool(plain), '{"number": 1}')).outcome == Returned(2)
    listening.set()


async def test_a_stuck_thread_is_abandoned_counted_and_logged(own_threads, caplog):
    event = threading.Event()
    done = await run(stuck(event))
    assert done.outcome == TimedOut(0.02, abandoned=True)
    assert concurrency.tool_threads().abandoned_count == 1
    assert logged(caplog) == ["stuck could not be stopped at its deadline; abandoned"]
    assert (await run(rc.tool(plain), '{"number": 1}')).outcome == Returned(2)
    event.set()
    async with asyncio.timeout(SECONDS):
        while concurrency.tool_threads().abandoned_count:
            await asyncio.sleep(0.001)


async def test_when_too_many_threads_are_stuck_the_model_is_told_so(own_threads, monkeypatch):
    monkeypatch.setattr(concurrency, "MAX_ABANDONED", 2)
    event = threading.Event()
    for _ in range(2):
        await run(stuck(event))
    done = await run(rc.tool(plain), '{"number": 1}')
    words = "Too many earlier calls are stuck and still running; try again later."
    assert (done.outcome, done.result.text) == (Failed(words, own=True), words)
    assert (await run(rc.tool(plain_async), '{"number": 1}')).outcome == Returned(2)
    event.set()


async def test_a_hundred_megabytes_come_back_as_much_as_the_cap_allows():
    @rc.tool
    def flood() -> str:
        return "é" * 50_000_000

    done = await run(flood)
    assert len(done.result.text.encode()) <= 64 * 1024
    assert "of 100,000,000 bytes left out here" in done.result.text


@pytest.mark.parametrize(
    "value", [object(), (n for n in [1]), {"deep": [lambda: 1]}], ids=["object", "generator", "deep"]
)
async def test_a_value_that_cannot_be_shown_is_a_failure_and_the_next_call_runs(value):
    @rc.tool
    async def f() -> object:
        return value

    done = await run(f)
    assert isinstance(done.outcome, Failed)
    assert done.outcome.message == "f ran, but what it returned cannot be shown."
    assert "Unshowable" in done.outcome.error
    assert done.result.text == done.outcome.message
    assert (await run(rc.tool(plain), '{"number": 1}')).outcome == Returned(2)
