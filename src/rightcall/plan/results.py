"""The result of a call into a value, with every part labelled by the facts of its tool."""

from collections.abc import Mapping
from datetime import date, datetime
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct

from rightcall.core.jsontext import Place, nodes
from rightcall.core.parts import Result
from rightcall.core.tool import Tool
from rightcall.declare.returns import WRAPPER, returns_of
from rightcall.gate.fields import is_field
from rightcall.plan.operations import Fails
from rightcall.plan.value import (
    NOTHING,
    Labelling,
    SourceKind,
    Value,
    deep_sources,
    deep_taint,
    of_json,
)
from rightcall.programs.stubs import Function
from rightcall.trust.evidence import known as known_facts
from rightcall.trust.facts import Settled
from rightcall.trust.rules import Rules

_WHY: Mapping[str, str] = {
    "denied": "the call was not allowed",
    "failed": "the tool failed",
    "invalid": "the arguments do not fit the tool",
    "timed_out": "the tool took too long, and may have run",
    "interrupted": "the call was interrupted, and may have run",
    "cancelled": "the run had no room for the call",
    "unknown_tool": "there is no such tool any more",
}


class Known(Struct, frozen=True, eq=False):
    """A tool, with what a plan and its guard know of it."""

    tool: Tool
    function: Function
    facts: Settled
    schema: Mapping[str, Any] | None
    """The schema of its result, if it is known."""
    root: Mapping[str, Any]
    """The schema in which references are resolved."""
    fields: frozenset[str] | None = None
    """The names of fields in its results; None if nothing in these is untrusted, or everything is."""


def known(tool: Tool, function: Function, rules: Rules | None = None) -> Known:
    """A tool with everything needed to label its results."""
    directories = () if rules is None else rules.directories
    is_directory = any(fnmatchcase(tool.name, each) for each in directories)
    facts, returns = known_facts(tool, is_directory=is_directory).facts, returns_of(tool)
    if returns is None:
        return Known(tool, function, facts, None, {}, _fields(facts, {}))
    whole: Mapping[str, Any] = returns.schema
    schema = whole["properties"][WRAPPER] if returns.wrapped else whole
    return Known(tool, function, facts, schema, whole, _fields(facts, whole))


def _fields(facts: Settled, schema: Mapping[str, Any]) -> frozenset[str] | None:
    """The names of fields that the schema of the results declares, or that the facts speak of.

    Where outsiders fill in some of the fields, another key may be what they wrote: a mailbox by sender.
    """
    if isinstance(facts.untrusted, bool):
        return None
    declared = (node.get("properties") for node in nodes(schema))
    found = {name for each in declared if isinstance(each, Mapping) for name in each}
    told = (*facts.untrusted, *(facts.identity or ()), *facts.kinds)
    return frozenset(found | {step for name in told for step in name.split(".")})


def value_of(of: Known, result: Result, call: int, arguments: Mapping[str, Value]) -> Value:
    """The value of a call's result. Raises Fails, with a fixed reason, if the call did not return."""
    name = of.tool.name
    if result.outcome == "dry_run":
        return Value(None)
    if result.outcome != "returned":
        reason = _WHY.get(result.outcome, "the call came to nothing")
        if result.outcome == "denied" and result.source is None:
            # Said to whoever reads what became of the run; a plan ends there, and no planner sees it.
            reason = result.text
        raise Fails(result.outcome, reason, name)
    try:
        data = of.function.value(result)
    except ValueError:
        raise Fails(
            "ResultError", "what it returned cannot be read; it may have been cut", name
        ) from None
    if of.schema is not None:
        data = _dated(data, of.schema, of.root)
    facts = of.facts
    # The result may come from a hook or a person, or from an inner run that read more than the tool.
    is_foreign = result.source is not None and facts.untrusted is False
    # Content is not used to look anything up: the id of a new file is the system's.
    content = facts.content if facts.acts and not facts.derived else ()
    choosing = [value for name, value in arguments.items() if name not in content]
    labels = Labelling(
        tool=name,
        call=call,
        kind_at=lambda place: "free" if is_foreign else kind_at(place, facts),
        chosen=NOTHING.union(*(deep_taint(each) for each in choosing)),
        made_of=NOTHING.union(*map(deep_sources, arguments.values())) if facts.derived else NOTHING,
        is_found=any(kind_at((field,), facts) != "system" for field in facts.finds_by),
        optional_at=lambda place: _optional(place, of),
        fields=of.fields,
    )
    return of_json(data, labels)


def kind_at(place: Place, facts: Settled) -> SourceKind:
    """The kind of source of a place in a result."""
    if is_field(place, facts.names):
        return "name"
    if facts.untrusted is True or is_field(place, facts.untrusted):
        return "free"
    path = ".".join(step for step in place if isinstance(step, str))
    return "given" if path and facts.is_identity(path) else "system"


def _optional(place: Place, of: Known) -> frozenset[str]:
    """The fields that a record at a place of the result may lack, as its type says."""
    found = _options(of.schema, of.root)
    for step in place:
        key = "items" if isinstance(step, int) else "additionalProperties"
        below = [(each.get("properties") or {}).get(step, each.get(key)) for each in found]
        found = [option for each in below for option in _options(each, of.root)]
    return frozenset(
        name
        for each in found
        for name in each.get("properties") or ()
        if name not in (each.get("required") or ())
    )


def _options(schema: Any, root: Mapping[str, Any], depth: int = 0) -> list[Mapping[str, Any]]:
    """A schema, or the schemas that it stands for."""
    if not isinstance(schema, Mapping) or depth > 20:  # noqa: PLR2004 - a schema may go on for ever
        return []
    if isinstance(ref := schema.get("$ref"), str):
        return _options(_referred(ref, root), root, depth + 1)
    listed = [each for key in ("anyOf", "oneOf", "allOf") for each in schema.get(key) or ()]
    return [schema, *(option for each in listed for option in _options(each, root, depth + 1))]


def _dated(data: Any, schema: Any, root: Mapping[str, Any], depth: int = 0) -> Any:
    """A result in which texts that the schema declares as dates are dates."""
    if not isinstance(schema, Mapping) or depth > 20:  # noqa: PLR2004 - a schema may go on for ever
        return data
    if isinstance(ref := schema.get("$ref"), str):
        return _dated(data, _referred(ref, root), root, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        for option in schema.get(key) or ():
            data = _dated(data, option, root, depth + 1)
    if isinstance(data, str):
        return _date(data, schema.get("format"))
    if isinstance(data, list):
        return [_dated(each, schema.get("items"), root, depth + 1) for each in data]
    if isinstance(data, dict):
        members = schema.get("properties") or {}
        other = schema.get("additionalProperties")
        return {
            key: _dated(each, members.get(key, other), root, depth + 1) for key, each in data.items()
        }
    return data


def _date(text: str, form: object) -> Any:
    try:
        if form == "date-time":
            return datetime.fromisoformat(text)
        return date.fromisoformat(text) if form == "date" else text
    except ValueError:
        return text


def _referred(ref: str, root: Mapping[str, Any]) -> Any:
    return (root.get("$defs") or {}).get(ref.rpartition("/")[2])
