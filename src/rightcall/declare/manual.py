"""The descriptions of a tool for the model: its whole manual, a short form, or one line."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from msgspec.structs import replace

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.tool import Spec
from rightcall.declare.words import terms

_LONGEST_LINE = 120
_SENTENCE = re.compile(r"(?<=[.!?。])\s|\n")
_MEMBERS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SCHEMAS = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")


def first_sentence(text: str) -> str:
    """The first sentence of a text, cut at 120 characters."""
    words = " ".join(_SENTENCE.split(text.strip(), maxsplit=1)[0].split())
    return words if len(words) <= _LONGEST_LINE else words[: _LONGEST_LINE - 1].rstrip() + "…"


def line(spec: Spec) -> str:
    """A tool's description in one line."""
    return spec.short or first_sentence(spec.description)


def shortened(spec: Spec) -> Spec:
    """The short spec of a tool whose manual the model can look up.

    A vendor's own definition is short already, and is kept.
    """
    if spec.native:
        return spec
    parameters = _without_words(spec.parameters, terms(spec.name))
    return replace(spec, description=line(spec), parameters=parameters, examples=(), questions=())


def manual(spec: Spec) -> str:
    """The whole manual of a tool."""
    parts = [f"# {spec.name}", spec.description, f"Arguments, as a JSON Schema: {dump(spec.parameters)}"]
    if spec.examples:
        examples = [
            dump(example) if not asked else f"{asked} -> {dump(example)}"
            for example, asked in _pairs(spec.examples, spec.questions)
        ]
        parts.append("Examples of arguments:\n" + "\n".join(f"- {each}" for each in examples))
    return "\n\n".join(parts)


def _pairs(examples: Sequence[JsonObject], questions: Sequence[str]) -> list[tuple[JsonObject, str]]:
    asked = [*questions, *[""] * len(examples)]
    return list(zip(examples, asked, strict=False))


def _without_words(schema: Any, known: Sequence[str]) -> Any:
    """A schema without titles and examples, and without descriptions that only repeat the names.

    Other descriptions are cut to the first sentence. A property may be called "title", so the names of
    properties are kept.
    """
    if not isinstance(schema, Mapping):
        return schema
    short: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("title", "examples", "$schema", "$comment") and not isinstance(value, Mapping):
            continue
        if key == "description" and isinstance(value, str):
            if not _is_obvious(value, known):
                short[key] = first_sentence(value)
        elif key in _MEMBERS and isinstance(value, Mapping):
            short[key] = {
                name: _without_words(member, [*known, *terms(name)]) for name, member in value.items()
            }
        elif key in _SCHEMAS:
            short[key] = _without_words(value, known)
        elif key in _LISTS and isinstance(value, Sequence):
            short[key] = [_without_words(each, known) for each in value]
        else:
            short[key] = value
    return short


@cache
def _says_nothing() -> frozenset[str]:
    """Words that fit the description of any parameter, and say no more than its name does."""
    words = (
        "name value number string text list array id identifier optional required parameter argument "
        "given specified new full whole valid single unique current desired"
    )
    return frozenset(terms(words))


def _is_obvious(text: str, known: Sequence[str]) -> bool:
    """Whether every word of a description is already in the names around it."""
    return _says_nothing().issuperset(set(terms(text)) - set(known)) and not any(map(str.isdigit, text))
