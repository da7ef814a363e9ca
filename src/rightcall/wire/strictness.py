"""Which tools of a request are sent strict, and why the others are not.

Unless somebody says otherwise, a tool is sent strict where its schema loses nothing by it: whatever the
tool takes can still be written, what could only be said in words says no more than a keyword did, and
the gate checks everything again. ``strict=True`` of a tool, or of a request, has it sent strict even so,
or raises where that is not possible.

A request's ceilings are filled in this order: what was asked for, the form of the answer, then the tools
as they are declared. That depends on nothing that changes from turn to turn.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.request import Held
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.dialects import load
from rightcall.wire.strict import Cost, Rules, check_ceilings, cost_of, strict_schema

Wish: TypeAlias = bool | Literal["auto"]
"""All tools, none, or those that lose nothing."""


class StrictMode(Struct, frozen=True, kw_only=True):
    """A vendor's strict mode, as one model at one address has it."""

    rules: Rules | None
    """None where there is no such thing as a strict tool."""
    unasked: str = ""
    """Why tools are sent strict only where somebody asks for it; empty where that is not so."""


class Judged(Struct, frozen=True, kw_only=True):
    """What a vendor's strict mode makes of a schema."""

    schema: JsonObject | None = None
    """As it takes it; None where it cannot."""
    nulled: bool = False
    """Whether null stands for optional members that are left out."""
    cost: Cost = Cost()
    place: str = ""
    reason: str = ""
    """What is lost by it, or why it cannot be, at that place; empty where nothing is."""

    @property
    def told(self) -> str:
        """The place and the reason."""
        return self.reason and f"{self.place}: {self.reason}"


class Chosen(Struct, frozen=True):
    """The tools that are sent strict."""

    schemas: Mapping[str, JsonObject]
    """By the tool's name: its schema, as the vendor takes it."""
    held: Held


_JUDGED: dict[tuple[int, int], tuple[JsonObject, Rules, Judged]] = {}
"""By the identity of the schema and the rules, which are kept so that nothing else can have it."""
_MOST = 2048


def judged(schema: JsonObject, rules: Rules) -> Judged:
    """What strict mode makes of a schema. It is looked at once, however many requests it is part of."""
    key = (id(schema), id(rules))
    known = _JUDGED.get(key)
    if known is not None:
        return known[2]
    if len(_JUDGED) >= _MOST:
        _JUDGED.clear()
    found = _judge(schema, rules)
    _JUDGED[key] = (schema, rules, found)
    return found


def _judge(schema: JsonObject, rules: Rules) -> Judged:
    try:
        strict = strict_schema(schema, rules)
    except EncodeError as error:
        return Judged(place=error.where, reason=error.reason)
    place, reason = strict.lost[0] if strict.lost else ("", "")
    return Judged(
        schema=strict.schema,
        nulled=bool(strict.nulled),
        cost=cost_of(strict.schema),
        place=place,
        reason=reason,
    )


def wish_in(options: Mapping[str, JsonValue]) -> Wish:
    """What a request says of all its tools."""
    said = options.get("strict")
    return said if isinstance(said, bool) else "auto"


def chosen(
    specs: Sequence[Spec], wish: Wish, mode: StrictMode, output: JsonObject | None = None
) -> Chosen:
    """Which of these tools are sent strict. ``output`` is the answer's schema, where it counts, too.

    Raises EncodeError where a tool that must be strict cannot be, or where these alone are too many.
    """
    rules = mode.rules
    assert rules is not None
    asked = [spec for spec in specs if _wish(spec, wish) is True]
    schemas = {spec.name: _demanded(spec, rules) for spec in asked}
    room = _Room(rules)
    if asked:
        _check(asked, schemas, rules, output)
        for spec in asked:
            room.take(judged(spec.parameters, rules).cost)
    if output is not None:
        room.take(replace(judged(output, rules).cost, tools=0))
    reasons: dict[str, str] = {}
    forced: list[str] = []
    for spec in specs:
        is_asked = spec.name in schemas
        if not is_asked and (why := _unasked(_wish(spec, wish), mode)):
            reasons[spec.name] = why
            continue
        found = judged(spec.parameters, rules)
        if not is_asked and (why := found.told or room.refusal(found.cost)):
            reasons[spec.name] = why
            continue
        if not is_asked and found.schema is not None:
            room.take(found.cost)
            schemas[spec.name] = found.schema
        if found.nulled:
            forced.append(spec.name)
    return Chosen(schemas, Held(forced=frozenset(forced), reasons=reasons))


def _check(
    asked: Sequence[Spec], schemas: Mapping[str, JsonObject], rules: Rules, output: JsonObject | None
) -> None:
    """Raise an EncodeError where what was asked for is more than one request may have."""
    check_ceilings(asked, list(schemas.values()), rules)
    answer = None if output is None else judged(output, rules).schema
    if output is not None and answer is not None:
        # The answer's schema counts towards the same ceilings, except that it is no tool.
        named = Spec(name="output", description="", parameters=output)
        both = [*schemas.values(), answer]
        check_ceilings([*asked, named], both, replace(rules, max_strict_tools=0))


def why_not_strict(spec: Spec, dialect: str, *, model: str = "", url: str = "") -> str | None:
    """Why a tool is not sent strict to a model of this dialect; None for one that is.

    Without a model and an address, as the vendor's own newest models take it. The ceilings of a whole
    request are another matter: those that lose by them are told of in the log, at the level DEBUG.
    """
    mode: StrictMode = load(dialect, url).strict_mode(model)  # type: ignore[attr-defined]
    if mode.rules is None:
        return mode.unasked
    if spec.native.get(dialect):
        return "it is sent as the vendor's own definition."
    found = judged(spec.parameters, mode.rules)
    if spec.strict is True:
        return found.told if found.schema is None else None
    return _unasked("auto" if spec.strict is None else spec.strict, mode) or found.told or None


def _wish(spec: Spec, otherwise: Wish) -> Wish:
    return otherwise if spec.strict is None else spec.strict


def _unasked(wish: Wish, mode: StrictMode) -> str:
    return mode.unasked if wish == "auto" else "strict=False was said of it."


def _demanded(spec: Spec, rules: Rules) -> JsonObject:
    found = judged(spec.parameters, rules)
    if found.schema is None:
        where = f"tool {spec.name!r} at {found.place}"
        raise EncodeError(rules.dialect, found.reason, where=where)
    return found.schema


class _Room:
    """What the ceilings of one request leave."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._taken = Cost(tools=0)
        self._is_bounded = bool(rules.max_strict_tools or rules.max_optional or rules.max_unions)

    def take(self, cost: Cost) -> None:
        if self._is_bounded:
            self._taken = self._taken.plus(cost)

    def refusal(self, cost: Cost) -> str:
        """Why there is no room for one more; empty where there is."""
        if not self._is_bounded:
            return ""
        rules, total = self._rules, self._taken.plus(cost)
        for what, count, limit in (
            ("strict tools", total.tools, rules.max_strict_tools),
            ("optional parameters in strict tools", total.optional, rules.max_optional),
            ("parameters of a union type in strict tools", total.unions, rules.max_unions),
        ):
            if limit and count > limit:
                return f"one request has {limit} {what} at the most, and those before it took them."
        return ""
