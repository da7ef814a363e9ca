"""The trust rules of an application, in one value, and its ordered rules for calls."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct, field

from rightcall.core.call import CheckedCall
from rightcall.core.decision import Answer, Deny, Evidence, Grant, Origin
from rightcall.core.facts import Danger, Effect, Reach
from rightcall.core.jsontext import JsonObject, JsonValue, leaves
from rightcall.core.options import Spelt
from rightcall.errors import UsageError
from rightcall.trust.ledger import Ledger

if TYPE_CHECKING:
    from rightcall.trust.facts import Settled

Action: TypeAlias = Literal["allow", "deny", "ask", "rewrite"]


class Case(Struct, frozen=True, kw_only=True, eq=False):
    """A call, with everything that the rules may check."""

    checked: CheckedCall
    facts: "Settled"
    tainted: bool
    private: bool
    suspected: bool
    targets: tuple[Evidence, ...]
    """The targets, each with where it was seen."""
    links: tuple[Evidence, ...]
    """The links and accounts in its content, and what an outside lookup would tell."""
    bounds: tuple[Evidence, ...] = ()
    """The amounts and the choices that must have been asked for."""
    calls: int
    """How often the tool was called before in this conversation."""

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """All the evidence."""
        return (*self.targets, *self.links, *self.bounds)

    @property
    def is_open_ended(self) -> bool:
        """Whether a call that acts, and reaches outside or is dangerous, has no target."""
        facts = self.facts
        return not self.targets and facts.acts and (facts.reach == "outside" or bool(facts.dangers))


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, metaclass=Spelt):
    """One rule of a policy. It matches a call if all of its conditions do."""

    action: Action
    tools: tuple[str, ...] = ("*",)
    """Names of tools, or patterns of names."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """By parameter: a pattern (``*@example.com``), or a bound (``<= 100``). For ``allow`` every value in
    the argument must match; for any other action one is enough."""
    tainted: bool | None = None
    """Whether the run has read untrusted text."""
    private: bool | None = None
    """Whether private data has been read."""
    suspected: bool | None = None
    """Whether a screen suspects some result of being an attack."""
    vouched: bool | None = None
    """Whether all targets are vouched for."""
    origins: tuple[Origin, ...] = ()
    """All targets were seen in one of these."""
    effects: tuple[Effect, ...] = ()
    reaches: tuple[Reach, ...] = ()
    dangers: tuple[Danger, ...] = ()
    """It has one of these dangers."""
    after: int | None = None
    """The tool has been called at least this often before in this conversation."""
    set: Mapping[str, JsonValue] = field(default_factory=dict)
    """For ``rewrite``: the arguments to put in place of the model's."""
    reason: str = ""

    def fits(self, case: Case) -> bool:
        """Whether all conditions of the rule match this call."""
        facts, evidence = case.facts, case.evidence
        name = case.checked.tool.name
        return (
            any(fnmatchcase(name, pattern) for pattern in self.tools)
            and _is(self.tainted, case.tainted)
            and _is(self.private, case.private)
            and _is(self.suspected, case.suspected)
            and _is(self.vouched, all(each.is_vouched for each in evidence))
            and (not self.origins or all(each.origin in self.origins for each in evidence))
            and (not self.effects or facts.effect in self.effects)
            and (not self.reaches or facts.reach in self.reaches)
            and (not self.dangers or any(each in self.dangers for each in facts.dangers))
            and (self.after is None or case.calls >= self.after)
            and all(self._agrees(case.checked.arguments, *each) for each in self.arguments.items())
        )

    def _agrees(self, arguments: JsonObject, name: str, pattern: str) -> bool:
        if name not in arguments:
            return False
        from rightcall.trust.words.spelling import compares  # noqa: PLC0415 - light until used

        found = [compares(pattern, leaf) for _, leaf in leaves(arguments[name])]
        return bool(found) and (all(found) if self.action == "allow" else any(found))


def first(rules: Iterable[Rule], case: Case) -> Rule | None:
    """The first rule that matches; None if none does."""
    return next((rule for rule in rules if rule.fits(case)), None)


def _is(wanted: bool | None, given: bool) -> bool:  # noqa: FBT001 - a comparison
    return wanted is None or wanted == given


Screen: TypeAlias = Callable[[str], Awaitable[bool | Answer | Deny]]
"""Checks an untrusted text for instructions to the model: False for none; True to label it; ``Answer``
with another text, such as a summary; ``Deny`` to withhold it, with a reason for the model."""


class Rules(Struct, frozen=True, kw_only=True, metaclass=Spelt):
    """The trust rules of an agent. The defaults already protect a run with a hijacked model.

    Once a run has read untrusted text, the targets of a consequential call must be vouched for: by the
    user, the developer, ``vouched``, or a trusted result.
    """

    vouched: tuple[str, ...] = ()
    """The operator's allowlist: values, or patterns such as ``*@example.com``."""
    directories: tuple[str, ...] = ()
    """Tools, by name or pattern, that look up what the user or the operator entered: contacts, staff.
    The people in their results are trusted."""
    grant: Grant | Literal["model"] | None = None
    """The tools that a request may use. ``"model"``: the model states them before it reads anything."""
    policy: tuple[Rule, ...] | None = None
    """Ordered rules for every call, tainted or not. If there are any, a consequential call that matches
    none of them is denied."""
    otherwise: Literal["ask", "deny"] = "ask"
    """What happens to a call that the rules refuse: ask a person, or deny it."""
    secrets: bool = True
    """Look for keys and passwords in what goes outside."""
    screen: Screen | None = None
    """Checks every untrusted result, and labels, replaces or withholds what looks like an attack."""
    memory: Ledger | None = None
    """A file that remembers what tainted runs wrote, so that a later run recognises it."""
    unguarded: Mapping[str, str] = field(default_factory=dict)
    """Subagents that do not inherit these rules, by name, each with the reason. The audit prints it."""

    def __post_init__(self) -> None:
        for name, words in self.unguarded.items():
            if not words.strip():
                raise UsageError(f"unguarded: say why {name!r} may run without the rules")
        for option in ("vouched", "directories"):
            given: object = getattr(self, option)
            if isinstance(given, str):
                raise UsageError(f"{option} takes several values; write ({given!r},)")
