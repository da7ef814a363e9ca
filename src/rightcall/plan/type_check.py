"""A plan into its type errors: fields that do not exist, arguments that do not fit.

Only where a type checker is installed, with the extra ``code``. Errors that it is not sure of are left
to the run: a plan that would work is never refused.
"""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from rightcall.plan.parse import PlanProblem, parse, shown
from rightcall.programs.checker import TypeProblem, checked_types, is_installed
from rightcall.programs.stubs import Stubs

_AHEAD = "from datetime import date, datetime, time, timedelta; from typing import Literal, Optional"
_OWN = """
from datetime import date, datetime, time, timedelta
from typing import TypeVar
_T = TypeVar("_T")
def extract(text: object, type: type[_T], question: object = "") -> _T: ...
def answer(value: object) -> None: ...
def look_first(why: str) -> None: ...
"""
_FIELD = re.compile(r"Object of type `(\w+)` has no attribute `(\w+)`")
_ARGUMENT = re.compile(r"Argument to function `(\w+)` is incorrect: Expected `(.+?)`, found `(.+?)`")
_UNSURE = re.compile(r"\||\b(?:Unknown|Any|object|date|datetime|time|dict|Never)\b")
"""A type of which only some values may fit; dates fit where text does."""
_KEPT = 64


def type_problems(source: str, stubs: Stubs) -> tuple[PlanProblem, ...]:
    """The type errors of a plan; empty if there is no checker. Starts a process."""
    if not is_installed():
        return ()
    return _problems(source, _OWN + stubs.source, frozenset(stubs.functions))


@lru_cache(maxsize=_KEPT)
def _problems(source: str, stubs: str, tools: frozenset[str]) -> tuple[PlanProblem, ...]:
    tree = parse(source)
    declared = {each.name for each in ast.walk(ast.parse(stubs)) if isinstance(each, ast.ClassDef)}
    records = declared | {each.name for each in ast.walk(tree) if isinstance(each, ast.ClassDef)}
    found = checked_types(f"{_AHEAD}\n{source}", stubs)
    return tuple(_told(found, tree, records, tools))


def _told(
    found: list[TypeProblem], tree: ast.Module, records: set[str], tools: frozenset[str]
) -> Iterator[PlanProblem]:
    for each in found:
        line = each.line - 1
        if each.rule == "unresolved-attribute" and (match := _FIELD.search(each.words)):
            record, name = match.groups()
            if record in records:
                reason = f"{record} has no field {name}"
                yield PlanProblem(
                    kind="AttributeError", reason=reason, line=line, expression=_field(tree, line, name)
                )
        elif each.rule == "invalid-argument-type" and (match := _ARGUMENT.search(each.words)):
            tool, expected, given = match.groups()
            if tool in tools and not _UNSURE.search(given):
                reason = f"an argument is to be {expected}, and is {given}"
                yield PlanProblem(kind="TypeError", reason=reason, line=line, tool=tool)


def _field(tree: ast.Module, line: int, name: str) -> str:
    """The expression that reads a field, on a line of a plan."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == name and node.lineno == line:
            return shown(node)
    return ""
