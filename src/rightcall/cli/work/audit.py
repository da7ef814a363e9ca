"""Report what untrusted text could make an agent with these tools do, and what stops it.

An agent that stands in a Python file is looked at. One that a function makes is not there before the
function is called, and may need what only the application has: of those the source is read, and what it
says of ``trust`` is worked out where names of the file are enough.
"""

import ast
import inspect
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from msgspec import Struct, json

from rightcall.agent import Agent
from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.formatting import write
from rightcall.cli.load import (
    add_manifests,
    declares_tools,
    load_module,
    load_tools,
    named_object,
    split,
    tools_in,
)
from rightcall.cli.work.trust import tools_of_servers
from rightcall.core.sanitize import printable
from rightcall.core.tool import Tool
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import UsageError
from rightcall.trust.facts_file import facts_at
from rightcall.trust.rules import Rules
from rightcall.trust.rules_file import read_rules
from rightcall.trust.trifecta import Report, audit

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class InspectedAgent(Struct, frozen=True, kw_only=True):
    """An agent, as far as it can be seen."""

    name: str
    rules: Rules | None = None
    tools: tuple[Tool, ...] | None = None
    """Its own; None where nobody can tell before it is made."""
    unseen: str = ""
    """Why its rules are not known; empty where they are."""


class _UnknownValue(Exception):
    """Something cannot be worked out; with why."""


def agents_at(place: str) -> list[InspectedAgent]:
    """The agents at a place: those of a file, or the one that a name in it is, or makes."""
    path, name = split(place)
    module = load_module(Path(path))
    if name:
        return _inspect_object(place, named_object(module, path, name))
    agents = {}
    below = []
    for name, each in vars(module).items():
        if isinstance(each, Agent):
            agents[name] = each
            # A task that is handed on is done under the rules of the agent that hands it on.
            for tool in each.tools:
                if tool.delegates:
                    # What finds the tools inside is a method of the agent that is handed the task.
                    below.append(getattr(tool.inside, "__self__", None))
    inspected = []
    for name, agent in agents.items():
        if all(agent is not each for each in below) or agent.trust is not None:
            inspected.append(_inspect_agent(name, agent))
    known = [each.rules for each in inspected]
    for made in _Source(module, Path(path)).agents():
        if made.unseen or made.rules not in known:
            inspected.append(made)
    return inspected


def _inspect_object(place: str, found: Any) -> list[InspectedAgent]:
    if isinstance(found, Agent):
        return [_inspect_agent(place, found)]
    if tools_in(found) or not isinstance(found, FunctionType):
        return []
    needed = []
    for each in inspect.signature(found).parameters.values():
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            needed.append(each.name)
    if needed:
        raise UsageError(f"{place} cannot be called: it needs {', '.join(needed)}")
    made = found()
    if not isinstance(made, Agent):
        raise UsageError(f"{place} makes no agent, but {type(made).__name__}")
    return [_inspect_agent(f"{place}()", made)]


def _inspect_agent(name: str, agent: Agent[Any, Any]) -> InspectedAgent:
    return InspectedAgent(name=name, rules=agent.trust, tools=tuple(agent.tools))


class _Source:
    """The source of a file, searched for agents that functions make."""

    def __init__(self, module: ModuleType, path: Path) -> None:
        self._names = vars(module)
        self._path = path

    def agents(self) -> list[InspectedAgent]:
        """One for each place in a function where an agent is made."""
        tree = ast.parse(self._path.read_bytes())
        return [self._inspect_call(call, inside) for call, inside in _calls(tree, ()) if inside]

    def _inspect_call(self, call: ast.Call, inside: Sequence[_Function]) -> InspectedAgent:
        name = f"{self._path}:{call.lineno}"
        for function in reversed(inside):
            if not isinstance(function, ast.Lambda):
                name += f", made by {function.name}"
                break
        given = {each.arg: each.value for each in call.keywords}
        if "trust" not in given and None in given:
            return InspectedAgent(name=name, unseen="its options are put together elsewhere")
        if "trust" not in given:
            return InspectedAgent(name=name)
        try:
            rules = self._value(given["trust"], inside)
        except _UnknownValue as error:
            return InspectedAgent(name=name, unseen=str(error))
        if rules is None or isinstance(rules, Rules):
            return InspectedAgent(name=name, rules=rules)
        return InspectedAgent(
            name=name, unseen=f"trust={ast.unparse(given['trust'])} is no rc.trust.Rules"
        )

    def _value(self, expression: ast.expr, inside: Sequence[_Function]) -> Any:
        """What an expression in a function comes to, where it needs nothing that that is given."""
        used = set()
        for node in ast.walk(expression):
            if isinstance(node, ast.Name):
                used.add(node.id)
        local = {}
        for name in sorted(used):
            if any(name in _parameters(each) or _assignments(name, each) for each in inside):
                local[name] = self._local(name, inside)
        code = compile(ast.Expression(expression), str(self._path), "eval")
        try:
            return eval(code, {**self._names, **local})  # noqa: S307 - of a file that was just run
        except Exception as error:
            raise _UnknownValue(f"{ast.unparse(expression)} fails by itself: {error}") from error

    def _local(self, name: str, inside: Sequence[_Function]) -> Any:
        for depth in range(len(inside), 0, -1):
            function = inside[depth - 1]
            if name in _parameters(function):
                raise _UnknownValue(f"it depends on {name!r}, which the function is given")
            found = _assignments(name, function)
            if len(found) == 1 and (value := found[0]) is not None:
                return self._value(value, inside[:depth])
            if found:
                raise _UnknownValue(
                    f"it depends on {name!r}, which is only known when the function runs"
                )
        raise _UnknownValue(f"it depends on {name!r}")


def _calls(
    node: ast.AST, inside: tuple[_Function, ...]
) -> Iterator[tuple[ast.Call, tuple[_Function, ...]]]:
    """Every call that makes an agent, with the functions that it stands in."""
    if isinstance(node, ast.Call) and _callee_name(node.func) == "Agent":
        yield node, inside
    if isinstance(node, _Function):
        inside = (*inside, node)
    for each in ast.iter_child_nodes(node):
        yield from _calls(each, inside)


def _callee_name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _callee_name(value)
        case _:
            return ""


def _parameters(function: _Function) -> list[str]:
    taken = function.args
    own = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs]
    for rest in (taken.vararg, taken.kwarg):
        if rest is not None:
            own.append(rest)
    return [each.arg for each in own]


def _assignments(name: str, function: _Function) -> list[ast.expr | None]:
    """What a name is bound to in a function; None where that is not simply one expression."""
    found = list[ast.expr | None]()
    simple = list[ast.expr]()
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


def run(options: Namespace) -> int:
    """Print the reports: one for each agent, or one for all tools where there is none."""
    if not (options.tools or options.manifests or options.servers):
        raise UsageError("which tools? rightcall tools audit FILE.py, --manifest or --mcp")
    reports = dict(_reports(options))
    if options.json:
        shown: object = reports
        if len(reports) == 1:
            (shown,) = reports.values()
        write(json.format(json.encode(shown), indent=2).decode(), sys.stdout)
    else:
        texts = []
        for name, report in reports.items():
            if name:
                texts.append(name)
            texts.append(f"{report}\n")
        write("\n".join(texts).removesuffix("\n"), sys.stdout)
    for report in reports.values():
        if report.open or (options.strict and report.missing):
            return NO_ANSWER
    return OK


def _reports(options: Namespace) -> Iterator[tuple[str, Report]]:
    agents: list[InspectedAgent] = []
    boxes = []
    for place in options.tools:
        inspected = agents_at(place)
        boxes.append(_declared_tools(place, inspected))
        agents += inspected
    declared = Toolbox(boxes)
    served = tools_of_servers(options)
    if options.policy is not None:
        yield "", audit(_with_others(options, declared, served), read_rules(options.policy))
        return
    if not agents:
        where = ""
        if options.tools:
            where = f" in {', '.join(options.tools)}"
        _warn(f"no agent was seen{where}, so no rules: give --policy, or {_NAMED}")
        yield "", audit(_with_others(options, declared, served), None)
    for agent in agents:
        if agent.unseen:
            rules = "as if without rules:"
            _warn(f"{agent.name}: its rules were not seen: {agent.unseen}; give --policy, or {_NAMED}")
        elif agent.rules is None:
            rules = "without rules:"
        else:
            rules = "with its own rules:"
        own = declared
        if agent.tools is not None:
            own = Toolbox(list(agent.tools))
        yield f"{agent.name}, {rules}", audit(_with_others(options, own, served), agent.rules)


_NAMED = "FILE.py:NAME of what is or makes an agent"


def _declared_tools(place: str, agents: Sequence[InspectedAgent]) -> Toolbox:
    """The tools of a file; where its agents have them all, theirs."""
    own = {}
    for each in agents:
        for tool in each.tools or ():
            own[id(tool)] = tool
    if own and (split(place)[1] or not declares_tools(place)):
        return Toolbox(list(own.values()))
    return load_tools(place)


def _warn(words: str) -> None:
    print(printable(f"rightcall: {words}"), file=sys.stderr)


def _with_others(
    options: Namespace, own: Toolbox, served: Mapping[str, Mapping[str, Tool]]
) -> list[Tool]:
    """An agent's tools with those of manifests and servers, and the facts that are laid over them."""
    tools = list(add_manifests(own, options))
    if options.facts is None:
        for box in served.values():
            tools += box.values()
        return tools
    if len(served) > 1:
        raise UsageError("--facts are one server's: audit each with its own")
    facts = facts_at(options.facts)
    if not served:
        return list(facts.over(tools))
    for box in served.values():
        for name, tool in box.items():
            tools.append(facts(tool, name))
    return tools
