"""``rightcall ask``, ``chat``, ``batch`` and ``eval``: questions to a model."""

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path

from rightcall.cli.options import add, add_repeatable, add_run_options, count_of


def ask(parser: ArgumentParser) -> None:
    """Ask a model once, let it use tools, and get the answer.

    On a terminal the run is shown as it happens. Elsewhere the answer, and nothing else, goes to standard
    output, and what happened on the way to standard error.
    """  # noqa: E501 - as wide as help is
    parser.usage = "rightcall ask [OPTIONS] [PROMPT]"
    parser.add_argument(
        "prompt", nargs="?", help="the question; piped input comes before it, or is the question"
    )
    add_repeatable(
        parser.add_argument,
        *("-a", "--attachment", "attachments"),
        metavar="FILE",
        words="an image or another file: a path, an address, or - for standard input",
    )
    add(parser, "schema")
    parser.add_argument(
        "--save",
        type=Path,
        metavar="FOLDER",
        help="put the pictures and sounds that the model makes into this folder, and say where",
    )
    add_run_options(parser)
    add(parser, "json", help="every event as a line of JSON")
    parser.epilog = """\
examples:
  rightcall ask "What is 17 * 23?"
  rightcall ask -m anthropic:claude-opus-4-8 -T weather.py "Weather in Paris?"
  cat f.py | rightcall ask "Review this." > review.txt
  rightcall ask -c "And in one sentence?"
  rightcall ask -a photo.png --schema "animals str[], count int" "What is there to see?"
  rightcall ask --json --yes --tool shop.py "Order tea." | jq -r 'select(.event == "run_end").text'

exit codes:
  0 answered; 1 ended without an answer: a limit, a refusal, an error; 2 bad usage; 130 interrupted"""


def chat(parser: ArgumentParser) -> None:
    """Talk to a model, with tools, approvals and a history.

    Ctrl-C stops the reply; once more, or Ctrl-D, leaves. A line that begins with / is a command: /help
    lists them. Where standard input is no terminal, each of its lines is a turn.
    """
    parser.usage = "rightcall chat [OPTIONS]"
    add_run_options(parser)


def batch(parser: ArgumentParser) -> None:
    """Send a file of prompts through a vendor's batch API: at half the price, within a day.

    Each line of FILE is a prompt in quotes, or {"prompt": "...", "id": ...}. What came of each goes to
    standard output, a line of JSON in the same order; how far it is, to standard error.
    """
    parser.add_argument("file", metavar="FILE.jsonl", help="the prompts; - for standard input")
    add(parser, "model", "instructions", "schema")
    add(parser, "journal", help="record it here, so that the same command continues it")
    parser.add_argument("--run", metavar="NAME", help="its name there (default: from model and file)")
    parser.add_argument("--poll", type=float, default=30.0, metavar="SECONDS", help="between two looks")
    add(parser, "max-tokens", "temperature")
    parser.add_argument(
        "--adopt", metavar="ID", help="the vendor's batch that it is, or 'new', where nobody can tell"
    )
    parser.add_argument("--cancel", action="store_true", help="have the vendor end it")
    parser.epilog = "exit codes: 0 every prompt has an answer, 1 some have none, 2 bad usage"


def evaluate(parser: ArgumentParser) -> None:
    """Ask a file of questions of a model, run nothing of what it calls, and judge the calls.

    FILE holds cases, as JSON Lines, a JSON array or YAML, or is one of the Berkeley set's, which brings its
    own tools. With --runs it is a Python file of checks, and recorded runs are judged by them.
    """  # noqa: E501 - as wide as help is
    parser.usage = "rightcall eval FILE [OPTIONS]"
    parser.add_argument("file", metavar="FILE", help="the cases; with --runs, checks: FILE.py[:NAME]")
    add(parser, "model")
    words = "FILE.py[:NAME], module:NAME, a manifest, or a file of definitions (.json)"
    add_repeatable(parser.add_argument, "-T", "--tools", "tools", metavar="PLACE", words=words)
    add(parser, "mcp", "instructions")
    parser.add_argument(
        "--choice",
        choices=("auto", "required"),
        default="auto",
        help="let the model choose (auto), or make it call some tool",
    )
    add(parser, "max-tokens", "temperature", "seed")
    parser.add_argument(
        "--at-once", type=count_of, default=4, metavar="N", help="questions under way (default: 4)"
    )
    more = parser.add_argument_group("more tools")
    more.add_argument(
        "--tools-n", type=_sizes, metavar="N,N", help="ask again with so many tools in all, each time"
    )
    more.add_argument(
        "--catalogue",
        metavar="FILE.json",
        help="where the others come from: definitions, or what an MCP server lists",
    )
    more.add_argument("--draw", type=int, default=0, metavar="SEED", help="draw other ones")
    comparison = parser.add_argument_group("comparison", "The second way against the first.")
    comparison.add_argument(
        "--compare", nargs=2, metavar=("A", "B"), help="two places of tools, or the names of two models"
    )
    comparison.add_argument(
        "--alpha", type=float, default=0.05, metavar="P", help="the significance level (default: 0.05)"
    )
    report = parser.add_argument_group("record and report")
    add(report, "journal", help="keep replies in a .jsonl or .sqlite file, and ask none twice")
    report.add_argument("--replay", action="store_true", help="take every reply from the journal")
    report.add_argument("--html", metavar="FILE", help="write the report as a page, too")
    report.add_argument("--wrong", action="store_true", help="show every case that went wrong")
    report.add_argument("--runs", metavar="JOURNAL", help="judge the runs of a journal by checks")
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


def _sizes(text: str) -> list[int]:
    try:
        return [count_of(each) for each in text.split(",")]
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{error}; write numbers of tools, as 5,15,20,50") from None
