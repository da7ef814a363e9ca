"""Draft trust facts for tools, and try other rules on recorded runs."""

import asyncio
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import json

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.load import add_manifests, load_journal, load_tools
from rightcall.cli.wording import write
from rightcall.core.sanitize import printable
from rightcall.core.tool import Tool
from rightcall.errors import UsageError
from rightcall.evals.rules_trial import try_rules
from rightcall.trust.file import read_rules
from rightcall.trust.overlay import facts_at, starter_text, starters
from rightcall.trust.rules import Rules
from rightcall.trust.suggestion import as_python, as_toml, suggest

_SERVERS_WORDS = (
    "# Facts for the server {} alone, drafted from its own words. It can lie: read before you use it."
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
    served = tools_of_servers(options)
    if options.json:
        drafts = suggest([*own, *others, *(tool for box in served.values() for tool in box.values())])
        write(json.format(json.encode(drafts), indent=2).decode(), sys.stdout)
        return OK
    written = [_draft(list(own), options.format or "python"), _draft(others, options.format or "toml")]
    for name, box in served.items():
        names = {tool.name: its_own for its_own, tool in box.items()}
        words = _SERVERS_WORDS.format(printable(name))
        written.append(f"{words}\n\n{_draft(list(box.values()), options.format or 'toml', names)}")
    write("\n\n".join(filter(None, written)), sys.stdout)
    return OK


def _draft(tools: Sequence[Tool], form: str, names: Mapping[str, str] | None = None) -> str:
    drafts = suggest(tools)
    return as_python(drafts) if form == "python" else as_toml(drafts, tools, names)


def tools_of_servers(options: Namespace) -> dict[str, dict[str, Tool]]:
    """The tools of the servers in ``--mcp``, by server and by the server's own tool names."""
    if not options.servers:
        return {}
    from rightcall.cli.servers import list_tools  # noqa: PLC0415 - MCP is an extra

    return asyncio.run(list_tools(options.servers))


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
