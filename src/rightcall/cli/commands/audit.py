"""Say what outsiders could make an agent with these tools do, and what stops them."""

import sys
from argparse import Namespace

from msgspec import json

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.commands.trust import facts_at
from rightcall.cli.load import load_tools
from rightcall.cli.wording import write
from rightcall.trust.file import read_rules
from rightcall.trust.trifecta import audit


def run(options: Namespace) -> int:
    """Print the report."""
    rules = None if options.policy is None else read_rules(options.policy)
    tools = list(load_tools(*options.tools))
    if options.facts is not None:
        tools = facts_at(options.facts).over(tools)
    report = audit(tools, rules)
    write(
        json.format(json.encode(report), indent=2).decode() if options.json else str(report), sys.stdout
    )
    return NO_ANSWER if report.open or (options.strict and report.missing) else OK
