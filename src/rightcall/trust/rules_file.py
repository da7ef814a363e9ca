"""Parses an operator's TOML file into trust rules, or into a list of all its mistakes."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import fields

from rightcall.errors import UsageError
from rightcall.trust.ledger import Ledger
from rightcall.trust.rules import Rule, Rules

_TYPES: Mapping[str, Any] = {
    "vouched": tuple[str, ...],
    "otherwise": Literal["ask", "deny"],
    "secrets": bool,
    "memory": str,
    "unguarded": dict[str, Annotated[str, Meta(pattern=r"\S")]],
    "intents": Literal["model"],
    "rule": list[dict[str, Any]],
}
_RULE = {each.name: each.type for each in fields(Rule)}
_PATH = re.compile(r"\s*-? ?at `\$(.*)`")


class Mistake(Struct, frozen=True):
    """A mistake in a file: its line, if that is known, and what is wrong."""

    line: int
    words: str


class ParsedRules(Struct, frozen=True):
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


def parse_rules(text: str) -> ParsedRules:
    """Parses the rules in a TOML text, and collects all its mistakes."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else max(len(text.splitlines()), 1)
        return ParsedRules(Rules(), (Mistake(line, f"not TOML: {error}"),))
    reader = _RulesReader(text)
    rules = reader.rules(document)
    return ParsedRules(rules, tuple(sorted(reader.mistakes, key=lambda each: each.line)))


class _RulesReader:
    """Reads a document member by member, so that one mistake does not hide the next."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self.mistakes: list[Mistake] = []

    def rules(self, document: Mapping[str, Any]) -> Rules:
        values = self._members(document, _TYPES)
        tables = values.pop("rule", None)
        memory = values.pop("memory", None)
        if tables is not None:
            policy: list[Rule] = []
            for at, table in enumerate(tables):
                rule = self._members(table, _RULE, "rule", at)
                if "action" not in table:
                    self._wrong("a rule has an action: allow, deny, ask or rewrite", "", "rule", at)
                if "action" not in rule:
                    continue
                if (rule["action"] == "rewrite") != bool(rule.get("set")):
                    why = 'a rule with action = "rewrite" says what to set; no other does'
                    self._wrong(why, "set", "rule", at)
                policy.append(Rule(**rule))
            values["policy"] = tuple(policy)
        if memory is not None:
            values["memory"] = Ledger(memory)
        return Rules(**values)

    def _members(
        self, given: Mapping[str, Any], types: Mapping[str, Any], table: str = "", at: int = 0
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in given.items():
            if name not in types:
                self._wrong(f"there is no {name!r}; there is {', '.join(types)}", name, table, at)
                continue
            try:
                found[name] = msgspec.convert(value, types[name])
            except msgspec.ValidationError as error:
                # The path inside of the member, if there is one.
                words = _PATH.sub(lambda path: path[1] and f" at {path[1]}", str(error))
                self._wrong(f"{name}: {words}", name, table, at)
        return found

    def _wrong(self, words: str, name: str, table: str = "", at: int = 0) -> None:
        """Record a mistake at the line of a member of the ``at``-th table, or at the table's own."""
        start = 0
        end = len(self._lines)
        if table:
            starts = self._headers(rf"\s*\[\[?\s*{table}\s*\]")
            start = starts[at] if at < len(starts) else 0
            others = self._headers(rf"\s*\[(?!\s*{table}\.)")
            end = next((line for line in others if line > start), end)
        member = re.escape(name)
        wanted = re.compile(rf"\s*(?:{member}\s*[.=]|\[\[?\s*(?:\w+\.)?{member}\s*\])")
        if name:
            for line in range(start, end):
                if wanted.match(self._lines[line]):
                    start = line
                    break
        self.mistakes.append(Mistake(start + 1, words))

    def _headers(self, pattern: str) -> list[int]:
        return [line for line, text in enumerate(self._lines) if re.match(pattern, text)]
