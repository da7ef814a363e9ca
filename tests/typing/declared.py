"""What a type checker makes of declared tools. Checked by mypy in ``make check``, never run."""

from typing import assert_type

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
    assert_type(rc.Agent("embedded"), rc.Agent[None])
    agent = rc.Agent("embedded", [add], output=Answer)
    assert_type(agent, rc.Agent[Answer])
    assert_type((await agent.run("x")).output, Answer)
    assert_type(agent.run_sync("x").output.text, str)
    assert_type(rc.Agent("embedded", output=int, name="a").run_sync("x").output, int)
    rc.Agent("embedded", polcy=None)  # type: ignore[call-overload]
    await agent.run("x", budjet=rc.Budget())  # type: ignore[call-arg]
