"""The descriptions of a tool for the model: its whole manual, a short form, or one line."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain, repeat
from typing import Any

from msgspec.structs import replace

from rightcall.core.jsontext import JsonError, dump, parse
from rightcall.core.tool import Spec
from rightcall.declare.search_words import terms

_LONGEST_LINE = 120
_SENTENCE = re.compile(r"(?<=[.!?。])\s|\n")
_MEMBERS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SCHEMAS = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")


def first_sentence(text: str) -> str:
    """The first sentence of a text, cut at 120 characters."""
    words = " ".join(_SENTENCE.split(text.strip(), maxsplit=1)[0].split())
    if len(words) <= _LONGEST_LINE:
        return words
    return words[: _LONGEST_LINE - 1].rstrip() + "…"


def summary_line(spec: Spec) -> str:
    """A tool's description in one line."""
    return spec.short or first_sentence(spec.description)


def short_spec(spec: Spec) -> Spec:
    """The short spec of a tool whose manual the model can look up.

    A vendor's own definition is short already, and is kept.
    """
    if spec.native:
        return spec
    parameters = _without_words(spec.parameters, terms(spec.name))
    return replace(
        spec, description=summary_line(spec), parameters=parameters, examples=(), questions=()
    )


def manual(spec: Spec) -> str:
    """The whole manual of a tool."""
    parts = [f"# {spec.name}", spec.description, f"Arguments, as a JSON Schema: {dump(spec.parameters)}"]
    if spec.examples:
        lines = ["Examples of arguments:"]
        for example, question in zip(spec.examples, chain(spec.questions, repeat("")), strict=False):
            lines.append(f"- {question} -> {dump(example)}" if question else f"- {dump(example)}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


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
            # Is every word of it in the names around it?
            news = set(terms(value)) - set(known)
            if not _empty_words().issuperset(news) or any(map(str.isdigit, value)):
                short[key] = first_sentence(value)
        elif key in _MEMBERS and isinstance(value, Mapping):
            short[key] = members = {}
            for name, member in value.items():
                members[name] = _without_words(member, [*known, *terms(name)])
        elif key in _SCHEMAS:
            short[key] = _without_words(value, known)
        elif key in _LISTS and isinstance(value, Sequence):
            short[key] = [_without_words(each, known) for each in value]
        else:
            short[key] = value
    return short


@cache
def _empty_words() -> frozenset[str]:
    """Words that fit the description of any parameter, and say no more than its name does."""
    words = (
        "name value number string text list array id identifier optional required parameter argument "
        "given specified new full whole valid single unique current desired"
    )
    return frozenset(terms(words))


def quote_description(server: str, words: str) -> str:
    """An MCP server's description of a tool, marked with its source."""
    return f"{_mark(server)}{dump(words)}"


def original_spec(spec: Spec) -> Spec:
    """The definition as its author wrote it: without our marks, and without our one-line summary."""
    mark = _mark(spec.origin)
    if not spec.origin or not spec.description.startswith(mark):
        return spec
    try:
        words = parse(spec.description.removeprefix(mark))
    except JsonError:
        return spec
    if isinstance(words, str):
        return replace(spec, description=words, short="")
    return spec


def _mark(server: str) -> str:
    return f"A tool of the MCP server {server}, in that server's own, untrusted words: "
