"""What an application says about trust, in one value, and its ordered rules for calls."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from msgspec import Struct, field

from rightcall.core.call import CheckedCall
from rightcall.core.decision import Evidence, Grant, Origin
from rightcall.core.facts import Danger, Effect, Reach
from rightcall.core.jsontext import JsonObject, JsonValue, leaves
from rightcall.core.options import Spelt
from rightcall.errors import UsageError
from rightcall.trust.facts import Settled
from rightcall.trust.spelling import compares

Action: TypeAlias = Literal["allow", "deny", "ask", "rewrite"]


class Case(Struct, frozen=True, kw_only=True, eq=False):
    """A call, and everything that rules may go by."""

    checked: CheckedCall
    facts: Settled
    tainted: bool
    private: bool
    suspected: bool
    targets: tuple[Evidence, ...]
    """What in it says who or where, each with where it was seen."""
    links: tuple[Evidence, ...]
    """What in its content leads somewhere, or tells."""
    bounds: tuple[Evidence, ...] = ()
    """The amounts and the choices that must have been asked for."""
    calls: int
    """How often the tool was called before in this conversation."""

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """All of it."""
        return (*self.targets, *self.links, *self.bounds)


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, metaclass=Spelt):
    """One rule. It fits a call when everything that it says is true of the call."""

    action: Action
    tools: tuple[str, ...] = ("*",)
    """Names of tools, or patterns of names."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """By parameter: a pattern (``*@example.com``), or a bound (``<= 100``). An ``allow`` wants every
    value in the argument to fit; any other action is content with one."""
    tainted: bool | None = None
    """Whether text that outsiders could have written has been read."""
    private: bool | None = None
    """Whether private data has been read."""
    suspected: bool | None = None
    """Whether a screen took some result for an attack."""
    vouched: bool | None = None
    """Whether everything that says who or where has been vouched for."""
    origins: tuple[Origin, ...] = ()
    """Everything that says who or where was seen in one of these."""
    effects: tuple[Effect, ...] = ()
    reaches: tuple[Reach, ...] = ()
    dangers: tuple[Danger, ...] = ()
    """It has one of these dangers."""
    after: int | None = None
    """The tool has been called so often before in this conversation."""
    set: Mapping[str, JsonValue] = field(default_factory=dict)
    """For ``rewrite``: the arguments to put in place of the model's."""
    reason: str = ""

    def fits(self, case: Case) -> bool:
        """Whether the rule is about this call."""
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
        found = [compares(pattern, leaf) for _, leaf in leaves(arguments[name])]
        return bool(found) and (all(found) if self.action == "allow" else any(found))


def first(rules: Iterable[Rule], case: Case) -> Rule | None:
    """The first rule that fits."""
    return next((rule for rule in rules if rule.fits(case)), None)


def _is(wanted: bool | None, given: bool) -> bool:  # noqa: FBT001 - a comparison
    return wanted is None or wanted == given


Screen: TypeAlias = Callable[[str], Awaitable[bool]]
"""Says whether a text that outsiders wrote looks like an attempt to give orders."""


class Rules(Struct, frozen=True, kw_only=True, metaclass=Spelt):
    """The rules of an agent. As they are, they already hold when the model is hijacked.

    Once text that outsiders could have written has been read, a call that does something needs all that
    says who or where to be vouched for: by the user, the developer, ``vouched``, or a trusted result.
    """

    vouched: tuple[str, ...] = ()
    """The operator's allowlist: values, or patterns such as ``*@example.com``."""
    directories: tuple[str, ...] = ()
    """Tools, by name or pattern, that look up what the user or the operator entered: contacts, staff.
    The people in their results are known."""
    grant: Grant | Literal["model"] | None = None
    """What a request may do. ``"model"``: the model is asked, before it has read anything."""
    policy: tuple[Rule, ...] | None = None
    """Ordered rules for every call, also before outsiders have spoken. Where there are any, a call that
    does something and fits none of them is denied."""
    otherwise: Literal["ask", "deny"] = "ask"
    """What becomes of a call that the rules do not let pass."""
    secrets: bool = True
    """Look for keys and passwords in what goes outside."""
    screen: Screen | None = None
    """Looks at every untrusted result, and labels those that look like an attack."""

    def __post_init__(self) -> None:
        for name in ("vouched", "directories"):
            given: object = getattr(self, name)
            if isinstance(given, str):
                raise UsageError(f"{name} takes several values; write ({given!r},)")
