"""Converts a span to a parameter's format: a day as 2026-03-05, two hours in minutes, euros as EUR.

These are other spellings of the user's text. A span that cannot be converted is not used.
"""

import re

from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.declare.search_words import stem
from rightcall.local.guided.parameters import Parameter
from rightcall.local.guided.spans import Span
from rightcall.local.guided.units import currency
from rightcall.local.guided.when import clock_time, iso_date

_SECONDS = {
    stem(word): seconds
    for word, seconds in (
        ("second", 1),
        ("minute", 60),
        ("hour", 3600),
        ("day", 86400),
        ("week", 604800),
        ("min", 60),
        ("sec", 1),
    )
}


def spelt(span: Span, parameter: Parameter) -> JsonValue:
    """The span in the parameter's format; None if it does not fit."""
    plain = span.plain
    if parameter.type in {"integer", "number"}:
        if span.kind == "date":
            year = re.search(r"\b\d{4}\b", str(plain))
            return int(year[0]) if year else None
        return _share(_in_unit(plain, span, parameter), span, parameter)
    if parameter.type in {"enum", "array"}:
        return plain
    if isinstance(plain, list):
        return None
    if (code := _currency(str(plain), parameter)) is not None:
        return code
    if span.kind == "number":
        # As it was written, with leading zeros; a number in words is no id.
        plain = re.sub(r"[^\d.,+-]", "", span.text)
    text = str(plain)
    described = str(parameter.schema.get("description", "")).lower()
    if span.kind == "date" and ("yyyy" in described or parameter.schema.get("format") == "date"):
        text = iso_date(text)
        if not text and parameter.schema.get("format") == "date":
            return None
        text = text or str(plain)
    if span.kind == "time" and re.search(r"hh:mm|24.?h", described):
        text = clock_time(text) or text
    return text if _is_allowed(text, parameter.schema) else None


def _currency(text: str, parameter: Parameter) -> str | None:
    """The code of a currency given in words, for a parameter that wants codes."""
    described = str(parameter.schema.get("description", ""))
    wants_code = "currency" in parameter.name.lower() and re.search(r"\b[A-Z]{3}\b|code", described)
    return currency(text.rsplit(maxsplit=1)[-1]) or None if wants_code and text.split() else None


def _in_unit(plain: JsonValue, span: Span, parameter: Parameter) -> JsonValue:
    """A duration in the unit that the parameter is named after: two hours are 120 minutes."""
    unit = _SECONDS.get(stem(span.unit.lower())) if span.unit else None
    wanted = next((_SECONDS[word] for word in parameter.words if word in _SECONDS), None)
    if wanted is None:
        wanted = next((_SECONDS[word] for word in sorted(parameter.hints) if word in _SECONDS), None)
    if unit is None or wanted is None or unit == wanted or not isinstance(plain, int | float):
        return plain
    changed = plain * unit / wanted
    return (
        int(changed) if changed == int(changed) else (None if parameter.type == "integer" else changed)
    )


def _share(plain: JsonValue, span: Span, parameter: Parameter) -> JsonValue:
    """A percentage as a fraction, for a parameter that says it is one."""
    described = str(parameter.schema.get("description", "")).lower()
    is_share = span.unit in {"%", "percent"} and re.search(
        r"decimal|fraction|between 0 and 1|0\.\d", described
    )
    if is_share and isinstance(plain, int | float) and parameter.type == "number":
        return round(plain / 100, 6)
    return plain


def _is_allowed(text: str, schema: JsonObject) -> bool:
    low, high, pattern = schema.get("minLength"), schema.get("maxLength"), schema.get("pattern")
    if isinstance(low, int) and len(text) < low:
        return False
    if isinstance(high, int) and len(text) > high:
        return False
    if isinstance(pattern, str):
        try:
            return re.search(pattern, text) is not None
        except re.error:
            return True
    return bool(text.strip())
