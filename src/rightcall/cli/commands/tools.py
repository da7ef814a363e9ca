"""Count the tokens of a set of tools, and lint their definitions."""

import asyncio
import sys
from argparse import Namespace
from collections import Counter
from contextlib import AsyncExitStack

from msgspec import json

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.load import add_manifests, load_tools
from rightcall.cli.wording import write
from rightcall.declare.finding import Finding
from rightcall.declare.toolbox import Toolbox
from rightcall.declare.verdicts import LEVELS, Thresholds
from rightcall.errors import UsageError
from rightcall.tools.footprint import Footprint, footprint
from rightcall.tools.linting import lint

_FEW, _MANY = 5, 15


def run(options: Namespace) -> int:
    """Count, or lint."""
    if not (options.tools or options.manifests or options.servers):
        raise UsageError(f"which tools? rightcall tools {options.action} FILE.py, --manifest or --mcp")
    box = add_manifests(load_tools(*options.tools), options)
    if options.servers:
        box = asyncio.run(with_servers(box, options))
    return _weigh(box, options) if options.action == "footprint" else _read(box, options)


async def with_servers(box: Toolbox, options: Namespace) -> Toolbox:
    """The toolbox with the servers' current tools."""
    from rightcall.cli.servers import open_servers  # noqa: PLC0415 - MCP is an extra

    async with AsyncExitStack() as opened:
        group = await open_servers(options.servers)
        opened.push_async_exit(group)
        return box + list(group)


def _weigh(box: Toolbox, options: Namespace) -> int:
    most = options.most
    thresholds: Thresholds = {"tools": (min(_FEW, most), min(_MANY, most), most)} if most else {}
    found = footprint(
        box,
        options.model,
        turns=options.turns,
        thresholds=thresholds,
        descriptions=options.descriptions,
        defer=options.defer,
    )
    write(_as_json(found) if options.json else str(found), sys.stdout)
    is_bad = options.fail_at != "never" and LEVELS.index(found.level) >= LEVELS.index(options.fail_at)
    return NO_ANSWER if is_bad else OK


def _as_json(found: Footprint) -> str:
    return json.format(json.encode(found), indent=2).decode()


def _read(box: Toolbox, options: Namespace) -> int:
    findings = lint(box, ignore=options.ignore)
    if options.json:
        write(json.format(json.encode(findings), indent=2).decode(), sys.stdout)
    else:
        for each in findings:
            write(_told(each), sys.stdout)
        counts = Counter(each.rule for each in findings)
        told = ", ".join(f"{number} {rule}" for rule, number in counts.most_common())
        ending = f" ({told})" if told else ""
        write(f"tools: {len(box)}, findings: {len(findings)}{ending}", sys.stdout)
    return NO_ANSWER if findings else OK


def _told(finding: Finding) -> str:
    return f"{finding} [{finding.rule}]\n  {finding.why}\n  {finding.instead}"
