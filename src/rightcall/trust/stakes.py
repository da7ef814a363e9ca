"""Orders waiting proposals by how much is at stake, for a person to decide in that order."""

from collections.abc import Iterable

from rightcall.core.decision import Proposal
from rightcall.core.ports import Tools
from rightcall.core.tool import Tool


def weightiest_first(proposals: Iterable[Proposal], tools: Tools) -> tuple[Proposal, ...]:
    """Dangerous calls first, then those that reach outside, then those that write, then the rest.

    Ties keep the order of the calls. For facts that nobody stated, the worst is assumed.
    """
    waiting = tuple(proposals)
    if len(waiting) < 2:  # noqa: PLR2004 - there is no order of one
        return waiting
    return tuple(sorted(waiting, key=lambda each: _rank(_tool_of(each, tools))))


def _rank(tool: Tool | None) -> int:
    from rightcall.trust.facts import WORST, settled  # noqa: PLC0415 - light until used

    facts = WORST if tool is None else settled(tool)
    if facts.dangers:
        return 0
    if facts.reach == "outside":
        return 1
    return 2 if facts.effect in ("idempotent", "write") else 3


def _tool_of(proposal: Proposal, tools: Tools) -> Tool | None:
    """The tool that a proposal is about, which may be a tool of an inner agent."""
    get = tools.get
    for agent in filter(None, proposal.agent.split("/")):
        found = get(agent)
        if found is None or found.inside is None:
            return None
        get = found.inside
    return get(proposal.name)
