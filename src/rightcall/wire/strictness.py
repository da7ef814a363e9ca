"""Decides which tools of a request are sent strict, and why the others are not.

By default a tool is sent strict if its schema loses nothing: whatever the tool accepts can still be
written, only bounds on values are reduced to words, and the gate validates everything again.
``strict=True`` on a tool or a request sends it strict even so, or raises if that is not possible.

A request's limits are filled in this order: tools with ``strict=True``, the output schema, then the
other tools as declared. That depends on nothing that changes from turn to turn.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.request import StrictTools
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.dialects import load
from rightcall.wire.strict_schema import SchemaRules, StrictCost, check_ceilings, cost_of, strict_schema

Wish: TypeAlias = bool | Literal["auto"]
"""All tools, no tool, or those whose schema loses nothing."""


class StrictMode(Struct, frozen=True, kw_only=True):
    """The strict mode of one model at one address."""

    rules: SchemaRules | None
    """None if there are no strict tools."""
    unasked: str = ""
    """Why tools are sent strict only on request; empty if they are by default."""


class StrictConversion(Struct, frozen=True, kw_only=True):
    """The outcome of converting a schema for strict mode."""

    schema: JsonObject | None = None
    """The converted schema; None if that is not possible."""
    nulled: bool = False
    """Whether null stands for omitted optional members."""
    cost: StrictCost = StrictCost()
    place: str = ""
    reason: str = ""
    """What is lost there, or why the schema cannot be converted; empty if nothing is lost."""

    @property
    def explanation(self) -> str:
        """The place and the reason."""
        return self.reason and f"{self.place}: {self.reason}"


class StrictChoice(Struct, frozen=True):
    """The tools that are sent strict."""

    schemas: Mapping[str, JsonObject]
    """The converted schemas, by tool name."""
    held: StrictTools


_JUDGED: dict[tuple[int, int], tuple[JsonObject, SchemaRules, StrictConversion]] = {}
"""By the identities of schema and rules, which are kept alive so that no identity is reused."""
_MOST = 2048


def convert_strict(schema: JsonObject, rules: SchemaRules) -> StrictConversion:
    """The outcome of converting a schema for strict mode, cached across requests."""
    key = (id(schema), id(rules))
    known = _JUDGED.get(key)
    if known is not None:
        return known[2]
    if len(_JUDGED) >= _MOST:
        _JUDGED.clear()
    found = _convert(schema, rules)
    _JUDGED[key] = (schema, rules, found)
    return found


def _convert(schema: JsonObject, rules: SchemaRules) -> StrictConversion:
    try:
        strict = strict_schema(schema, rules)
    except EncodeError as error:
        return StrictConversion(place=error.where, reason=error.reason)
    place, reason = strict.lost[0] if strict.lost else ("", "")
    return StrictConversion(
        schema=strict.schema,
        nulled=bool(strict.nulled),
        cost=cost_of(strict.schema),
        place=place,
        reason=reason,
    )


def wish_in(options: Mapping[str, JsonValue]) -> Wish:
    """The ``strict`` option of a request."""
    said = options.get("strict")
    if isinstance(said, bool):
        return said
    return "auto"


def choose_strict_tools(
    specs: Sequence[Spec], wish: Wish, mode: StrictMode, output: JsonObject | None = None
) -> StrictChoice:
    """Which tools are sent strict. ``output`` is the answer's schema, if it counts towards the limits.

    Raises EncodeError if a tool that must be strict cannot be, or if these alone exceed the limits.
    """
    rules = mode.rules
    assert rules is not None
    asked = [spec for spec in specs if _wish(spec, wish) is True]
    schemas = {spec.name: _required_schema(spec, rules) for spec in asked}
    room = _Room(rules)
    if asked:
        _check(asked, schemas, rules, output)
        for spec in asked:
            room.take(convert_strict(spec.parameters, rules).cost)
    if output is not None:
        room.take(replace(convert_strict(output, rules).cost, tools=0))
    reasons: dict[str, str] = {}
    forced: list[str] = []
    for spec in specs:
        is_asked = spec.name in schemas
        if not is_asked and (why := _default_reason(_wish(spec, wish), mode)):
            reasons[spec.name] = why
            continue
        found = convert_strict(spec.parameters, rules)
        if not is_asked and (why := found.explanation or room.refusal(found.cost)):
            reasons[spec.name] = why
            continue
        if not is_asked and found.schema is not None:
            room.take(found.cost)
            schemas[spec.name] = found.schema
        if found.nulled:
            forced.append(spec.name)
    return StrictChoice(schemas, StrictTools(forced=frozenset(forced), reasons=reasons))


def _check(
    asked: Sequence[Spec],
    schemas: Mapping[str, JsonObject],
    rules: SchemaRules,
    output: JsonObject | None,
) -> None:
    """Raise EncodeError if the tools with ``strict=True`` exceed the limits of a request."""
    check_ceilings(asked, list(schemas.values()), rules)
    if output is None:
        answer = None
    else:
        answer = convert_strict(output, rules).schema
    if output is not None and answer is not None:
        # The output schema counts towards the same limits, except that it is no tool.
        named = Spec(name="output", description="", parameters=output)
        both = [*schemas.values(), answer]
        check_ceilings([*asked, named], both, replace(rules, max_strict_tools=0))


def why_not_strict(spec: Spec, dialect: str, *, model: str = "", url: str = "") -> str | None:
    """Why a tool is not sent strict to a model of this dialect; None if it is.

    Without a model and an address, this assumes the vendor's own newest models. The limits of a whole
    request are not considered; tools that exceed them are logged at level DEBUG.
    """
    mode: StrictMode = load(dialect, url).strict_mode(model)  # type: ignore[attr-defined]
    if mode.rules is None:
        return mode.unasked
    if spec.native.get(dialect):
        return "it is sent as the vendor's own definition."
    found = convert_strict(spec.parameters, mode.rules)
    if spec.strict is True:
        if found.schema is None:
            return found.explanation
        return None
    return (
        _default_reason("auto" if spec.strict is None else spec.strict, mode)
        or found.explanation
        or None
    )


def _wish(spec: Spec, otherwise: Wish) -> Wish:
    if spec.strict is None:
        return otherwise
    return spec.strict


def _default_reason(wish: Wish, mode: StrictMode) -> str:
    if wish == "auto":
        return mode.unasked
    return "strict=False was said of it."


def _required_schema(spec: Spec, rules: SchemaRules) -> JsonObject:
    found = convert_strict(spec.parameters, rules)
    if found.schema is None:
        where = f"tool {spec.name!r} at {found.place}"
        raise EncodeError(rules.dialect, found.reason, where=where)
    return found.schema


class _Room:
    """What remains of one request's limits."""

    def __init__(self, rules: SchemaRules) -> None:
        self._rules = rules
        self._taken = StrictCost(tools=0)
        self._is_bounded = bool(rules.max_strict_tools or rules.max_optional or rules.max_unions)

    def take(self, cost: StrictCost) -> None:
        if self._is_bounded:
            self._taken = self._taken.plus(cost)

    def refusal(self, cost: StrictCost) -> str:
        """Why one more tool does not fit; empty if it does."""
        if not self._is_bounded:
            return ""
        rules = self._rules
        total = self._taken.plus(cost)
        for what, count, limit in (
            ("strict tools", total.tools, rules.max_strict_tools),
            ("optional parameters in strict tools", total.optional, rules.max_optional),
            ("parameters of a union type in strict tools", total.unions, rules.max_unions),
        ):
            if limit and count > limit:
                return f"one request has {limit} {what} at the most, and those before it took them."
        return ""
