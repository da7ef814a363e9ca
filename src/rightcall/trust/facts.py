"""A tool's facts, each gap filled with the worst case that its declaration leaves open."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from rightcall.core.facts import Danger, Effect, Facts, Kind, Reach
from rightcall.core.jsontext import JsonObject, JsonValue, Place, leaves, nodes
from rightcall.core.references import follow
from rightcall.core.tool import Tool
from rightcall.trust.kinds import (
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

Fields: TypeAlias = bool | tuple[str, ...]

_DANGERS: tuple[Danger, ...] = get_args(Danger)
_FIELDS = ("untrusted", "private", "reach", "targets")
REACHED: frozenset[Kind | None] = frozenset(
    {"address", "account", "web", "path", "record", "person", "channel"}
)
"""Kinds of values that say what a call reaches."""
_MOST_DEPTH = 12
WHOM: frozenset[Kind | None] = frozenset({"address", "account", "person"})
"""Kinds of values that say who somebody is: beside what an outsider wrote, it is who wrote it."""
STRICT: frozenset[Danger] = frozenset({"deletes", "credentials"})
"""Dangers that cannot be undone. A target must be named: that a system knows it is no order."""


class ResolvedFacts(Struct, frozen=True, kw_only=True):
    """The facts of a tool as the trust rules use them, with no gaps."""

    effect: Effect = "write"
    untrusted: bool | tuple[str, ...] = True
    private: bool | tuple[str, ...] = True
    reach: Reach = "outside"
    dangers: tuple[Danger, ...] = _DANGERS
    targets: tuple[str, ...] = ()
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
    """The targets from which something is taken."""
    bounded: tuple[str, ...] = ()
    """The parameters that are amounts."""
    numbers: frozenset[str] = frozenset()
    """Of a tool that moves money: the names of numbers that are not stated to be something else."""
    widens: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By parameter: the choices that give more access; empty: not listed, so a choice's name decides."""
    flags: frozenset[str] = frozenset()
    """The flags of a dangerous tool that are off by default: with one, it may do more."""
    derived: bool = False
    """Whether its result follows from its arguments: it vouches for no more than they do."""
    missing: tuple[str, ...] = _FIELDS
    """The facts that nobody stated."""

    @property
    def is_consequential(self) -> bool:
        """Whether a call does something that may be regretted."""
        does_something = self.acts and self.reach != "nothing"
        return does_something or self.reach == "outside" or bool(self.dangers)

    def is_content(self, name: str) -> bool:
        """Whether a parameter is in the schema and is no target: what it says goes to the targets."""
        return name in self.parameters and name not in self.targets

    @property
    def acts(self) -> bool:
        """Whether a call has an effect, rather than only reads."""
        return self.effect in ("idempotent", "write")

    def is_amount(self, place: Place) -> bool:
        """Whether a bounded amount is at this place in the arguments."""
        names = names_on(place)
        name = names[-1]
        if len(names) == 1:
            return name in self.bounded and self.kind_of(name) == "amount"
        return self.acts and (
            name in self.numbers or self.kinds.get(name, kind_of_name(name)) == "amount"
        )

    def kind_of(self, name: str) -> Kind | None:
        """The kind of a parameter: as stated, or else as its schema and its name show."""
        return self.kinds.get(name, self.guessed.get(name))

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
        return _is_in(field, self.untrusted)

    @property
    def reads_private(self) -> bool:
        """Whether it returns private data."""
        return bool(self.private)


def names_on(place: Place) -> list[str]:
    """The property names on the way to a place."""
    return [step for step in place if isinstance(step, str)]


def _is_in(field: str, fields: Fields) -> bool:
    if isinstance(fields, bool):
        return fields
    steps = field.split(".")
    for end in range(1, len(steps) + 1):
        for start in range(end):
            if ".".join(steps[start:end]) in fields:
                return True
    return False


WORST = ResolvedFacts()
"""The facts of a tool that no longer exists."""


def resolve_facts(tool: Tool) -> ResolvedFacts:
    """Returns the facts of a tool. Gaps follow from its effect and its schema, or are the worst case.

    A pure tool is a function of its arguments: it reads nothing, reaches nothing, and returns nothing
    that does not follow from them.
    """
    facts = tool.facts
    is_pure = tool.effect == "pure"
    acts = tool.effect in ("idempotent", "write")
    properties = properties_of(tool.parameters)
    guessed: dict[str, Kind] = {}
    risky = []
    amounts = []
    unnamed = []
    moves_money = acts and "money" in (facts.dangers or ())
    for name, schema in properties.items():
        kind = facts.kinds.get(name)
        if name not in facts.kinds:
            kind = kind_of(name, schema)
            if kind is not None:
                guessed[name] = kind
        # A parameter could be a target, unless the developer listed its values.
        is_mapping = isinstance(schema, Mapping)
        if not (is_mapping and (enum_values(schema) or schema.get("type") == "boolean")):
            risky.append(name)
        if acts and kind is None and is_multiplier(name):
            amounts.append(name)
        elif acts and (kind == "amount" or (moves_money and _may_be_amount(tool, name, kind))):
            amounts.append(name)
            guessed[name] = "amount"
            if kind != "amount":
                unnamed.append(name)
    targets = _first(facts.targets, () if is_pure else tuple(risky))
    # An author who states a reach would also state a danger.
    is_safe = not acts or facts.reach is not None
    dangers = _first(facts.dangers, () if is_safe else _DANGERS)
    flags = set()
    if dangers and acts:
        for name, schema in properties.items():
            if isinstance(schema, Mapping) and schema.get("default") is False:
                flags.add(name)
    untrusted: Fields = _first(facts.untrusted, not is_pure)
    missing = [name for name in _FIELDS if getattr(facts, name) is None and not is_pure]
    missing += [f"kinds[{name!r}]" for name in unnamed]
    numbers = set[str]()
    for node in nodes(tool.parameters) if moves_money else ():
        for name, schema in properties_of(node).items():
            if name not in facts.kinds and _is_number(tool.parameters, schema):
                numbers.add(name)
    return ResolvedFacts(
        effect=tool.effect,
        numbers=frozenset(numbers),
        untrusted=untrusted,
        private=_first(facts.private, not is_pure),
        reach=_first(facts.reach, "nothing" if is_pure else "outside"),
        dangers=dangers,
        targets=targets,
        parameters=frozenset(properties),
        kinds=facts.kinds,
        guessed=guessed,
        identity=facts.identity,
        is_mixed=isinstance(facts.untrusted, tuple) and bool(facts.untrusted),
        sources=tuple(filter(is_source, targets)),
        bounded=tuple(amounts),
        widens=_widening(tool, is_dangerous=bool(dangers)),
        flags=frozenset(flags),
        derived=is_pure or tool.delegates,
        missing=tuple(missing),
    )


def _first(stated: Any, otherwise: Any) -> Any:
    if stated is None:
        return otherwise
    return stated


def _may_be_amount(tool: Tool, name: str, kind: Kind | None) -> bool:
    """Whether a parameter of a tool that moves money is a number, and not stated to be something else.

    In which words an amount is named ("cents", "betrag"), nobody can list.
    """
    facts = tool.facts
    if name in facts.kinds or not _is_number(tool.parameters, properties_of(tool.parameters)[name]):
        return False
    if facts.targets is not None:
        return name not in facts.targets
    # Where no targets were stated, what looks like one stays one: that is stricter.
    return kind not in REACHED


def _is_number(whole: JsonObject, schema: Any, depth: int = 0) -> bool:
    """Whether a schema takes numbers, also in a list or as an alternative; listed ones are choices."""
    schema = follow(whole, schema)
    if not isinstance(schema, Mapping) or depth > _MOST_DEPTH or enum_values(schema):
        return False
    types = schema.get("type")
    for each in types if isinstance(types, list) else [types]:
        if each in ("number", "integer") or schema.get("format") == "decimal":
            return True
    inside = [schema.get("items"), *(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())]
    inside += schema.get("allOf") or ()
    return any(_is_number(whole, each, depth + 1) for each in inside if each is not None)


def _widening(tool: Tool, *, is_dangerous: bool) -> dict[str, frozenset[str]]:
    """By parameter: the choices that give others more access, or make a dangerous call do more."""
    if tool.effect not in ("idempotent", "write"):
        return {}
    wide = dict[str, frozenset[str]]()
    for name, schema in properties_of(tool.parameters).items():
        choices = set(offered_values(tool.parameters, name))
        # Also the choices inside an object parameter that give more access.
        for node in nodes(schema):
            for text in enum_values(node):
                if isinstance(text, str) and is_widening(text):
                    choices.add(text)
        found = set(filter(is_widening, choices))
        if is_dangerous:
            found.update(filter(is_wider, choices - default_of(tool.parameters, name)))
        if found or gives_access(name):
            wide[name] = frozenset(found)
    return wide


def label_untrusted(tool: Tool) -> Tool:
    """The tool, with ``untrusted`` stated as the trust rules assume it."""
    untrusted = resolve_facts(tool).untrusted
    if tool.facts.untrusted is not None or not untrusted:
        return tool
    return tool.replace(facts=replace(tool.facts, untrusted=untrusted))


def facts_together(tools: Iterable[Tool], *, is_guarded: bool) -> Facts:
    """The facts of an agent as a tool of another: it can be made to do whatever its own tools can do.

    An agent that follows trust rules may use only what its caller has vouched for, so that calling it
    reaches nobody yet. For any other agent, the task decides everything, and must itself be vouched for.
    A fact that is not stated for one of its tools is not stated for the agent.
    """
    known = list(map(resolve_facts, tools))
    reaches: list[Reach] = [facts.reach for facts in known if "reach" not in facts.missing]
    reach: Reach | None = None
    if "outside" in reaches or len(reaches) == len(known):
        nothing: Reach = "nothing"
        reach = max(reaches, key=get_args(Reach).index, default=nothing)
    untrusted = _either([(facts.untrusted, "untrusted" in facts.missing) for facts in known])
    private = _either([(facts.private, "private" in facts.missing) for facts in known])
    if is_guarded:
        return Facts(
            untrusted=untrusted,
            private=private,
            # Its own calls are judged one by one; to hand it a task does nothing yet.
            reach="nothing",
            dangers=(),
            targets=(),
        )
    dangers: set[Danger] = set()
    targets: tuple[str, ...] = ()
    for facts in known:
        dangers.update(facts.dangers)
        if facts.is_consequential:
            targets = ("task",)
    return Facts(
        untrusted=untrusted,
        private=private,
        reach=reach,
        dangers=tuple(filter(dangers.__contains__, _DANGERS)),
        targets=targets,
    )


def _either(facts: list[tuple[Fields, bool]]) -> bool | None:
    """Whether one of the facts is true; None if that depends on one that nobody stated."""
    is_untold = False
    for value, is_missing in facts:
        if value and not is_missing:
            return True
        is_untold = is_untold or is_missing
    if is_untold:
        return None
    return False


def properties_of(parameters: JsonObject) -> Mapping[str, Any]:
    """The members that a schema declares, with their schemas."""
    found = parameters.get("properties")
    if isinstance(found, Mapping):
        return found
    return {}


def default_of(parameters: JsonObject, name: str) -> frozenset[str]:
    """What a parameter is if nobody fills it in, as a text; empty if nothing says so."""
    schema = properties_of(parameters).get(name)
    if not isinstance(schema, Mapping) or schema.get("default") is None:
        return frozenset()
    return texts_in(schema["default"])


def texts_in(value: JsonValue) -> frozenset[str]:
    """The texts of a value, without their places."""
    return frozenset([text for _, text in leaves(value)])


def enum_values(schema: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values that a schema lists at its top level."""
    values = schema.get("enum")
    if isinstance(values, list):
        return tuple(values)
    if "const" in schema:
        return (schema["const"],)
    return ()


def offered_values(parameters: JsonObject, name: str) -> frozenset[str]:
    """The values that the schema lists for one parameter, default included, as texts."""
    schema = properties_of(parameters).get(name)
    if not isinstance(schema, Mapping):
        return frozenset()
    values = [*enum_values(schema)]
    items = schema.get("items")
    if isinstance(items, Mapping):
        values += enum_values(items)
    if "default" in schema:
        values.append(schema["default"])
    return texts_in(values)
