"""The functions and methods that a plan may call besides its tools: an allow-list for each type."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, TypeAlias

from msgspec import Struct

from rightcall.plan.operations import (
    MOST_ITEMS,
    Fails,
    as_text,
    bounded,
    item_of,
    iterated,
    key_of,
    quiet,
    truth,
    unique,
    word,
)
from rightcall.plan.value import (
    NOTHING,
    Items,
    Label,
    Table,
    Value,
    deep_taint,
    made_of,
    membership,
    plain,
)


class Calling(Struct, frozen=True, eq=False):
    """The arguments of a function call, and the branch that it is in."""

    args: list[Value]
    named: dict[str, Value]
    region: int
    """The tainted branch that the call is in; 0 for none."""
    apply: Callable[[Value, list[Value], Label], Value]
    """Calls a function that the plan defines, as a branch that these untrusted sources decided."""

    def only(self, name: str, least: int, most: int, *names: str) -> list[Value]:
        """The positional arguments. Raises Fails if their number, or a keyword, is not allowed."""
        if not least <= len(self.args) <= most or not set(self.named) <= set(names):
            raise Fails("TypeError", f"{name} is not called so")
        return self.args


Builtin: TypeAlias = Callable[[Calling], Value]


def _len(call: Calling) -> Value:
    (value,) = call.only("len", 1, 1)
    data = value.data
    if isinstance(data, Items):
        return Value(len(data.items), chosen=membership(value))
    if isinstance(data, Table):
        return Value(len(data.entries), chosen=membership(value))
    if isinstance(data, str):
        return made_of(len(data), value)
    raise Fails("TypeError", f"a {word(value)} has no length")


def _sum(call: Calling) -> Value:
    args = call.only("sum", 1, 2)
    items, label = iterated(args[0])
    parts = [*items, *args[1:]]
    start: Any = args[1].data if len(args) > 1 else 0
    if any(
        isinstance(each.data, str) or not isinstance(each.data, int | float | timedelta)
        for each in parts
    ):
        raise Fails("TypeError", "sum adds numbers")
    data = quiet(lambda: sum((each.data for each in items), start), "what is to be added")
    return made_of(data, *parts).chosen_by(label) if parts else Value(0, chosen=label)


def _extreme(name: str, pick: Callable[..., Any]) -> Builtin:
    def extreme(call: Calling) -> Value:
        args = call.only(name, 1, MOST_ITEMS, "key", "default")
        items, label = iterated(args[0]) if len(args) == 1 else (args, NOTHING)
        if not items:
            if "default" in call.named:
                return call.named["default"].chosen_by(label)
            raise Fails("ValueError", f"{name} of nothing")
        keys, chosen = _keys(call, items, label)
        at: int = quiet(
            lambda: pick(range(len(items)), key=lambda index: keys[index]), "what is compared"
        )
        chosen |= label if "default" not in call.named else label | deep_taint(call.named["default"])
        return items[at].chosen_by(chosen)

    return extreme


def _keys(call: Calling, items: list[Value], label: Label) -> tuple[list[Any], Label]:
    """The sort keys of some items, and everything that influences them.

    How often the key function runs, and in which order, tells what decided how many items there are:
    ``label``.
    """
    key = call.named.get("key")
    by = (
        [call.apply(key, [item], label) for item in items]
        if key is not None and key.data is not None
        else items
    )
    chosen = NOTHING if key is None else key.taint
    for each in by:
        chosen |= deep_taint(each)
    return [plain(each) for each in by], chosen


def _sorted(call: Calling) -> Value:
    args = call.only("sorted", 1, 1, "key", "reverse")
    items, label = iterated(args[0])
    keys, chosen = _keys(call, items, label)
    reverse = call.named.get("reverse", Value(data=False))
    order = quiet(
        lambda: sorted(range(len(items)), key=lambda at: keys[at], reverse=bool(reverse.data)),
        "what is compared",
    )
    label |= chosen | deep_taint(reverse)
    return Value(Items([items[at] for at in order], label, region=call.region))


def _number(name: str, kind: Callable[[Any], Any]) -> Builtin:
    def number(call: Calling) -> Value:
        (value,) = call.only(name, 1, 1)
        if not isinstance(value.data, str | int | float):
            raise Fails("TypeError", f"a {word(value)} is no number")
        return bounded(made_of(quiet(lambda: kind(value.data), word(value)), value))

    return number


def _round(call: Calling) -> Value:
    args = call.only("round", 1, 2)
    data = quiet(lambda: round(*(each.data for each in args)), *(word(each) for each in args))
    return made_of(data, *args)


def _abs(call: Calling) -> Value:
    (value,) = call.only("abs", 1, 1)
    return made_of(quiet(lambda: abs(value.data), word(value)), value)


def _collected(form: Any) -> Builtin:
    def collected(call: Calling) -> Value:
        args = call.only(form, 0, 1)
        items, label = iterated(args[0]) if args else ([], NOTHING)
        if form == "set":
            return unique(items, label, call.region)
        return bounded(Value(Items(list(items), label, form=form, region=call.region)))

    return collected


def _dict(call: Calling) -> Value:
    args = call.only("dict", 0, 1, *call.named)
    table = Table({}, region=call.region)
    if args and isinstance(args[0].data, Table):
        table.label = membership(args[0])
        table.entries = dict(args[0].data.entries)
    elif args:
        pairs, table.label = iterated(args[0])
        for pair in pairs:
            put(table, item_of(pair, Value(0)), item_of(pair, Value(1)))
    for name, value in call.named.items():
        put(table, Value(name), value)
    return bounded(Value(table))


def put(table: Table, key: Value, value: Value) -> None:
    """Set an entry. The key's taint is added to the table's, because the key chose the entry."""
    table.label |= deep_taint(key)
    plain_key = key_of(key)
    before = table.entries.get(plain_key)
    table.entries[plain_key] = (key if before is None else before[0], value)


def _range(call: Calling) -> Value:
    args = call.only("range", 1, 3)
    if any(type(each.data) is not int for each in args):
        raise Fails("TypeError", "range goes by whole numbers")
    found = quiet(lambda: range(*(each.data for each in args)), "these numbers")
    if len(found) > MOST_ITEMS:
        raise Fails("LimitError", f"a range has more than {MOST_ITEMS:,} items")
    label = NOTHING.union(*(each.taint for each in args))
    return Value(Items([Value(at, chosen=label) for at in found], label, region=call.region))


def _enumerate(call: Calling) -> Value:
    args = call.only("enumerate", 1, 2, "start")
    start = args[1] if len(args) > 1 else call.named.get("start", Value(0))
    if type(start.data) is not int:
        raise Fails("TypeError", "enumerate counts in whole numbers")
    items, label = iterated(args[0])
    pairs = [
        Value(Items([made_of(start.data + at, start).chosen_by(label), item], form="tuple"))
        for at, item in enumerate(items)
    ]
    return Value(Items(pairs, label, region=call.region))


def _zip(call: Calling) -> Value:
    each = [iterated(value) for value in call.only("zip", 1, 10)]
    label = NOTHING.union(*(found for _, found in each))
    rows = zip(*(items for items, _ in each), strict=False)
    return Value(
        Items([Value(Items(list(row), form="tuple")) for row in rows], label, region=call.region)
    )


def _reversed(call: Calling) -> Value:
    (value,) = call.only("reversed", 1, 1)
    items, label = iterated(value)
    return Value(Items(items[::-1], label, region=call.region))


def _of_all(name: str, pick: Callable[[list[bool]], bool]) -> Builtin:
    def of_all(call: Calling) -> Value:
        (value,) = call.only(name, 1, 1)
        items, label = iterated(value)
        each = [truth(item) for item in items]
        return made_of(pick([bool(one.data) for one in each]), *each).chosen_by(label)

    return of_all


def _str(call: Calling) -> Value:
    (value,) = call.only("str", 1, 1)
    return as_text(value)


def _bool(call: Calling) -> Value:
    (value,) = call.only("bool", 1, 1)
    return truth(value)


BUILTINS: Mapping[str, Builtin] = {
    "abs": _abs,
    "all": _of_all("all", all),
    "any": _of_all("any", any),
    "bool": _bool,
    "dict": _dict,
    "enumerate": _enumerate,
    "float": _number("float", float),
    "int": _number("int", int),
    "len": _len,
    "list": _collected("list"),
    "max": _extreme("max", max),
    "min": _extreme("min", min),
    "range": _range,
    "reversed": _reversed,
    "round": _round,
    "set": _collected("set"),
    "sorted": _sorted,
    "str": _str,
    "sum": _sum,
    "tuple": _collected("tuple"),
    "zip": _zip,
}

_DATE_MAKERS: Mapping[str, Callable[..., Any]] = {
    "datetime": datetime,
    "date": date,
    "time": time,
    "timedelta": timedelta,
    "datetime.fromisoformat": datetime.fromisoformat,
    "datetime.strptime": datetime.strptime,
    "datetime.combine": datetime.combine,
    "date.fromisoformat": date.fromisoformat,
    "time.fromisoformat": time.fromisoformat,
}


def made_date(name: str, call: Calling) -> Value:
    """A date, time or timedelta: ``datetime(2024, 5, 1)``, ``date.fromisoformat(text)``."""
    maker = _DATE_MAKERS.get(name)
    if maker is None:
        raise Fails("AttributeError", f"there is no {name}; the time now comes from a tool")
    parts = [*call.args, *call.named.values()]
    given = {key: each.data for key, each in call.named.items()}
    data = quiet(lambda: maker(*(each.data for each in call.args), **given), *map(word, parts))
    return made_of(data, *parts)
