"""Report what untrusted text could make an agent with these tools do, and what stops it."""

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence

from msgspec import json

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.agents import Seen, agents_at
from rightcall.cli.commands.trust import tools_of_servers
from rightcall.cli.load import add_manifests, declares_tools, load_tools, split
from rightcall.cli.wording import write
from rightcall.core.sanitize import printable
from rightcall.core.tool import Tool
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import UsageError
from rightcall.trust.file import read_rules
from rightcall.trust.overlay import facts_at
from rightcall.trust.trifecta import Report, audit


def run(options: Namespace) -> int:
    """Print the reports: one for each agent, or one for all tools where there is none."""
    if not (options.tools or options.manifests or options.servers):
        raise UsageError("which tools? rightcall audit FILE.py, --manifest or --mcp")
    reports = dict(_reports(options))
    if options.json:
        shown = next(iter(reports.values())) if len(reports) == 1 else reports
        write(json.format(json.encode(shown), indent=2).decode(), sys.stdout)
    else:
        told = [f"{name}\n{report}" if name else str(report) for name, report in reports.items()]
        write("\n\n".join(told), sys.stdout)
    is_bad = any(each.open or (options.strict and each.missing) for each in reports.values())
    return NO_ANSWER if is_bad else OK


def _reports(options: Namespace) -> Iterator[tuple[str, Report]]:
    seen = {place: agents_at(place) for place in options.tools}
    declared = Toolbox([_declared(place, agents) for place, agents in seen.items()])
    agents = [each for found in seen.values() for each in found]
    served = tools_of_servers(options)
    if options.policy is not None or not agents:
        rules = None if options.policy is None else read_rules(options.policy)
        if rules is None:
            _warn(f"no agent was seen{_where(options)}, so no rules: give --policy, or {_NAMED}")
        yield "", audit(_with_others(options, declared, served), rules)
        return
    for agent in agents:
        if agent.unseen:
            _warn(f"{agent.name}: its rules were not seen: {agent.unseen}; give --policy, or {_NAMED}")
        own = declared if agent.tools is None else Toolbox(list(agent.tools))
        yield f"{agent.name}, {_told(agent)}", audit(_with_others(options, own, served), agent.rules)


_NAMED = "FILE.py:NAME of what is or makes an agent"


def _declared(place: str, agents: Sequence[Seen]) -> Toolbox:
    """The tools of a file; where its agents have them all, theirs."""
    own = {id(tool): tool for each in agents for tool in each.tools or ()}
    if own and (split(place)[1] or not declares_tools(place)):
        return Toolbox(list(own.values()))
    return load_tools(place)


def _told(agent: Seen) -> str:
    if agent.unseen:
        return "as if without rules:"
    return "without rules:" if agent.rules is None else "with its own rules:"


def _where(options: Namespace) -> str:
    return f" in {', '.join(options.tools)}" if options.tools else ""


def _warn(words: str) -> None:
    print(printable(f"rightcall: {words}"), file=sys.stderr)


def _with_others(
    options: Namespace, own: Toolbox, served: Mapping[str, Mapping[str, Tool]]
) -> list[Tool]:
    """An agent's tools with those of manifests and servers, and the facts that are laid over them."""
    tools = list(add_manifests(own, options))
    if options.facts is None:
        return [*tools, *(tool for box in served.values() for tool in box.values())]
    if len(served) > 1:
        raise UsageError("--facts are one server's: audit each with its own")
    facts = facts_at(options.facts)
    its = (facts(tool, own) for box in served.values() for own, tool in box.items())
    return [*(facts.over(tools) if not served else tools), *its]
