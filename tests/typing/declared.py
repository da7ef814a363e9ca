"""What a type checker makes of declared tools. Checked by mypy in ``make check``, never run."""

from typing import Any, assert_type

from pydantic import BaseModel

import rightcall as rc
from rightcall.core.outcome import Outcome
from rightcall.declare.function import FunctionTool


@rc.tool
def add(left: int, right: int = 0) -> int:
    return left + right


@rc.tool(effect="read", limits=rc.Limits(timeout=5))
async def fetch(url: str) -> bytes:
    return url.encode()


class Answer(BaseModel):
    text: str


class Account:
    @rc.tool
    def balance(self, currency: str) -> float:
        return float(len(currency))


async def uses() -> None:
    assert_type(add(1, right=2), int)
    assert_type(await fetch("x"), bytes)
    assert_type(rc.tool(Answer), rc.Tool)
    bound: FunctionTool[..., float] = Account().balance
    rc.Toolbox(add, fetch, Answer, [bound, rc.Toolbox(add)])
    (done,) = await rc.run_calls([rc.Call(id="1", name="add")], [add])
    assert_type(done.outcome, Outcome)
    add("1")  # type: ignore[arg-type]
    rc.tool(add, effect="sometimes")  # type: ignore[call-overload]


async def runs() -> None:
    assert_type(rc.Agent("embedded"), rc.Agent[Any, str])
    agent = rc.Agent("embedded", [add], output=Answer)
    assert_type(agent, rc.Agent[Any, Answer])
    assert_type((await agent.run("x")).output, Answer)
    assert_type(agent.run_sync("x").output.text, str)
    assert_type(rc.Agent("embedded", output=int, name="a").run_sync("x").output, int)
    rc.Agent("embedded", polcy=None)  # type: ignore[call-arg]
    await agent.run("x", budjet=rc.Budget())  # type: ignore[call-overload]
    rc.Agent("embedded", options={"temprature": 1})  # type: ignore[arg-type]
    kept: rc.models.ModelOptions = {"temperature": 0.5, "extra": {"anything": 1}}
    rc.Agent("embedded", options=kept)
    stored = rc.RunResult.from_json(b"", output=Answer)
    assert_type(stored.output, Answer)


class Database: ...


class Mailer: ...


@rc.tool
def ask_first(context: rc.Context[Database], query: str) -> str:
    return query


@rc.tool(timeout=5, retries=2, retry_on=(ConnectionError,))
async def ask_last(query: str, context: rc.Context[Database]) -> str:
    return query


@rc.tool
def post(to: str, body: str, context: rc.Context[Mailer]) -> str:
    return to + body


@rc.tool
def show(value: object) -> str:
    return str(value)


def plain(text: str) -> str:
    return text


class Account2:
    @rc.tool
    def owner(self, name: str, context: rc.Context[Database]) -> str:
        return name


async def dependencies() -> None:
    database, mailer = Database(), Mailer()
    assert_type(show(5), str)
    agent = rc.Agent[Database, Answer]("embedded", [ask_first, ask_last, show], output=Answer)
    assert_type(agent, rc.Agent[Database, Answer])
    assert_type((await agent.run("x", dependencies=database)).output, Answer)
    await agent.run("x", dependencies=mailer)  # type: ignore[arg-type]
    rc.Agent[Database, str]("embedded", [ask_first, plain, len, Answer, [show, [ask_last]]])
    rc.Agent[Database, str]("embedded", rc.Toolbox(ask_first))
    rc.Agent[Database, str]("embedded", [ask_first, post])  # type: ignore[list-item]
    rc.Agent[Database, str]("embedded", post)  # type: ignore[arg-type]
    rc.Agent[Mailer, str]("embedded", [Account2().owner])  # type: ignore[list-item]
    # Without being told, an agent needs what its tools need.
    assert_type(rc.Agent("embedded", [ask_first, show]), rc.Agent[Database, str])
    rc.Agent("embedded", [ask_last]).run_sync("x", dependencies=mailer)  # type: ignore[arg-type]
    rc.Agent("embedded", [show]).run_sync("x", dependencies=mailer)
    rc.Agent("embedded").run_sync("x", dependencies=mailer)
    helper: rc.Tool[Database] = agent.as_tool()
    rc.Agent[Mailer, str]("embedded", [helper])  # type: ignore[list-item]
    await agent.recover("r", dependencies=mailer)  # type: ignore[arg-type]
