"""A large result as rows, to be read from a number on or searched; and its shape in a few lines."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from rightcall.core.jsontext import JsonError, JsonValue, dump, parse
from rightcall.gate.render import cut

_LONGEST_LINE = 2_000
"""Characters of a line of text; a longer one is several rows."""
_MOST_KEYS = 40
_SAMPLE = 2_000
"""How many items of a list are looked at for their keys."""
_MOST_SHAPE = 1_500
"""The most bytes of a shape."""


class ResultRows:
    """The rows of a result: the items of a list, the lines of anything else."""

    def __init__(self, text: str) -> None:
        value = _parse(text)
        path, items = _longest_list(value)
        if items:
            self.rows: Sequence[str] = [dump(item) for item in items]
            self.what = "items" if not path else f"items of {dump(path)}"
        else:
            if isinstance(value, dict | list):
                text = json.dumps(value, ensure_ascii=False, indent=1)
            self.rows = list(_lines(text))
            self.what = "lines"

    def read(self, *, query: str, first: int, count: int, most: int) -> str:
        """Returns rows with their numbers, within ``most`` bytes, and how to read on."""
        total = len(self.rows)
        words = query.casefold().split()
        found: list[str] = []
        room = most
        last = 0
        more = 0
        for number, row in enumerate(self.rows, 1):
            if number < first or (words and not _holds(row, words)):
                continue
            if len(found) == count:
                more = number
                break
            line = f"{number}: {cut(row, most // 2)}"
            size = len(line.encode(errors="replace")) + 1
            if found and size > room:
                more = number
                break
            found.append(line)
            room -= size
            last = number
        if not found:
            which = f" with {dump(query)}" if words else ""
            return f"[There are no rows{which} from {first:,} on; there are {total:,} {self.what}.]"
        which = f" that hold {dump(query)}" if words else ""
        head = f"[{self.what.capitalize()}{which}, up to number {last:,} of {total:,}."
        if more:
            head += f" There are more from {more:,} on."
        return "\n".join([head + "]", *found])


def describe_shape(text: str) -> str:
    """Returns the shape of a result: of JSON its keys and counts, of other text its lines."""
    value = _parse(text)
    if not isinstance(value, dict | list):
        rows = ResultRows(text)
        return f"It is text of {len(rows.rows):,} lines, which are its rows."
    path, items = _longest_list(value)
    lines = [f"It is {_shape(value)}."]
    if items and path:
        lines.append(f"Its rows are the {len(items):,} items of {dump(path)}, {_shape(items)}.")
    elif items:
        lines.append("Its items are its rows.")
    else:
        lines.append("Its rows are its lines.")
    return cut("\n".join(lines), _MOST_SHAPE)


def _parse(text: str) -> JsonValue:
    if text[:1] not in ("{", "["):
        return None
    try:
        return parse(text)
    except JsonError:
        return None


def _longest_list(value: JsonValue) -> tuple[str, Sequence[JsonValue]]:
    """Returns the list that a value is, or the longest that it has as a member, with its key."""
    if isinstance(value, list):
        return "", value
    best: tuple[str, Sequence[JsonValue]] = ("", ())
    if isinstance(value, dict):
        for key, member in value.items():
            if isinstance(member, list) and len(member) > max(len(best[1]), 1):
                best = (key, member)
    return best


def _shape(value: JsonValue) -> str:
    match value:
        case dict():
            members = []
            for key, member in list(value.items())[:_MOST_KEYS]:
                members.append(f"{dump(key)} ({_kind(member)})")
            more = f" and {len(value) - _MOST_KEYS:,} more" if len(value) > _MOST_KEYS else ""
            return f"an object with {', '.join(members)}{more}"
        case list():
            if len(value) > _SAMPLE:
                return f"a list of {len(value):,}, of the first {_SAMPLE:,}: {_items(value[:_SAMPLE])}"
            return f"a list of {len(value):,}: {_items(value) or 'empty'}"
        case _:
            return _kind(value)


def _items(items: Sequence[JsonValue]) -> str:
    """Returns the kinds of a list's items, and of objects how many have which key."""
    kinds = Counter([_kind(item).partition(" ")[0] for item in items])
    told = ", ".join([f"{kind} ({count:,})" for kind, count in kinds.most_common()])
    keys: Counter[str] = Counter()
    for item in items:
        if isinstance(item, dict):
            keys.update(item.keys())
    if keys:
        named = [f"{dump(key)} in {count:,}" for key, count in keys.most_common(_MOST_KEYS)]
        return f"{told}, with the keys {', '.join(named)}"
    return told


def _kind(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return f"text of {len(value):,}"
        case dict():
            return f"object of {len(value):,}"
        case _:
            return f"list of {len(value):,}"


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines() or [text]:
        for at in range(0, max(len(line), 1), _LONGEST_LINE):
            yield line[at : at + _LONGEST_LINE]


def _holds(row: str, words: Sequence[str]) -> bool:
    folded = row.casefold()
    return all(word in folded for word in words)
