"""Parses an operator's TOML file into trust rules, or into a list of all its mistakes."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import fields, replace

from rightcall.core.decision import Grant
from rightcall.errors import UsageError
from rightcall.trust.ledger import Ledger
from rightcall.trust.rules import Rule, Rules

_TYPES: Mapping[str, Any] = {
    "vouched": tuple[str, ...],
    "directories": tuple[str, ...],
    "otherwise": Literal["ask", "deny"],
    "secrets": bool,
    "memory": str,
    "unguarded": dict[str, Annotated[str, Meta(pattern=r"\S")]],
    "grant": Any,
    "rule": list[dict[str, Any]],
}
_RULE = {each.name: each.type for each in fields(Rule)}
_GRANT = {each.name: each.type for each in fields(Grant)}
_PATH = re.compile(r"\s*-? ?at `\$(.*)`")


class Mistake(Struct, frozen=True):
    """A mistake in a file: its line, if that is known, and what is wrong."""

    line: int
    words: str


class Reading(Struct, frozen=True):
    """The contents of a file; ``rules`` are valid only if there are no mistakes."""

    rules: Rules
    mistakes: tuple[Mistake, ...]


def read_rules(path: str | Path) -> Rules:
    """The rules in a TOML file. Raises a UsageError that names everything that is wrong with it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    reading = parse_rules(text)
    if reading.mistakes:
        lines = "\n".join(f"{path}:{each.line}: {each.words}" for each in reading.mistakes)
        raise UsageError(f"the rules cannot be used:\n{lines}")
    return reading.rules


def parse_rules(text: str) -> Reading:
    """Parses the rules in a TOML text, and collects all its mistakes."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else max(len(text.splitlines()), 1)
        return Reading(Rules(), (Mistake(line, f"not TOML: {error}"),))
    reader = _RulesReader(text)
    rules = reader.rules(document)
    return Reading(rules, tuple(sorted(reader.mistakes, key=lambda each: each.line)))


class _RulesReader:
    """Reads a document member by member, so that one mistake does not hide the next."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self.mistakes: list[Mistake] = []

    def rules(self, document: Mapping[str, Any]) -> Rules:
        values = self._members(document, _TYPES, self._line_of(""))
        grant, tables = values.pop("grant", None), values.pop("rule", None)
        memory = values.pop("memory", None)
        rules = Rules(**values, memory=None if memory is None else Ledger(memory))
        if isinstance(grant, dict):
            found = self._members(grant, _GRANT, self._line_of("grant"))
            rules = replace(rules, grant=Grant(**found))
        elif grant == "model":
            rules = replace(rules, grant="model")
        elif grant is not None:
            self._wrong(self._line_of("")("grant"), 'grant is "model" or a table with tools and targets')
        if tables is not None:
            policy = [self._rule(at, table) for at, table in enumerate(tables)]
            rules = replace(rules, policy=tuple(rule for rule in policy if rule is not None))
        return rules

    def _rule(self, at: int, table: Mapping[str, Any]) -> Rule | None:
        place = self._line_of("rule", at)
        values = self._members(table, _RULE, place)
        if "action" not in table:
            self._wrong(place(""), "a rule has an action: allow, deny, ask or rewrite")
        if "action" not in values:
            return None
        if (values["action"] == "rewrite") != bool(values.get("set")):
            self._wrong(place("set"), 'a rule with action = "rewrite" says what to set; no other does')
        return Rule(**values)

    def _members(self, given: Mapping[str, Any], types: Mapping[str, Any], place: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in given.items():
            if name not in types:
                self._wrong(place(name), f"there is no {name!r}; there is {', '.join(types)}")
                continue
            try:
                found[name] = msgspec.convert(value, types[name])
            except msgspec.ValidationError as error:
                self._wrong(place(name), f"{name}: {_PATH.sub(_indexed, str(error))}")
        return found

    def _wrong(self, line: int, words: str) -> None:
        self.mistakes.append(Mistake(line, words))

    def _line_of(self, table: str, at: int = 0) -> Any:
        """A function from a member's name to its line, or to the table's line if it is not found."""
        start, end = self._extent(table, at)

        def place(name: str) -> int:
            wanted = re.compile(
                rf"\s*(?:{re.escape(name)}\s*[.=]|\[\[?\s*(?:\w+\.)?{re.escape(name)}\s*\])"
            )
            found = (line for line in range(start, end) if name and wanted.match(self._lines[line]))
            return next(found, start) + 1

        return place

    def _extent(self, table: str, at: int) -> tuple[int, int]:
        """Where the lines of the ``at``-th table of that name begin and end."""
        if not table:
            return 0, len(self._lines)
        starts = list(self._headers(rf"\s*\[\[?\s*{table}\s*\]"))
        others = list(self._headers(rf"\s*\[(?!\s*{table}\.)"))
        start = starts[at] if at < len(starts) else 0
        return start, next((line for line in others if line > start), len(self._lines))

    def _headers(self, pattern: str) -> Iterator[int]:
        return (line for line, text in enumerate(self._lines) if re.match(pattern, text))


def _indexed(found: re.Match[str]) -> str:
    return f" at {found[1]}" if found[1] else ""
