"""Lint rules for a tool's parameters."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rightcall.core.jsontext import dump
from rightcall.core.problem import json_path
from rightcall.core.tool import Spec
from rightcall.declare.finding import Finding

_DEPTH = 6
_FEW_LETTERS = 2
# Short values that everybody knows.
_KNOWN = frozenset(
    word
    for line in (
        "asc desc and or not on off yes no up down in out to cc bcc put csv tsv xml json html pdf png",
        "jpg gif svg webp md txt px em pt cm mm km mi kg lb kb mb gb tb ms hr b i u h1 h2 h3 h4 h5 h6",
        "en de fr",
        "es it pt ja zh usd eur gbp ip id url uri utc http https sql tcp udp us uk eu eq ne lt gt le ge",
        "lte gte neq xhr css js ts",
    )
    for word in line.split()
)
_SAYS_ALL = frozenset(("title", "body", "content", "message", "text", "subject", "page", "url", "email"))
"""Parameters whose names need no description; nor do values that are words."""
_LIKE_A_WORD = re.compile(r"(?=.*[aeiouyAEIOUY]).{3,}|.*[\s_./:-].*|\d+ ?[a-z]{1,2}", re.DOTALL)
# Parameters that need a certain notation, so a model should see an example.
_NOTATION = re.compile(
    r"\b(jql|cql|cron|regex|regular expression|glob|selector|xpath|jmespath|jsonpath|expression|"
    r"dsl|syntax|query language|filter (string|object)|pipeline|rrule)\b",
    re.IGNORECASE,
)
_SHOWN = re.compile(
    r"\be\.?g\b|\bi\.e\b|example|\bsuch as\b|\blike\b|[\"'`“].+?[\"'`”]|\bfor instance\b|https?://|"
    r"yyyy|\d{4}-\d\d",
    re.IGNORECASE | re.DOTALL,
)


def parameter_findings(spec: Spec) -> Iterator[Finding]:
    """The findings on the parameters, in their order."""
    if spec.native:
        return
    shown = frozenset(name for example in spec.examples for name in example)
    for name, member in _members(spec.parameters):
        where = f"parameters at {json_path([name])}"
        says_all = name in _SAYS_ALL or "enum" in member
        if not says_all and not _says(member, spec.parameters, "description"):
            yield Finding(
                *(spec.name, where, "advice", "the parameter has no description", "", "no-description"),
                "a model fills it in by its name alone, and guesses the unit, the form and the default",
                "say what it means, in which form, and what is taken when it is left out",
            )
        if name not in shown and _is_notation(name, member) and not _is_shown(member, spec):
            yield Finding(
                *(spec.name, where, "advice", "the parameter has a notation and no example"),
                str(member.get("description", member.get("pattern", "")))[:80],
                "no-example",
                "models write what they have seen; one example is worth more than its rules",
                "give the tool examples=[{…}], or add one to the description: (e.g. …)",
            )
    yield from _enums(spec, spec.parameters, (), "", _DEPTH)


def _members(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        yield from [(name, each) for name, each in properties.items() if isinstance(each, Mapping)]


def _says(member: Mapping[str, Any], root: Mapping[str, Any], key: str) -> bool:
    """Whether the property has a description, itself or in what it refers to."""
    if member.get(key):
        return True
    reference = member.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        found: Any = root
        for step in reference[2:].split("/"):
            found = found.get(step) if isinstance(found, Mapping) else None
        return isinstance(found, Mapping) and bool(found.get(key))
    several = [*_list(member.get("anyOf")), *_list(member.get("oneOf")), *_list(member.get("allOf"))]
    return any(_says(each, root, key) for each in several if isinstance(each, Mapping))


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _is_notation(name: str, member: Mapping[str, Any]) -> bool:
    """Whether a value has a notation that its type does not tell."""
    if "enum" in member or "const" in member or member.get("type") in ("boolean", "integer", "number"):
        return False
    if member.get("type") == "object" and not member.get("properties"):
        return True
    words = f"{name.replace('_', ' ')} {member.get('description', '')}"
    return "pattern" in member or _NOTATION.search(words) is not None


def _is_shown(member: Mapping[str, Any], spec: Spec) -> bool:
    """Whether a model sees a value: an example, a default, or one in the description."""
    if any(member.get(key) for key in ("examples", "example", "default")):
        return True
    return _SHOWN.search(f"{member.get('description', '')}") is not None or (
        re.search(r"\bexamples?\b", spec.description, re.IGNORECASE) is not None
    )


def _enums(
    spec: Spec, schema: Any, steps: tuple[str | int, ...], told: str, depth: int
) -> Iterator[Finding]:
    """The enum values that are not self-explanatory and not explained."""
    if not isinstance(schema, Mapping) or depth < 0:
        return
    told = f"{told} {schema.get('description', '')}"
    cryptic = [each for each in _list(schema.get("enum")) if _is_cryptic(each, told)]
    if cryptic:
        yield Finding(
            *(spec.name, f"parameters at {json_path(steps)}", "advice"),
            "values that only their author understands",
            ", ".join(map(dump, cryptic[:8])),
            "cryptic-enum",
            "a model chooses among them by what they seem to mean",
            "use words as values, or say in the description what each one means",
        )
    for name, member in _members(schema):
        yield from _enums(spec, member, (*steps, name), told, depth - 1)
    for key in ("items", "anyOf", "oneOf", "allOf"):
        inner = schema.get(key)
        for each in inner if isinstance(inner, list | tuple) else (inner,):
            yield from _enums(spec, each, steps, told, depth - 1)


def _is_cryptic(value: Any, told: str) -> bool:
    if value is None or isinstance(value, bool):
        return False
    text = str(value)
    if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", told):
        return False
    if not isinstance(value, str):
        return True
    return bool(text) and text.lower() not in _KNOWN and _LIKE_A_WORD.fullmatch(text) is None
