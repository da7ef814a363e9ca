"""A Python file into the agents in it, each with the rules that it runs under.

An agent that stands in the file is looked at. One that a function makes is not there before the function
is called, and may need what only the application has: of those the source is read, and what it says of
``trust`` is worked out where names of the file are enough.
"""

import ast
import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from msgspec import Struct

from rightcall.agent import Agent
from rightcall.cli.load import load_module, named, split, tools_in
from rightcall.core.tool import Tool
from rightcall.errors import UsageError
from rightcall.trust.rules import Rules

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Seen(Struct, frozen=True, kw_only=True):
    """An agent, as far as it can be seen."""

    name: str
    rules: Rules | None = None
    tools: tuple[Tool, ...] | None = None
    """Its own; None where nobody can tell before it is made."""
    unseen: str = ""
    """Why its rules are not known; empty where they are."""


class _Unseen(Exception):
    """Something cannot be worked out; with why."""


def agents_at(place: str) -> list[Seen]:
    """The agents at a place: those of a file, or the one that a name in it is, or makes."""
    path, name = split(place)
    module = load_module(Path(path))
    if name:
        return _one(place, named(module, path, name))
    there = {name: each for name, each in vars(module).items() if isinstance(each, Agent)}
    # A task that is handed on is done under the rules of the agent that hands it on.
    below = [tool.inside for each in there.values() for tool in each.tools if tool.delegates]
    found = [
        _of(name, each)
        for name, each in there.items()
        if each.tools.get not in below or each.trust is not None
    ]
    known = [each.rules for each in found]
    made = _Source(module, Path(path)).agents()
    return [*found, *(each for each in made if each.unseen or each.rules not in known)]


def _one(place: str, found: Any) -> list[Seen]:
    if isinstance(found, Agent):
        return [_of(place, found)]
    if tools_in(found) or not isinstance(found, FunctionType):
        return []
    needed = [
        each.name
        for each in inspect.signature(found).parameters.values()
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]
    if needed:
        raise UsageError(f"{place} cannot be called: it needs {', '.join(needed)}")
    made = found()
    if not isinstance(made, Agent):
        raise UsageError(f"{place} makes no agent, but {type(made).__name__}")
    return [_of(f"{place}()", made)]


def _of(name: str, agent: Agent[Any, Any]) -> Seen:
    return Seen(name=name, rules=agent.trust, tools=tuple(agent.tools))


class _Source:
    """The source of a file, searched for agents that functions make."""

    def __init__(self, module: ModuleType, path: Path) -> None:
        self._names = vars(module)
        self._path = path

    def agents(self) -> list[Seen]:
        """One for each place in a function where an agent is made."""
        tree = ast.parse(self._path.read_bytes())
        return [self._seen(call, inside) for call, inside in _calls(tree, ()) if inside]

    def _seen(self, call: ast.Call, inside: Sequence[_Function]) -> Seen:
        maker = next((each.name for each in reversed(inside) if not isinstance(each, ast.Lambda)), "")
        name = f"{self._path}:{call.lineno}" + (f", made by {maker}" if maker else "")
        given = {each.arg: each.value for each in call.keywords}
        if "trust" not in given and None in given:
            return Seen(name=name, unseen="its options are put together elsewhere")
        if "trust" not in given:
            return Seen(name=name)
        try:
            rules = self._value(given["trust"], inside)
        except _Unseen as error:
            return Seen(name=name, unseen=str(error))
        if rules is None or isinstance(rules, Rules):
            return Seen(name=name, rules=rules)
        return Seen(name=name, unseen=f"trust={ast.unparse(given['trust'])} is no rc.trust.Rules")

    def _value(self, expression: ast.expr, inside: Sequence[_Function]) -> Any:
        """What an expression in a function comes to, where it needs nothing that that is given."""
        used = {each.id for each in ast.walk(expression) if isinstance(each, ast.Name)}
        local = {name: self._local(name, inside) for name in sorted(used) if _is_local(name, inside)}
        code = compile(ast.Expression(expression), str(self._path), "eval")
        try:
            return eval(code, {**self._names, **local})  # noqa: S307 - of a file that was just run
        except Exception as error:
            raise _Unseen(f"{ast.unparse(expression)} fails by itself: {error}") from error

    def _local(self, name: str, inside: Sequence[_Function]) -> Any:
        for depth in range(len(inside), 0, -1):
            function = inside[depth - 1]
            if name in _parameters(function):
                raise _Unseen(f"it depends on {name!r}, which the function is given")
            found = _assigned(name, function)
            if len(found) == 1 and (value := found[0]) is not None:
                return self._value(value, inside[:depth])
            if found:
                raise _Unseen(f"it depends on {name!r}, which is only known when the function runs")
        raise _Unseen(f"it depends on {name!r}")


def _calls(
    node: ast.AST, inside: tuple[_Function, ...]
) -> Iterator[tuple[ast.Call, tuple[_Function, ...]]]:
    """Every call that makes an agent, with the functions that it stands in."""
    if isinstance(node, ast.Call) and _called(node.func) == "Agent":
        yield node, inside
    if isinstance(node, _Function):
        inside = (*inside, node)
    for each in ast.iter_child_nodes(node):
        yield from _calls(each, inside)


def _called(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _called(value)
        case _:
            return ""


def _is_local(name: str, inside: Sequence[_Function]) -> bool:
    return any(name in _parameters(each) or _assigned(name, each) for each in inside)


def _parameters(function: _Function) -> list[str]:
    given = function.args
    rest = [each for each in (given.vararg, given.kwarg) if each is not None]
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs, *rest)]


def _assigned(name: str, function: _Function) -> list[ast.expr | None]:
    """What a name is bound to in a function; None where that is not simply one expression."""
    found, simple = list[ast.expr | None](), list[ast.expr]()
    for node in ast.walk(function):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=bound) as target], value=value)
                | ast.AnnAssign(target=ast.Name(id=bound) as target, value=ast.expr() as value)
            ) if bound == name:
                found.append(value)
                simple.append(target)
            case ast.Name(id=bound, ctx=ast.Store()) if bound == name and node not in simple:
                found.append(None)
            case ast.alias(name=whole, asname=other) if name == (other or whole.partition(".")[0]):
                found.append(None)
            case _:
                pass
    return found
