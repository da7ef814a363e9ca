"""A tool's facts with every gap filled by the worst that its declaration leaves open."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from rightcall.core.facts import Danger, Effect, Facts, Kind, Reach
from rightcall.core.jsontext import JsonObject, leaves, nodes
from rightcall.core.tool import Tool
from rightcall.trust.kinds import (
    gives_access,
    is_contact,
    is_identity,
    is_source,
    is_widening,
    kind_of,
    kind_of_name,
)

Fields: TypeAlias = bool | tuple[str, ...]

_DANGERS: tuple[Danger, ...] = get_args(Danger)
_FIELDS = ("untrusted", "private", "reach", "targets")
STRICT: frozenset[Danger] = frozenset({"deletes", "credentials"})
"""What cannot be undone wants somebody's word: that a system knows of it is no order to destroy it."""


class Settled(Struct, frozen=True, kw_only=True):
    """What rules go by: the facts of a tool, with nothing left unsaid."""

    effect: Effect = "write"
    untrusted: bool | tuple[str, ...] = True
    names: bool | tuple[str, ...] = ()
    private: bool | tuple[str, ...] = True
    reach: Reach = "outside"
    dangers: tuple[Danger, ...] = _DANGERS
    targets: tuple[str, ...] = ()
    content: tuple[str, ...] = ()
    parameters: frozenset[str] = frozenset()
    """Every one that the schema names."""
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    """What was stated of parameters and fields."""
    guessed: Mapping[str, Kind] = field(default_factory=dict)
    """What their schemas and names say of the other parameters."""
    identity: tuple[str, ...] | None = None
    """The fields that say who got in touch; None for those that are named so."""
    is_mixed: bool = False
    """Whether outsiders are stated to write some of its fields: then they filled in who they are."""
    sources: tuple[str, ...] = ()
    bounded: tuple[str, ...] = ()
    widens: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By parameter; empty where the choices are not listed, and go by what they are called."""
    finds_by: tuple[str, ...] = ()
    derived: bool = False
    missing: tuple[str, ...] = _FIELDS
    """The facts that nobody stated."""

    @property
    def is_consequential(self) -> bool:
        """Whether a call does something that somebody may regret."""
        return self.acts or self.reach == "outside" or bool(self.dangers)

    def is_harmless(self, name: str) -> bool:
        """Whether a parameter that the schema names neither says who or where nor gives access."""
        return name in self.parameters and name not in self.targets and name not in self.widens

    @property
    def acts(self) -> bool:
        """Whether a call does something, rather than look."""
        return self.effect in ("idempotent", "write")

    def kind_in(self, field: str) -> Kind | None:
        """What stands in a field of a result, by the path to it; None where nobody can tell.

        Of the names on the path the last that says something counts: ``author.email``.
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
        """Whether a field, by the path to it, says who got in touch."""
        if self.identity is None:
            steps = field.split(".")
            return any(map(is_identity, steps)) or (self.is_mixed and any(map(is_contact, steps)))
        return _is_in(field, self.identity)

    def is_outsiders(self, field: str) -> bool:
        """Whether outsiders could have written what stands in a field, by the path to it."""
        return self.untrusted if isinstance(self.untrusted, bool) else _is_in(field, self.untrusted)

    def is_name(self, field: str) -> bool:
        """Whether a field, by the path to it, holds a name that outsiders chose and the system knows."""
        return self.names if isinstance(self.names, bool) else _is_in(field, self.names)

    @property
    def reads_private(self) -> bool:
        """Whether it returns what not everyone may see."""
        return bool(self.private)


WORST = Settled()
"""What is known of a tool that is not there any more."""


def settled(tool: Tool) -> Settled:
    """The facts of a tool. What nobody stated follows from its effect and its schema, or is the worst.

    A pure tool is a function of its arguments: it reads nothing, reaches nothing, and says nothing that
    was not said to it.
    """
    facts, pure, reads = tool.facts, tool.effect == "pure", tool.effect in ("pure", "read")
    targets = _first(facts.targets, () if pure else tuple(_risky(tool.parameters)))
    known = tuple(_properties(tool.parameters))
    content = _first(facts.content, tuple(name for name in known if name not in targets))
    return Settled(
        effect=tool.effect,
        untrusted=_together(_first(facts.untrusted, not pure), facts.names),
        names=facts.names,
        private=_first(facts.private, not pure),
        reach=_first(facts.reach, "nothing" if pure else "outside"),
        dangers=_first(facts.dangers, () if reads or _is_stated(facts) else _DANGERS),
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
        widens=_widening(tool),
        finds_by=facts.finds_by,
        derived=facts.derived or pure,
        missing=() if pure else tuple(name for name in _FIELDS if getattr(facts, name) is None),
    )


def labelled(tool: Tool) -> Tool:
    """The tool, with its results shown as what rules take them for."""
    untrusted = settled(tool).untrusted
    if tool.facts.untrusted is not None or not untrusted:
        return tool
    return tool.replace(facts=replace(tool.facts, untrusted=untrusted))


def facts_together(tools: Iterable[Tool], *, is_guarded: bool) -> Facts:
    """The facts of an agent as another's tool: whatever its own tools can do, it can be made to do.

    One with rules of its own is held inside to what its caller has vouched for, so that calling it
    reaches nobody yet. The task of another decides everything, and must be vouched for itself. What
    nobody said of a tool, nobody said of the agent.
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
    """Whether one of some facts is true; None when it hangs on one that nobody stated."""
    if any(value and not is_missing for value, is_missing in facts):
        return True
    return None if any(is_missing for _, is_missing in facts) else False


def _is_in(field: str, fields: tuple[str, ...]) -> bool:
    """Whether a field is one of some, or below one."""
    steps = field.split(".")
    ends = (steps[start:end] for end in range(1, len(steps) + 1) for start in range(end))
    return any(".".join(each) in fields for each in ends)


def _first(stated: Any, otherwise: Any) -> Any:
    return otherwise if stated is None else stated


def _together(untrusted: Fields, names: Fields) -> Fields:
    """What outsiders could have written, the names that they chose among it."""
    if isinstance(untrusted, tuple) and isinstance(names, tuple):
        return (*untrusted, *names)
    return untrusted or names or False


def _is_stated(facts: Facts) -> bool:
    """Whether somebody thought about the tool: who states a reach would have stated a danger."""
    return facts.reach is not None


def _risky(parameters: JsonObject) -> Iterator[str]:
    """The parameters that could say who or where: all but those whose values the developer listed."""
    for name, schema in _properties(parameters).items():
        if not (isinstance(schema, Mapping) and (listed(schema) or schema.get("type") == "boolean")):
            yield name


def _amounts(tool: Tool) -> Iterator[str]:
    """The parameters of a tool that does something that hold an amount."""
    if tool.effect in ("idempotent", "write"):
        for name, schema in _properties(tool.parameters).items():
            if tool.facts.kinds.get(name, kind_of(name, schema)) == "amount":
                yield name


def _widening(tool: Tool) -> dict[str, frozenset[str]]:
    """By parameter: the choices that give others more access."""
    if tool.facts.widens is not None:
        return {name: frozenset(choices) for name, choices in tool.facts.widens.items()}
    if tool.effect not in ("idempotent", "write"):
        return {}
    wide = dict[str, frozenset[str]]()
    for name in _properties(tool.parameters):
        if choices := offered(tool.parameters, name) | frozenset(_inner(tool.parameters, name)):
            wide[name] = frozenset(filter(is_widening, choices))
        if not wide.get(name) and not choices and gives_access(name):
            wide[name] = frozenset()
    return {name: choices for name, choices in wide.items() if choices or gives_access(name)}


def _inner(parameters: JsonObject, name: str) -> Iterator[str]:
    """The choices that give access inside of an object that is a parameter."""
    for node in nodes(_properties(parameters).get(name)):
        for choice in listed(node):
            if isinstance(choice, str) and is_widening(choice):
                yield choice


def listed(schema: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values that a schema itself lists."""
    values = schema.get("enum")
    return tuple(values) if isinstance(values, list) else (schema["const"],) if "const" in schema else ()


def offered(parameters: JsonObject, name: str) -> frozenset[str]:
    """The values of one parameter that the developer wrote into the schema, as texts."""
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
