"""Turns a person's approval into the later calls that it covers."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from rightcall.core.decision import Approval, Scope
from rightcall.core.facts import Kind
from rightcall.core.jsontext import JsonValue, leaves
from rightcall.core.ports import Tools
from rightcall.core.proposal import Proposal
from rightcall.core.tool import CheckedCall, Tool

if TYPE_CHECKING:
    from rightcall.trust.facts import ResolvedFacts
    from rightcall.trust.rules import Finding

_REACHED: frozenset[Kind] = frozenset(
    {"address", "account", "web", "path", "record", "person", "channel"}
)
"""The kinds of values that say what a call reaches."""


def approval_for(checked: CheckedCall, scope: Scope) -> Approval | None:
    """The approval that a yes to this call gives to later calls; None if it was for this call alone."""
    match scope:
        case "once":
            return None
        case "run":
            return Approval(tool=checked.tool.name)
        case "target":
            facts = _facts_of(checked.tool)
            named = _named_values(checked, facts)
            return Approval(
                tool=checked.tool.name,
                targets=tuple(sorted(set().union(*named.values()))),
                arguments=named,
                most=_amounts(checked, facts),
            )


def remembered_approval(checked: CheckedCall, finding: "Finding", scope: Scope) -> Approval | None:
    """What a yes to this call allows in the rest of the run.

    A yes to what the trust rules asked holds for what was shown; an amount that was shown is spent by
    the call itself.
    """
    if finding.is_for_task:
        return Approval(tool="", targets=(), is_for_task=True)
    if scope == "once" and finding.remember and not _amounts(checked, _facts_of(checked.tool)):
        return approval_for(checked, "target")
    return approval_for(checked, scope)


def remembered_refusal(finding: "Finding") -> Approval | None:
    """What a no to this call refuses in the rest of the run: the values that were asked about."""
    if finding.is_for_task:
        return Approval(tool="", targets=(), refused=True, is_for_task=True)
    values = _refused_values(finding)
    if values:
        return Approval(tool="", targets=values, refused=True)
    return None


def _refused_values(finding: "Finding") -> tuple[str, ...]:
    if finding.remember or not finding.refuses:
        return finding.remember
    return (finding.refuses,)


def is_refused(approvals: Iterable[Approval], finding: "Finding") -> bool:
    """Whether a person has already said no to something that a call would need a yes for."""
    for approval in approvals:
        if not approval.refused:
            continue
        if approval.is_for_task:
            if finding.is_for_task:
                return True
        elif not set(approval.targets or ()).isdisjoint(_refused_values(finding)):
            return True
    return False


def declared_stakes(tool: Tool) -> tuple[str, ...]:
    """The parameters that say what a call reaches, costs and opens, as the tool's facts declare them.

    Nothing is guessed: a tool without facts has none.
    """
    facts = tool.facts
    reached = [*(facts.targets or ())]
    costs: list[str] = []
    for name, kind in facts.kinds.items():
        if kind == "amount":
            costs.append(name)
        elif kind in _REACHED:
            reached.append(name)
    return tuple(dict.fromkeys([*reached, *costs]))


def covers(
    approvals: Iterable[Approval], checked: CheckedCall, finding: "Finding | None" = None
) -> bool:
    """Whether a person has approved calls like this one.

    Such a call names no value that was not approved, in any argument, and no larger amount. An approved
    value that is now left out also fails: leaving it out could mean "all".
    """
    if finding is not None and finding.is_for_task:
        return any(each.is_for_task and not each.refused for each in approvals)
    mine = [each for each in approvals if each.tool == checked.tool.name and not each.refused]
    if not mine or any(each.targets is None for each in mine):
        return bool(mine)
    facts = _facts_of(checked.tool)
    named = _named_values(checked, facts)
    amounts = _amounts(checked, facts)
    for approval in mine:
        agreed = approval.arguments
        needed = {name for name, texts in agreed.items() if texts and not facts.is_content(name)}
        if (
            all(set(texts) <= set(agreed.get(name, ())) for name, texts in named.items())
            and needed <= named.keys()
            and amounts.keys() == approval.most.keys()
            and all(value <= approval.most[name] for name, value in amounts.items())
        ):
            return True
    return False


def _facts_of(tool: Tool) -> "ResolvedFacts":
    from rightcall.trust.facts import resolve_facts  # noqa: PLC0415 - light until used

    return resolve_facts(tool)


def _named_values(checked: CheckedCall, facts: "ResolvedFacts") -> dict[str, tuple[str, ...]]:
    """The targets, access choices and flags in a call, and its content's links and accounts."""
    from rightcall.trust import accounts, kinds, spelling  # noqa: PLC0415 - light until used

    named = dict[str, tuple[str, ...]]()
    for name, value in checked.arguments.items():
        if isinstance(value, bool):
            # A flag may change what a call does, whatever its name is.
            named[name] = ("true" if value else "false",)
            continue
        texts = [text for _, text in leaves(value)]
        if facts.is_content(name) and name not in facts.widens and not kinds.is_unit(name):
            links: list[str] = []
            for text in texts:
                links += [*spelling.active(text), *accounts.accounts(text)]
            texts = links
        if texts:
            named[name] = tuple(texts)
    return named


def _amounts(checked: CheckedCall, facts: "ResolvedFacts") -> dict[str, float]:
    """The numbers in a call that are amounts, by path."""
    found: dict[str, float] = {}
    for name, value in checked.arguments.items():
        if name not in facts.targets:
            for path, number in _numbers(value, name, is_amount=name in facts.bounded):
                found[path] = abs(number)
    return found


def _numbers(value: JsonValue, path: str, *, is_amount: bool) -> Iterator[tuple[str, float]]:
    """The numbers in an argument, by path. In a parameter for amounts, numeric strings count, too."""
    match value:
        case bool() | None:
            pass
        case int() | float():
            yield path, float(value)
        case str() if is_amount:
            with suppress(ValueError):
                yield path, float(value)
        case dict():
            for key, each in value.items():
                yield from _numbers(each, f"{path}.{key}", is_amount=is_amount)
        case list():
            for at, each in enumerate(value):
                yield from _numbers(each, f"{path}[{at}]", is_amount=is_amount)
        case _:
            pass


def sort_by_stakes(proposals: Iterable[Proposal], tools: Tools) -> tuple[Proposal, ...]:
    """Dangerous calls first, then those that reach outside, then those that write, then the rest.

    Ties keep the order of the calls. For facts that nobody stated, the worst is assumed.
    """
    waiting = tuple(proposals)
    if len(waiting) < 2:  # noqa: PLR2004 - there is no order of one
        return waiting
    return tuple(sorted(waiting, key=lambda each: _rank(each, tools)))


def _rank(proposal: Proposal, tools: Tools) -> int:
    from rightcall.trust.facts import WORST, resolve_facts  # noqa: PLC0415 - light until used

    tool = _tool_of(proposal, tools)
    facts = WORST if tool is None else resolve_facts(tool)
    if facts.dangers:
        return 0
    if facts.reach == "outside":
        return 1
    return 2 if facts.acts else 3


def _tool_of(proposal: Proposal, tools: Tools) -> Tool | None:
    """The tool that a proposal is about, which may be a tool of an inner agent."""
    get = tools.get
    for agent in filter(None, proposal.agent.split("/")):
        found = get(agent)
        if found is None or found.inside is None:
            return None
        get = found.inside
    return get(proposal.name)
