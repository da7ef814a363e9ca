"""The arguments of ``rightcall tools``. Imports nothing, so that help is quick."""

from argparse import ArgumentParser

from rightcall.cli.options import count_of, repeated


def tools(parser: ArgumentParser) -> None:
    """What a set of tools costs a model, and what is wrong with the words that it is told of them.

    Tools come from Python files, from manifests, and from MCP servers. footprint counts their tokens,
    for --model as its vendor is sent them; lint reads their names, descriptions and schemas.
    """
    actions = parser.add_subparsers(dest="action", required=True, metavar="footprint|lint")
    weighing = actions.add_parser("footprint", help="tokens of each tool, their sum, and what to do")
    weighing.add_argument("-m", "--model", metavar="NAME", help="count for this model; no key is needed")
    weighing.add_argument(
        "--turns", type=count_of, default=10, metavar="N", help="turns of a run (default: %(default)s)"
    )
    weighing.add_argument(
        "--descriptions",
        choices=("full", "short", "lines"),
        default="full",
        help="how much of each tool is sent",
    )
    weighing.add_argument(
        "--defer", action="store_true", help="count what is sent when the model searches for tools"
    )
    weighing.add_argument(
        "--fail-at",
        choices=("note", "warning", "over", "never"),
        default="over",
        help="end with 1 from this verdict on (default: %(default)s)",
    )
    weighing.add_argument(
        "--most", type=count_of, metavar="N", help="so many tools are not too many (default: 20)"
    )
    reading = actions.add_parser("lint", help="find what makes tools hard to choose or to call")
    which = "a finding to leave out: its name, or NAME:TOOL"
    repeated(reading.add_argument, "--ignore", "ignore", metavar="NAME[:TOOL]", words=which)
    for each in (weighing, reading):
        each.add_argument("--json", action="store_true", help="print the findings as JSON")
        add_sources(each)
    parser.epilog = """\
examples:
  rightcall tools footprint shop.py --model anthropic:claude-opus-4-8
  rightcall tools footprint --mcp "uvx mcp-server-git" --descriptions short
  rightcall tools lint shop.py --ignore no-when

exit codes:
  0 nothing to say; 1 the verdict is --fail-at or worse, or lint found something; 2 bad usage"""


def add_sources(parser: ArgumentParser) -> None:
    """Options for the sources of tools: files, servers and manifests."""
    parser.add_argument(
        "tools", nargs="*", metavar="FILE.py[:NAME]", help="the tools that a Python file declares"
    )
    which = "the tools of MCP servers: a file of them (.json), an address, or a command in quotes"
    repeated(parser.add_argument, "--mcp", "servers", metavar="FILE|COMMAND", words=which)
    which = "the tools of an operator's manifest"
    repeated(parser.add_argument, "--manifest", "manifests", metavar="FILE.json", words=which)
    parser.add_argument("--sandbox", metavar="DIR", help="the directory that $SANDBOX stands for")
