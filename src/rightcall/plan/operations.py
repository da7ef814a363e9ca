"""Operations on values: operators, items, fields and loops, each with the label of its result.

Errors here never contain a value: the planner reads them, and must not read untrusted text.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

from msgspec.structs import replace

from rightcall.plan.value import (
    NOTHING,
    SCALARS,
    Items,
    Label,
    Table,
    Value,
    deep_chosen,
    deep_sources,
    deep_taint,
    in_part,
    inside,
    made_of,
    membership,
    plain,
)

MOST_ITEMS = 10_000
LONGEST_TEXT = 1_000_000
_MOST_BITS = 256


class Fails(Exception):
    """The plan cannot continue. Contains the kind and the reason, and no value."""

    def __init__(self, kind: str, reason: str, tool: str = "") -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.tool = tool


def word(value: Value) -> str:
    """The name of a value's type, as a plan would say it."""
    data = value.data
    if isinstance(data, Items):
        return data.form
    if isinstance(data, Table):
        return "record" if data.is_record else "dict"
    if data is None or isinstance(data, SCALARS):
        return "None" if data is None else type(data).__name__
    return "function"


def bounded(value: Value) -> Value:
    """The value. Raises Fails if it is larger than a plan may hold."""
    data = value.data
    if isinstance(data, str):
        fitting(len(data))
    if isinstance(data, Items) and len(data.items) > MOST_ITEMS:
        raise Fails("LimitError", f"a list has more than {MOST_ITEMS:,} items")
    if isinstance(data, Table) and len(data.entries) > MOST_ITEMS:
        raise Fails("LimitError", f"a dict has more than {MOST_ITEMS:,} entries")
    if type(data) is int and data.bit_length() > _MOST_BITS:
        raise Fails("LimitError", "a number is too large")
    return value


def fitting(length: int) -> None:
    """Raises Fails if a text of that length is longer than a plan may hold, also before it is built."""
    if length > LONGEST_TEXT:
        raise Fails("LimitError", f"a text has more than {LONGEST_TEXT:,} characters")


def quiet(function: Callable[[], Any], *words: str) -> Any:
    """The result of a Python function; an exception is raised again without the value in it."""
    try:
        return function()
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        told = f"not possible for {' and '.join(words)}" if words else "not possible"
        raise Fails(type(error).__name__, told) from None


_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def binary(kind: type[ast.operator], left: Value, right: Value, region: int) -> Value:
    """The result of a binary operator."""
    a, b = left.data, right.data
    if isinstance(a, Items) or isinstance(b, Items):
        if isinstance(a, Items) and isinstance(b, Items):
            return _together(kind, left, right, region)
    elif isinstance(a, SCALARS) and isinstance(b, SCALARS):
        is_text = isinstance(a, str) or isinstance(b, str)
        if is_text and kind is ast.Mult:
            raise Fails("TypeError", "texts and lists cannot be repeated")
        if is_text and kind is ast.Mod:
            raise Fails("TypeError", "% does not format; write an f-string")
        if kind in _BINARY:
            data = quiet(lambda: _BINARY[kind](a, b), word(left), word(right))
            return bounded(in_part(made_of(data, left, right)))
    raise Fails("TypeError", f"not possible for {word(left)} and {word(right)}")


def _together(kind: type[ast.operator], left: Value, right: Value, region: int) -> Value:
    a, b = left.data, right.data
    label = membership(left) | membership(right)
    if a.form == b.form and a.form != "set" and kind is ast.Add:
        made = Items([*a.items, *b.items], label, form=a.form, region=region)
        return bounded(Value(made, chosen=left.chosen | right.chosen))
    if a.form == b.form == "set" and kind in (ast.BitOr, ast.BitAnd, ast.Sub):
        label |= deep_taint(left) | deep_taint(right)
        there = {plain(item) for item in b.items}
        if kind is ast.BitOr:
            return unique([*a.items, *b.items], label, region)
        kept = [item for item in a.items if (plain(item) in there) == (kind is ast.BitAnd)]
        return unique(kept, label, region)
    raise Fails("TypeError", f"not possible for {word(left)} and {word(right)}")


def unique(items: list[Value], label: Label, region: int) -> Value:
    """A set of the items without duplicates. Equality depends on all of them, so all taint the set."""
    found: dict[Any, Value] = {}
    for item in items:
        key = key_of(item)
        found.setdefault(key, item)
        label |= deep_taint(item)
    return bounded(Value(Items(list(found.values()), label, form="set", region=region)))


def key_of(value: Value) -> Any:
    """The key of a value in a dict or a set."""
    data = value.data
    if isinstance(data, SCALARS):
        return data
    if isinstance(data, Items) and data.form == "tuple":
        return tuple(key_of(item) for item in data.items)
    raise Fails("TypeError", f"a {word(value)} can be no key and no member of a set")


def unary(kind: type[ast.unaryop], value: Value) -> Value:
    """The result of a unary operator."""
    if kind is ast.Not:
        return negated(truth(value))
    if isinstance(value.data, int | float | timedelta):
        turn = operator.neg if kind is ast.USub else operator.pos
        return made_of(turn(value.data), value)
    raise Fails("TypeError", f"not possible for {word(value)}")


def negated(value: Value) -> Value:
    """The negation of a boolean."""
    return Value(not value.data, value.sources, value.chosen)


def truth(value: Value) -> Value:
    """Whether a value is true. For a container, that depends only on how many items it has."""
    data = value.data
    if isinstance(data, Items):
        return Value(bool(data.items), chosen=membership(value))
    if isinstance(data, Table):
        return Value(bool(data.entries), chosen=membership(value))
    return Value(bool(data), value.sources, value.chosen)


_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def compare(kind: type[ast.cmpop], left: Value, right: Value) -> Value:
    """The result of a comparison."""
    if kind in (ast.In, ast.NotIn):
        found = _contains(right, left)
        return found if kind is ast.In else negated(found)
    if kind in (ast.Is, ast.IsNot):
        if left.data is not None and right.data is not None:
            raise Fails("TypeError", "is only asks for None; write ==")
        same = left.data is right.data
        return _judged(same == (kind is ast.Is), left, right, is_whole=False)
    if kind in (ast.Eq, ast.NotEq):
        return _judged((plain(left) == plain(right)) == (kind is ast.Eq), *_known(left, right))
    a, b = plain(left), plain(right)
    return _judged(quiet(lambda: _COMPARE[kind](a, b), word(left), word(right)), left, right)


def _judged(data: bool, left: Value, right: Value, *, is_whole: bool = True) -> Value:  # noqa: FBT001
    if is_whole:
        return made_of(data, left, right)
    return Value(data, left.sources | right.sources, left.chosen | right.chosen)


def _contains(container: Value, item: Value) -> Value:
    data = container.data
    if isinstance(data, str):
        if not isinstance(item.data, str):
            raise Fails("TypeError", f"a {word(item)} cannot be in a text")
        return made_of(item.data in data, container, item)
    if isinstance(data, Table):
        key = key_of(item)
        keys = [named for named, _ in data.entries.values()]
        return made_of(key in data.entries, item, *keys).chosen_by(membership(container))
    if isinstance(data, Items):
        wanted = plain(item)
        found = any(plain(each) == wanted for each in data.items)
        return made_of(found, *_known(container, item))
    raise Fails("TypeError", f"nothing can be in a {word(container)}")


def _known(left: Value, right: Value) -> tuple[Value, Value]:
    """Two values that are compared as wholes, the one with a known identity relabelled.

    An outsider can choose their own identity, but cannot have somebody else's. So if an identity equals
    a value that no outsider influenced, that is the system's statement, not theirs. A name is nobody's
    own: anybody may call a file ``report.pdf``.
    """
    for one, other in ((left, right), (right, left)):
        is_given = all(each.kind in ("system", "given") for each in other.sources)
        is_whole = isinstance(other.data, str) and not other.chosen and is_given
        if is_whole and not deep_taint(one):
            own = frozenset([replace(each, kind="system") for each in other.sources])
            known = Value(other.data, own)
            return (one, known) if other is right else (known, one)
    return left, right


def iterated(value: Value) -> tuple[list[Value], Label]:
    """The items that a loop goes through, and the label of what decided how many there are."""
    data = value.data
    label = membership(value)
    if isinstance(data, Items):
        return [item.chosen_by(label) for item in data.items], label
    if isinstance(data, Table):
        return [key.chosen_by(label) for key, _ in data.entries.values()], label
    if isinstance(data, str):
        if len(data) > MOST_ITEMS:
            raise Fails("LimitError", f"a loop goes through at most {MOST_ITEMS:,} items")
        return [Value(each, value.sources, label) for each in data], label
    raise Fails("TypeError", f"a {word(value)} cannot be gone through")


def item_of(value: Value, at: Value) -> Value:
    """``value[at]``."""
    data, label = value.data, membership(value) | deep_taint(at)
    if isinstance(data, Table):
        found = data.entries.get(key_of(at))
        if found is None:
            raise Fails("KeyError", "there is no such key")
        return found[1].chosen_by(label)
    if type(at.data) is not int or not isinstance(data, Items | str):
        raise Fails("TypeError", f"a {word(value)} has no item by a {word(at)}")
    if isinstance(data, Items) and data.form == "set":
        raise Fails("TypeError", "a set has no items in order")
    try:
        if isinstance(data, str):
            return in_part(made_of(data[at.data], value, at))
        item: Value = data.items[at.data]
        return item.chosen_by(label)
    except IndexError:
        raise Fails("IndexError", "there are not so many") from None


def sliced(value: Value, bounds: list[Value | None], region: int) -> Value:
    """``value[start:stop:step]``."""
    data, label, cut = value.data, NOTHING, []
    for each in bounds:
        if each is not None and not (each.data is None or type(each.data) is int):
            raise Fails("TypeError", "a slice goes by whole numbers")
        cut.append(None if each is None else each.data)
        label |= NOTHING if each is None else each.taint
    if cut[2] == 0:
        raise Fails("ValueError", "a slice cannot go by steps of 0")
    part = slice(*cut)
    if isinstance(data, str):
        return in_part(Value(data[part], value.sources, value.chosen | label))
    if isinstance(data, Items) and data.form != "set":
        made = Items(data.items[part], membership(value) | label, form=data.form, region=region)
        return Value(made, chosen=value.chosen | label)
    raise Fails("TypeError", f"a {word(value)} has no slices")


_DATE_FIELDS = {
    date: ("year", "month", "day"),
    datetime: ("year", "month", "day", "hour", "minute", "second"),
    time: ("hour", "minute", "second"),
    timedelta: ("days", "seconds"),
}


def field_of(value: Value, name: str) -> Value:
    """``value.name``."""
    data = value.data
    if isinstance(data, Table) and data.is_record:
        found = data.entries.get(name)
        if found is None and name not in data.optional:
            raise Fails("AttributeError", f"there is no field {name}")
        return (Value(None) if found is None else found[1]).chosen_by(membership(value))
    if name in _DATE_FIELDS.get(type(data), ()):
        return made_of(getattr(data, name), value)
    if isinstance(data, Table):
        raise Fails("AttributeError", f'a dict has no fields; write ["{name}"]')
    raise Fails("AttributeError", f"a {word(value)} has no field {name}")


def as_text(value: Value) -> Value:
    """A value as text, as Python would write it."""
    data = value.data
    if any(word(each) == "function" for each in inside(value)):
        # What Python would write of it includes the values of its defaults.
        raise Fails("TypeError", "a function has no text")
    fitting(sum(len(each.data) for each in inside(value) if isinstance(each.data, str)))
    text = data if isinstance(data, str) else str(plain(value))
    if isinstance(data, Items | Table):
        return bounded(in_part(Value(text, deep_sources(value), deep_chosen(value))))
    words = Value(text, value.sources, value.chosen)
    return bounded(words if isinstance(data, str) else in_part(words))
