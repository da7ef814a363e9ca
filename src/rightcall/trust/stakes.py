"""Proposals that wait together, into the order in which a person should look at them."""

from collections.abc import Iterable

from rightcall.core.decision import Proposal
from rightcall.core.ports import Tools
from rightcall.core.tool import Tool
from rightcall.trust.facts import WORST, settled


def weightiest_first(proposals: Iterable[Proposal], tools: Tools) -> tuple[Proposal, ...]:
    """What has a danger, then what reaches outside, then what writes, then the rest.

    Among equals the order of the calls stays. What nobody said of a tool is taken for the worst.
    """
    return tuple(sorted(proposals, key=lambda each: _rank(_tool_of(each, tools))))


def _rank(tool: Tool | None) -> int:
    facts = WORST if tool is None else settled(tool)
    if facts.dangers:
        return 0
    if facts.reach == "outside":
        return 1
    return 2 if facts.effect in ("idempotent", "write") else 3


def _tool_of(proposal: Proposal, tools: Tools) -> Tool | None:
    """The tool that a proposal is about, which may be one of an agent below."""
    get = tools.get
    for agent in filter(None, proposal.agent.split("/")):
        found = get(agent)
        if found is None or found.inside is None:
            return None
        get = found.inside
    return get(proposal.name)
