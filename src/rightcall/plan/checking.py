"""A plan into its problems and its calls, before it runs."""

import ast
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.options import checked
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.plan.functions import BUILTINS
from rightcall.plan.operations import Fails
from rightcall.plan.parse import ANSWER, DATES, EXTRACT, LOOK_FIRST, PlanProblem, Refused, parse, shown
from rightcall.plan.planner import known_tools, stubs_for
from rightcall.plan.results import Known
from rightcall.plan.syntax import assigned, names_in
from rightcall.plan.type_check import type_problems
from rightcall.plan.types import wanted
from rightcall.programs.stubs import Stubs

_OWN = frozenset({ANSWER, EXTRACT, LOOK_FIRST, *BUILTINS, *DATES})


class PlannedCall(Struct, frozen=True, kw_only=True):
    """A call that a plan contains, as far as it is known before the plan runs."""

    tool: str
    line: int
    arguments: Mapping[str, str]
    """As the plan's source has them."""
    is_consequential: bool

    def __str__(self) -> str:
        given = ", ".join(f"{name}={text}" for name, text in self.arguments.items())
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


@checked("rc.plan.check")
def check(source: str, tools: ToolSource) -> Program:
    """Check a plan without running it: its problems, and the calls it would make."""
    box = Toolbox(tools)
    stubs = stubs_for(box)
    return with_types(checked_program(source, known_tools(box, stubs)), stubs)


def with_types(program: Program, stubs: Stubs) -> Program:
    """A plan without other problems, with its type errors added. Starts a process."""
    if program.problems or program.looks_first:
        return program
    problems = type_problems(program.source, stubs)
    return replace(program, problems=problems) if problems else program


def checked_program(source: str, tools: Mapping[str, Known]) -> Program:
    """The same, for tools that are known already."""
    try:
        tree = parse(source)
    except Refused as refused:
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
    problems = (*_names(tree, tools), *_calls_amiss(tree, tools))
    return Program(source=source, problems=problems, calls=tuple(_calls(tree, tools)))


def _all_calls(tree: ast.Module) -> list[ast.Call]:
    found = [each for each in ast.walk(tree) if isinstance(each, ast.Call)]
    return sorted(found, key=lambda each: (each.lineno, each.col_offset))


def _calls(tree: ast.Module, tools: Mapping[str, Known]) -> Iterator[PlannedCall]:
    for node in _all_calls(tree):
        if isinstance(node.func, ast.Name) and (tool := tools.get(node.func.id)) is not None:
            names = list(tool.function.parameters)
            given = {name: shown(each) for name, each in zip(names, node.args, strict=False)}
            given |= {str(each.arg): shown(each.value) for each in node.keywords}
            yield PlannedCall(
                tool=tool.tool.name,
                line=node.lineno,
                arguments=given,
                is_consequential=tool.facts.is_consequential,
            )


def _names(tree: ast.Module, tools: Mapping[str, Known]) -> Iterator[PlanProblem]:
    """Problems with names: those that are never assigned, and those that are taken."""
    given = set(assigned(tree.body)) | {"Literal", "Optional", "None"}
    types: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(args=args, body=body):
                given |= {each.arg for each in ast.walk(args) if isinstance(each, ast.arg)} | assigned(
                    body
                )
            case ast.Lambda(args=args):
                given |= {each.arg for each in ast.walk(args) if isinstance(each, ast.arg)}
            case ast.comprehension(target=target):
                given |= names_in(target)
            case ast.ClassDef(name=name):
                given.add(name)
                types |= {id(each) for each in ast.walk(node)}
            case ast.AnnAssign(annotation=hint):
                types |= {id(each) for each in ast.walk(hint)}
            case _:
                pass
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name) or id(node) in types:
            continue
        if node.id not in given and node.id not in tools and node.id not in _OWN:
            reason = f"there is no {node.id}, neither a tool nor a name of the plan's"
            yield PlanProblem(kind="NameError", reason=reason, line=node.lineno, expression=shown(node))


def _calls_amiss(tree: ast.Module, tools: Mapping[str, Known]) -> Iterator[PlanProblem]:
    """Problems with calls: unknown or missing arguments, and invalid types for ``extract``."""
    classes = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
    for node in _all_calls(tree):
        if not isinstance(node.func, ast.Name):
            continue
        tool = tools.get(node.func.id)
        reason = _amiss(node, tool) if tool is not None else ""
        if node.func.id == EXTRACT:
            reason = _no_type(node, classes)
        if reason:
            yield PlanProblem(
                kind="TypeError",
                reason=reason,
                line=node.lineno,
                expression=shown(node),
                tool="" if tool is None else tool.tool.name,
            )


def _no_type(node: ast.Call, classes: Mapping[str, ast.ClassDef]) -> str:
    named = {str(each.arg): each.value for each in node.keywords}
    kind = node.args[1] if len(node.args) > 1 else named.get("type")
    if kind is None:
        return "it is extract(text, Type)"
    try:
        wanted(kind, classes)
    except Fails as error:
        return error.reason
    return ""


def _amiss(node: ast.Call, tool: Known) -> str:
    names, schema = list(tool.function.parameters), tool.tool.parameters
    if len(node.args) > len(names):
        return f"it takes {len(names)} arguments"
    given = [*names[: len(node.args)], *(str(each.arg) for each in node.keywords)]
    unknown = [name for name in given if name not in names]
    if unknown and schema.get("additionalProperties") in (None, False):
        return f"it has no argument {unknown[0]}; it has {', '.join(names) or 'none'}"
    required = schema.get("required")
    needed = list(required) if isinstance(required, list | tuple) else []
    there = {tool.function.parameters.get(name, name) for name in given}
    missing = [name for name in needed if name not in there]
    return f"it needs the argument {missing[0]}" if missing else ""
