"""Forty typed programs with a mistake each, in the lines marked ``# wrong``: mypy --strict and pyright must
find every one, and nothing else. test_programs.py has both look. Never run.
"""

from typing import Literal, TypedDict

from pydantic import BaseModel

import rightcall as rc


class Order(BaseModel):
    number: int
    items: list[str] = []


class Refund(BaseModel):
    amount: float


class City(TypedDict):
    name: str


class Database: ...


class Mailer: ...


@rc.tool
def add(left: int, right: int = 0) -> int:
    return left + right


@rc.tool
def find(context: rc.Context[Database], key: str) -> str:
    return key


@rc.tool
def post(to: str, context: rc.Context[Mailer]) -> str:
    return to


# What a run answers with.


def w01() -> None:
    _: int = rc.Agent("m").run_sync("x").output  # wrong


def w02() -> None:
    rc.Agent("m").run_sync("x").output.number  # wrong


def w03() -> None:
    rc.Agent("m", output=Order).run_sync("x").output.numbr  # wrong


def w04() -> None:
    rc.Agent("m", output=Order | Refund).run_sync("x").output.number  # wrong


def w05() -> None:
    rc.Agent("m", output=Order | None).run_sync("x").output.number  # wrong


def w06() -> None:
    rc.Agent("m", output=rc.Output(Order, on_no_output="return")).run_sync("x").output.number  # wrong


def w07() -> None:
    _: Literal["a"] = rc.Agent("m", output=Literal["a", "b"]).run_sync("x").output  # wrong


def w08() -> None:
    rc.Agent("m", output=list[Order]).run_sync("x").output.number  # wrong


def w09() -> None:
    rc.Agent("m", output=City).run_sync("x").output["nam"]  # wrong


async def w10() -> None:
    (await rc.Agent("m", output=int).run("x")).output.real.upper()  # wrong


async def w11() -> None:
    async for order in rc.Agent("m", output=Order).stream("x").outputs():
        order.amount  # wrong


async def w12() -> None:
    stream = rc.Agent("m", output=Order).stream("x")
    stream.result.output.amount  # wrong


async def w13() -> None:
    agent = rc.Agent("m", output=Order)
    (await agent.resume(await agent.run("x"), {})).output.amount  # wrong


async def w14() -> None:
    (await rc.batching.batch(rc.Agent("m", output=Order), ["a"]))[0].output.amount  # wrong


def w15() -> None:
    rc.RunResult.from_json(b"", output=Order).output.amount  # wrong


def w16() -> None:
    _: rc.Agent[None, Refund] = rc.Agent("m", output=Order)  # wrong


def w17() -> None:
    rc.Agent("m", output=5)  # wrong


def w18() -> None:
    def check(refund: Refund) -> None: ...

    rc.Agent[None, Order]("m", output=rc.Output(Order, check=check))  # wrong


def w19() -> None:
    rc.Output(Order, retrys=1)  # wrong


def w20() -> None:
    rc.Output(Order, mode="xml")  # wrong


# Dependencies.


def w21() -> None:
    rc.Agent("m", [find]).run_sync("x")  # wrong


async def w22() -> None:
    await rc.Agent("m", [find]).run("x")  # wrong


async def w23() -> None:
    async for _ in rc.Agent("m", [find]).stream("x"):  # wrong
        pass


def w24() -> None:
    rc.Agent("m", [find]).run_sync("x", dependencies=Mailer())  # wrong


async def w25() -> None:
    agent = rc.Agent("m", [find])
    paused = await agent.run("x", dependencies=Database())
    await agent.resume(paused, {})  # wrong


def w26() -> None:
    rc.Agent[Database, str]("m", [find, post])  # wrong


def w27() -> None:
    rc.Agent[Mailer, str]("m", [rc.Agent("m", [find]).as_tool()])  # wrong


# Options.


def w28() -> None:
    rc.Agent("m", polcy=None)  # wrong


def w29() -> None:
    rc.Agent("m", [find], "Be brief.", output=Order, budgt=rc.Budget())  # wrong


def w30() -> None:
    rc.Agent("m", errors="loud")  # wrong


def w31() -> None:
    rc.Agent("m", options={"temprature": 1})  # wrong


def w32() -> None:
    rc.Agent("m", speculate="yes")  # wrong


def w33() -> None:
    rc.Agent("m", [find]).run_sync("x", dependencies=Database(), budjet=rc.Budget())  # wrong


def w34() -> None:
    rc.Agent("m", [find]).run_sync("x", dependencies=Database(), budget=5)  # wrong


def w35() -> None:
    rc.Budget(turn=5)  # wrong


def w36() -> None:
    rc.Agent("m").as_tool(nme="x")  # wrong


def w37() -> None:
    add("1")  # wrong


def w38() -> None:
    @rc.tool(efect="read")  # wrong
    def read() -> str:
        return ""


def w39() -> None:
    rc.Agent(model="m", tool=[add])  # wrong


async def w40() -> None:
    rc.Agent("m").run_sync("x").outpt  # wrong
