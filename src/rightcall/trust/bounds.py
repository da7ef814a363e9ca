"""Finds the amounts, the counts and the choices in a call that must have been asked for."""

from collections.abc import Iterator

from msgspec.structs import replace

from rightcall.core.call import CheckedCall
from rightcall.core.decision import Evidence
from rightcall.core.jsontext import JsonValue, Place
from rightcall.core.problem import json_path
from rightcall.trust.asked.meant import Meant
from rightcall.trust.evidence import Known, leaves_of
from rightcall.trust.facts import default_of
from rightcall.trust.provenance import Provenance, shown
from rightcall.trust.words.counts import is_number
from rightcall.trust.words.keys import Want
from rightcall.trust.words.kinds import (
    gives_access,
    is_multiplier,
    is_repetition,
    is_unit,
    is_widening,
    is_widening_flag,
    same_access,
    ways_to_say,
)
from rightcall.trust.words.units import ways_to_say_how_often

_AMOUNT = Want("amount", stated=True)


def bounds_in(
    checked: CheckedCall,
    of: Known,
    provenance: Provenance,
    meant: Meant | None = None,
    paid: float = 0,
) -> Iterator[Evidence]:
    """The amounts, the counts and the choices in a call that must have been asked for.

    ``paid``: the amount that went to the same targets before.
    """
    for name in of.facts.bounded:
        is_count = of.facts.kinds.get(name, of.facts.guessed.get(name)) != "amount"
        for place, text in leaves_of(checked, name):
            if meant is not None and is_count and is_number(text):
                is_asked = meant.is_counted(name, float(text)) or _is_usual(name, text, of)
                path = shown(json_path(list(place)))
                yield Evidence(path, shown(text), "user" if is_asked else "unfit")
            else:
                yield _amount_at(place, text, provenance, meant, paid)
    for name, value in checked.arguments.items():
        is_nested = isinstance(value, dict | list)
        if is_nested and name not in of.facts.bounded and name not in of.facts.targets:
            yield from _amounts_inside(checked, name, of, provenance, meant, paid)
    yield from _choices_in(checked, of, provenance, meant)
    if "money" in of.facts.dangers and of.facts.acts:
        yield from _units_in(checked, of, provenance, meant)


def _is_usual(name: str, text: str, of: Known) -> bool:
    """Whether a number of times is what everybody has who says nothing: once, or the default."""
    return is_multiplier(name) and (float(text) <= 1 or text in default_of(of.tool.parameters, name))


def _units_in(
    checked: CheckedCall, of: Known, provenance: Provenance, meant: Meant | None
) -> Iterator[Evidence]:
    """What amounts are counted in, and how often they are paid: as was said, as it is now, as usual."""
    for name, value in checked.arguments.items():
        if not isinstance(value, str) or not value.strip() or name in of.facts.targets:
            continue
        if is_unit(name):
            is_asked = provenance.is_counted_in(value)
        elif is_repetition(name) and (words := ways_to_say_how_often(value)):
            is_asked = provenance.is_asked_for(words)
        else:
            continue
        is_now = meant is not None and meant.is_the_only(name, value)
        is_asked = is_asked or is_now or value in default_of(of.tool.parameters, name)
        yield Evidence(shown(json_path([name])), shown(value), "user" if is_asked else "nowhere")


def _amounts_inside(
    checked: CheckedCall,
    name: str,
    of: Known,
    provenance: Provenance,
    meant: Meant | None,
    paid: float,
) -> Iterator[Evidence]:
    """The amounts inside an object or a list. Each is judged together with those before it."""
    for place, text in leaves_of(checked, name):
        if of.facts.is_amount(place) and place[-1] != text:
            yield _amount_at(place, text, provenance, meant, paid)
            paid += abs(float(text)) if is_number(text) else 0


def _amount_at(
    place: Place, text: str, provenance: Provenance, meant: Meant | None, paid: float
) -> Evidence:
    """An amount, with whether it is no more than was asked for."""
    origin, source = provenance.of(text, _AMOUNT)
    seen = Evidence(shown(json_path(list(place))), shown(text), origin, source)
    if not is_number(text):
        return seen
    number, is_exact = float(text), meant is not None and meant.is_exact
    unfit = replace(seen, origin="unfit", source="")
    if paid and not provenance.is_within_all(paid + abs(number)):
        return unfit
    if origin == "trusted" and meant is not None and (is_exact or provenance.is_left_open):
        return seen if meant.states(number) or not (is_exact or meant.has_amounts()) else unfit
    if provenance.is_capped(number):
        return unfit
    # A number that the user named need not be an amount: orders and invoices have numbers, too.
    if seen.is_vouched and origin not in ("user", "developer") and number >= 0:
        return seen
    within = provenance.is_within(number) and (seen.is_vouched or not is_exact)
    return replace(seen, origin="user" if within else "unfit", source="")


def _choices_in(
    checked: CheckedCall, of: Known, provenance: Provenance, meant: Meant | None
) -> Iterator[Evidence]:
    """The choices in a call that give or cost more: asked for, or already the present value."""
    for name, choices in of.facts.widens.items():
        for place, text in leaves_of(checked, name):
            if text in choices or (not choices and is_widening(text)):
                is_now = meant is not None and meant.says_now(name, text)
                access = gives_access(name) or is_widening_flag(text)
                is_asked = is_now or provenance.is_asked_for(same_access(text), access=access)
                path = shown(json_path(list(place)))
                yield Evidence(path, shown(text), "user" if is_asked else "nowhere")
    for name in sorted(of.facts.flags):
        if checked.arguments.get(name) is True:
            is_asked = all(map(provenance.is_asked_for, ways_to_say(name)))
            yield Evidence(shown(json_path([name])), "true", "user" if is_asked else "nowhere")
    if of.facts.acts and of.tool.facts.widens is None:
        for where in _flags_set(checked.arguments):
            is_asked = provenance.is_asked_for(same_access(where[-1]), access=True)
            yield Evidence(shown(json_path([*where])), "true", "user" if is_asked else "nowhere")


def _flags_set(value: JsonValue, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of the flags that are set and give others more access."""
    if isinstance(value, dict):
        for key, each in value.items():
            if each is True and is_widening_flag(key):
                yield (*place, key)
            yield from _flags_set(each, (*place, key))
    elif isinstance(value, list):
        for each in value:
            yield from _flags_set(each, place)
