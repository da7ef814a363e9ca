"""Finds the ways in which an outsider could misuse a set of tools, and what stops each.

An agent that reads untrusted text, sees private data and can reach outside can be robbed. Any two of the
three are safe. https://ai.meta.com/blog/practical-ai-agent-security/ calls it the rule of two.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.decision import Allow, Rewrite
from rightcall.core.facts import Kind
from rightcall.core.jsontext import JsonObject, JsonValue, dump
from rightcall.core.message import Results
from rightcall.core.options import check_keywords
from rightcall.core.parts import Call, Result, Text
from rightcall.core.sanitize import visible
from rightcall.core.tool import CheckedCall, Tool
from rightcall.trust.facts import ResolvedFacts, enum_values, properties_of, resolve_facts
from rightcall.trust.guard import Guard
from rightcall.trust.rules import UNVOUCHED, Rules, apply_rules

_EVIL: Mapping[Kind | None, str] = {
    "account": "XX00 0000 0000 0000",
    "web": "https://evil.invalid/?q=secret",
    "path": "/evil/leak",
    "record": "evil-1",
    "person": "Mallory Evil",
    "channel": "evil-leaks",
    "date": "2099-12-31",
    None: "eve@evil.invalid",
}
_LISTED = "listed-1"
"""The identifier of a record that a system lists, and that nobody has named."""
_MUCH = 99_999
_MUST = "must be vouched for"
_HARM = {"money": "move money", "deletes": "delete", "credentials": "touch credentials"}


class Path(Struct, frozen=True, kw_only=True):
    """What a hijacked model could do with one tool."""

    tool: str
    """The tool that reaches outside, or is dangerous."""
    does: tuple[str, ...]
    """What it could be made to do."""
    untrusted: tuple[str, ...]
    """The tools that can return untrusted text with orders in it."""
    private: tuple[str, ...]
    """The tools that read private data, which could be sent along."""
    broken_by: str = ""
    """What prevents it; empty if nothing does."""
    change: str = ""
    """What would prevent it."""


class Report(Struct, frozen=True, kw_only=True):
    """The findings of an audit."""

    untrusted: tuple[str, ...]
    private: tuple[str, ...]
    outside: tuple[str, ...]
    paths: tuple[Path, ...]
    missing: dict[str, tuple[str, ...]]
    """By tool: the facts that nobody stated, for which the worst is assumed."""
    on_trust: dict[str, str] = {}
    """By tool: what its facts say that the rules believe, and that lets calls pass."""
    unguarded: dict[str, str] = {}
    """The inner agents that run without the rules, each with the operator's reason."""

    @property
    def open(self) -> tuple[Path, ...]:
        """The paths that nothing stops."""
        return tuple(path for path in self.paths if not path.broken_by)

    @property
    def is_trifecta(self) -> bool:
        """Whether untrusted input, private data and a way out come together."""
        return bool(self.untrusted and self.private and self.outside)

    def __str__(self) -> str:
        lines = [
            f"reads what outsiders wrote: {_names(self.untrusted)}",
            f"reads private data:         {_names(self.private)}",
            f"reaches outside:            {_names(self.outside)}",
            "",
        ]
        if self.is_trifecta:
            lines.append("All three come together.")
        else:
            lines.append("The three do not come together.")
        for path in self.paths:
            if path.broken_by:
                state = f"stopped: {path.broken_by}"
            else:
                state = "OPEN"
            lines.append(f"- {path.tool} could be made to {' and to '.join(path.does)}. {state}")
            if path.change:
                lines.append(f"  {path.change}")
        for tool, facts in self.missing.items():
            lines.append(f"- {tool}: nobody stated {', '.join(facts)}; taken for the worst")
        for tool, words in self.on_trust.items():
            lines.append(f"- {tool}: taken on trust {words}")
        for agent, words in self.unguarded.items():
            lines.append(f"- {agent} runs without these rules: {visible(words)}")
        return "\n".join(lines)


@check_keywords("rc.trust.audit")
def audit(source: Any, rules: Rules | None = None) -> Report:
    """What an agent, a toolbox or some tools could be made to do, and what stops it.

    ``rules`` are by default the agent's own.
    """
    rules = rules or getattr(source, "trust", None)
    tools = list(getattr(source, "tools", source))
    if rules is not None:
        tools = [apply_rules(tool, rules) for tool in tools]
    known = list(zip(tools, map(resolve_facts, tools), strict=True))
    untrusted: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    missing = {}
    on_trust: dict[str, str] = {}
    for tool, facts in known:
        if facts.untrusted:
            untrusted += (tool.name,)
        if facts.private:
            private += (tool.name,)
        if facts.reach == "outside":
            outside += (tool.name,)
        if facts.acts and not facts.is_consequential and not tool.delegates:
            on_trust[tool.name] = "that what it does has no consequences"
        elif isinstance(facts.untrusted, tuple) and tool.facts.identity == ():
            on_trust[tool.name] = "that nobody from outside says in its results who they are"
        if facts.missing:
            missing[tool.name] = facts.missing
    paths = []
    for tool, facts in known:
        does = [_HARM[danger] for danger in facts.dangers]
        if facts.reach == "outside" and private:
            does.insert(0, "send private data outside")
        elif facts.reach == "outside" and facts.acts:
            does.insert(0, "act outside in the user's name")
        elif facts.acts and facts.is_consequential and not does:
            does.append("change what is the user's")
        if not untrusted or not does:
            continue
        broken = _broken_by(tool, tools, rules)
        path = Path(
            tool=tool.name,
            does=tuple(does),
            untrusted=untrusted,
            private=private if facts.reach == "outside" else (),
            broken_by=broken,
        )
        if not broken:
            path = replace(path, change=_change(tool, rules))
        paths.append(path)
    unguarded: dict[str, str] = {}
    if rules is not None:
        unguarded = dict(rules.unguarded)
    return Report(
        untrusted=untrusted,
        private=private,
        outside=outside,
        paths=tuple(paths),
        missing=missing,
        on_trust=on_trust,
        unguarded=unguarded,
    )


def _broken_by(tool: Tool, tools: Sequence[Tool], rules: Rules | None) -> str:
    """What stops everything that a hijacked model could try with a tool; empty if some call passes.

    The trust rules themselves decide: a guard reads untrusted text, and then judges the calls.
    """
    if tool.approval:
        return "a person approves each call"
    if rules is None or (tool.delegates and tool.name in rules.unguarded):
        # An exempt agent reads and acts without the rules, whatever they say of its task.
        return ""
    if rules.intents == "model":
        return "it runs only as it was stated"
    guard = hijacked_guard(tools, rules)
    why = ""
    for attempt in attempts(tool):
        flow = guard.review(attempt)
        finding = guard.judge(attempt)
        if isinstance(finding.decision, Allow | Rewrite | None):
            return ""
        if why:
            continue
        why = flow.reason
        if isinstance(flow.decision, Allow | None):
            why = finding.reason
        elif why.startswith(UNVOUCHED):
            names: dict[str, None] = {}
            for each in flow.evidence:
                if not each.is_vouched:
                    names[re.split(r"[.\[]", each.path[2:])[0]] = None
            why = f"{_names(tuple(names))} {_MUST}"
    return why


def _change(tool: Tool, rules: Rules | None) -> str:
    if rules is None:
        return "Give the agent rules: Agent(..., trust=rc.trust.Rules())."
    if tool.delegates and tool.name in rules.unguarded:
        return "Let it inherit the rules: leave it out of unguarded, or require approval."
    if "targets" in resolve_facts(tool).missing or tool.parameters.get("properties"):
        return "Say in its facts which parameters are targets, state intents, or require approval."
    return "State intents, or require approval."


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"


class _FixedTools(Struct, frozen=True, eq=False):
    """A fixed set of tools, by name."""

    known: Mapping[str, Tool]

    def get(self, name: str, /) -> Tool | None:
        return self.known.get(name)

    def names(self) -> Sequence[str]:
        return list(self.known)


def hijacked_guard(tools: Sequence[Tool], rules: Rules) -> Guard:
    """A guard that has read untrusted text from every tool that can return it, and any private data.

    With it, a model has looked up one record alone by every tool that lists what the system knows.
    """
    guard = Guard(rules, _FixedTools({tool.name: tool for tool in tools}))
    records: dict[str, str] = {}
    for tool in tools:
        facts = resolve_facts(tool)
        records.update(dict.fromkeys(_records(facts), _LISTED))
        if facts.untrusted:
            evil = [{"sender": each} for each in _EVIL.values()]
            _show(guard, tool, dump(evil), is_outside=True)
        elif facts.private:
            _show(guard, tool, "")
    for tool in tools:
        facts = resolve_facts(tool)
        if facts.is_consequential or facts.untrusted is True:
            continue
        _show(guard, tool, dump([records]), is_outside=bool(facts.untrusted))
    return guard


def _show(guard: Guard, tool: Tool, text: str, *, is_outside: bool = False) -> None:
    """Show a result to a guard, in an envelope if outsiders wrote in it."""
    result = Result(call_id="", name=tool.name, outcome="returned", content=(Text(text),))
    if is_outside:
        envelope = Text(dump({"content": text}))
        result = replace(result, content=(envelope,), source=tool.name)
    guard.see(Results((result,)))


def _records(facts: ResolvedFacts) -> list[str]:
    return [each for each in facts.targets if facts.kind_of(each) == "record"]


def attempts(tool: Tool) -> Iterator[CheckedCall]:
    """The calls that a hijacked model would try, for the trust rules to judge.

    Their targets are the outsider's, then a listed record, then blank; the last has blanks alone.
    """
    facts = resolve_facts(tool)
    schemas = properties_of(tool.parameters)
    evil = {name: _value(name, schema, facts) for name, schema in schemas.items()}
    yield _call(tool, evil)
    if facts.dangers and (records := _records(facts)):
        yield _call(tool, {**evil, **dict.fromkeys(records, _LISTED)})
    if facts.targets:
        blanks = {name: _blank(schemas[name]) for name in facts.targets}
        yield _call(tool, {**evil, **blanks})
        required = tool.parameters.get("required")
        blanks = {}
        if isinstance(required, list):
            blanks = {name: _blank(schemas.get(name)) for name in required}
        yield _call(tool, blanks)


def _call(tool: Tool, arguments: JsonObject) -> CheckedCall:
    call = Call(id="attempt", name=tool.name, arguments=dump(arguments))
    return CheckedCall(call=call, tool=tool, arguments=arguments, bound=dict(arguments))


def _value(name: str, schema: Any, facts: ResolvedFacts) -> JsonValue:
    if not isinstance(schema, Mapping):
        schema = {}
    if choices := enum_values(schema):
        wide = facts.widens.get(name, ())
        value: JsonValue = next(filter(wide.__contains__, choices), choices[0])
        return value
    match schema.get("type"):
        case "integer" | "number":
            return _MUCH
        case "boolean":
            return True
        case "array":
            return [_value(name, schema.get("items"), facts)]
        case "object":
            return {}
        case _ if name in facts.targets:
            return _EVIL.get(facts.kind_of(name), _EVIL[None])
        case _:
            return "all of it"


def _blank(schema: Any) -> JsonValue:
    if not isinstance(schema, Mapping):
        return None
    blanks: dict[Any, JsonValue] = {"array": [], "object": {}, "string": ""}
    return blanks.get(schema.get("type"))
