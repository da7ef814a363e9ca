"""Turn the keywords of strings, numbers and enumerations into nodes, and name what these do not hold."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

from rightcall.core.schema import Schema
from rightcall.local.grammar.flatten import as_types
from rightcall.local.grammar.nodes import MOST_REPEATS, NOTHING, Node, repeat
from rightcall.local.grammar.notation import Notation
from rightcall.local.grammar.numbers import Interval, integer, number
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
_TYPES = ("object", "array", "string", "number", "boolean", "null")
_OF_SCALARS = frozenset(["pattern", "multipleOf", *_LIMITS, *_LENGTHS])
_NO_BOUNDS = Interval(None, None, above=False, below=False)

_YEAR = "[1-9][0-9]{3}"
_LEAP = "[1-9][0-9](0[48]|[2468][048]|[13579][26])"
_LONG = f"{_YEAR}-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
_SHORT = f"{_YEAR}-(0[469]|11)-(0[1-9]|[12][0-9]|30)"
_FEBRUARY = f"{_YEAR}-02-(0[1-9]|1[0-9]|2[0-8])|{_LEAP}-02-29"
_DATE = f"({_LONG}|{_SHORT}|{_FEBRUARY})"
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9]"
_TIME = f"{_CLOCK}:[0-5][0-9](\\.[0-9]{{1,6}})?(Z|[+-]{_CLOCK})"
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_HEX = "[0-9a-f]"
_LABEL = "[a-z0-9]{1,20}(-[a-z0-9]{1,20}){0,2}"
_LAST = "[a-z][a-z0-9]{1,20}"
_HOST = f"({_LABEL}\\.){{0,5}}{_LAST}"
_ATOM = "[A-Za-z0-9_+-]{1,20}"
_PATH = "([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-F][0-9A-F])"

FORMATS = {
    "date": f"^{_DATE}$",
    "time": f"^{_TIME}$",
    "date-time": f"^{_DATE}T{_TIME}$",
    "duration": "^P([0-9]{1,6}W|[0-9]{1,6}D(T[0-9]{1,6}H([0-9]{1,6}M([0-9]{1,6}S)?)?)?"
    "|T([0-9]{1,6}H([0-9]{1,6}M([0-9]{1,6}S)?)?|[0-9]{1,6}M([0-9]{1,6}S)?|[0-9]{1,6}S))$",
    "uuid": f"^{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}$",
    "ipv4": f"^{_BYTE}\\.{_BYTE}\\.{_BYTE}\\.{_BYTE}$",
    "ipv6": f"^({_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}$",
    "email": f"^{_ATOM}(\\.{_ATOM}){{0,2}}@({_LABEL}\\.){{1,4}}{_LAST}$",
    "hostname": f"^{_HOST}$",
    "uri": f"^[a-z][a-z0-9+.-]{{0,15}}://{_HOST}(:[1-9][0-9]{{0,3}})?(/{_PATH}*)*(\\?{_PATH}*)?(#{_PATH}*)?$",
}
"""Formats by JSON Schema's name, as regular expressions. Each admits a part of what its standard admits,
and nothing else: a date is one that the calendar has."""


def types_of(keywords: Mapping[str, Any]) -> Sequence[str]:
    """The types that a schema admits; where it says none, those that its keywords are about."""
    if "type" in keywords:
        named = as_types(keywords["type"])
        return [kind for kind in named if kind != "integer" or "number" not in named]
    implied = [kind for kind, about in _IMPLIED.items() if any(keyword in keywords for keyword in about)]
    return implied or _TYPES


def string(keywords: Mapping[str, Any], notation: Notation) -> tuple[Node | None, list[str]]:
    """What stands between a string's ends, None for anything; and the keywords that it does not hold."""
    unheld: list[str] = []
    for keyword, pattern in _patterns(keywords, unheld):
        try:
            matched = _matched(pattern, notation)
        except Inexpressible:
            matched = None
        if matched is None or matched.node == NOTHING:
            unheld.append(keyword)
            continue
        unheld += ["format"] if keyword == "pattern" and "format" in keywords else []
        return _of_length(matched, keywords, unheld)
    least, most = keywords.get("minLength", 0), keywords.get("maxLength")
    for keyword, limit in (("minLength", least), ("maxLength", most or 0)):
        unheld += [keyword] if limit > MOST_REPEATS else []
    least = least if least <= MOST_REPEATS else 0
    most = most if most is None or most <= MOST_REPEATS else None
    if least == 0 and most is None:
        return None, unheld
    return repeat(notation.letter, least, most), unheld


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
    matched: Matched, keywords: Mapping[str, Any], unheld: list[str]
) -> tuple[Node, list[str]]:
    """What matches, as long as it must be, where the two can be said together."""
    least, most = keywords.get("minLength", 0), keywords.get("maxLength")
    body = matched.node
    fewest, longest = max(least, matched.least), _smaller(most, matched.most)
    if matched.unit is not None and max(fewest, longest or 0) <= MOST_REPEATS:
        body = repeat(matched.unit, fewest, longest)
    else:
        unheld += ["minLength"] if least > matched.least else []
        unheld += ["maxLength"] if most is not None and longest != matched.most else []
    return body, unheld


def _smaller(first: int | None, second: int | None) -> int | None:
    known = [limit for limit in (first, second) if limit is not None]
    return min(known, default=None)


def numeric(kind: str, keywords: Mapping[str, Any]) -> tuple[Node, list[str]]:
    """An integer or a number between bounds, and the keywords that this does not hold."""
    bounds = _bounds(keywords)
    multiple = keywords.get("multipleOf", 1)
    step = int(multiple) if multiple == int(multiple) else 0
    unheld: list[str] = []
    if kind == "integer" or (step > 0 and "multipleOf" in keywords):
        found = integer(bounds, step) if step > 0 else None
        if found is None and step != 1:
            unheld.append("multipleOf")
            found = integer(bounds)
        everything = integer(_NO_BOUNDS)
    else:
        unheld += ["multipleOf"] if "multipleOf" in keywords else []
        found, everything = number(bounds), number(_NO_BOUNDS)
    if found is None:
        unheld += [keyword for keyword in _LIMITS if keyword in keywords]
        found = everything
    assert found is not None
    return found, unheld


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
    """The values of an ``enum`` that the other keywords admit, and the keywords that judged nothing."""
    beside: dict[str, Any] = {key: value for key, value in keywords.items() if key in _OF_SCALARS}
    judge = Schema(beside) if beside else None
    types = as_types(keywords.get("type", (*_TYPES, "integer")))
    values = [value for value in keywords["enum"] if any(_is_a(kind, value) for kind in types)]
    if judge is not None:
        values = [value for value in values if not judge.problems(value)]
    is_nested = any(isinstance(value, dict | list) for value in values)
    about = (*_IMPLIED["object"], *_IMPLIED["array"]) if is_nested else ()
    return values, [keyword for keyword in ("format", *about) if keyword in keywords]


def _is_a(kind: str, value: object) -> bool:
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
