"""Checks a plan before it runs: its problems, and the calls it would make."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.options import check_keywords
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.plan.functions import BUILTINS
from rightcall.plan.model_requests import known_tools, stubs_for
from rightcall.plan.parse import (
    ANSWER,
    DATES,
    EXTRACT,
    LOOK_FIRST,
    PlanProblem,
    PlanRuntimeError,
    PlanSyntaxError,
    assigned_names,
    format_node,
    names_in,
    parse,
    parse_extract_type,
)
from rightcall.plan.results import PlannedTool
from rightcall.programs.interpreter import checked_types, is_installed
from rightcall.programs.stubs import Stubs

_AHEAD = "from datetime import date, datetime, time, timedelta; from typing import Literal, Optional"
_OWN_TYPES = """
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


_OWN = frozenset({ANSWER, EXTRACT, LOOK_FIRST, *BUILTINS, *DATES})


class PlannedCall(Struct, frozen=True, kw_only=True):
    """A call that a plan contains, as far as it is known before the plan runs."""

    tool: str
    line: int
    arguments: Mapping[str, str]
    """As the plan's source has them."""
    is_consequential: bool

    def __str__(self) -> str:
        given = ", ".join(map("=".join, self.arguments.items()))
        return f"line {self.line}: {self.tool}({given})"


class Program(Struct, frozen=True, kw_only=True):
    """A plan, as far as it is known before it runs."""

    source: str
    problems: tuple[PlanProblem, ...] = ()
    """The problems that keep it from running, each with its line and a remedy."""
    calls: tuple[PlannedCall, ...] = ()
    """The calls that it contains, in the order of its lines."""
    looks_first: str = ""
    """Why the request cannot be planned, if that is all the plan says."""


@check_keywords("rightcall.plan.check")
def check(source: str, tools: ToolSource) -> Program:
    """Check a plan without running it: its problems, and the calls it would make."""
    box = Toolbox(tools)
    stubs = stubs_for(box)
    return with_types(checked_program(source, known_tools(box, stubs)), stubs)


def with_types(program: Program, stubs: Stubs) -> Program:
    """A plan without other problems, with its type errors added. Starts a process.

    There are none if no type checker is installed; it comes with the extra ``code``. Errors that it is
    not sure of are left to the run: a plan that would work is never refused.
    """
    if program.problems or program.looks_first or not is_installed():
        return program
    tools = frozenset(stubs.functions)
    problems = _type_problems(program.source, _OWN_TYPES + stubs.source, tools)
    return replace(program, problems=problems)


@lru_cache(maxsize=_KEPT)
def _type_problems(source: str, stubs: str, tools: frozenset[str]) -> tuple[PlanProblem, ...]:
    tree = parse(source)
    records = set()
    for node in (*ast.walk(ast.parse(stubs)), *ast.walk(tree)):
        if isinstance(node, ast.ClassDef):
            records.add(node.name)
    problems = []
    for each in checked_types(f"{_AHEAD}\n{source}", stubs):
        line = each.line - 1
        if each.rule == "unresolved-attribute" and (match := _FIELD.search(each.words)):
            record, name = match.groups()
            if record in records:
                expression = ""
                for node in ast.walk(tree):
                    if isinstance(node, ast.Attribute) and (node.attr, node.lineno) == (name, line):
                        expression = format_node(node)
                        break
                reason = f"{record} has no field {name}"
                problems.append(
                    PlanProblem(kind="AttributeError", reason=reason, line=line, expression=expression)
                )
        elif each.rule == "invalid-argument-type" and (match := _ARGUMENT.search(each.words)):
            tool, expected, given = match.groups()
            if tool in tools and not _UNSURE.search(given):
                reason = f"an argument is to be {expected}, and is {given}"
                problems.append(PlanProblem(kind="TypeError", reason=reason, line=line, tool=tool))
    return tuple(problems)


def checked_program(source: str, tools: Mapping[str, PlannedTool]) -> Program:
    """The same, for tools that are known already."""
    try:
        tree = parse(source)
    except PlanSyntaxError as refused:
        return Program(source=source, problems=refused.problems)
    match tree.body:
        case [ast.Expr(value=ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(why))]))] if (
            name == LOOK_FIRST
        ):
            return Program(source=source, looks_first=why[:500] or "the planner must look first")
        case []:
            problem = PlanProblem(kind="SyntaxError", reason="there is no program in it")
            return Program(source=source, problems=(problem,))
        case _:
            pass
    calls: list[tuple[ast.Call, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            calls.append((node, node.func.id))
    calls.sort(key=lambda each: (each[0].lineno, each[0].col_offset))
    planned = []
    for node, name in calls:
        tool = tools.get(name)
        if tool is None:
            continue
        arguments = dict(zip(tool.function.parameters, map(format_node, node.args), strict=False))
        arguments |= {str(each.arg): format_node(each.value) for each in node.keywords}
        planned.append(
            PlannedCall(
                tool=tool.tool.name,
                line=node.lineno,
                arguments=arguments,
                is_consequential=tool.facts.is_consequential,
            )
        )
    problems = (*_name_problems(tree, tools), *_call_problems(tree, calls, tools))
    return Program(source=source, problems=problems, calls=tuple(planned))


def _name_problems(tree: ast.Module, tools: Mapping[str, PlannedTool]) -> Iterator[PlanProblem]:
    """Problems with names: those that are never assigned."""
    given = set(assigned_names(tree.body)) | {"Literal", "Optional", "None"}
    types: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name):
                given.add(name)
            case ast.ClassDef(name=name):
                given.add(name)
                types.update(map(id, ast.walk(node)))
            case ast.AnnAssign(annotation=hint):
                types.update(map(id, ast.walk(hint)))
            case ast.FunctionDef(body=body):
                given |= assigned_names(body)
            case ast.comprehension(target=target):
                given |= names_in(target)
            case _:
                pass
    known = given.union(tools, _OWN)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in types and node.id not in known:
            reason = f"there is no {node.id}, neither a tool nor a name of the plan's"
            yield PlanProblem(
                kind="NameError", reason=reason, line=node.lineno, expression=format_node(node)
            )


def _call_problems(
    tree: ast.Module, calls: Iterable[tuple[ast.Call, str]], tools: Mapping[str, PlannedTool]
) -> Iterator[PlanProblem]:
    """Problems with calls: unknown or missing arguments, and invalid types for ``extract``."""
    classes = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
    for node, name in calls:
        tool = tools.get(name)
        reason = ""
        if name == EXTRACT:
            named = {str(each.arg): each.value for each in node.keywords}
            kind = node.args[1] if len(node.args) > 1 else named.get("type")
            try:
                reason = "it is extract(text, Type)"
                if kind is not None:
                    parse_extract_type(kind, classes)
                    reason = ""
            except PlanRuntimeError as error:
                reason = error.reason
        elif tool is not None:
            reason = _argument_problem(node, tool)
        if reason:
            yield PlanProblem(
                kind="TypeError",
                reason=reason,
                line=node.lineno,
                expression=format_node(node),
                tool="" if tool is None else tool.tool.name,
            )


def _argument_problem(node: ast.Call, tool: PlannedTool) -> str:
    parameters = tool.function.parameters
    names = list(parameters)
    schema = tool.tool.parameters
    if len(node.args) > len(names):
        return f"it takes {len(names)} arguments"
    there = set(list(parameters.values())[: len(node.args)])
    for keyword in node.keywords:
        name = str(keyword.arg)
        if name not in names and schema.get("additionalProperties") in (None, False):
            return f"it has no argument {name}; it has {', '.join(names) or 'none'}"
        there.add(parameters.get(name, name))
    required = schema.get("required")
    if not isinstance(required, list | tuple):
        return ""
    for name in required:
        if name not in there:
            return f"it needs the argument {name}"
    return ""
