"""Say what outsiders could make an agent with these tools do, and what stops them.

Ends with 1 when some way is open, or, with --strict, when facts are missing.
"""

import sys
from argparse import ArgumentParser, Namespace

from rightcall.cli.exits import NO_ANSWER, OK


def add_arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("tools", nargs="+", metavar="FILE.py[:NAME]", help="a file with tools")
    parser.add_argument("--policy", metavar="FILE.toml", help="the rules that are in force")
    parser.add_argument("--strict", action="store_true", help="missing facts are a failure, too")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(options: Namespace) -> int:
    """Print the report."""
    from msgspec import json  # noqa: PLC0415 - help and errors need none of this

    from rightcall.cli.load import load_tools  # noqa: PLC0415
    from rightcall.cli.safe import ended, write  # noqa: PLC0415
    from rightcall.declare.toolbox import Toolbox  # noqa: PLC0415
    from rightcall.trust.file import read_rules  # noqa: PLC0415
    from rightcall.trust.trifecta import audit  # noqa: PLC0415

    rules = None if options.policy is None else read_rules(options.policy)
    report = audit(Toolbox([load_tools(place) for place in options.tools]), rules)
    told = json.format(json.encode(report), indent=2).decode() if options.json else str(report)
    write(ended(told), sys.stdout)
    return NO_ANSWER if report.open or (options.strict and report.missing) else OK
