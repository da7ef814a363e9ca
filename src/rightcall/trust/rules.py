"""The trust rules of an application, in one value, its ordered rules for calls, and their verdicts."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from rightcall.core.decision import Allow, Answer, Ask, Decision, Deny, Evidence, Origin, Rewrite
from rightcall.core.facts import Danger, Effect, Reach
from rightcall.core.jsontext import JsonObject, JsonValue, leaves
from rightcall.core.options import NameCheckedMeta, fits, misfit
from rightcall.core.problem import json_path
from rightcall.core.secret_formats import may_hold_secret, redact_formats
from rightcall.core.tool import CheckedCall, Tool
from rightcall.errors import UsageError
from rightcall.trust.ledger import Ledger

if TYPE_CHECKING:
    from rightcall.trust.facts import ResolvedFacts

Action: TypeAlias = Literal["allow", "deny", "ask", "rewrite"]
_LAX_TO_STRICT = (type(None), Allow, Rewrite, Ask, Deny)
_MOST_SHOWN = 3
UNVOUCHED = "what is at"
"""The start of every message about a value that nobody has vouched for."""


class RuleCase(Struct, frozen=True, kw_only=True, eq=False):
    """A call, with everything that the rules may check."""

    checked: CheckedCall
    facts: "ResolvedFacts"
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


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, metaclass=NameCheckedMeta):
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

    def __post_init__(self) -> None:
        _check_word("action", self.action, Action)
        for option in ("tools", "origins", "effects", "reaches", "dangers"):
            _check_several(option, getattr(self, option))
        kinds = {"effects": Effect, "reaches": Reach, "dangers": Danger, "origins": Origin}
        for option, words in kinds.items():
            for each in getattr(self, option):
                _check_word(option, each, words)

    def fits(self, case: RuleCase) -> bool:
        """Whether all conditions of the rule match this call."""
        facts = case.facts
        name = case.checked.tool.name
        if not matches_any(name, self.tools):
            return False
        is_vouched = all(each.is_vouched for each in case.evidence)
        origins = {each.origin for each in case.evidence}
        return (
            self.tainted in (None, case.tainted)
            and self.private in (None, case.private)
            and self.suspected in (None, case.suspected)
            and self.vouched in (None, is_vouched)
            and (not self.origins or origins.issubset(self.origins))
            and (not self.effects or facts.effect in self.effects)
            and (not self.reaches or facts.reach in self.reaches)
            and (not self.dangers or not set(facts.dangers).isdisjoint(self.dangers))
            and (self.after is None or case.calls >= self.after)
            and all(self._agrees(case.checked.arguments, *each) for each in self.arguments.items())
        )

    def _agrees(self, arguments: JsonObject, name: str, pattern: str) -> bool:
        if name not in arguments:
            return False
        from rightcall.trust.spelling import compares  # noqa: PLC0415 - light until used

        found = {compares(pattern, leaf) for _, leaf in leaves(arguments[name])}
        if self.action == "allow":
            return found == {True}
        return True in found


Screen: TypeAlias = Callable[[str], Awaitable[bool | Answer | Deny]]
"""Checks an untrusted text for instructions to the model: False for none; True to label it; ``Answer``
with another text, such as a summary; ``Deny`` to withhold it, with a reason for the model."""


class Rules(Struct, frozen=True, kw_only=True, metaclass=NameCheckedMeta):
    """The trust rules of an agent. The defaults already protect a run with a hijacked model.

    Once a run has read untrusted text, a consequential call runs unasked only if its targets were typed
    by the user or the developer, or are in ``vouched``; with intents, only if it was stated.
    """

    vouched: tuple[str, ...] = ()
    """The operator's allowlist: values, or patterns such as ``*@example.com``."""
    intents: Literal["model"] | None = None
    """``"model"``: the model states what the request may do before it reads anything, unless the run is
    given intents."""
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
        _check_word("otherwise", self.otherwise, Literal["ask", "deny"])
        if self.intents not in (None, "model"):
            raise UsageError(
                'rc.trust.Rules(intents=…) is "model"; intents of one task go to agent.run(intents=…)'
            )
        _check_several("vouched", self.vouched)


def _check_word(option: str, given: object, words: Any) -> None:
    """A misspelt word would be one that never matches, or one that is taken for the default."""
    if not fits(given, words):
        raise UsageError(misfit(option, given, words))


def _check_several(option: str, given: object) -> None:
    if isinstance(given, str):
        raise UsageError(f"{option} takes several values; write ({given!r},)")


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns, such as ``read_*``, matches a name."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def inherit_rules(rules: Rules, names: Iterable[str]) -> Rules | None:
    """The rules for an inner run of an agent without its own; None if the operator exempted the agent.

    ``rules`` are those of the outer run, ``names`` those that the agent goes by. Stated intents hold in
    inner runs, too, and are counted together; no inner model states any.
    """
    if any(name in rules.unguarded for name in names):
        return None
    return replace(rules, intents=None)


def apply_rules(tool: Tool, rules: Rules) -> Tool:
    """The tool as the rules treat it: an agent that inherits them is bound by them in its inner run.

    So to hand it a task does nothing yet. An exempt agent may do all that its own tools can.
    """
    if not tool.delegates or tool.inside is None or tool.name in rules.unguarded:
        return tool
    return tool.replace(facts=replace(tool.facts, reach="nothing", dangers=(), targets=()))


class Finding(Struct, frozen=True, kw_only=True):
    """The verdict of the trust rules on a call, with reason and evidence."""

    decision: Decision | None = None
    """None if the rules have no objection: the call may run."""
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    each_time: bool = False
    """Whether an approval of an earlier call does not cover this one."""
    remember: tuple[str, ...] = ()
    """The values that a person is asked about: what they answer holds for these in the whole run."""
    refuses: str = ""
    """What a no holds for in the whole run, where no value was asked about: a count that is used up, or
    the call as it is."""
    is_for_task: bool = False
    """Whether a person is asked about all values of the task at once."""


def strictness(finding: Finding) -> int:
    """A rank for comparing findings: larger is stricter."""
    return _LAX_TO_STRICT.index(type(finding.decision))


def secrets_in(checked: CheckedCall, is_known: Callable[[str], bool]) -> Iterator[Evidence]:
    """Evidence of what looks like a key or a password in a call, unless somebody typed or stated it."""
    found = list(leaves(checked.arguments))
    if not may_hold_secret("\n".join([text for _, text in found])):
        # Nearly always so.
        return
    for place, text in found:
        if may_hold_secret(text) and redact_formats(text) != text and not is_known(text):
            yield Evidence(json_path(list(place)), "[redacted]", "nowhere")


def describe_unvouched(unvouched: Sequence[Evidence], facts: "ResolvedFacts") -> str:
    """Says which values nobody vouches for, who could have written them, and what would allow the call.

    Without the values themselves: the model reads this, and they may be outsiders' text.
    """
    lines = [_describe(each, facts) for each in unvouched[:_MOST_SHOWN]]
    if len(unvouched) > _MOST_SHOWN:
        lines.append(f"and {len(unvouched) - _MOST_SHOWN} more")
    words = "; ".join(lines)
    if any(each.value and each.origin != "unfit" for each in unvouched):
        words += ": it runs if the user types it, or an intent states it"
    return words


def _describe(each: Evidence, facts: "ResolvedFacts") -> str:
    at = f"{UNVOUCHED} {each.path}"
    name = each.path.removeprefix("$.").partition(".")[0].partition("[")[0]
    if not each.value:
        return f"{at} is blank, which could mean anything: the user must name it"
    match each.origin:
        case "untrusted":
            return f"{at} comes from what {each.source} returned, where outsiders can write"
        case "listed":
            return f"{at} is listed by {each.source}, which vouches for reading and not for acting"
        case "unfit" if each.source == "spent":
            return f"{at} was typed, and is used up: it went there already"
        case "unfit" if each.source == "direction":
            return (
                f"{at} was typed, and nothing says which value is taken from and which goes to: state it"
            )
        case "unfit" if each.source == "word":
            return f"{at} is a word of a sentence: what opens something counts if it is typed in quotes"
        case "unfit" if each.source == "spelling":
            return f"{at} was typed in another spelling: it counts letter by letter, as it was typed"
        case "unfit" if each.source == "lines":
            return f"{at} holds a line break, where others read one line"
        case "unfit":
            return (
                f"{at} was typed as a bare number, which may be an amount or a count: "
                f"it counts as {_article(facts.kind_of(name))} with a mark, as '#13', or if it is stated"
            )
        case _:
            return f"{at} was named by nobody but the model"


def _article(kind: str | None) -> str:
    word = kind or "name"
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def apply_policy(policy: Iterable[Rule], case: RuleCase) -> Finding:
    """The verdict of the operator's policy: of its first rule that applies."""
    rule = next((rule for rule in policy if rule.fits(case)), None)
    if rule is None:
        if not case.facts.is_consequential:
            return Finding()
        return Finding(decision=Deny("no rule allows it"), reason="no rule allows it")
    words = rule.reason or f"a rule says {rule.action}"
    match rule.action:
        case "allow":
            decision: Decision = Allow()
        case "deny":
            decision = Deny(words)
        case "ask":
            decision = Ask(words)
        case "rewrite":
            decision = Rewrite({**case.checked.arguments, **rule.set})
    return Finding(decision=decision, reason=words, evidence=case.evidence)
