"""``rightcall tools …``: what a model is told of tools, what they cost, and what they may do."""

from argparse import ArgumentParser

from rightcall.cli.options import TOOLS, add, add_approval_options, add_repeatable, count_of


def _add_sources(parser: ArgumentParser) -> None:
    """The sources of tools: files, servers and manifests."""
    parser.add_argument("tools", nargs="*", metavar=TOOLS, help="the tools that a Python file declares")
    add(parser, "mcp", "manifest", "sandbox")


def _add_call(parser: ArgumentParser, words: str = "the arguments, as a model would write them") -> None:
    parser.add_argument("tool", metavar="TOOL", help="the tool's name")
    parser.add_argument("arguments", nargs="?", default="", help=words)


def footprint(parser: ArgumentParser) -> None:
    """Count the tokens of a set of tools, for --model as its vendor is sent them.

    Tools come from Python files, from manifests, and from MCP servers.
    """
    add(parser, "model", help="count for this model; no key is needed")
    parser.add_argument(
        "--turns", type=count_of, default=10, metavar="N", help="turns of a run (default: %(default)s)"
    )
    add(parser, "descriptions")
    add(parser, "defer", help="count what is sent when the model searches for tools")
    parser.add_argument(
        "--fail-at",
        choices=("note", "warning", "over", "never"),
        default="over",
        help="end with 1 from this verdict on (default: %(default)s)",
    )
    parser.add_argument(
        "--most", type=count_of, metavar="N", help="so many tools are not too many (default: 20)"
    )
    add(parser, "json", help="print the findings as JSON")
    _add_sources(parser)
    parser.epilog = """\
examples:
  rightcall tools footprint shop.py --model anthropic:claude-opus-4-8
  rightcall tools footprint --mcp "uvx mcp-server-git" --descriptions short

exit codes: 0 nothing to say; 1 the verdict is --fail-at or worse; 2 bad usage"""
    parser.set_defaults(action="footprint")


def lint(parser: ArgumentParser) -> None:
    """Find what makes tools hard to choose or to call: in their names, descriptions and schemas."""
    which = "a finding to leave out: its name, or NAME:TOOL"
    add_repeatable(parser.add_argument, "--ignore", "ignore", metavar="NAME[:TOOL]", words=which)
    add(parser, "json", help="print the findings as JSON")
    _add_sources(parser)
    parser.epilog = """\
examples:
  rightcall tools lint shop.py --ignore no-when

exit codes: 0 nothing to say; 1 lint found something; 2 bad usage"""
    parser.set_defaults(action="lint")


def specs(parser: ArgumentParser) -> None:
    """Print what a model is told about the tools in a file."""
    parser.add_argument("tools", metavar=TOOLS, help="the file with the tools, or one of them")
    parser.set_defaults(action="specs")


def call(parser: ArgumentParser) -> None:
    """Put a call through the gate, as if a model had asked for it, and print the result."""
    parser.add_argument("tools", metavar=TOOLS, help="the file with the tools, or one of them")
    _add_call(parser)
    add(parser, "dry-run")
    add_approval_options(
        parser, "A tool that wants a person's yes is asked about on a terminal; elsewhere it is no."
    )
    parser.set_defaults(action="call")


def manifest(parser: ArgumentParser) -> None:
    """Tools from an operator's manifest: check the file, show what it allows, run one of its tools.

    A manifest is a JSON file that says which programs of this machine a model may run, and how.
    """
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|show|run")
    checking = actions.add_parser("check", help="say everything that is wrong with manifests")
    checking.add_argument("files", nargs="+", metavar="FILE.json", help="the manifests")
    showing = actions.add_parser("show", help="what a manifest lets a model run, and how")
    running = actions.add_parser("run", help="call one of its tools, as a model would")
    for each in (showing, running):
        each.add_argument("file", metavar="FILE.json", help="the manifest")
    _add_call(running)
    add(running, "dry-run")
    for each in (checking, showing, running):
        add(each, "sandbox")


def audit(parser: ArgumentParser) -> None:
    """Say what outsiders could make an agent with these tools do, and what stops them.

    Without --policy, the rules are those of the agents in a file, also of those that its functions make. FILE.py:NAME
    is one agent, or a function that makes one and is called. Ends with 1 when some way is open, or, with --strict, when
    facts are missing.
    """  # noqa: E501 - as wide as help is
    _add_sources(parser)
    add(
        parser,
        "policy",
        help="the rules in force (default: the agents' own); an empty file has the usual",
    )
    add(parser, "facts")
    parser.add_argument("--strict", action="store_true", help="missing facts are a failure, too")
    add(parser, "json", help="print the report as JSON")


def policy(parser: ArgumentParser) -> None:
    """Rules of trust from a TOML file: check the file, or explain what would become of a call under it."""  # noqa: E501
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|explain")
    checking = actions.add_parser("check", help="say everything that is wrong with files of rules")
    checking.add_argument("files", nargs="+", metavar="FILE.toml", help="the files of rules")
    explaining = actions.add_parser("explain", help="print what would happen to a call, and why")
    explaining.add_argument("file", metavar="FILE.toml", help="the file of rules")
    explaining.add_argument("tools", metavar=TOOLS, help="the file with the tools")
    _add_call(explaining, words="as a model would write them")
    explaining.add_argument("--said", default="", metavar="TEXT", help="what the user has said")
    explaining.add_argument(
        "--read",
        action="append",
        default=[],
        nargs=2,
        metavar=("TOOL", "TEXT"),
        help="a tool's result that the model has read; repeatable",
    )


def trust(parser: ArgumentParser) -> None:
    """Draft the facts that rules of trust go by, and try rules on what has been recorded.

    suggest reads names, docs and schemas, and drafts what could be said of tools, each with its reason: read
    it before you paste it. try judges the calls of recorded runs under other rules or facts, and runs nothing.
    """  # noqa: E501 - as wide as help is
    actions = parser.add_subparsers(dest="action", required=True, metavar="suggest|try|starters")
    suggesting = actions.add_parser("suggest", help="draft the facts of tools")
    suggesting.add_argument(
        "--format",
        choices=("python", "toml"),
        help="options of @rc.tool, or an operator's file (default: TOML for manifests and servers)",
    )
    add(suggesting, "json", help="print the drafts as JSON")
    _add_sources(suggesting)
    trying = actions.add_parser("try", help="judge recorded calls under other rules or facts")
    trying.add_argument("journal", metavar="JOURNAL", help="a .jsonl or .sqlite file of runs")
    add_repeatable(trying.add_argument, "--run", "runs", metavar="RUN", words="only this run")
    trying.add_argument(
        *("--policy", "--rules"),
        dest="rules",
        metavar="FILE.toml",
        help="the rules (default: rc.trust.Rules())",
    )
    trying.add_argument("--tools", metavar=TOOLS, help="the tools, with their facts")
    add(trying, "facts")
    add(trying, "json", help="print every call as JSON")
    listing = actions.add_parser(
        "starters", help="the MCP servers for which facts ship; with a name, they"
    )
    listing.add_argument("name", nargs="?", metavar="NAME", help="show this one; list all unless given")
    parser.epilog = """\
examples:
  rightcall tools trust suggest shop.py
  rightcall tools trust suggest --mcp "uvx mcp-server-git" > git.facts.toml
  rightcall tools trust try runs.sqlite --policy rules.toml --tools shop.py
  rightcall tools trust starters filesystem

exit codes: 0 done; 1 with try: some call would be asked about, denied or rewritten; 2 bad usage"""
