"""Rules of trust from a TOML file: check the file, or explain what would become of a call under it."""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rightcall.cli.exits import NO_ANSWER, OK

if TYPE_CHECKING:
    from rightcall.declare.toolbox import Toolbox
    from rightcall.trust.guard import Finding, Guard


def add_arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|explain")
    checking = actions.add_parser("check", help="say everything that is wrong with files of rules")
    checking.add_argument("files", nargs="+", metavar="FILE.toml")
    explaining = actions.add_parser("explain", help="say what would become of a call, and why")
    explaining.add_argument("file", metavar="FILE.toml")
    explaining.add_argument("tools", metavar="FILE.py[:NAME]", help="the file with the tools")
    explaining.add_argument("tool", metavar="TOOL", help="the tool's name")
    explaining.add_argument("arguments", nargs="?", default="", help="as a model would write them")
    explaining.add_argument("--said", default="", metavar="TEXT", help="what the user has said")
    explaining.add_argument(
        "--read",
        action="append",
        default=[],
        nargs=2,
        metavar=("TOOL", "TEXT"),
        help="a tool's result that the model has read; may be given again",
    )


def run(options: Namespace) -> int:
    """Check or explain."""
    return _check(options) if options.action == "check" else _explain(options)


def _check(options: Namespace) -> int:
    from pathlib import Path  # noqa: PLC0415 - help and errors need none of this

    from rightcall.cli.safe import harmless  # noqa: PLC0415
    from rightcall.errors import UsageError  # noqa: PLC0415
    from rightcall.trust.file import parse_rules  # noqa: PLC0415

    wrong = 0
    for file in options.files:
        try:
            reading = parse_rules(Path(file).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{file} cannot be read: {error}") from None
        for each in reading.mistakes:
            print(harmless(f"{file}:{each.line}: error: {each.words}"))
        if not reading.mistakes:
            count = len(reading.rules.policy or ())
            print(harmless(f"{file}: {count} rule{'' if count == 1 else 's'}, nothing wrong"))
        wrong += len(reading.mistakes)
    return NO_ANSWER if wrong else OK


def _explain(options: Namespace) -> int:
    from rightcall.cli.load import load_tools  # noqa: PLC0415
    from rightcall.cli.safe import harmless  # noqa: PLC0415
    from rightcall.core.call import Call, CheckedCall  # noqa: PLC0415
    from rightcall.core.decision import Allow  # noqa: PLC0415
    from rightcall.gate.check import check  # noqa: PLC0415

    tools = load_tools(options.tools)
    checked = check(Call(id="1", name=options.tool, arguments=options.arguments), tools)
    if not isinstance(checked, CheckedCall):
        print(f"rightcall: the call does not pass the gate: {checked.kind}", file=sys.stderr)
        return NO_ANSWER
    finding = _guard(options, tools).judge(checked)
    print(harmless("\n".join(_lines(finding))))
    return OK if isinstance(finding.decision, Allow | None) else NO_ANSWER


def _guard(options: Namespace, tools: "Toolbox") -> "Guard":
    """One that has seen what the options say."""
    from rightcall.core.message import Results, said  # noqa: PLC0415
    from rightcall.core.parts import Text  # noqa: PLC0415
    from rightcall.core.result import Result  # noqa: PLC0415
    from rightcall.trust.file import read_rules  # noqa: PLC0415
    from rightcall.trust.guard import Guard  # noqa: PLC0415

    guard = Guard(read_rules(options.file), tools)
    guard.see(said(options.said))
    for name, text in options.read:
        result = Result(call_id="", name=name, outcome="returned", content=(Text(text),))
        guard.see(Results((result,)))
    return guard


def _lines(finding: "Finding") -> list[str]:
    from rightcall.core.decision import Allow, Answer, Ask, Deny, Rewrite  # noqa: PLC0415
    from rightcall.core.jsontext import dump  # noqa: PLC0415

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
        lines.append(f"  {each.path} = {each.value}: {each.origin}{source}")
    return lines
