"""Finds the tool definitions that a dialect's encoder makes, as they are in a request."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import json

from rightcall.core.message import said
from rightcall.core.ports import Dialect
from rightcall.core.request import Request
from rightcall.core.tool import Spec


def definitions(dialect: Dialect, model: str, specs: Sequence[Spec]) -> dict[str, str]:
    """Returns the definitions as text, by the tools' names. One without a clear name is left out."""
    request = Request(messages=(said("x", "user"),), specs=tuple(specs), options={"cache": False})
    body = json.decode(dialect.encoder()(request, model=model, stream=True).body)
    found: dict[str, str] = {}
    _look({key: value for key, value in body.items() if key.startswith("tool")}, found)
    names = {spec.name for spec in specs}
    return {name: text for name, text in found.items() if name in names}


def _look(node: Any, found: dict[str, str]) -> None:
    if isinstance(node, list):
        for each in node:
            name = _name_in(each)
            if name:
                found.setdefault(name, json.encode(each).decode())
            else:
                _look(each, found)
    elif isinstance(node, Mapping):
        for each in node.values():
            _look(each, found)


def _name_in(definition: Any) -> str:
    """Returns the name of the tool that this defines: its own, or that of its one member with a name."""
    if not isinstance(definition, Mapping):
        return ""
    inner = [value for value in definition.values() if isinstance(value, Mapping) and "name" in value]
    named = definition if "name" in definition else inner[0] if len(inner) == 1 else definition
    name = named.get("name", named.get("type", ""))
    return name if isinstance(name, str) else ""
