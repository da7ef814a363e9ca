"""The arguments of ``rightcall eval``."""

from argparse import ArgumentParser, ArgumentTypeError

from rightcall.cli.options import count_of, repeated


def evaluate(parser: ArgumentParser) -> None:
    """Ask a file of questions of a model, run nothing of what it calls, and judge the calls.

    FILE holds cases, as JSON Lines, a JSON array or YAML, or is one of the Berkeley set's, which brings its
    own tools. With --runs it is a Python file of checks, and recorded runs are judged by them.
    """  # noqa: E501 - as wide as help is
    parser.usage = "rightcall eval FILE [OPTIONS]"
    parser.add_argument("file", metavar="FILE", help="the cases; with --runs, checks: FILE.py[:NAME]")
    parser.add_argument(
        *("-m", "--model"),
        metavar="NAME",
        help="as ask --model takes it (default: 'rightcall models default', else the embedded one)",
    )
    words = "FILE.py[:NAME], module:NAME, a manifest, or a file of definitions (.json)"
    repeated(parser.add_argument, "-T", "--tools", "tools", metavar="PLACE", words=words)
    words = "the tools of MCP servers: a file of them (.json), an address, or a command in quotes"
    repeated(parser.add_argument, "--mcp", "servers", metavar="FILE|COMMAND", words=words)
    parser.add_argument("-s", "--system", default="", metavar="TEXT", help="the system prompt")
    parser.add_argument(
        "--choice",
        choices=("auto", "required"),
        default="auto",
        help="let the model choose (auto), or make it call some tool",
    )
    parser.add_argument("--max-tokens", type=count_of, metavar="N", help="tokens of one reply")
    parser.add_argument(
        "--temperature", type=float, metavar="NUMBER", help="how freely the next token is chosen"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="the same seed gives the same reply, where the model can"
    )
    parser.add_argument(
        "--at-once", type=count_of, default=4, metavar="N", help="questions under way (default: 4)"
    )
    _add_distractors(parser)
    _add_comparison(parser)
    _add_record(parser)
    parser.epilog = """\
examples:
  rightcall eval cases.jsonl -T shop.py
  rightcall eval cases.yaml -T shop.py --tools-n 5,15,20,50 --catalogue tools.json --html report.html
  rightcall eval cases.jsonl --compare old_tools.py new_tools.py --journal evals.jsonl
  rightcall eval cases.jsonl -T shop.py --compare embedded anthropic:claude-opus-4-8
  rightcall eval BFCL_v4_multiple.json -m openai:gpt-5
  rightcall eval checks.py --runs runs.jsonl

exit codes:
  0 judged; 1 the second of --compare is worse, or a check of --runs said no; 2 bad usage"""


def _add_distractors(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("more tools")
    group.add_argument(
        "--tools-n", type=_sizes, metavar="N,N", help="ask again with so many tools in all, each time"
    )
    group.add_argument(
        "--catalogue",
        metavar="FILE.json",
        help="where the others come from: definitions, or what an MCP server lists",
    )
    group.add_argument("--draw", type=int, default=0, metavar="SEED", help="draw other ones")


def _add_comparison(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("comparison", "The second way against the first.")
    group.add_argument(
        "--compare", nargs=2, metavar=("A", "B"), help="two places of tools, or the names of two models"
    )
    group.add_argument(
        "--alpha", type=float, default=0.05, metavar="P", help="the significance level (default: 0.05)"
    )


def _add_record(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("record and report")
    group.add_argument(
        "--journal", metavar="FILE", help="keep replies in a .jsonl or .sqlite file, and ask none twice"
    )
    group.add_argument("--replay", action="store_true", help="take every reply from the journal")
    group.add_argument("--html", metavar="FILE", help="write the report as a page, too")
    group.add_argument("--wrong", action="store_true", help="show every case that went wrong")
    group.add_argument("--runs", metavar="JOURNAL", help="judge the runs of a journal by checks")


def _sizes(text: str) -> list[int]:
    try:
        return [count_of(each) for each in text.split(",")]
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{error}; write numbers of tools, as 5,15,20,50") from None
