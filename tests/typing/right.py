"""Sixty typed programs that mypy --strict and pyright accept; test_programs.py has both look. Never run."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypedDict, assert_type

import msgspec
from pydantic import BaseModel

import rightcall as rc


class Order(BaseModel):
    """An order."""

    number: int
    items: list[str] = []


class Refund(BaseModel):
    """A refund."""

    amount: float


class City(TypedDict):
    name: str


@dataclass
class Point:
    x: int


class Note(msgspec.Struct):
    text: str


class Size(Enum):
    SMALL = "small"


class Database:
    def find(self, key: str) -> str:
        return key


class Mailer: ...


@rc.tool
def add(left: int, right: int = 0) -> int:
    return left + right


@rc.tool
def find(context: rc.Context[Database], key: str) -> str:
    return context.dependencies.find(key)


@rc.tool(effect="read", timeout=5)
async def look(key: str, context: rc.Context[Database]) -> str:
    return context.dependencies.find(key)


@rc.tool
def log(text: str, context: rc.Context) -> str:
    return f"{context.run} {text}"


def plain(text: str) -> str:
    return text


def with_plain_context(text: str, context: rc.Context[Database]) -> str:
    return context.dependencies.find(text)


# What a run answers with.


async def p01() -> None:
    assert_type((await rc.Agent("m").run("x")).output, str)


def p02() -> None:
    assert_type(rc.Agent("m", [add]).run_sync("x").output, str)


def p03() -> None:
    agent: rc.Agent[None, str] = rc.Agent("m")
    assert_type(agent.run_sync("x").output, str)


def p04() -> None:
    assert_type(rc.Agent("m", output=Order).run_sync("x").output, Order)


def p05() -> None:
    assert_type(rc.Agent("m", output=Order | Refund).run_sync("x").output, Order | Refund)


def p06() -> None:
    assert_type(rc.Agent("m", output=Literal["yes", "no"]).run_sync("x").output, Literal["yes", "no"])


def p07() -> None:
    assert_type(rc.Agent("m", output=list[Order]).run_sync("x").output, list[Order])


def p08() -> None:
    assert_type(rc.Agent("m", output=City).run_sync("x").output["name"], str)


def p09() -> None:
    assert_type(rc.Agent("m", output=Point).run_sync("x").output.x, int)


def p10() -> None:
    assert_type(rc.Agent("m", output=Note).run_sync("x").output.text, str)


def p11() -> None:
    assert_type(rc.Agent("m", output=int).run_sync("x").output, int)


def p12() -> None:
    assert_type(rc.Agent("m", output=Order | None).run_sync("x").output, Order | None)


def p13() -> None:
    assert_type(rc.Agent("m", output=dict[str, Order]).run_sync("x").output, dict[str, Order])


def p14() -> None:
    assert_type(rc.Agent("m", output=Size).run_sync("x").output, Size)


def p15() -> None:
    assert_type(rc.Agent("m", output=tuple[int, str]).run_sync("x").output, tuple[int, str])


def p16() -> None:
    result = rc.Agent("m", output=Order | Refund).run_sync("x")
    match result.output:
        case Order(number=number):
            assert_type(number, int)
        case Refund(amount=amount):
            assert_type(amount, float)


# rc.Output, with more settings.


def p17() -> None:
    assert_type(rc.Agent("m", output=rc.Output(Order, retries=1)).run_sync("x").output, Order)


def p18() -> None:
    agent = rc.Agent("m", output=rc.Output(Order, on_no_output="return"))
    assert_type(agent.run_sync("x").output, Order | None)


def p19() -> None:
    assert_type(rc.Agent("m", output=rc.Output(Order | Refund)).run_sync("x").output, Order | Refund)


def p20() -> None:
    assert_type(rc.Agent("m", output=rc.Output(mode="json")).run_sync("x").output, dict[str, Any])


def p21() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert_type(rc.Agent("m", output=rc.Output(schema)).run_sync("x").output, Any)


def p22() -> None:
    def check(order: Order) -> None:
        if order.number < 0:
            raise ValueError("no such order")

    assert_type(rc.Agent("m", output=rc.Output(Order, check=check)).run_sync("x").output, Order)


def p23() -> None:
    async def check(order: Order, context: rc.Context[Database]) -> Order:
        context.dependencies.find(str(order.number))
        return order

    assert_type(rc.Agent("m", output=rc.Output(Order, check=check)).run_sync("x").output, Order)


def p24() -> None:
    agent = rc.Agent("m", output=Order)

    @agent.validate
    def check(order: Order) -> None:
        assert order.items

    assert_type(agent.run_sync("x").output, Order)


def p25() -> None:
    agent = rc.Agent[Database, Order]("m", [find], output=Order)

    @agent.validate
    async def check(order: Order, context: rc.Context[Database]) -> None:
        context.dependencies.find(order.items[0])


# The other ways to run.


async def p26() -> None:
    async for event in rc.Agent("m", output=Order).stream("x"):
        if isinstance(event, rc.events.RunEnd):
            assert_type(event.result.output, Order)


async def p27() -> None:
    stream = rc.Agent("m", output=Order).stream("x")
    async for event in stream:
        if isinstance(event, rc.events.TextDelta):
            assert_type(event.text, str)
    assert_type(stream.result.output, Order)


async def p28() -> None:
    async for order in rc.Agent("m", output=Order).stream("x").outputs():
        assert_type(order, Order)


async def p29() -> None:
    agent = rc.Agent("m", output=Order)
    paused = await agent.run("x")
    assert_type((await agent.resume(paused, {paused.pending[0].call_id: True})).output, Order)


def p30() -> None:
    agent = rc.Agent("m", output=list[int])
    paused = agent.run_sync("x")
    assert_type(agent.resume_sync(paused, {"a": rc.Deny("no")}).output, list[int])


async def p31() -> None:
    assert_type((await rc.Agent("m", output=Order).recover("r")).output, Order)


async def p32() -> None:
    done = await rc.batching.batch(rc.Agent("m", output=Order), ["a", "b"])
    assert_type([item.output for item in done], list[Order])


async def p33() -> None:
    done = await rc.batching.batch(rc.Agent("m"), ["a"])
    assert_type(done[0].output, str)


def p34() -> None:
    assert_type(rc.RunResult.from_json(b"", output=Order).output, Order)


def p35() -> None:
    assert_type(rc.RunResult.from_json(b"", output=Order | Refund).output, Order | Refund)


def p36() -> None:
    try:
        rc.Agent("m", output=Order).run_sync("x")
    except rc.errors.NoOutput as error:
        rc.RunResult.from_json(error.result.to_json())


# Dependencies.


def p37() -> None:
    assert_type(rc.Agent("m", [find]), rc.Agent[Database, str])


def p38() -> None:
    rc.Agent("m", [find]).run_sync("x", dependencies=Database())


async def p39() -> None:
    result = await rc.Agent("m", [find, look, add], output=Order).run("x", dependencies=Database())
    assert_type(result.output, Order)


def p40() -> None:
    rc.Agent("m", [with_plain_context]).run_sync("x", dependencies=Database())


def p41() -> None:
    rc.Agent("m", [log]).run_sync("x")


def p42() -> None:
    rc.Agent("m").run_sync("x", dependencies=Mailer())


async def p43() -> None:
    agent = rc.Agent[Database, str]("m", [find, plain, len])
    async for _ in agent.stream("x", dependencies=Database()):
        pass


def p44() -> None:
    agent = rc.Agent("m", [look])
    paused = agent.run_sync("x", dependencies=Database())
    agent.resume_sync(paused, {"a": True}, dependencies=Database())


def p45() -> None:
    async def instructions(context: rc.Context[Database]) -> str:
        return context.dependencies.find("rules")

    rc.Agent[Database, str]("m", [find], instructions)


def p46() -> None:
    helper = rc.Agent("m", [find])
    boss = rc.Agent[Database, str]("m", [helper.as_tool(), look])
    boss.run_sync("x", dependencies=Database())


def p47() -> None:
    helper = rc.Agent("m")
    assert_type(
        rc.Agent("m", [helper.as_tool(), find]).run_sync("x", dependencies=Database()).output, str
    )


# Tools and options.


class Account:
    @rc.tool
    def balance(self, currency: str) -> float:
        return float(len(currency))


def p48() -> None:
    assert_type(add(1, right=2), int)


async def p49() -> None:
    assert_type(await look("x", rc.Context(call_id="", tool="", dependencies=Database())), str)


def p50() -> None:
    rc.Agent("m", [Account().balance, rc.Toolbox(add), [plain]])


def p51() -> None:
    rc.Agent("m", [rc.Toolbox.of(Account()), add])


def p52() -> None:
    rc.Agent("m", name="clerk", budget=rc.Budget(turns=3), options={"temperature": 0.5})


def p53() -> None:
    kept: rc.models.ModelOptions = {"seed": 1, "extra": {"anything": True}}
    rc.Agent("m", options=kept, errors="words")


async def p54() -> None:
    result = await rc.Agent("m").run("x", budget=rc.Budget(calls=1), history=())
    await rc.Agent("m").run("y", history=result.transcript)


def p55() -> None:
    rc.Agent(["m", "n"], tools=None, policy=lambda checked: rc.Deny("no") if checked.call.id else None)


def p56() -> None:
    messages: list[rc.User | rc.Reply | rc.Results] = [rc.User((rc.Text("Hi"),)), rc.Reply(())]
    rc.Agent("m").run_sync([*messages, rc.User((rc.Text("?"),))])


def p57() -> None:
    rc.Agent("m").run_sync(["What is this?", Path("a.png"), rc.image("b.png")])


class Echo:
    profile = rc.models.Profile()

    async def stream(self, request: rc.models.Request) -> AsyncIterator[rc.events.ModelEvent]:
        yield rc.events.TextDelta(request.system)


def p58() -> None:
    assert_type(rc.Agent(Echo(), output=Order).run_sync("x").calls, tuple[rc.events.CallRecord, ...])


async def p59(agent: rc.Agent[Any, Any]) -> None:
    await agent.run("x")


async def p60() -> None:
    await p59(rc.Agent("m", [find], output=Order))
