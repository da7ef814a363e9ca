"""Checks that a tool is valid as declared: its schema, its handler, its roles and its examples."""
# ruff: noqa: D102 - the fields of a tool, which the tool documents

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from rightcall.core.facts import Facts
from rightcall.core.handler import Parameters
from rightcall.core.jsontext import JsonObject, dump, kind_of
from rightcall.core.problem import Problem, Valid, Validator
from rightcall.errors import DeclarationError


class Declared(Protocol):
    """What is checked: a Tool, which checks itself when it is made."""

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> JsonObject: ...
    @property
    def handler(self) -> Callable[..., Any] | None: ...
    @property
    def takes(self) -> Parameters | None: ...
    @property
    def accepted(self) -> tuple[str, ...] | None: ...
    @property
    def validator(self) -> Validator | None: ...
    @property
    def validate(self) -> Callable[[str, JsonObject], Valid | tuple[Problem, ...]]: ...
    @property
    def schema(self) -> object: ...
    @property
    def facts(self) -> Facts: ...
    @property
    def examples(self) -> Sequence[JsonObject]: ...
    @property
    def questions(self) -> Sequence[str]: ...
    @property
    def input(self) -> str: ...
    @property
    def grammar(self) -> Mapping[str, str]: ...
    @property
    def effect(self) -> str: ...
    @property
    def reconcile(self) -> Callable[[str], Any] | None: ...


def check_tool(tool: Declared) -> None:
    """Raise DeclarationError for a tool that contradicts itself."""
    if tool.validator is None:
        _check_schema(tool)
        _check_handler(tool)
    _check_roles(tool)
    _check_text(tool)
    _check_reconcile(tool)
    _check_examples(tool)


_LONGEST_WHAT = 200
GRAMMARS = ("lark", "regex")
"""The grammar notations that vendors support."""


def text_parameter(parameters: JsonObject) -> str | None:
    """Returns the only parameter of a tool, if it is a required string; None for any other tool."""
    properties = parameters.get("properties")
    if not isinstance(properties, Mapping) or len(properties) != 1:
        return None
    ((name, schema),) = properties.items()
    is_text = isinstance(schema, Mapping) and schema.get("type") == "string"
    return name if is_text and name in _strings(parameters.get("required")) else None


def _check_text(tool: Declared) -> None:
    if tool.grammar and tool.input != "text":
        raise DeclarationError(
            tool.name, "a grammar is of text.", where="grammar", fix='Say input="text", too.'
        )
    if tool.input == "text" and text_parameter(tool.parameters) is None:
        raise DeclarationError(
            tool.name,
            "a tool whose input is text has one parameter, a string without a default.",
            where="input",
            fix='Take one: (text: str); or leave out input="text".',
        )
    notations = list(tool.grammar)
    if len(notations) > 1 or not set(notations) <= set(GRAMMARS):
        raise DeclarationError(
            tool.name,
            f"a grammar has one notation, {' or '.join(GRAMMARS)}, not {', '.join(notations)}.",
            where="grammar",
            fix='Write {"lark": "start: …"} or {"regex": "…"}.',
        )


def _check_schema(tool: Declared) -> None:
    given: object = tool.parameters
    if not isinstance(given, Mapping) or given.get("type") != "object":
        raise DeclarationError(
            tool.name,
            "a tool's arguments are an object.",
            where="parameters at $.type",
            fix='Write {"type": "object", "properties": {…}}.',
        )
    _ = tool.schema


def _check_handler(tool: Declared) -> None:
    """Check that the handler takes what the schema promises, as far as Python can tell."""
    if tool.handler is not None and not callable(tool.handler):
        raise DeclarationError(tool.name, "the handler is not callable.", where="handler")
    for name in _keys(tool.parameters.get("properties")):
        if tool.accepted is not None and name not in tool.accepted:
            raise DeclarationError(
                tool.name,
                f"the handler has no parameter {name!r}, which the schema offers.",
                where="handler",
                fix="Add it, or **arguments.",
            )
    required = _strings(tool.parameters.get("required"))
    for name in _needed(tool):
        if name not in required:
            raise DeclarationError(
                tool.name,
                f"the handler needs {name!r}, which the schema does not require.",
                where="handler",
                fix="Give it a default, or list it under required.",
            )


def _needed(tool: Declared) -> list[str]:
    """Returns the handler's parameters without a default."""
    takes = tool.takes or {}
    several = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    return [n for n, p in takes.items() if p.default is p.empty and p.kind not in several]


def _check_roles(tool: Declared) -> None:
    what = tool.facts.what
    if len(what) > _LONGEST_WHAT or not what.isprintable():
        reason = f"must be one line of at most {_LONGEST_WHAT} characters."
        raise DeclarationError(tool.name, reason, where="facts.what")
    known = _keys(tool.parameters.get("properties"))
    for where in ("targets", "content", "sources", "bounded", "widens"):
        for name in getattr(tool.facts, where) or ():
            if name not in known:
                raise DeclarationError(
                    tool.name, f"there is no parameter {name!r}.", where=f"facts.{where}"
                )


def _check_reconcile(tool: Declared) -> None:
    if tool.reconcile is None:
        return
    if not callable(tool.reconcile):
        raise DeclarationError(tool.name, "reconcile is a function of a key.", where="reconcile")
    if tool.effect != "write":
        raise DeclarationError(
            tool.name,
            f"after a crash a call whose effect is {tool.effect} is run again, and nobody is asked.",
            where="reconcile",
            fix='Say effect="write", or leave reconcile out.',
        )


def _check_examples(tool: Declared) -> None:
    if len(tool.questions) > len(tool.examples):
        raise DeclarationError(
            tool.name,
            f"{len(tool.questions)} questions, but {len(tool.examples)} examples.",
            where="questions",
            fix="Give each question the arguments it asks for, in examples.",
        )
    for index, example in enumerate(tool.examples):
        if not isinstance(example, Mapping):
            raise DeclarationError(
                tool.name,
                f"an example is an object of arguments, not {kind_of(example)}.",
                where=f"examples[{index}]",
            )
        verdict = tool.validate(dump(example), example)
        if not isinstance(verdict, Valid):
            raise DeclarationError(
                tool.name,
                f"the example does not fit the schema: {'; '.join(map(str, verdict))}.",
                where=f"examples[{index}]",
            )


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _keys(value: object) -> list[str]:
    return list(value) if isinstance(value, Mapping) else []
