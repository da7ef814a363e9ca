"""Finds the ways in which an outsider could misuse a set of tools, and what stops each.

An agent that reads untrusted text, sees private data and can reach outside can be robbed. Any two of the
three are safe. https://ai.meta.com/blog/practical-ai-agent-security/ calls it the rule of two.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.decision import Allow, Rewrite
from rightcall.core.options import checked
from rightcall.core.sanitize import visible
from rightcall.core.tool import Tool
from rightcall.trust.attempts import attempts, hijacked
from rightcall.trust.facts import STRICT, Settled, settled
from rightcall.trust.finding import UNVOUCHED, Finding
from rightcall.trust.inheriting import held
from rightcall.trust.rules import Rules

_MUST = "must be vouched for"


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
    chosen_from: tuple[str, ...] = ()
    """If it is stopped: the tools whose trusted results name targets that it can still be pointed at."""


class Report(Struct, frozen=True, kw_only=True):
    """The findings of an audit."""

    untrusted: tuple[str, ...]
    private: tuple[str, ...]
    outside: tuple[str, ...]
    paths: tuple[Path, ...]
    missing: dict[str, tuple[str, ...]]
    """By tool: the facts that nobody stated, for which the worst is assumed."""
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
        lines.append(
            "All three come together." if self.is_trifecta else "The three do not come together."
        )
        for path in self.paths:
            state = f"stopped: {path.broken_by}" if path.broken_by else "OPEN"
            lines.append(f"- {path.tool} could be made to {' and to '.join(path.does)}. {state}")
            if path.change:
                lines.append(f"  {path.change}")
            if path.chosen_from:
                lines.append(f"  It can still be pointed at what {_names(path.chosen_from)} names.")
        for tool, facts in self.missing.items():
            lines.append(f"- {tool}: nobody stated {', '.join(facts)}; taken for the worst")
        for agent, words in self.unguarded.items():
            lines.append(f"- {agent} runs without these rules: {visible(words)}")
        return "\n".join(lines)


@checked("rc.trust.audit")
def audit(source: Any, rules: Rules | None = None) -> Report:
    """What an agent, a toolbox or some tools could be made to do, and what stops it.

    ``rules`` are by default the agent's own.
    """
    rules = rules or getattr(source, "trust", None)
    tools = [tool if rules is None else held(tool, rules) for tool in getattr(source, "tools", source)]
    known = [(tool, settled(tool)) for tool in tools]
    untrusted = tuple(tool.name for tool, facts in known if facts.untrusted)
    private = tuple(tool.name for tool, facts in known if facts.private)
    paths = []
    if untrusted:
        for tool, facts in known:
            if does := _does(facts, bool(private)):
                broken = _broken_by(tool, [each for each, _ in known], rules)
                change = "" if broken else _change(tool, [each for each, _ in known], rules)
                takes = private if facts.reach == "outside" else ()
                paths.append(
                    Path(
                        tool=tool.name,
                        does=does,
                        untrusted=untrusted,
                        private=takes,
                        broken_by=broken,
                        change=change,
                        chosen_from=_vouching(known) if _is_pointed(tool, facts, broken) else (),
                    )
                )
    return Report(
        untrusted=untrusted,
        private=private,
        outside=tuple(tool.name for tool, facts in known if facts.reach == "outside"),
        paths=tuple(paths),
        missing={tool.name: facts.missing for tool, facts in known if facts.missing},
        unguarded={} if rules is None else dict(rules.unguarded),
    )


def _does(facts: Settled, has_private: bool) -> tuple[str, ...]:  # noqa: FBT001 - the toolbox has some
    """The harm that a tool can do for an outsider."""
    words = {"money": "move money", "deletes": "delete", "credentials": "touch credentials"}
    does = [words[danger] for danger in facts.dangers]
    if facts.reach == "outside" and has_private:
        does.insert(0, "send private data outside")
    elif facts.reach == "outside" and facts.effect in ("idempotent", "write"):
        does.insert(0, "act outside in the user's name")
    return tuple(does)


def _broken_by(tool: Tool, tools: Sequence[Tool], rules: Rules | None) -> str:
    """What stops everything that a hijacked model could try with a tool; empty if some call passes.

    The trust rules themselves decide: a guard reads untrusted text, and then judges the calls.
    """
    if tool.approval:
        return "a person approves each call"
    if rules is None or (tool.delegates and tool.name in rules.unguarded):
        # An exempt agent reads and acts without the rules, whatever they say of its task.
        return ""
    if rules.grant == "model":
        return "it runs only where the request calls for it"
    guard = hijacked(tools, rules)
    why = ""
    for attempt in attempts(tool):
        flow, finding = guard.review(attempt), guard.judge(attempt)
        if isinstance(finding.decision, Allow | Rewrite | None):
            return ""
        why = why or _why(flow, finding)
    return why


def _why(flow: Finding, finding: Finding) -> str:
    if isinstance(flow.decision, Allow | None):
        return finding.reason
    if not flow.reason.startswith(UNVOUCHED):
        return flow.reason
    paths = [each.path[2:] for each in flow.evidence if not each.is_vouched]
    names = dict.fromkeys(re.split(r"[.\[]", path)[0] for path in paths)
    return f"{_names(tuple(names))} {_MUST}"


def _is_pointed(tool: Tool, facts: Settled, broken: str) -> bool:
    """Whether a tool that is stopped can still be pointed at anything that a trusted result names."""
    is_free = bool(facts.targets) and STRICT.isdisjoint(facts.dangers)
    return is_free and broken.endswith(_MUST) and not tool.approval


def _vouching(known: Sequence[tuple[Tool, Settled]]) -> tuple[str, ...]:
    """The tools whose results are at least partly trusted and not derived from their arguments."""
    return tuple(tool.name for tool, facts in known if facts.untrusted is not True and not facts.derived)


def _change(tool: Tool, tools: Sequence[Tool], rules: Rules | None) -> str:
    """What would stop a path."""
    if rules is None:
        return "Give the agent rules: Agent(..., trust=rc.trust.Rules())."
    if tool.delegates and tool.name in rules.unguarded:
        return "Let it inherit the rules: leave it out of unguarded, or require approval."
    vouching = [why for each in tools if (why := _vouches_for_senders(each, rules))]
    if vouching and _broken_by(tool, list(map(_with_senders, tools)), replace(rules, directories=())):
        return f"Leave out {', '.join(vouching)}: it vouches for whoever wrote there, outsiders too."
    if "targets" in settled(tool).missing or tool.parameters.get("properties"):
        return "Say in its facts which parameters are targets, give a grant, or require approval."
    return "Give a grant, or require approval."


def _vouches_for_senders(tool: Tool, rules: Rules) -> str:
    """The fact or rule by which a tool with untrusted fields vouches for who filled them in, if any."""
    if not isinstance(settled(tool).untrusted, tuple):
        return ""
    if any(fnmatchcase(tool.name, each) for each in rules.directories):
        return f"{tool.name} in the rules' directories"
    if tool.facts.directory:
        return f"directory=True in the facts of {tool.name}"
    return f"identity=() in the facts of {tool.name}" if tool.facts.identity == () else ""


def _with_senders(tool: Tool) -> Tool:
    """The tool, with nothing said of who its senders are."""
    return tool.replace(facts=replace(tool.facts, directory=False, identity=None))


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"
