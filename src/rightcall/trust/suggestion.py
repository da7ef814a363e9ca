"""Drafts facts for tools, and renders the drafts for pasting: as Python or TOML."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import asdict

from rightcall.core.facts import Facts
from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.options import checked
from rightcall.core.tool import Tool
from rightcall.declare.returns import returns_of
from rightcall.trust.draft import Draft, draft
from rightcall.trust.overlay import schema_hash

_BLANK = asdict(Facts())


@checked("rc.trust.suggest")
def suggest(tools: Any, *, outputs: Mapping[str, JsonObject] | None = None) -> tuple[Draft, ...]:
    """Draft facts for tools, a toolbox or an agent's tools, for a person to review.

    They are taken from names, docs, schemas and formats; the same every time. What a function returns
    is known from its annotations; ``outputs`` has the schemas of other tools' results, by tool.
    """
    known = outputs or {}
    return tuple(
        draft(tool, known.get(tool.name) or _output(tool)) for tool in getattr(tools, "tools", tools)
    )


def _output(tool: Tool) -> JsonObject | None:
    # Nobody has checked what a third party's tool says that it returns.
    returns = None if tool.origin else returns_of(tool)
    return None if returns is None else returns.schema


def as_python(drafts: Iterable[Draft]) -> str:
    """Drafts as options of ``@rc.tool``, each with its reasons."""
    return "\n\n".join("\n".join(_python(each)) for each in drafts)


def _python(each: Draft) -> Iterator[str]:
    yield f"# {each.tool}"
    yield from _comments(each)
    facts = ", ".join(f"{name}={_literal(value)}" for name, value in _stated(each.facts))
    effect = f'effect="{each.effect}", ' if each.effect else ""
    yield f"@rc.tool({effect}facts=rc.Facts({facts}))"


def _literal(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{dump(key)}: {_literal(each)}" for key, each in value.items()) + "}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
    return dump(value) if isinstance(value, str) else repr(value)


@checked("rc.trust.as_toml")
def as_toml(
    drafts: Iterable[Draft], tools: Iterable[Tool], names: Mapping[str, str] | None = None
) -> str:
    """Drafts as an operator's file of facts, each with its reasons, and bound to the present schema.

    ``names`` maps tools that are renamed here to the server's own names, which the file uses.
    """
    pins = {tool.name: schema_hash(tool) for tool in tools}
    own = names or {}
    return "\n\n".join(
        "\n".join(_toml(each, own.get(each.tool, each.tool), pins.get(each.tool))) for each in drafts
    )


def _toml(each: Draft, called: str, pin: str | None) -> Iterator[str]:
    yield from _comments(each)
    yield f"[tools.{dump(called)}]"
    if pin:
        yield f"schema = {dump(pin)}"
    if each.effect:
        yield f"effect = {dump(each.effect)}"
    for name, value in _stated(each.facts):
        yield f"{name} = {toml_value(value)}"


def toml_value(value: Any) -> str:
    """A fact's value as TOML."""
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{dump(key)} = {toml_value(each)}" for key, each in value.items()) + " }"
        )
    return dump(list(value) if isinstance(value, tuple) else value)


def _stated(facts: Facts) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in asdict(facts).items() if value != _BLANK[name])


def _comments(each: Draft) -> Iterator[str]:
    for name, why in each.reasons.items():
        yield f"# {name}: {why}"
    for name, why in each.unsaid.items():
        yield f"# {name} is not said, and taken for the worst: {why}"
