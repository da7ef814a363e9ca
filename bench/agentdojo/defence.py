"""The rules that the runtime is to hold, for one user task: with a grant or without."""

from collections.abc import Sequence
from typing import Any

from agentdojo.functions_runtime import FunctionCall

import rightcall as rc
from rightcall import trust
from rightcall.trust.facts import resolve_facts


def granted(tools: Sequence[rc.Tool], truth: Sequence[FunctionCall]) -> dict[str, Any]:
    """Rules with the grant that a clean model would state."""
    return {"trust": trust.Rules(grant=grant_for(tools, truth))}


def ungranted(_: Sequence[rc.Tool], __: Sequence[FunctionCall]) -> dict[str, Any]:
    """Rules alone."""
    return {"trust": trust.Rules()}


def grant_for(tools: Sequence[rc.Tool], truth: Sequence[FunctionCall]) -> trust.Grant:
    """The consequential and private-reading tools that the user's task needs, by name."""
    needed = {call.function for call in truth}
    facts = {tool.name: resolve_facts(tool) for tool in tools if tool.name in needed}
    return trust.Grant(
        tools=tuple(name for name, of in facts.items() if of.is_consequential or of.reads_private)
    )
