"""Makes the result of a call a value, with every part labelled by the facts of its tool."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime
from typing import Any

from msgspec import Struct

from rightcall.core.jsontext import Place, field_at, nodes
from rightcall.core.parts import Result
from rightcall.core.references import local_target
from rightcall.core.tool import Tool
from rightcall.declare.returns import WRAPPER, returns_of
from rightcall.gate.fields import is_field
from rightcall.plan.parse import PlanRuntimeError
from rightcall.plan.value import (
    NOTHING,
    LabelledValue,
    Labelling,
    SourceKind,
    deep_sources,
    deep_taint,
    of_json,
)
from rightcall.programs.stubs import StubFunction
from rightcall.trust.facts import ResolvedFacts, resolve_facts
from rightcall.trust.kinds import is_searched

_WHY: Mapping[str, str] = {
    "denied": "the call was not allowed",
    "failed": "the tool failed",
    "invalid": "the arguments do not fit the tool",
    "timed_out": "the tool took too long, and may have run",
    "interrupted": "the call was interrupted, and may have run",
    "cancelled": "the run had no room for the call",
    "unknown": "there is no such tool any more",
    "not_offered": "the turn did not offer the tool",
    "given_up": "the tool has failed too often in a row",
}


_COMBINING = ("anyOf", "oneOf", "allOf")


class PlannedTool(Struct, frozen=True, eq=False):
    """A tool, with what a plan and its guard know of it."""

    tool: Tool
    function: StubFunction
    facts: ResolvedFacts
    schema: Mapping[str, Any] | None
    """The schema of its result, if it is known."""
    root: Mapping[str, Any]
    """The schema in which references are resolved."""
    fields: frozenset[str] | None = None
    """The names of fields in its results; None if nothing in these is untrusted, or everything is."""


def planned_tool(tool: Tool, function: StubFunction) -> PlannedTool:
    """A tool with everything needed to label its results."""
    facts = resolve_facts(tool)
    returns = returns_of(tool)
    whole: Any = {}
    schema: Mapping[str, Any] | None = None
    if returns is not None:
        whole = returns.schema
        schema = whole
        if returns.wrapped:
            schema = whole["properties"][WRAPPER]
    if isinstance(facts.untrusted, bool):
        return PlannedTool(tool, function, facts, schema, whole)
    # The fields that the schema declares, or that the facts speak of. Where outsiders fill in some of
    # the fields, another key may be what they wrote: a mailbox by sender.
    fields = set[str]()
    for node in nodes(whole):
        properties = node.get("properties")
        if isinstance(properties, Mapping):
            fields.update(properties)
    for name in (*facts.untrusted, *(facts.identity or ()), *facts.kinds):
        fields.update(name.split("."))
    return PlannedTool(tool, function, facts, schema, whole, frozenset(fields))


def value_of(
    of: PlannedTool, result: Result, call: int, arguments: Mapping[str, LabelledValue]
) -> LabelledValue:
    """The value of a call's result. Raises PlanRuntimeError, with a fixed reason, without one."""
    name = of.tool.name
    if result.outcome == "dry_run":
        return LabelledValue(None)
    if result.outcome != "returned":
        reason = _WHY.get(result.outcome, "the call came to nothing")
        if result.outcome == "denied" and result.source is None:
            # Said to whoever reads what became of the run; a plan ends there, and no planner sees it.
            reason = result.text
        raise PlanRuntimeError(result.outcome, reason, name)
    try:
        data = of.function.value(result)
    except ValueError:
        raise PlanRuntimeError(
            "ResultError", "what it returned cannot be read; it may have been cut", name
        ) from None
    if of.schema is not None:
        data = _parse_dates(data, of.schema, of.root)
    facts = of.facts
    # The result may come from a hook or a person, or from an inner run that read more than the tool.
    is_foreign = result.source is not None and facts.untrusted is False
    chosen = NOTHING
    for argument, value in arguments.items():
        # Content is not used to look anything up: the id of a new file is the system's.
        if not facts.acts or facts.derived or not facts.is_content(argument):
            chosen |= deep_taint(value)
    labels = Labelling(
        tool=name,
        call=call,
        kind_at=lambda place: "free" if is_foreign else kind_at(place, facts),
        chosen=chosen,
        made_of=NOTHING.union(*map(deep_sources, arguments.values())) if facts.derived else NOTHING,
        is_found=bool(facts.untrusted) and any(map(is_searched, arguments)),
        optional_at=lambda place: _optional(place, of),
        fields=of.fields,
    )
    return of_json(data, labels)


def kind_at(place: Place, facts: ResolvedFacts) -> SourceKind:
    """The kind of source of a place in a result."""
    if facts.untrusted is True or is_field(place, facts.untrusted):
        return "free"
    path = field_at(place)
    if path and facts.is_identity(path):
        return "given"
    return "system"


def _optional(place: Place, of: PlannedTool) -> frozenset[str]:
    """The fields that a record at a place of the result may lack, as its type says."""
    found = _options(of.schema, of.root)
    for step in place:
        key = "items" if isinstance(step, int) else "additionalProperties"
        below: list[Mapping[str, Any]] = []
        for each in found:
            schema = (each.get("properties") or {}).get(step, each.get(key))
            below += _options(schema, of.root)
        found = below
    optional = set[str]()
    for each in found:
        optional |= set(each.get("properties") or ()) - set(each.get("required") or ())
    return frozenset(optional)


def _options(schema: Any, root: Mapping[str, Any], depth: int = 0) -> list[Mapping[str, Any]]:
    """A schema, or the schemas that it stands for."""
    if not isinstance(schema, Mapping) or depth > 20:  # noqa: PLR2004 - a schema may go on for ever
        return []
    if isinstance(ref := schema.get("$ref"), str):
        return _options(local_target(root, ref), root, depth + 1)
    found: list[Mapping[str, Any]] = [schema]
    for key in _COMBINING:
        for option in schema.get(key) or ():
            found += _options(option, root, depth + 1)
    return found


def _parse_dates(data: Any, schema: Any, root: Mapping[str, Any], depth: int = 0) -> Any:
    """A result in which texts that the schema declares as dates are dates."""
    if not isinstance(schema, Mapping) or depth > 20:  # noqa: PLR2004 - a schema may go on for ever
        return data
    if isinstance(ref := schema.get("$ref"), str):
        return _parse_dates(data, local_target(root, ref), root, depth + 1)
    for key in _COMBINING:
        for option in schema.get(key) or ():
            data = _parse_dates(data, option, root, depth + 1)
    if isinstance(data, str):
        # A text that is no date stays as it is.
        with suppress(ValueError):
            match schema.get("format"):
                case "date-time":
                    return datetime.fromisoformat(data)
                case "date":
                    return date.fromisoformat(data)
                case _:
                    pass
    if isinstance(data, list):
        return [_parse_dates(each, schema.get("items"), root, depth + 1) for each in data]
    if isinstance(data, dict):
        members = schema.get("properties") or {}
        other = schema.get("additionalProperties")
        return {
            key: _parse_dates(each, members.get(key, other), root, depth + 1)
            for key, each in data.items()
        }
    return data
