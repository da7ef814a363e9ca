"""Check and explain trust rules, draft the facts they go by, and try rules on recorded runs."""

import asyncio
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import json

from rightcall import cli
from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.formatting import write
from rightcall.cli.load import add_manifests, load_journal, load_tools
from rightcall.core.decision import Allow, Answer, Ask, Deny, Rewrite
from rightcall.core.jsontext import dump
from rightcall.core.message import Results, user_text
from rightcall.core.outcome import Returned
from rightcall.core.parts import Call
from rightcall.core.sanitize import printable, visible
from rightcall.core.tool import CheckedCall, Tool
from rightcall.errors import UsageError
from rightcall.evals.rules_trial import try_rules
from rightcall.gate.call_check import check
from rightcall.gate.render import render
from rightcall.trust.draft import as_python, as_toml, suggest
from rightcall.trust.facts import label_untrusted
from rightcall.trust.facts_file import facts_at, starter_text, starters
from rightcall.trust.guard import Guard
from rightcall.trust.rules import Finding, Rules
from rightcall.trust.rules_file import parse_rules, read_rules

_SERVERS_WORDS = (
    "# Facts for the server {} alone, drafted from its own words. It can lie: read before you use it."
)


def run(options: Namespace) -> int:
    """Check or explain rules; suggest facts, try rules, or list starters."""
    match options.action:
        case "check":
            return _check(options)
        case "explain":
            return _explain(options)
        case "suggest":
            return _suggest(options)
        case "try":
            return _try(options)
        case _:
            write(
                "\n".join(starters()) if options.name is None else starter_text(options.name), sys.stdout
            )
            return OK


def _suggest(options: Namespace) -> int:
    if not (options.tools or options.manifests or options.servers):
        raise UsageError("which tools? rightcall tools trust suggest FILE.py, --manifest or --mcp")
    own = load_tools(*options.tools, takes_functions=True)
    others = list(add_manifests(own, options))[len(own) :]
    served = tools_of_servers(options)
    if options.json:
        tools = [*own, *others]
        for box in served.values():
            tools += box.values()
        drafts = suggest(tools)
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
    if form == "python":
        return as_python(drafts)
    return as_toml(drafts, tools, names)


def tools_of_servers(options: Namespace) -> dict[str, dict[str, Tool]]:
    """The tools of the servers in ``--mcp``, by server and by the server's own tool names."""
    if not options.servers:
        return {}
    return asyncio.run(cli.servers.list_tools(options.servers))


def _try(options: Namespace) -> int:
    rules = Rules()
    if options.rules is not None:
        rules = read_rules(options.rules)
    tools = load_tools(options.tools) if options.tools else ()
    facts = None
    if options.facts is not None:
        facts = facts_at(options.facts)
    if not Path(options.journal).is_file():
        raise UsageError(f"there is no file {options.journal}")
    journal = load_journal(options.journal)
    trial = asyncio.run(try_rules(journal, rules, tools, facts=facts, runs=options.runs or None))
    if options.json:
        text = json.format(json.encode(trial), indent=2).decode()
    else:
        text = str(trial)
    write(text, sys.stdout)
    if set(trial.counts) <= {"allowed"}:
        return OK
    return NO_ANSWER


def _check(options: Namespace) -> int:
    wrong = 0
    for file in options.files:
        try:
            reading = parse_rules(Path(file).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{file} cannot be read: {error}") from None
        for each in reading.mistakes:
            print(printable(f"{file}:{each.line}: error: {each.words}"))
        if not reading.mistakes:
            count = len(reading.rules.policy or ())
            print(printable(f"{file}: {count} rule{'' if count == 1 else 's'}, nothing wrong"))
        wrong += len(reading.mistakes)
    if wrong:
        return NO_ANSWER
    return OK


def _explain(options: Namespace) -> int:
    tools = load_tools(options.tools)
    checked = check(Call(id="1", name=options.tool, arguments=options.arguments), tools)
    if not isinstance(checked, CheckedCall):
        print(f"rightcall: the call does not pass the gate: {checked.kind}", file=sys.stderr)
        return NO_ANSWER
    # The guard sees what the options say of the user and of earlier results.
    guard = Guard(read_rules(options.file), tools)
    guard.see(user_text(options.said))
    for name, text in options.read:
        # A tool's result with its labels: fields are labelled separately if it is JSON.
        try:
            value = json.decode(text)
        except msgspec.DecodeError:
            value = text
        tool = tools.get(name)
        made = Call(id="", name=name, arguments="{}")
        result = render(made, Returned(value), None if tool is None else label_untrusted(tool))
        guard.see(Results((result,)))
    finding = guard.judge(checked)
    print("\n".join(_lines(finding)))
    if isinstance(finding.decision, Allow | None):
        return OK
    return NO_ANSWER


def _lines(finding: Finding) -> list[str]:
    match finding.decision:
        case Deny() | Answer():
            told = "denied"
        case Ask():
            told = "asked of a person"
        case Rewrite(arguments):
            told = f"rewritten to {dump(arguments)}"
        case Allow() | None:
            told = "allowed"
    lines = [f"{told}: {finding.reason}" if finding.reason else told]
    for each in finding.evidence:
        source = f" ({each.source})" if each.source else ""
        lines.append(f"  {each.path} = {dump(each.value)}: {each.origin}{source}")
    return [visible(line) for line in lines]
