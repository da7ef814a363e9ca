"""The trust rules that an inner run inherits from the outer run."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rightcall.core.tool import Tool
from rightcall.trust.rules import Rules

if TYPE_CHECKING:
    from rightcall.trust.guard import Guard


def inherited(above: "Guard", names: Iterable[str]) -> Rules | None:
    """The rules for an inner run of an agent without its own; None if the operator exempted the agent.

    ``names`` are those that the agent goes by. What the operator granted applies there, too. A grant by
    the caller's model does not: it is about the caller's tools. It decided about the call of the agent,
    and in the inner run every target must be vouched for.
    """
    rules = above.rules
    if any(name in rules.unguarded for name in names):
        return None
    return replace(rules, grant=None if rules.grant == "model" else above.grant)


def held(tool: Tool, rules: Rules) -> Tool:
    """The tool as the rules treat it: an agent that inherits them is bound by them in its inner run.

    So its task reaches nobody yet. An exempt agent may do all that its own tools can.
    """
    if not tool.delegates or tool.inside is None or tool.name in rules.unguarded:
        return tool
    reach = "nothing" if tool.facts.reach == "nothing" else "user"
    return tool.replace(facts=replace(tool.facts, reach=reach, dangers=(), targets=()))
