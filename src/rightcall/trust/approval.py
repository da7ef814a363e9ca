"""A person's yes into the later calls that it covers."""

from collections.abc import Iterable, Mapping

from rightcall.core.call import CheckedCall
from rightcall.core.decision import Approval, Scope
from rightcall.core.jsontext import leaves
from rightcall.trust.facts import settled
from rightcall.trust.spelling import active


def approval_for(checked: CheckedCall, scope: Scope) -> Approval | None:
    """What a yes to this call allows from now on; None when it was for this call alone."""
    match scope:
        case "once":
            return None
        case "run":
            return Approval(tool=checked.tool.name)
        case "target":
            return Approval(tool=checked.tool.name, targets=tuple(sorted(_named(checked))))


def covers(approvals: Iterable[Approval], checked: CheckedCall) -> bool:
    """Whether a person has said yes to calls like this one."""
    mine = [each for each in approvals if each.tool == checked.tool.name]
    if not mine:
        return False
    named = _named(checked)
    return any(each.targets is None or named <= set(each.targets) for each in mine)


def _named(checked: CheckedCall) -> set[str]:
    """Everything in a call that says who or where."""
    facts, named = settled(checked.tool), set[str]()
    known = checked.tool.parameters.get("properties")
    for name, value in checked.arguments.items():
        texts = [text for _, text in leaves(value)]
        if name in facts.content:
            named.update(link for text in texts for link in active(text))
        elif name in facts.targets or not (isinstance(known, Mapping) and name in known):
            named.update(texts)
    return named
