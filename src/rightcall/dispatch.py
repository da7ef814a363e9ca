"""Calls through the gate, with tools from anything that can become one."""

from collections.abc import Sequence
from typing import Any

from rightcall.core.call import Call, CheckedCall
from rightcall.core.outcome import Outcome
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.execute import check as gate
from rightcall.execute.executor import Approve, Execution, Executor


def check(call: Call, tools: ToolSource) -> CheckedCall | Outcome:
    """Judge one call without running it: a checked call, or the outcome that says why not."""
    return gate.check(call, _toolbox(tools))


async def run_calls(
    calls: Sequence[Call],
    tools: ToolSource,
    *,
    dependencies: Any = None,
    approve: Approve | None = None,
) -> tuple[Execution, ...]:
    """Check and run a model's calls: one execution for each, in the same order.

    ``dependencies`` reach the tools through ``Context``. ``approve`` is asked about calls of tools
    that require approval; without it they are denied. Limits on rate and concurrency hold within one
    execution; keep an ``Executor`` to make them hold across several.
    """
    return await Executor(approve=approve).execute(calls, _toolbox(tools), dependencies=dependencies)


def _toolbox(tools: ToolSource) -> Toolbox:
    return tools if isinstance(tools, Toolbox) else Toolbox(tools)
