"""The functions and methods that a plan may call besides its tools: an allow-list for each type."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, TypeAlias

from msgspec import Struct

from rightcall.plan import value as ops
from rightcall.plan.parse import PlanRuntimeError
from rightcall.plan.value import NONE, NOTHING, Items, LabelledValue, Table, TaintLabel


class Calling(Struct, frozen=True, eq=False):
    """The arguments of a function call, and the branch that it is in."""

    args: list[LabelledValue]
    named: dict[str, LabelledValue]
    region: int
    """The tainted branch that the call is in; 0 for none."""
    apply: Callable[[LabelledValue, list[LabelledValue], TaintLabel], LabelledValue]
    """Calls a function that the plan defines, as a branch that these untrusted sources decided."""

    def only(self, name: str, least: int, most: int, *names: str) -> list[LabelledValue]:
        """The positional arguments. Raises PlanRuntimeError if their number, or a keyword, is wrong."""
        if not least <= len(self.args) <= most or not set(self.named) <= set(names):
            raise PlanRuntimeError("TypeError", f"{name} is not called so")
        return self.args

    def parts(self) -> list[LabelledValue]:
        """All arguments, by position or by name."""
        return [*self.args, *self.named.values()]

    def run(self, function: Callable[..., Any], *words: str) -> Any:
        """The result of a Python function, called with the plain arguments."""
        args = ops.data_of(self.args)
        named = {key: each.data for key, each in self.named.items()}
        return ops.quiet(lambda: function(*args, **named), *words)

    def items(self, items: list[LabelledValue], label: TaintLabel, form: Any = "list") -> LabelledValue:
        """A new list, tuple or set, made in this branch."""
        if form == "set":
            return ops.unique(items, label, self.region)
        return LabelledValue(Items(items, label, form=form, region=self.region))


Builtin: TypeAlias = Callable[[Calling], LabelledValue]


def _pair(first: LabelledValue, second: LabelledValue) -> LabelledValue:
    return LabelledValue(Items([first, second], form="tuple"))


def _one(name: str, function: Callable[[LabelledValue], LabelledValue]) -> Builtin:
    def call_one(call: Calling) -> LabelledValue:
        (value,) = call.only(name, 1, 1)
        return function(value)

    return call_one


def _length(value: LabelledValue) -> LabelledValue:
    data = value.data
    if isinstance(data, Items | Table):
        return LabelledValue(ops.count_items(data), chosen=ops.membership(value))
    if isinstance(data, str):
        return ops.made_of(len(data), value)
    raise PlanRuntimeError("TypeError", f"a {ops.word(value)} has no length")


def _number(kind: Callable[[Any], Any]) -> Callable[[LabelledValue], LabelledValue]:
    def number(value: LabelledValue) -> LabelledValue:
        if not isinstance(value.data, str | int | float):
            raise PlanRuntimeError("TypeError", f"a {ops.word(value)} is no number")
        return ops.made_of(ops.quiet(lambda: kind(value.data), ops.word(value)), value)

    return number


def _sum(call: Calling) -> LabelledValue:
    args = call.only("sum", 1, 2)
    items, label = ops.iterate_items(args[0])
    parts = [*items, *args[1:]]
    for each in parts:
        if not isinstance(each.data, int | float | timedelta):
            raise PlanRuntimeError("TypeError", "sum adds numbers")
    if not parts:
        return LabelledValue(0, chosen=label)
    addends = ops.data_of(items)
    start = ops.data_of(args[1:])
    data = ops.quiet(lambda: sum(addends, *start), "what is to be added")
    return ops.made_of(data, *parts).chosen_by(label)


def _extreme(name: str, pick: Callable[..., Any]) -> Builtin:
    def extreme(call: Calling) -> LabelledValue:
        items = call.only(name, 1, ops.MOST_ITEMS, "key", "default")
        label = NOTHING
        if len(items) == 1:
            items, label = ops.iterate_items(items[0])
        default = call.named.get("default")
        if not items:
            if default is not None:
                return default.chosen_by(label)
            raise PlanRuntimeError("ValueError", f"{name} of nothing")
        keys, chosen = _keys(call, items, label)
        at: int = ops.quiet(lambda: pick(range(len(items)), key=keys.__getitem__), "what is compared")
        if default is not None:
            chosen |= ops.deep_taint(default)
        return items[at].chosen_by(chosen | label)

    return extreme


def _keys(call: Calling, items: list[LabelledValue], label: TaintLabel) -> tuple[list[Any], TaintLabel]:
    """The sort keys of some items, and everything that influences them.

    How often the key function runs, and in which order, tells what decided how many items there are:
    ``label``.
    """
    key = call.named.get("key", NONE)
    found = items
    if key.data is not None:
        found = [call.apply(key, [item], label) for item in items]
    chosen = key.taint.union(*map(ops.deep_taint, found))
    return list(map(ops.plain, found)), chosen


def _sorted(call: Calling) -> LabelledValue:
    args = call.only("sorted", 1, 1, "key", "reverse")
    items, label = ops.iterate_items(args[0])
    keys, chosen = _keys(call, items, label)
    reverse = call.named.get("reverse", LabelledValue(data=False))
    is_reversed = bool(reverse.data)
    order = ops.quiet(
        lambda: sorted(range(len(items)), key=keys.__getitem__, reverse=is_reversed), "what is compared"
    )
    return call.items([items[at] for at in order], label | chosen | ops.deep_taint(reverse))


def _round(call: Calling) -> LabelledValue:
    args = call.only("round", 1, 2)
    return ops.made_of(call.run(round, *map(ops.word, args)), *args)


def _collector(form: Any) -> Builtin:
    def collect_items(call: Calling) -> LabelledValue:
        items: list[LabelledValue] = []
        label = NOTHING
        for value in call.only(form, 0, 1):
            items, label = ops.iterate_items(value)
        return call.items(list(items), label, form)

    return collect_items


def _dict(call: Calling) -> LabelledValue:
    args = call.only("dict", 0, 1, *call.named)
    table = Table({}, region=call.region)
    if args and isinstance(args[0].data, Table):
        table.label = ops.membership(args[0])
        table.entries = dict(args[0].data.entries)
    elif args:
        pairs, table.label = ops.iterate_items(args[0])
        for pair in pairs:
            put(table, ops.item_of(pair, LabelledValue(0)), ops.item_of(pair, LabelledValue(1)))
    for name, value in call.named.items():
        put(table, LabelledValue(name), value)
    return LabelledValue(table)


def put(table: Table, key: LabelledValue, value: LabelledValue) -> None:
    """Set an entry. The key's taint is added to the table's, because the key chose the entry."""
    table.label |= ops.deep_taint(key)
    plain_key = ops.key_of(key)
    first, _ = table.entries.get(plain_key, (key, value))
    table.entries[plain_key] = (first, value)


def _range(call: Calling) -> LabelledValue:
    args = call.only("range", 1, 3)
    label = NOTHING
    for each in args:
        if type(each.data) is not int:
            raise PlanRuntimeError("TypeError", "range goes by whole numbers")
        label |= each.taint
    found = call.run(range, "these numbers")
    if len(found) > ops.MOST_ITEMS:
        raise PlanRuntimeError("LimitError", f"a range has more than {ops.MOST_ITEMS:,} items")
    return call.items([LabelledValue(at, chosen=label) for at in found], label)


def _enumerate(call: Calling) -> LabelledValue:
    args = call.only("enumerate", 1, 2, "start")
    start = call.named.get("start", LabelledValue(0))
    if len(args) > 1:
        start = args[1]
    if type(start.data) is not int:
        raise PlanRuntimeError("TypeError", "enumerate counts in whole numbers")
    items, label = ops.iterate_items(args[0])
    pairs = []
    for number, item in enumerate(items, start.data):
        pairs.append(_pair(ops.made_of(number, start).chosen_by(label), item))
    return call.items(pairs, label)


def _zip(call: Calling) -> LabelledValue:
    label = NOTHING
    columns = []
    for value in call.only("zip", 1, 10):
        items, found = ops.iterate_items(value)
        columns.append(items)
        label |= found
    rows = []
    for row in zip(*columns, strict=False):
        rows.append(LabelledValue(Items(list(row), form="tuple")))
    return call.items(rows, label)


def _reversed(call: Calling) -> LabelledValue:
    (value,) = call.only("reversed", 1, 1)
    items, label = ops.iterate_items(value)
    return call.items(items[::-1], label)


def _of_all(pick: Callable[[list[bool]], bool]) -> Callable[[LabelledValue], LabelledValue]:
    def of_all(value: LabelledValue) -> LabelledValue:
        items, label = ops.iterate_items(value)
        truths = list(map(ops.truth, items))
        return ops.made_of(pick(ops.data_of(truths)), *truths).chosen_by(label)

    return of_all


def _absolute(value: LabelledValue) -> LabelledValue:
    return ops.made_of(ops.quiet(lambda: abs(value.data), ops.word(value)), value)


BUILTINS: Mapping[str, Builtin] = {
    "abs": _one("abs", _absolute),
    "all": _one("all", _of_all(all)),
    "any": _one("any", _of_all(any)),
    "bool": _one("bool", ops.truth),
    "dict": _dict,
    "enumerate": _enumerate,
    "float": _one("float", _number(float)),
    "int": _one("int", _number(int)),
    "len": _one("len", _length),
    "list": _collector("list"),
    "max": _extreme("max", max),
    "min": _extreme("min", min),
    "range": _range,
    "reversed": _reversed,
    "round": _round,
    "set": _collector("set"),
    "sorted": _sorted,
    "str": _one("str", ops.as_text),
    "sum": _sum,
    "tuple": _collector("tuple"),
    "zip": _zip,
}
"""The functions. Whoever calls one checks the size of its result."""

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


def made_date(name: str, call: Calling) -> LabelledValue:
    """A date, time or timedelta: ``datetime(2024, 5, 1)``, ``date.fromisoformat(text)``."""
    maker = _DATE_MAKERS.get(name)
    if maker is None:
        raise PlanRuntimeError("AttributeError", f"there is no {name}; the time now comes from a tool")
    return ops.made_of(call.run(maker, *map(ops.word, call.parts())), *call.parts())


_TEXT = frozenset(
    {"capitalize", "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha", "isdigit"}
    | {"lower", "lstrip", "removeprefix", "removesuffix", "replace", "rfind", "rstrip", "startswith"}
    | {"strip", "title", "upper", "zfill"}
)
_TEXT_PARTS = frozenset({"split", "rsplit", "splitlines", "partition", "rpartition"})
_SPELLING = frozenset({"capitalize", "casefold", "lower", "lstrip", "rstrip", "strip", "title", "upper"})
"""Methods that leave a text what it is, without arguments."""
_DATE = frozenset({"isoformat", "strftime", "weekday", "isoweekday", "date", "time", "total_seconds"})
_WIDEST = 1000


def _text_method(value: LabelledValue, name: str, call: Calling) -> LabelledValue:
    text: str = value.data
    if name == "join":
        (given,) = call.only("join", 1, 1)
        items, label = ops.iterate_items(given)
        for item in items:
            if not isinstance(item.data, str):
                raise PlanRuntimeError("TypeError", "join takes texts")
        texts = ops.data_of(items)
        ops.check_length(sum(map(len, texts)) + len(text) * max(len(texts) - 1, 0))
        return ops.check_size(ops.in_part(ops.made_of(text.join(texts), value, *items)).chosen_by(label))
    args = call.only(name, 0, 3, "maxsplit")
    if name == "zfill" and not (args and type(args[0].data) is int and args[0].data < _WIDEST):
        raise PlanRuntimeError("ValueError", "zfill takes a small number")
    if name in ("startswith", "endswith") and args and isinstance(args[0].data, Items):
        options: Any = tuple(ops.plain(args[0]))
        return ops.made_of(ops.quiet(lambda: getattr(text, name)(options), "this"), value, *args)
    if name == "replace":
        match ops.data_of(args):
            case [str(old), str(new), *most] if len(new) > len(old):
                # What is no number is for ``replace`` itself to refuse.
                many = text.count(old)
                if most and isinstance(most[0], int) and most[0] >= 0:
                    many = min(many, most[0])
                ops.check_length(len(text) + many * (len(new) - len(old)))
            case _:
                pass
    parts = [value, *call.parts()]
    data = call.run(getattr(text, name), *map(ops.word, parts))
    whole = ops.made_of(data, *parts)
    if name not in _TEXT_PARTS:
        if name not in _SPELLING or args:
            whole = ops.in_part(whole)
        return ops.check_size(whole)
    if len(data) > ops.MOST_ITEMS:
        raise PlanRuntimeError("LimitError", f"a list has more than {ops.MOST_ITEMS:,} items")
    items = [LabelledValue(each, whole.sources, whole.chosen) for each in data]
    return call.items(items, ops.outside(whole.sources) | whole.chosen)


def _table_method(value: LabelledValue, name: str, call: Calling) -> LabelledValue:
    entries = value.data.entries
    label = ops.membership(value)
    if name == "get":
        # Without a second argument it is None.
        key, otherwise = [*call.only("get", 1, 2), NONE][:2]
        _, found = entries.get(ops.key_of(key), (key, otherwise))
        chosen: LabelledValue = found.chosen_by(label | ops.deep_taint(key))
        return chosen
    call.only(name, 0, 0)
    rows = []
    for key, item in entries.values():
        row = {"keys": key, "values": item}.get(name) or _pair(key, item)
        rows.append(row.chosen_by(label))
    return call.items(rows, label)


_CHANGING = {
    "list": frozenset({"append", "extend", "insert", "remove", "pop"}),
    "set": frozenset({"add"}),
    "dict": frozenset({"update"}),
}
"""The methods that change their object are listed separately: a container that was made outside of a
tainted branch must not change inside it."""


def changes(value: LabelledValue, name: str) -> bool:
    """Whether a method of that name would change the value."""
    return name in _CHANGING.get(ops.word(value), ())


def _change(value: LabelledValue, name: str, call: Calling) -> LabelledValue:
    """Change a container by one of the methods that are listed for it."""
    data = value.data
    match name:
        case "append":
            data.items += call.only(name, 1, 1)
        case "extend":
            (given,) = call.only(name, 1, 1)
            items, label = ops.iterate_items(given)
            data.items.extend(items)
            data.label |= label
        case "insert":
            at, item = call.only(name, 2, 2)
            if type(at.data) is not int:
                raise PlanRuntimeError("TypeError", "insert takes a place as a whole number")
            data.items.insert(at.data, item)
            data.label |= at.taint
        case "remove":
            (item,) = call.only(name, 1, 1)
            data.label |= ops.deep_taint(value) | ops.deep_taint(item)
            found = list(map(ops.plain, data.items))
            wanted = ops.plain(item)
            del data.items[ops.quiet(lambda: found.index(wanted), "this list")]
        case "pop":
            (at,) = call.only(name, 0, 1) or [LabelledValue(-1)]
            if type(at.data) is not int:
                raise PlanRuntimeError("TypeError", "pop takes a place as a whole number")
            data.label |= at.taint
            popped: LabelledValue = ops.quiet(lambda: data.items.pop(at.data), "this list")
            return popped.chosen_by(ops.membership(value))
        case "add":
            made = ops.unique([*data.items, *call.only(name, 1, 1)], data.label, 0).data
            data.items = made.items
            data.label = made.label
        case "update":
            (given,) = call.only(name, 1, 1)
            if not isinstance(given.data, Table):
                raise PlanRuntimeError("TypeError", "update takes a dict")
            data.label |= ops.membership(given)
            for key, item in given.data.entries.values():
                put(data, key, item)
        case _:
            pass
    return NONE


def called_on(value: LabelledValue, name: str, call: Calling) -> LabelledValue:
    """The result of a value's method."""
    data = value.data
    kind = ops.word(value)
    if isinstance(data, str) and (name in _TEXT or name in _TEXT_PARTS or name == "join"):
        return _text_method(value, name, call)
    if changes(value, name):
        result = _change(value, name, call)
        if isinstance(data, Items):
            ops.check_size(value)
        return result
    if isinstance(data, Items) and name in ("count", "index"):
        (wanted,) = call.only(name, 1, 1)
        plain_wanted = ops.plain(wanted)
        found = list(map(ops.plain, data.items))
        at = ops.quiet(lambda: getattr(found, name)(plain_wanted), "this list")
        return ops.made_of(at, value, wanted)
    if isinstance(data, Table) and name in ("get", "items", "keys", "values"):
        return _table_method(value, name, call)
    if isinstance(data, date | datetime | time | timedelta) and name in _DATE:
        # A type may lack one of these methods, which is the plan's mistake.
        made = call.run(lambda *args, **named: getattr(data, name)(*args, **named), kind)  # noqa: PLW0108
        return ops.check_size(ops.made_of(made, value, *call.parts()))
    if name in {"sort", "reverse"}:
        raise PlanRuntimeError("AttributeError", f"{name} is not in the language; write sorted(…)")
    if name == "format":
        raise PlanRuntimeError("AttributeError", "format is not in the language; write an f-string")
    if isinstance(data, int | float) and name == "is_integer":
        return ops.made_of(float(data).is_integer(), value)
    raise PlanRuntimeError("AttributeError", f"a {kind} has no method {name}")
