"""Count the tokens of a set of tools, and lint their definitions."""

import asyncio
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec import json

from rightcall import cli
from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.formatting import write
from rightcall.cli.load import add_manifests, load_tools
from rightcall.conversation.skills import Skills
from rightcall.declare.findings import Finding
from rightcall.declare.toolbox import LEVELS, Thresholds, Toolbox
from rightcall.errors import UsageError
from rightcall.tools.lint_rules import lint
from rightcall.tools.skill_rules import lint_skills
from rightcall.tools.token_cost import Footprint, footprint

_FEW = 5
_MANY = 15


def run(options: Namespace) -> int:
    """Count, or lint."""
    folders = [place for place in options.tools if Path(place).is_dir()]
    if folders and options.action == "lint":
        return _lint_skills(folders, options)
    if not (options.tools or options.manifests or options.servers):
        raise UsageError(f"which tools? rightcall tools {options.action} FILE.py, --manifest or --mcp")
    box = add_manifests(load_tools(*options.tools), options)
    if options.servers:
        box = asyncio.run(with_servers(box, options))
    if options.action == "footprint":
        most = options.most
        if most:
            thresholds: Thresholds = {"tools": (min(_FEW, most), min(_MANY, most), most)}
        else:
            thresholds = {}
        found = footprint(
            box,
            options.model,
            turns=options.turns,
            thresholds=thresholds,
            descriptions=options.descriptions,
            defer=options.defer,
        )
        write(_as_json(found) if options.json else str(found), sys.stdout)
        is_bad = options.fail_at != "never" and LEVELS.index(found.level) >= LEVELS.index(
            options.fail_at
        )
        if is_bad:
            return NO_ANSWER
        return OK
    return _read(box, options)


async def with_servers(box: Toolbox, options: Namespace) -> Toolbox:
    """The toolbox with the servers' current tools."""
    async with AsyncExitStack() as opened:
        group = await cli.servers.open_servers(options.servers)
        opened.push_async_exit(group)
        return box + list(group)


def _as_json(found: Footprint) -> str:
    return json.format(json.encode(found), indent=2).decode()


def _lint_skills(folders: Sequence[str], options: Namespace) -> int:
    """Lint the skills of these folders."""
    if len(folders) < len(options.tools) or options.manifests or options.servers:
        raise UsageError("lint takes folders of skills or tools, and not both at once")
    findings: list[Finding] = []
    count = 0
    for folder in folders:
        skills = Skills(folder)
        count += len(skills.skills)
        findings += lint_skills(skills, ignore=options.ignore)
    return _show(findings, f"skills: {count}", options)


def _read(box: Toolbox, options: Namespace) -> int:
    return _show(lint(box, ignore=options.ignore), f"tools: {len(box)}", options)


def _show(findings: Sequence[Finding], counted: str, options: Namespace) -> int:
    if options.json:
        write(json.format(json.encode(findings), indent=2).decode(), sys.stdout)
    else:
        for each in findings:
            write(f"{each} [{each.rule}]\n  {each.why}\n  {each.instead}", sys.stdout)
        counts = Counter(each.rule for each in findings)
        told = ", ".join(f"{number} {rule}" for rule, number in counts.most_common())
        ending = f" ({told})" if told else ""
        write(f"{counted}, findings: {len(findings)}{ending}", sys.stdout)
    if findings:
        return NO_ANSWER
    return OK
