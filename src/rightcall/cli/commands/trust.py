"""Drafts of facts, and recorded runs under other rules."""

import asyncio
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import json

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.commands.tools import with_servers
from rightcall.cli.load import add_manifests, load_journal, load_tools
from rightcall.cli.wording import write
from rightcall.core.tool import Tool
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import UsageError
from rightcall.evals.rules_trial import try_rules
from rightcall.trust.file import read_rules
from rightcall.trust.overlay import StatedFacts, read_facts, starter, starter_text, starters
from rightcall.trust.rules import Rules
from rightcall.trust.suggestion import as_python, as_toml, suggest

_SERVERS_WORDS = (
    "# Drafted from what the server itself says of its tools. It can lie: read before you use it."
)


def run(options: Namespace) -> int:
    """Suggest, try, or list."""
    match options.action:
        case "suggest":
            return _suggest(options)
        case "try":
            return _try(options)
        case _:
            return _list(options)


def _suggest(options: Namespace) -> int:
    if not (options.tools or options.manifests or options.servers):
        raise UsageError("which tools? rightcall trust suggest FILE.py, --manifest or --mcp")
    own = load_tools(*options.tools)
    others = list(add_manifests(own, options))[len(own) :]
    served = asyncio.run(with_servers(Toolbox(), options)) if options.servers else ()
    if options.json:
        drafts = suggest([*own, *others, *served])
        write(json.format(json.encode(drafts), indent=2).decode(), sys.stdout)
        return OK
    write("\n".join(_written(options, (list(own), others, list(served)))), sys.stdout)
    return OK


def _written(options: Namespace, groups: Sequence[list[Tool]]) -> Iterator[str]:
    """The drafts of an author's tools, of manifests' and of servers'."""
    own, others, served = groups
    for tools, form in ((own, "python"), (others, "toml"), (served, "toml")):
        if not tools:
            continue
        drafts = suggest(tools)
        if tools is served:
            yield f"{_SERVERS_WORDS}\n"
        is_python = (options.format or form) == "python"
        yield as_python(drafts) if is_python else as_toml(drafts, tools)


def _try(options: Namespace) -> int:
    rules = Rules() if options.rules is None else read_rules(options.rules)
    tools = load_tools(options.tools) if options.tools else ()
    facts = None if options.facts is None else facts_at(options.facts)
    if not Path(options.journal).is_file():
        raise UsageError(f"there is no file {options.journal}")
    journal = load_journal(options.journal)
    trial = asyncio.run(try_rules(journal, rules, tools, facts=facts, runs=options.runs or None))
    text = json.format(json.encode(trial), indent=2).decode() if options.json else str(trial)
    write(text, sys.stdout)
    return OK if set(trial.counts) <= {"allowed"} else NO_ANSWER


def _list(options: Namespace) -> int:
    write("\n".join(starters()) if options.name is None else starter_text(options.name), sys.stdout)
    return OK


def facts_at(place: str) -> StatedFacts:
    """The facts in a file, or those that ship under a name."""
    return read_facts(place) if place.endswith(".toml") else starter(place)
