"""What a type checker makes of declared tools. Checked by mypy in ``make check``, never run."""

from typing import assert_type

from pydantic import BaseModel

import toolwright as tw
from toolwright.core.outcome import Outcome
from toolwright.declare.function import FunctionTool


@tw.tool
def add(left: int, right: int = 0) -> int:
    return left + right


@tw.tool(effect="read", limits=tw.Limits(timeout=5))
async def fetch(url: str) -> bytes:
    return url.encode()


class Answer(BaseModel):
    text: str


class Account:
    @tw.tool
    def balance(self, currency: str) -> float:
        return float(len(currency))


async def uses() -> None:
    assert_type(add(1, right=2), int)
    assert_type(await fetch("x"), bytes)
    assert_type(tw.tool(Answer), tw.Tool)
    bound: FunctionTool[..., float] = Account().balance
    tw.Toolbox(add, fetch, Answer, [bound, tw.Toolbox(add)])
    (done,) = await tw.run_calls([tw.Call(id="1", name="add")], [add])
    assert_type(done.outcome, Outcome)
    add("1")  # type: ignore[arg-type]
    tw.tool(add, effect="sometimes")  # type: ignore[call-overload]
