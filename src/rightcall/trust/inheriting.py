"""The rules of a run into those of an agent that it hands a task to."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rightcall.core.tool import Tool
from rightcall.trust.rules import Rules

if TYPE_CHECKING:
    from rightcall.trust.guard import Guard


def inherited(above: "Guard", names: Iterable[str]) -> Rules | None:
    """The rules that hold in a run below, of an agent without its own; None where it was let off.

    ``names`` are those that the agent goes by. What the operator granted holds there, too. What the
    caller's model said that the request needs was said of the caller's tools: it has decided about the
    call of the agent, and inside every target is to be vouched for.
    """
    rules = above.rules
    if any(name in rules.unguarded for name in names):
        return None
    return replace(rules, grant=None if rules.grant == "model" else above.grant)


def held(tool: Tool, rules: Rules) -> Tool:
    """The tool as those rules have it: an agent that inherits them is held to them inside.

    So its task reaches nobody yet. One that was let off may do all that its own tools can.
    """
    if not tool.delegates or tool.inside is None or tool.name in rules.unguarded:
        return tool
    reach = "nothing" if tool.facts.reach == "nothing" else "user"
    return tool.replace(facts=replace(tool.facts, reach=reach, dangers=(), targets=()))
