"""The methods that a plan may call: an allow-list for each type.

Methods that change their object are listed separately, because a container that was made outside of a
tainted branch must not change inside it.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

from rightcall.plan.functions import Calling, put
from rightcall.plan.operations import (
    MOST_ITEMS,
    Fails,
    bounded,
    fitting,
    iterated,
    key_of,
    quiet,
    unique,
    word,
)
from rightcall.plan.value import (
    Items,
    Table,
    Value,
    deep_taint,
    in_part,
    made_of,
    membership,
    outside,
    plain,
)

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


def _text_method(value: Value, name: str, call: Calling) -> Value:
    if name == "join":
        (given,) = call.only("join", 1, 1)
        items, label = iterated(given)
        if not all(isinstance(item.data, str) for item in items):
            raise Fails("TypeError", "join takes texts")
        texts = [item.data for item in items]
        fitting(sum(map(len, texts)) + len(value.data) * max(len(texts) - 1, 0))
        text = value.data.join(texts)
        return bounded(in_part(made_of(text, value, *items)).chosen_by(label))
    args = call.only(name, 0, 3, "maxsplit")
    if name == "zfill" and not (args and type(args[0].data) is int and args[0].data < _WIDEST):
        raise Fails("ValueError", "zfill takes a small number")
    if name in ("startswith", "endswith") and args and isinstance(args[0].data, Items):
        options: Any = tuple(plain(args[0]))
        found = quiet(lambda: getattr(value.data, name)(options), "this")
        return made_of(found, value, *args)
    given_named = {key: each.data for key, each in call.named.items()}
    plain_args = [each.data for each in args]
    parts = [value, *args, *call.named.values()]
    if name == "replace":
        _check_replaced(value.data, *plain_args)
    data = quiet(lambda: getattr(value.data, name)(*plain_args, **given_named), *map(word, parts))
    whole = made_of(data, *parts)
    if name not in _TEXT_PARTS:
        return bounded(whole if name in _SPELLING and not args else in_part(whole))
    if len(data) > MOST_ITEMS:
        raise Fails("LimitError", f"a list has more than {MOST_ITEMS:,} items")
    items = [Value(each, whole.sources, whole.chosen) for each in data]
    return Value(Items(items, outside(whole.sources) | whole.chosen, region=call.region))


def _check_replaced(text: str, *args: Any) -> None:
    """Raises Fails if ``text.replace(*args)`` is too long for a plan, before it is built."""
    match args:
        case (str(old), str(new), *most) if len(new) > len(old):
            # What is no number is for ``replace`` itself to refuse.
            limit = most[0] if most and isinstance(most[0], int) else -1
            found = text.count(old)
            many = found if limit < 0 else min(found, limit)
            fitting(len(text) + many * (len(new) - len(old)))
        case _:
            pass


def _list_method(value: Value, name: str, call: Calling) -> Value:
    data: Items = value.data
    (wanted,) = call.only(name, 1, 1)
    plain_wanted, found = plain(wanted), [plain(item) for item in data.items]
    if name == "count":
        return made_of(found.count(plain_wanted), value, wanted)
    return made_of(quiet(lambda: found.index(plain_wanted), "this list"), value, wanted)


def _table_method(value: Value, name: str, call: Calling) -> Value:
    data, label = value.data, membership(value)
    if name == "get":
        args = call.only("get", 1, 2)
        found = data.entries.get(key_of(args[0]))
        chosen = label | deep_taint(args[0])
        otherwise = args[1] if len(args) > 1 else Value(None)
        return (otherwise if found is None else found[1]).chosen_by(chosen)
    call.only(name, 0, 0)
    rows: list[Value] = []
    for key, item in data.entries.values():
        row = {"keys": key, "values": item}.get(name) or Value(Items([key, item], form="tuple"))
        rows.append(row.chosen_by(label))
    return Value(Items(rows, label, region=call.region))


def _date_method(value: Value, name: str, call: Calling) -> Value:
    args = [*call.args, *call.named.values()]
    named = {key: each.data for key, each in call.named.items()}
    plain_args = [each.data for each in call.args]
    data = quiet(lambda: getattr(value.data, name)(*plain_args, **named), word(value))
    return bounded(made_of(data, value, *args))


def _append(value: Value, call: Calling) -> Value:
    (item,) = call.only("append", 1, 1)
    value.data.items.append(item)
    return Value(None)


def _extend(value: Value, call: Calling) -> Value:
    (given,) = call.only("extend", 1, 1)
    items, label = iterated(given)
    value.data.items.extend(items)
    value.data.label |= label
    return Value(None)


def _insert(value: Value, call: Calling) -> Value:
    at, item = call.only("insert", 2, 2)
    if type(at.data) is not int:
        raise Fails("TypeError", "insert takes a place as a whole number")
    value.data.items.insert(at.data, item)
    value.data.label |= at.taint
    return Value(None)


def _remove(value: Value, call: Calling) -> Value:
    (item,) = call.only("remove", 1, 1)
    data: Items = value.data
    data.label |= deep_taint(value) | deep_taint(item)
    found, wanted = [plain(each) for each in data.items], plain(item)
    del data.items[quiet(lambda: found.index(wanted), "this list")]
    return Value(None)


def _pop(value: Value, call: Calling) -> Value:
    args, data = call.only("pop", 0, 1), value.data
    at = args[0] if args else Value(-1)
    if type(at.data) is not int:
        raise Fails("TypeError", "pop takes a place as a whole number")
    data.label |= at.taint
    item: Value = quiet(lambda: data.items.pop(at.data), "this list")
    return item.chosen_by(membership(value))


def _add(value: Value, call: Calling) -> Value:
    (item,) = call.only("add", 1, 1)
    made = unique([*value.data.items, item], value.data.label, 0)
    value.data.items, value.data.label = made.data.items, made.data.label
    return Value(None)


def _update(value: Value, call: Calling) -> Value:
    (given,) = call.only("update", 1, 1)
    if not isinstance(given.data, Table):
        raise Fails("TypeError", "update takes a dict")
    value.data.label |= membership(given)
    for key, item in given.data.entries.values():
        put(value.data, key, item)
    return Value(None)


_CHANGING: Mapping[str, Mapping[str, Callable[[Value, Calling], Value]]] = {
    "list": {"append": _append, "extend": _extend, "insert": _insert, "remove": _remove, "pop": _pop},
    "set": {"add": _add},
    "dict": {"update": _update},
}


def changes(value: Value, name: str) -> bool:
    """Whether a method of that name would change the value."""
    return name in _CHANGING.get(word(value), {})


def called_on(value: Value, name: str, call: Calling) -> Value:
    """The result of a value's method."""
    data, kind = value.data, word(value)
    if isinstance(data, str) and (name in _TEXT or name in _TEXT_PARTS or name == "join"):
        return _text_method(value, name, call)
    if isinstance(data, Items):
        if (change := _CHANGING.get(kind, {}).get(name)) is not None:
            done = change(value, call)
            bounded(value)
            return done
        if name in ("count", "index"):
            return _list_method(value, name, call)
    if isinstance(data, Table):
        if (change := _CHANGING.get(kind, {}).get(name)) is not None:
            return change(value, call)
        if name in ("get", "items", "keys", "values"):
            return _table_method(value, name, call)
    if isinstance(data, date | datetime | time | timedelta) and name in _DATE:
        return _date_method(value, name, call)
    if name in {"sort", "reverse"}:
        raise Fails("AttributeError", f"{name} is not in the language; write sorted(…)")
    if name == "format":
        raise Fails("AttributeError", "format is not in the language; write an f-string")
    if isinstance(data, int | float) and name == "is_integer":
        return made_of(float(data).is_integer(), value)
    raise Fails("AttributeError", f"a {kind} has no method {name}")
