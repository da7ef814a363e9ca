"""Compiles the keywords of strings, numbers and enumerations to nodes, and lists those not enforced."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from rightcall.core.jsontext import JsonValue, dump
from rightcall.core.schema import Schema
from rightcall.local.grammar.derivatives import of_length
from rightcall.local.grammar.flatten import as_types
from rightcall.local.grammar.formats import FORMATS, WIDER
from rightcall.local.grammar.nodes import MOST_REPEATS, NOTHING, Node, Other, repeat, word
from rightcall.local.grammar.notation import Notation
from rightcall.local.grammar.numbers import MOST_PLACES, Interval, integer, number, told_by_ending
from rightcall.local.grammar.regex import Inexpressible, Matched, matching

_LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_LENGTHS = ("minLength", "maxLength")
_IMPLIED = {
    "object": (
        "properties", "required", "additionalProperties", "patternProperties", "minProperties",
        "maxProperties", "propertyNames",
    ),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
    "string": ("pattern", "format", *_LENGTHS),
    "number": ("multipleOf", *_LIMITS),
}  # fmt: skip
TYPES = ("object", "array", "string", "number", "boolean", "null")
_OF_SCALARS = frozenset(["pattern", "multipleOf", *_LIMITS, *_LENGTHS])
_NO_BOUNDS = Interval(None, None, above=False, below=False)


def types_of(keywords: Mapping[str, Any]) -> Sequence[str]:
    """The types that a schema allows: all if it names none. A keyword applies to its own type only."""
    if "type" not in keywords:
        return TYPES
    named = [kind for kind in as_types(keywords["type"]) if kind in (*TYPES, "integer")]
    return [kind for kind in named if kind != "integer" or "number" not in named]


def string(keywords: Mapping[str, Any], notation: Notation) -> tuple[Node | None, list[str]]:
    """The body of a string, None for any; and the keywords that it does not enforce."""
    unheld: list[str] = []
    for keyword, pattern in _patterns(keywords, unheld):
        try:
            matched = _matched(pattern, notation)
        except Inexpressible:
            matched = None
        if matched is None or matched.node == NOTHING:
            unheld.append(keyword)
            continue
        is_beside = keyword == "pattern" and "format" in keywords
        is_wider = keyword == "format" and keywords["format"] in WIDER
        unheld += ["format"] if is_beside or is_wider else []
        unheld += ["not"] if any(isinstance(each, str) for each in keywords.get("excluded", ())) else []
        return _of_length(pattern, keywords, notation, unheld)
    least, most = keywords.get("minLength", 0), keywords.get("maxLength")
    for keyword, limit in (("minLength", least), ("maxLength", most or 0)):
        unheld += [keyword] if limit > MOST_REPEATS else []
    least = least if least <= MOST_REPEATS else 0
    most = most if most is None or most <= MOST_REPEATS else None
    excluded = [value for value in keywords.get("excluded", ()) if isinstance(value, str)]
    if least == 0 and most is None:
        return _other_than(excluded, notation, unheld), unheld
    unheld += ["not"] if excluded else []
    return repeat(notation.letter, least, most), unheld


def _other_than(excluded: list[str], notation: Notation, unheld: list[str]) -> Node | None:
    """Any text but these, if a grammar can express that."""
    plain = [text for text in excluded if notation.spell(text) == word(f'"{text}"')]
    if not excluded or notation.mark or len(plain) < len(excluded):
        unheld += ["not"] if excluded else []
        return None
    return Other(tuple(sorted(plain)), notation.letter)


@lru_cache(maxsize=256)
def _matched(pattern: str, notation: Notation) -> Matched:
    return matching(pattern, notation.one_of)


def _patterns(keywords: Mapping[str, Any], unheld: list[str]) -> list[tuple[str, str]]:
    found = [("pattern", keywords["pattern"])] if "pattern" in keywords else []
    named = keywords.get("format")
    if named in FORMATS:
        found.append(("format", FORMATS[named]))
    elif named is not None:
        unheld.append("format")
    return found


def _of_length(
    pattern: str, keywords: Mapping[str, Any], notation: Notation, unheld: list[str]
) -> tuple[Node, list[str]]:
    """What matches a pattern and has the right length, if both can be expressed together."""
    matched = _matched(pattern, notation)
    least, most = keywords.get("minLength", 0), keywords.get("maxLength")
    fewest, longest = max(least, matched.least), _smaller(most, matched.most)
    if fewest == matched.least and longest == matched.most:
        return matched.node, unheld
    if matched.unit is not None and max(fewest, longest or 0) <= MOST_REPEATS:
        return repeat(matched.unit, fewest, longest), unheld
    # Both bounds, or only the lower one, which takes fewer steps to follow.
    for upper in dict.fromkeys((longest, matched.most)):
        try:
            body = of_length(pattern, fewest, upper, notation)
        except Inexpressible:
            continue
        return body, [*unheld, *(["maxLength"] if upper != longest else [])]
    unheld += ["minLength"] if least > matched.least else []
    unheld += ["maxLength"] if most is not None and longest != matched.most else []
    return matched.node, unheld


def _smaller(first: int | None, second: int | None) -> int | None:
    known = [limit for limit in (first, second) if limit is not None]
    return min(known, default=None)


def numeric(kind: str, keywords: Mapping[str, Any]) -> tuple[Node, list[str]]:
    """An integer or a number within bounds, and the keywords that this does not enforce."""
    bounds = _bounds(keywords)
    multiple = keywords.get("multipleOf", 1)
    step = int(multiple) if multiple == int(multiple) else 0
    unheld: list[str] = []
    if kind == "integer" or (step > 0 and "multipleOf" in keywords):
        found = integer(bounds, step) if step > 0 else None
        if found is None and step != 1:
            unheld.append("multipleOf")
            factor = told_by_ending(step) if step else 1
            found = integer(bounds, factor) or integer(bounds)
        if found is None:
            return _within_one(bounds, keywords, unheld)
        return found, unheld
    places = _places(multiple) if "multipleOf" in keywords else MOST_PLACES
    unheld += ["multipleOf"] if places is None else []
    places = places or MOST_PLACES
    held = number(bounds, places)
    if held is None:
        unheld += [keyword for keyword in _LIMITS if keyword in keywords]
        held = number(_NO_BOUNDS, places)
    assert held is not None
    return held, unheld


def _within_one(
    bounds: Interval, keywords: Mapping[str, Any], unheld: list[str]
) -> tuple[Node, list[str]]:
    """An integer within one bound at least, if the other is too large to follow."""
    halves = (
        (replace(bounds, high=None, below=False), _LIMITS[1::2]),
        (replace(bounds, low=None, above=False), _LIMITS[::2]),
        (_NO_BOUNDS, _LIMITS),
    )
    for kept, left in halves:
        found = integer(kept)
        if found is not None and (left == _LIMITS or not kept.are_open):
            return found, [*unheld, *(keyword for keyword in left if keyword in keywords)]
    raise AssertionError("integers without bounds can be written")


def _places(multiple: float) -> int | None:
    """The number of decimal places of a multiple: one for a tenth, two for a hundredth and so on."""
    exact = _exact(multiple).normalize().as_tuple()
    is_decimal = exact.digits == (1,) and isinstance(exact.exponent, int) and exact.exponent < 0
    return -exact.exponent if is_decimal and -exact.exponent <= MOST_PLACES else None  # type: ignore[operator]


def _bounds(keywords: Mapping[str, Any]) -> Interval:
    """The tighter of each pair of bounds."""
    lows = [(_exact(keywords[key]), key != "minimum") for key in _LIMITS[::2] if key in keywords]
    highs = [(_exact(keywords[key]), key != "maximum") for key in _LIMITS[1::2] if key in keywords]
    low = max(lows, default=(None, False))
    high = min(highs, key=lambda pair: (pair[0], not pair[1]), default=(None, False))
    return Interval(low[0], high[0], above=low[1], below=high[1])


def _exact(value: float) -> Decimal:
    return Decimal(repr(value))


def listed(keywords: Mapping[str, Any]) -> tuple[list[Any], list[str]]:
    """The values of an ``enum`` that the other keywords allow, and the keywords not applied."""
    beside: dict[str, Any] = {key: value for key, value in keywords.items() if key in _OF_SCALARS}
    judge = Schema(beside) if beside else None
    types = as_types(keywords.get("type", (*TYPES, "integer")))
    values = [value for value in keywords["enum"] if any(is_a(kind, value) for kind in types)]
    values = without(values, keywords.get("excluded", ()))
    if judge is not None:
        values = [value for value in values if not judge.problems(value)]
    is_nested = any(isinstance(value, dict | list) for value in values)
    about = (*_IMPLIED["object"], *_IMPLIED["array"]) if is_nested else ()
    return values, [keyword for keyword in ("format", *about) if keyword in keywords]


def without(values: Sequence[JsonValue], excluded: Sequence[JsonValue]) -> list[JsonValue]:
    """The values that are none of the others; equal numbers are equal in any spelling."""
    return [value for value in values if not any(_is_same(value, each) for each in excluded)]


def _is_same(one: JsonValue, two: JsonValue) -> bool:
    are_numbers = is_a("number", one) and is_a("number", two)
    return one == two if are_numbers else dump(one) == dump(two)


def is_a(kind: str, value: object) -> bool:
    """Whether a value is of a type."""
    match value:
        case None:
            return kind == "null"
        case bool():
            return kind == "boolean"
        case int():
            return kind in {"integer", "number"}
        case float():
            return kind == "number" or (kind == "integer" and value.is_integer())
        case str():
            return kind == "string"
        case dict():
            return kind == "object"
        case _:
            return kind == "array"
