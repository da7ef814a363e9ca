"""Parses an operator's TOML file of facts, and applies it to tools that others wrote.

A table names the schema that it was written for. A tool with another schema is not the one that the
operator reviewed: no facts are applied to it, and the trust rules assume the worst.
"""

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import fields, replace

from rightcall.core.facts import Effect, Facts
from rightcall.core.options import NameCheckedMeta, check_keywords
from rightcall.core.sanitize import printable
from rightcall.core.tool import Tool
from rightcall.errors import DeclarationError, UsageError
from rightcall.log import logger

_FACTS = {each.name: each.type for each in fields(Facts)}
_OWN: Mapping[str, Any] = {"schema": str, "effect": Effect}
_STARTERS = files("rightcall.trust") / "starters"


class Stated(Struct, frozen=True, kw_only=True, metaclass=NameCheckedMeta):
    """The facts that an operator states about one tool."""

    effect: Effect | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    schema: str = ""
    """The hash of the parameters that it was written for; empty: it applies to any."""


class StatedFacts(Struct, frozen=True):
    """The facts that an operator states about tools, by name. Call it with a tool to apply them."""

    tools: Mapping[str, Stated]

    def __call__(self, tool: Tool, name: str | None = None) -> Tool:
        """The tool with the stated facts; unchanged if there are none, or they are for another schema.

        ``name`` is the tool's name at its origin.
        """
        stated = self.tools.get(name or tool.name)
        if stated is None:
            return tool
        if stated.schema and stated.schema != schema_hash(tool):
            logger.warning(
                "facts of %s are for another schema than it has now, and were left out: "
                "it is taken for the worst",
                printable(tool.name),
            )
            return tool
        try:
            facts = replace(tool.facts, **stated.facts)
            return tool.replace(effect=stated.effect or tool.effect, facts=facts)
        except DeclarationError as error:
            raise UsageError(f"the facts of {tool.name} do not fit it: {error.reason}") from error

    def over(self, tools: Iterable[Tool]) -> list[Tool]:
        """All tools, with the stated facts applied."""
        return list(map(self, tools))


@check_keywords("rc.trust.read_facts")
def read_facts(source: str | Path) -> StatedFacts:
    """The facts in a TOML file. Raises a UsageError that names everything that is wrong with it."""
    try:
        text = Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{source} cannot be read: {error}") from None
    return parse_facts(text, str(source))


@check_keywords("rc.trust.starter")
def starter(name: str) -> StatedFacts:
    """The facts that ship for a public MCP server, by a name from ``starters()``.

    You decide which tools they are applied to: that a server has this name is no proof. They apply only
    to the schemas of the version that they were written for.
    """
    return parse_facts(starter_text(name), f"starter {name}")


def starter_text(name: str) -> str:
    """The facts that ship for a server, as TOML text."""
    known = starters()
    if name not in known:
        raise UsageError(f"there are no facts for {name!r}; there are some for {', '.join(known)}")
    return (_STARTERS / f"{name}.toml").read_text(encoding="utf-8")


def starters() -> tuple[str, ...]:
    """The public MCP servers for which facts ship."""
    names = (each.name for each in _STARTERS.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def parse_facts(text: str, source: str) -> StatedFacts:
    """Parses the facts in a TOML text."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source} is not TOML: {error}") from None
    mistakes = [f"there is no {name!r}; there is tools" for name in document if name != "tools"]
    tables = document.get("tools", {})
    if not isinstance(tables, dict):
        raise UsageError(f"{source}: tools holds tables: [tools.NAME]")
    found: dict[str, Stated] = {}
    for tool, table in tables.items():
        if not isinstance(table, dict):
            mistakes.append(f"tools.{tool} is no table")
            continue
        own: dict[str, Any] = {}
        facts: dict[str, Any] = {}
        for name, value in table.items():
            wanted = _OWN.get(name) or _FACTS.get(name)
            if wanted is None:
                known = ", ".join((*_OWN, *_FACTS))
                mistakes.append(f"tools.{tool}: there is no {name!r}; there is {known}")
                continue
            try:
                (own if name in _OWN else facts)[name] = msgspec.convert(value, wanted)
            except msgspec.ValidationError as error:
                mistakes.append(f"tools.{tool}.{name}: {error}")
        found[tool] = Stated(**own, facts=facts)
    if mistakes:
        lines = "\n".join(f"{source}: {each}" for each in mistakes)
        raise UsageError(f"the facts cannot be used:\n{lines}")
    return StatedFacts(found)


def schema_hash(tool: Tool) -> str:
    """A hash of a tool's parameters. It does not depend on the order of an object's members."""
    text = json.dumps(tool.parameters, sort_keys=True, separators=(",", ":"), default=str)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def facts_at(place: str) -> StatedFacts:
    """The facts in a file, or those that ship under a name."""
    if place.endswith(".toml"):
        return read_facts(place)
    return starter(place)
