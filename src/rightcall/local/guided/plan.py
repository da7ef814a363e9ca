"""Plans a question before the model is asked: the candidate tools, and the arguments.

A model of this size is asked last, and only about tools with examples. A tool that enough speaks for is
used, a value in the question is copied, and a question that shares too little with any gets no call.
"""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import JsonObject, JsonValue, dump
from rightcall.core.request import Named, ToolChoice
from rightcall.core.tool import Spec
from rightcall.local.guided.copying import copied
from rightcall.local.guided.evidence import is_sum, speaks_for, written
from rightcall.local.guided.formula import takes_formulas
from rightcall.local.guided.score import MOST, is_clear, is_meant, matches, may_be_meant, rivals
from rightcall.local.guided.talk import is_talk


class Take(Struct, frozen=True):
    """A tool is chosen."""

    spec: Spec


class Offer(Struct, frozen=True):
    """One of these may be meant: the model chooses."""

    specs: tuple[Spec, ...]
    or_none: bool
    shown: tuple[Spec, ...]
    """The tools that the model is shown: all, if they are few and some have examples, so that its cached
    prompt can be reused."""


class Leave(Struct, frozen=True):
    """No tool is chosen."""


Plan: TypeAlias = Take | Offer | Leave


class Filled(Struct, frozen=True):
    """The arguments that a question has for a tool."""

    arguments: str
    """All arguments, unless something is left to choose or to write."""
    schema: JsonObject | None
    """The schema that restricts the model while it does that."""
    missing: tuple[str, ...]
    """The required parameters whose values are not in the question."""


def plan_for(question: str, specs: Sequence[Spec], choice: ToolChoice) -> Plan:
    """The candidate tools."""
    if isinstance(choice, Named):
        return Take(next(spec for spec in specs if spec.name == choice.name))
    forced = choice == "required"
    if forced and len(specs) == 1:
        return Take(specs[0])
    found = matches(question, specs)
    # A tool whose examples teach it needs no common word: a sum has only numbers.
    taught = [spec for spec in specs if spec.examples and speaks_for(question, spec)]
    if is_clear(found):
        first, others = found[0], [spec for spec in taught if spec is not found[0].spec]
        if not any(first.copied.unused or takes_formulas(spec) for spec in others):
            return Take(first.spec)
    sure = bool(found) and is_meant(found[0])
    if not forced and not sure and (is_talk(question) or not (found or taught)):
        return Leave()
    # A tool with clearly less evidence is not offered to the model, which would choose it as readily.
    near = (found[0], *rivals(found)) if sure else found
    best = [match.spec for match in near if sure or forced or may_be_meant(match)]
    if best and not any(spec.examples for spec in (*best, *taught)):
        # Without examples by somebody who knows the tools, the model knows no more than the words: asked
        # whether a tool is meant, it says so of half of the right ones, and of nearly half of the wrong.
        return Take(best[0]) if sure or forced else Leave()
    offered = [spec for spec in specs if any(spec is each for each in [*best, *taught][:MOST])]
    if not offered and not forced:
        return Leave()
    if len(offered) == 1 and takes_formulas(offered[0]) and is_sum(question):
        return Take(offered[0])
    among = tuple(offered or specs)
    return Offer(
        among, or_none=not sure and not forced, shown=tuple(specs) if len(specs) <= MOST else among
    )


def filled(spec: Spec, question: str) -> Filled:
    """The question's arguments for the tool; the model writes those that its examples do not copy."""
    found = copied(spec, question)
    free = written(spec)
    missing = tuple(name for name in found.missing if name not in free)
    # Without examples, the model chooses among values no better than their order does.
    if not free and not (found.choices and spec.examples):
        return Filled(dump(found.given), None, missing)
    properties = spec.parameters.get("properties")
    narrowed = found.schema()
    given = narrowed["properties"]
    required = spec.parameters.get("required")
    if free and isinstance(properties, dict) and isinstance(given, dict):
        order: dict[str, JsonValue] = {
            name: about if name in free else given[name]
            for name, about in properties.items()
            if name in free or name in given
        }
        needed = required if isinstance(required, list) else []
        held: list[JsonValue] = [name for name in order if name not in free or name in needed]
        narrowed = {**spec.parameters, "properties": order, "required": held}
    return Filled("", narrowed, missing)
