"""Report what untrusted text could make an agent with these tools do, and what stops it."""

import sys
from argparse import Namespace

from msgspec import json

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.commands.trust import tools_of_servers
from rightcall.cli.load import add_manifests, load_tools
from rightcall.cli.wording import write
from rightcall.core.tool import Tool
from rightcall.errors import UsageError
from rightcall.trust.file import read_rules
from rightcall.trust.overlay import facts_at
from rightcall.trust.trifecta import audit


def run(options: Namespace) -> int:
    """Print the report."""
    rules = None if options.policy is None else read_rules(options.policy)
    report = audit(_tools(options), rules)
    write(
        json.format(json.encode(report), indent=2).decode() if options.json else str(report), sys.stdout
    )
    return NO_ANSWER if report.open or (options.strict and report.missing) else OK


def _tools(options: Namespace) -> list[Tool]:
    if not (options.tools or options.manifests or options.servers):
        raise UsageError("which tools? rightcall audit FILE.py, --manifest or --mcp")
    tools = list(add_manifests(load_tools(*options.tools), options))
    served = tools_of_servers(options)
    if options.facts is None:
        return [*tools, *(tool for box in served.values() for tool in box.values())]
    if len(served) > 1:
        raise UsageError("--facts are one server's: audit each with its own")
    facts = facts_at(options.facts)
    its = (facts(tool, own) for box in served.values() for own, tool in box.items())
    return [*(facts.over(tools) if not served else tools), *its]
