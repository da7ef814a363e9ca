"""Calling a built-in tool the way a model does."""

from typing import Any

from rightcall.core.jsontext import dump
from rightcall.core.parts import Call
from rightcall.core.tool import Tool
from rightcall.gate.execution import Execution
from rightcall.gate.executor import run_calls


async def use(tool: Tool, **arguments: Any) -> Execution:
    """One call through the gate, the executor and the renderer; a person says yes if asked."""

    async def approve(_: object) -> bool:
        return True

    call = Call(id="c", name=tool.name, arguments=dump(arguments))
    (done,) = await run_calls([call], [tool], approve=approve)
    return done


async def told(tool: Tool, **arguments: Any) -> tuple[str, str]:
    """The kind of outcome of one call, and the text the model reads."""
    done = await use(tool, **arguments)
    return done.outcome.kind, done.result.text
