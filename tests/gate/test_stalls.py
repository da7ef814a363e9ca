"""Whatever a tool is given, returns or raises, the event loop turns, and the call has its result."""

import asyncio
import io
import itertools
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import pytest
from pydantic import BaseModel, PlainSerializer, computed_field, field_serializer, model_serializer

import rightcall as rc
from rightcall.core.outcome import TimedOut
from rightcall.gate.size import MOST_VALUES
from watchdog import LONGEST, stall_of

SECONDS = 5


def giving(make: Callable[[], Any], *, timeout: float = 60.0, is_async: bool = True) -> rc.Tool:
    """A tool that returns what ``make`` gives."""
    limits = rc.Limits(timeout=timeout)

    async def give() -> Any:
        return make()

    def give_blocking() -> Any:
        return make()

    function = give if is_async else give_blocking
    return rc.tool(function, name="give", limits=limits)


async def run(tool: rc.Tool, arguments: str = "") -> rc.gate.Execution:
    asked = rc.Call(id="c1", name=tool.name, arguments=arguments)
    async with asyncio.timeout(SECONDS):
        (done,) = await rc.run_calls([asked], tool)
    return done


class Model(BaseModel):
    numbers: list[int]


@dataclass
class Data:
    numbers: list[int]


class Struct(msgspec.Struct):
    numbers: list[int]


class Endless:
    """Says that it is short."""

    def __len__(self) -> int:
        return 3

    def __contains__(self, item: object) -> bool:
        return True

    def __iter__(self) -> Iterator[int]:
        return itertools.count()


MANY = [7] * 20_000_000
VALUES = "is too large to be shown: it holds more than 500,000 values. Ask for less of it."
TEXT = "is too large to be shown: it holds more than 16,777,216 characters of text. Ask for less of it."
LARGE: dict[str, tuple[Callable[[], Any], str]] = {
    "a list": (lambda: MANY, VALUES),
    "a tuple in an object": (lambda: {"found": [tuple(MANY[:600_000])]}, VALUES),
    "an object": (lambda: dict.fromkeys(range(1_000_000), "x"), VALUES),
    "a model": (lambda: Model.model_construct(numbers=MANY), VALUES),
    "a dataclass": (lambda: [Data(MANY)], VALUES),
    "a struct": (lambda: Struct(MANY), VALUES),
    "a range": (lambda: range(10**12), VALUES),
    "a deque": (lambda: deque(MANY[:600_000]), VALUES),
    "an endless collection": (Endless, "cannot be shown."),
    "texts": (lambda: ["x" * 10_000_000, "x" * 10_000_000], TEXT),
    "bytes": (lambda: {"data": b"x" * 20_000_000}, TEXT),
    "a number": (
        lambda: [1 << 10_000_000],
        "is too large to be shown: it holds a number of more than 4,300 digits. Ask for less of it.",
    ),
    "numbers": (lambda: [1 << 14_000] * 10_000, VALUES),
    "a generator": (lambda: [itertools.count()], "cannot be shown."),
}


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("name", LARGE)
async def test_an_enormous_return_is_soon_a_failure_in_words_and_the_loop_turns(name, is_async):
    make, words = LARGE[name]
    value = make()
    tool = giving(lambda: value, is_async=is_async)

    async def scenario() -> None:
        begun = time.monotonic()
        done = await run(tool)
        assert (done.outcome.kind, done.result.text) == (
            "failed",
            f"give ran, but what it returned {words}",
        )
        assert done.outcome.error
        assert time.monotonic() - begun < 3

    assert await stall_of(scenario) < LONGEST


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


class Shorter(BaseModel):
    """A large value that is written as a small one."""

    numbers: list[int]

    @model_serializer
    def write(self) -> dict[str, int]:
        return {"count": len(self.numbers)}


class ShorterFields(BaseModel):
    kept: Annotated[list[int], PlainSerializer(len)]
    numbers: list[int]

    @field_serializer("numbers")
    def write(self, numbers: list[int]) -> int:
        return len(numbers)


SHOWN: dict[str, tuple[Callable[[], Any], Callable[[str], bool]]] = {
    "a text": (lambda: "x" * 200_000_000, lambda text: "of 200,000,000 bytes left out" in text),
    "other letters": (lambda: "é" * 50_000_000, lambda text: "of 100,000,000 bytes left out" in text),
    "a half": (lambda: "é\ud800" * 10_000_000, lambda text: text.startswith("é?é?")),
    "a file": (lambda: io.StringIO("x" * 100_000_000), lambda text: "left out" in text),
    "many bytes": (lambda: bytearray(100_000_000), lambda text: "left out: more than 5,242,880" in text),
    "a list within bounds": (lambda: MANY[:400_000], lambda text: "of 800,001 bytes left out" in text),
    "a model within bounds": (
        lambda: Model.model_construct(numbers=MANY[:400_000]),
        lambda text: "left out" in text,
    ),
    "a model put shorter": (
        lambda: Shorter.model_construct(numbers=MANY),
        lambda text: text == '{"count":20000000}',
    ),
    "fields put shorter": (
        lambda: ShorterFields.model_construct(numbers=MANY, kept=MANY),
        lambda text: text == '{"kept":20000000,"numbers":20000000}',
    ),
}


@pytest.mark.parametrize("name", SHOWN)
async def test_a_large_return_is_written_and_cut_and_the_loop_turns(name):
    make, fits = SHOWN[name]

    async def scenario() -> None:
        done = await run(giving(lambda: value))
        assert (done.outcome.kind, fits(done.result.text)) == ("returned", True)

    value = make()
    if not isinstance(value, io.StringIO):
        assert await stall_of(scenario) < LONGEST
    else:
        await scenario()


async def test_what_is_nested_too_deep_is_soon_a_failure_and_the_loop_turns():
    value = deep()

    async def scenario() -> None:
        done = await run(giving(lambda: value))
        assert done.result.text == "give ran, but what it returned cannot be shown."

    assert await stall_of(scenario) < LONGEST
    while value:
        # One level at a time: Python would take the stack for the rest.
        (value,) = value


class Leaves(BaseException):
    """No Exception, as a panic of an extension is none."""


def raising(error: BaseException) -> Callable[..., Any]:
    def do(*_: object) -> Any:
        raise error

    return do


def value_that(do: Callable[[], Any], kind: str) -> Any:
    """A value whose own code does something when it is written."""

    class Serialized(BaseModel):
        name: str = "x"

        @field_serializer("name")
        def write(self, _: str) -> Any:
            return do()

    class Computed(BaseModel):
        @computed_field
        def name(self) -> str:
            return do()

    class Property:
        __dataclass_fields__ = Data.__dataclass_fields__

        @property
        def numbers(self) -> Any:
            return do()

    class Listed:
        def tolist(self) -> Any:
            return do()

    class Sized(list[int]):
        def __iter__(self) -> Any:
            return do()

    kinds: dict[str, Any] = {
        "field": Serialized,
        "computed": Computed,
        "property": Property,
        "tolist": Listed,
    }
    return kinds[kind]()


KINDS = ("field", "computed", "property", "tolist")


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "error", [ValueError(), Leaves(), SystemExit(3), KeyboardInterrupt(), GeneratorExit()], ids=repr
)
async def test_a_value_that_raises_when_it_is_written_is_a_failed_call(kind, error, is_async):
    done = await run(giving(lambda: value_that(raising(error), kind), is_async=is_async))
    assert done.result.text == "give ran, but what it returned cannot be shown."
    assert type(error).__name__ in done.outcome.error


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_value_that_hangs_when_it_is_written_is_over_at_the_deadline(
    kind, is_async, own_threads
):
    go_on = threading.Event()

    async def scenario() -> None:
        make = lambda: value_that(lambda: go_on.wait(SECONDS), kind)  # noqa: E731
        done = await run(giving(make, timeout=0.15, is_async=is_async))
        assert done.outcome == TimedOut(0.15, abandoned=True)

    try:
        assert await stall_of(scenario) < LONGEST
    finally:
        go_on.set()


class Wordy(Exception):
    def __init__(self, do: Callable[[], str]) -> None:
        super().__init__()
        self.do = do

    def __str__(self) -> str:
        return self.do()


class WordyFailure(rc.ToolFailure):
    def __init__(self, do: Callable[[], str]) -> None:
        super().__init__("")
        self.do = do

    def __str__(self) -> str:
        return self.do()


@pytest.mark.parametrize("kind", [Wordy, WordyFailure])
async def test_an_error_whose_words_hang_or_raise_is_a_failed_call(kind, own_threads, monkeypatch):
    monkeypatch.setattr("rightcall.gate.attempt.GRACE", 0.1)
    go_on = threading.Event()

    @rc.tool
    async def hang() -> None:
        raise kind(lambda: go_on.wait(SECONDS))

    @rc.tool
    async def leave() -> None:
        raise kind(raising(Leaves()))

    @rc.tool
    async def say() -> None:
        raise kind(lambda: "the words")

    async def scenario() -> None:
        for tool in (hang, leave):
            done = await run(tool)
            neutral = f"{tool.name} failed for a reason it did not give."
            assert done.result.text in (neutral, f"{kind.__name__}: its message cannot be read")
            assert kind.__name__ in done.outcome.error

    try:
        assert await stall_of(scenario) < LONGEST
    finally:
        go_on.set()
    done = await run(say)
    assert "the words" in done.result.text + done.outcome.error


@pytest.mark.parametrize("is_cause", [True, False], ids=["cause", "context"])
async def test_an_error_behind_an_error_whose_words_hang_stalls_nothing(
    is_cause, own_threads, monkeypatch
):
    monkeypatch.setattr("rightcall.gate.attempt.GRACE", 0.1)
    go_on = threading.Event()

    @rc.tool
    async def fail() -> None:
        try:
            raise Wordy(lambda: go_on.wait(SECONDS))  # noqa: TRY301 - what the next one is raised upon
        except Wordy as error:
            if is_cause:
                raise ValueError("so") from error
            raise ValueError("so")  # noqa: B904 - what is behind it is what this is about

    async def scenario() -> None:
        done = await run(fail)
        assert done.outcome.error == "ValueError, whose words could not be had"

    try:
        assert await stall_of(scenario) < LONGEST
    finally:
        go_on.set()


async def test_an_enormous_failure_is_cut_and_the_loop_turns():
    @rc.tool
    async def fail() -> None:
        raise rc.ToolFailure("é" * 50_000_000)

    async def scenario() -> None:
        done = await run(fail)
        assert len(done.outcome.message.encode()) <= 1024 * 1024
        assert len(done.result.text.encode()) <= 64 * 1024

    assert await stall_of(scenario) < LONGEST


async def test_a_sound_value_is_written_in_the_same_thread_as_its_function_ran():
    seen: list[str] = []

    class Seen(BaseModel):
        @computed_field
        def thread(self) -> str:
            seen.append(threading.current_thread().name)
            return "x"

    @rc.tool
    def give() -> Seen:
        seen.append(threading.current_thread().name)
        return Seen()

    assert (await run(give)).result.text == '{"thread":"x"}'
    assert len(set(seen)) == 1
    assert seen[0] != threading.current_thread().name


def listed(items: int, wrong: bool) -> str:
    return json.dumps({"numbers": ["x" if wrong else number for number in range(items)]})


RAW = {
    "type": "object",
    "properties": {"numbers": {"type": "array", "items": {"type": "integer"}}},
    "required": ["numbers"],
}


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("repair", [False, True], ids=["plain", "repaired"])
@pytest.mark.parametrize("kind", ["typed", "raw"])
async def test_large_arguments_are_checked_and_the_loop_turns(kind, repair, wrong):
    @rc.tool(repair=repair)
    async def typed(numbers: list[int]) -> int:
        return len(numbers)

    async def handle(numbers: list[int]) -> int:
        return len(numbers)

    tool = typed if kind == "typed" else rc.Tool("raw", "Raw.", RAW, handle, repair=repair)
    text = listed(100_000, wrong)
    assert 500_000 < len(text) < tool.limits.max_arguments_bytes

    async def scenario() -> None:
        done = await run(tool, text)
        assert done.outcome.kind == ("invalid" if wrong else "returned")

    assert await stall_of(scenario) < LONGEST


def test_the_bounds_are_those_of_the_docs():
    assert MOST_VALUES == 500_000
