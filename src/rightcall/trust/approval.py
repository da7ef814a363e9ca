"""Turns a person's approval into the later calls that it covers."""

from collections.abc import Iterable, Iterator
from contextlib import suppress

from rightcall.core.call import CheckedCall
from rightcall.core.decision import Approval, Scope
from rightcall.core.jsontext import JsonValue, leaves


def approval_for(checked: CheckedCall, scope: Scope) -> Approval | None:
    """The approval that a yes to this call gives to later calls; None if it was for this call alone."""
    match scope:
        case "once":
            return None
        case "run":
            return Approval(tool=checked.tool.name)
        case "target":
            named = _named(checked)
            return Approval(
                tool=checked.tool.name,
                targets=tuple(sorted({text for texts in named.values() for text in texts})),
                arguments=named,
                most=_amounts(checked),
            )


def covers(approvals: Iterable[Approval], checked: CheckedCall) -> bool:
    """Whether a person has approved calls like this one."""
    mine = [each for each in approvals if each.tool == checked.tool.name]
    if not mine:
        return False
    return any(each.targets is None or _is_within(each, checked) for each in mine)


def _is_within(approval: Approval, checked: CheckedCall) -> bool:
    """Whether a call names no value that was not approved, in any argument, and no larger amount.

    An approved value that is now left out also fails: leaving it out could mean "all".
    """
    from rightcall.trust.facts import settled  # noqa: PLC0415 - light until used

    named, amounts, content = _named(checked), _amounts(checked), settled(checked.tool).content
    agreed = approval.arguments
    return (
        all(set(texts) <= set(agreed.get(name, ())) for name, texts in named.items())
        and all(named.get(name) for name, texts in agreed.items() if texts and name not in content)
        and amounts.keys() == approval.most.keys()
        and all(value <= approval.most[name] for name, value in amounts.items())
    )


def _named(checked: CheckedCall) -> dict[str, tuple[str, ...]]:
    """The targets, access choices and flags in a call, and its content's links and accounts."""
    from rightcall.trust.facts import settled  # noqa: PLC0415 - light until used
    from rightcall.trust.words.accounts import accounts  # noqa: PLC0415
    from rightcall.trust.words.kinds import is_unit  # noqa: PLC0415
    from rightcall.trust.words.spelling import active  # noqa: PLC0415

    facts, named = settled(checked.tool), dict[str, tuple[str, ...]]()
    for name, value in checked.arguments.items():
        if isinstance(value, bool):
            # A flag may change what a call does, whatever its name is.
            named[name] = ("true" if value else "false",)
            continue
        texts = tuple(text for _, text in leaves(value))
        if name in facts.content and name not in facts.widens and not is_unit(name):
            texts = tuple(each for text in texts for each in (*active(text), *accounts(text)))
        elif facts.is_harmless(name) and not is_unit(name):
            continue
        if texts:
            named[name] = texts
    return named


def _amounts(checked: CheckedCall) -> dict[str, float]:
    """The numbers in a call that are amounts, by path."""
    from rightcall.trust.facts import settled  # noqa: PLC0415 - light until used

    facts = settled(checked.tool)
    return {
        path: abs(number)
        for name, value in checked.arguments.items()
        if name not in facts.targets
        for path, number in _numbers(value, name, is_amount=name in facts.bounded)
    }


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
