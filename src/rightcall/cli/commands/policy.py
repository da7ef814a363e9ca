"""Trust rules from a TOML file: check the file, or explain its verdict on a call."""

import sys
from argparse import Namespace
from pathlib import Path

import msgspec
from msgspec import json

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.load import load_tools
from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import Allow, Answer, Ask, Deny, Rewrite
from rightcall.core.jsontext import dump
from rightcall.core.message import Results, said
from rightcall.core.outcome import Returned
from rightcall.core.parts import Result
from rightcall.core.sanitize import printable, visible
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import UsageError
from rightcall.gate.check import check
from rightcall.gate.render import render
from rightcall.trust.facts import labelled
from rightcall.trust.file import parse_rules, read_rules
from rightcall.trust.finding import Finding
from rightcall.trust.guard import Guard


def run(options: Namespace) -> int:
    """Check or explain."""
    return _check(options) if options.action == "check" else _explain(options)


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
    return NO_ANSWER if wrong else OK


def _explain(options: Namespace) -> int:
    tools = load_tools(options.tools)
    checked = check(Call(id="1", name=options.tool, arguments=options.arguments), tools)
    if not isinstance(checked, CheckedCall):
        print(f"rightcall: the call does not pass the gate: {checked.kind}", file=sys.stderr)
        return NO_ANSWER
    finding = _guard(options, tools).judge(checked)
    print("\n".join(_lines(finding)))
    return OK if isinstance(finding.decision, Allow | None) else NO_ANSWER


def _guard(options: Namespace, tools: Toolbox) -> Guard:
    """A guard that has seen the user's text and the results in the options."""
    guard = Guard(read_rules(options.file), tools)
    guard.see(said(options.said))
    for name, text in options.read:
        guard.see(Results((_result(tools, name, text),)))
    return guard


def _result(tools: Toolbox, name: str, text: str) -> Result:
    """A tool's result with its labels: fields are labelled separately if it is JSON."""
    try:
        value = json.decode(text)
    except msgspec.DecodeError:
        value = text
    tool = tools.get(name)
    made = Call(id="", name=name, arguments="{}")
    return render(made, Returned(value), None if tool is None else labelled(tool))


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
