"""A tool's facts, each gap filled with the worst case that its declaration leaves open."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from rightcall.core.facts import Danger, Effect, Facts, Kind, Reach
from rightcall.core.jsontext import JsonObject, Place, leaves, nodes
from rightcall.core.tool import Tool
from rightcall.trust.words.kinds import (
    gives_access,
    is_contact,
    is_identity,
    is_multiplier,
    is_source,
    is_widening,
    is_wider,
    kind_of,
    kind_of_name,
)
from rightcall.trust.words.spelling import folded

Fields: TypeAlias = bool | tuple[str, ...]

_DANGERS: tuple[Danger, ...] = get_args(Danger)
_FIELDS = ("untrusted", "private", "reach", "targets")
WHOM: frozenset[Kind | None] = frozenset({"address", "account", "person"})
"""Kinds of values that say who somebody is: beside what an outsider wrote, it is who wrote it."""
STRICT: frozenset[Danger] = frozenset({"deletes", "credentials"})
"""Dangers that cannot be undone. A target must be named: that a system knows it is no order."""


class Settled(Struct, frozen=True, kw_only=True):
    """The facts of a tool as the trust rules use them, with no gaps."""

    effect: Effect = "write"
    untrusted: bool | tuple[str, ...] = True
    names: bool | tuple[str, ...] = ()
    private: bool | tuple[str, ...] = True
    reach: Reach = "outside"
    dangers: tuple[Danger, ...] = _DANGERS
    targets: tuple[str, ...] = ()
    content: tuple[str, ...] = ()
    parameters: frozenset[str] = frozenset()
    """Every parameter that the schema names."""
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    """The kinds that were stated for parameters and fields."""
    guessed: Mapping[str, Kind] = field(default_factory=dict)
    """The kinds of the other parameters, guessed from their schemas and names."""
    identity: tuple[str, ...] | None = None
    """The fields that say who got in touch; None: those whose names say so."""
    is_mixed: bool = False
    """Whether some fields are stated to be untrusted: then outsiders also filled in who they are."""
    sources: tuple[str, ...] = ()
    bounded: tuple[str, ...] = ()
    is_bounded_inside: bool = True
    """Whether amounts inside of objects and lists are bounded, too: nobody said which are."""
    widens: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By parameter: the choices that give more access; empty: not listed, so a choice's name decides."""
    flags: frozenset[str] = frozenset()
    """The flags of a dangerous tool that are off by default: with one, it may do more."""
    asked_by: tuple[str, ...] = ()
    allowed_when: tuple[Mapping[str, str], ...] = ()
    finds_by: tuple[str, ...] = ()
    derived: bool = False
    missing: tuple[str, ...] = _FIELDS
    """The facts that nobody stated."""

    @property
    def is_consequential(self) -> bool:
        """Whether a call does something that may be regretted."""
        return self.acts or self.reach == "outside" or bool(self.dangers)

    def is_harmless(self, name: str) -> bool:
        """Whether a parameter is in the schema, is no target, and gives no access."""
        return name in self.parameters and name not in self.targets and name not in self.widens

    @property
    def acts(self) -> bool:
        """Whether a call has an effect, rather than only reads."""
        return self.effect in ("idempotent", "write")

    def is_amount(self, place: Place) -> bool:
        """Whether a bounded amount is at this place in the arguments."""
        names = [step for step in place if isinstance(step, str)]
        first, last = names[0], names[-1]
        if len(names) == 1:
            return first in self.bounded and self.kinds.get(first, self.guessed.get(first)) == "amount"
        is_bounded = self.is_bounded_inside and self.acts
        return is_bounded and self.kinds.get(last, kind_of_name(last)) == "amount"

    def kind_in(self, field: str) -> Kind | None:
        """The kind of a result's field, by its path; None if nothing shows it.

        The last name on the path that shows a kind counts: ``author.email``.
        """
        steps = field.split(".") if field else []
        for end in range(len(steps), 0, -1):
            for start in range(end):
                if (stated := self.kinds.get(".".join(steps[start:end]))) is not None:
                    return stated
            if (named := kind_of_name(steps[end - 1])) is not None:
                return self.kinds.get("*", named)
        return self.kinds.get("*")

    def is_identity(self, field: str) -> bool:
        """Whether the field with this path says who got in touch."""
        if self.identity is None:
            steps = field.split(".")
            is_theirs = self.is_mixed and (any(map(is_contact, steps)) or self.kind_in(field) in WHOM)
            return is_theirs or any(map(is_identity, steps))
        return _is_in(field, self.identity)

    def is_outsiders(self, field: str) -> bool:
        """Whether the field with this path holds untrusted text."""
        return self.untrusted if isinstance(self.untrusted, bool) else _is_in(field, self.untrusted)

    def is_name(self, field: str) -> bool:
        """Whether the field with this path holds a name that an outsider chose and the system knows."""
        return self.names if isinstance(self.names, bool) else _is_in(field, self.names)

    @property
    def reads_private(self) -> bool:
        """Whether it returns private data."""
        return bool(self.private)


WORST = Settled()
"""The facts of a tool that no longer exists."""


def settled(tool: Tool) -> Settled:
    """Returns the facts of a tool. Gaps follow from its effect and its schema, or are the worst case.

    A pure tool is a function of its arguments: it reads nothing, reaches nothing, and returns nothing
    that does not follow from them.
    """
    facts, pure, reads = tool.facts, tool.effect == "pure", tool.effect in ("pure", "read")
    targets = _first(facts.targets, () if pure else tuple(_risky(tool.parameters)))
    known = tuple(_properties(tool.parameters))
    dangers = _first(facts.dangers, () if reads or _is_stated(facts) else _DANGERS)
    content = _first(facts.content, tuple(name for name in known if name not in targets))
    return Settled(
        effect=tool.effect,
        untrusted=_together(_first(facts.untrusted, not pure), facts.names),
        names=facts.names,
        private=_first(facts.private, not pure),
        reach=_first(facts.reach, "nothing" if pure else "outside"),
        dangers=dangers,
        targets=targets,
        content=content,
        parameters=frozenset(known),
        kinds=facts.kinds,
        guessed={
            name: kind
            for name, schema in _properties(tool.parameters).items()
            if name not in facts.kinds and (kind := kind_of(name, schema)) is not None
        },
        identity=() if facts.directory else facts.identity,
        is_mixed=isinstance(facts.untrusted, tuple) and bool(facts.untrusted),
        sources=_first(facts.sources, tuple(name for name in targets if is_source(name))),
        bounded=_first(facts.bounded, tuple(_amounts(tool))),
        is_bounded_inside=facts.bounded is None,
        widens=_widening(tool, is_dangerous=bool(dangers)),
        flags=_flags(tool) if dangers else frozenset(),
        asked_by=tuple(folded(each) for each in facts.asked_by),
        allowed_when=facts.allowed_when,
        finds_by=facts.finds_by,
        derived=facts.derived or pure,
        missing=() if pure else tuple(name for name in _FIELDS if getattr(facts, name) is None),
    )


def labelled(tool: Tool) -> Tool:
    """The tool, with ``untrusted`` stated as the trust rules assume it."""
    untrusted = settled(tool).untrusted
    if tool.facts.untrusted is not None or not untrusted:
        return tool
    return tool.replace(facts=replace(tool.facts, untrusted=untrusted))


def facts_together(tools: Iterable[Tool], *, is_guarded: bool) -> Facts:
    """The facts of an agent as a tool of another: it can be made to do whatever its own tools can do.

    An agent that follows trust rules may use only what its caller has vouched for, so that calling it
    reaches nobody yet. For any other agent, the task decides everything, and must itself be vouched for.
    A fact that is not stated for one of its tools is not stated for the agent.
    """
    each = [settled(tool) for tool in tools]
    reaches: list[Reach] = [facts.reach for facts in each if "reach" not in facts.missing]
    is_known = "outside" in reaches or len(reaches) == len(each)
    nothing: Reach = "nothing"
    reach = max(reaches, key=get_args(Reach).index, default=nothing) if is_known else None
    dangers = tuple(danger for danger in _DANGERS if any(danger in facts.dangers for facts in each))
    return Facts(
        untrusted=_either([(facts.untrusted, "untrusted" in facts.missing) for facts in each]),
        private=_either([(facts.private, "private" in facts.missing) for facts in each]),
        reach="user" if is_guarded and reach != "nothing" else reach,
        dangers=() if is_guarded else dangers,
        targets=("task",) if not is_guarded and any(facts.is_consequential for facts in each) else (),
        content=(),
        derived=True,
    )


def _either(facts: list[tuple[bool | tuple[str, ...], bool]]) -> bool | None:
    """Whether one of the facts is true; None if that depends on one that nobody stated."""
    if any(value and not is_missing for value, is_missing in facts):
        return True
    return None if any(is_missing for _, is_missing in facts) else False


def _is_in(field: str, fields: tuple[str, ...]) -> bool:
    """Whether a field is one of the given fields, or inside one."""
    steps = field.split(".")
    ends = (steps[start:end] for end in range(1, len(steps) + 1) for start in range(end))
    return any(".".join(each) in fields for each in ends)


def _first(stated: Any, otherwise: Any) -> Any:
    return otherwise if stated is None else stated


def _together(untrusted: Fields, names: Fields) -> Fields:
    """The fields with untrusted text, including names that outsiders chose."""
    if isinstance(untrusted, tuple) and isinstance(names, tuple):
        return (*untrusted, *names)
    return untrusted or names or False


def _is_stated(facts: Facts) -> bool:
    """Whether the facts were considered: an author who states a reach would also state a danger."""
    return facts.reach is not None


def _risky(parameters: JsonObject) -> Iterator[str]:
    """The parameters that could be targets: all but those whose values the developer listed."""
    for name, schema in _properties(parameters).items():
        if not (isinstance(schema, Mapping) and (listed(schema) or schema.get("type") == "boolean")):
            yield name


def _amounts(tool: Tool) -> Iterator[str]:
    """The parameters that hold an amount, or how often it is paid, for a tool with an effect."""
    if tool.effect in ("idempotent", "write"):
        for name, schema in _properties(tool.parameters).items():
            kind = tool.facts.kinds.get(name, kind_of(name, schema))
            if kind == "amount" or (kind is None and is_multiplier(name)):
                yield name


def _flags(tool: Tool) -> frozenset[str]:
    """The flags that are off by default, if the author did not say what widens."""
    if tool.facts.widens is not None or tool.effect not in ("idempotent", "write"):
        return frozenset()
    properties = _properties(tool.parameters).items()
    return frozenset(
        name for name, each in properties if isinstance(each, Mapping) and each.get("default") is False
    )


def _widening(tool: Tool, *, is_dangerous: bool) -> dict[str, frozenset[str]]:
    """By parameter: the choices that give others more access, or make a dangerous call do more."""
    if tool.facts.widens is not None:
        return {name: frozenset(choices) for name, choices in tool.facts.widens.items()}
    if tool.effect not in ("idempotent", "write"):
        return {}
    wide = dict[str, frozenset[str]]()
    for name in _properties(tool.parameters):
        if choices := offered(tool.parameters, name) | frozenset(_inner(tool.parameters, name)):
            wide[name] = frozenset(filter(is_widening, choices))
            if is_dangerous:
                wide[name] |= frozenset(filter(is_wider, choices - default_of(tool.parameters, name)))
        if not wide.get(name) and not choices and gives_access(name):
            wide[name] = frozenset()
    return {name: choices for name, choices in wide.items() if choices or gives_access(name)}


def default_of(parameters: JsonObject, name: str) -> frozenset[str]:
    """What a parameter is if nobody fills it in, as a text; empty if nothing says so."""
    schema = _properties(parameters).get(name)
    given = schema.get("default") if isinstance(schema, Mapping) else None
    return frozenset(text for _, text in leaves(given)) if given is not None else frozenset()


def _inner(parameters: JsonObject, name: str) -> Iterator[str]:
    """The choices inside an object parameter that give more access."""
    for node in nodes(_properties(parameters).get(name)):
        for choice in listed(node):
            if isinstance(choice, str) and is_widening(choice):
                yield choice


def listed(schema: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values that a schema lists at its top level."""
    values = schema.get("enum")
    return tuple(values) if isinstance(values, list) else (schema["const"],) if "const" in schema else ()


def offered(parameters: JsonObject, name: str) -> frozenset[str]:
    """The values that the schema lists for one parameter, default included, as texts."""
    schema = _properties(parameters).get(name)
    if not isinstance(schema, Mapping):
        return frozenset()
    items = schema.get("items")
    inner = listed(items) if isinstance(items, Mapping) else ()
    values = (*listed(schema), *inner, *([schema["default"]] if "default" in schema else []))
    return frozenset(text for _, text in leaves(list(values)))


def _properties(parameters: JsonObject) -> Mapping[str, Any]:
    found = parameters.get("properties")
    return found if isinstance(found, Mapping) else {}
