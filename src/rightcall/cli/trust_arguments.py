"""The arguments of ``rightcall audit`` and ``rightcall trust``. Light imports, so help is quick."""

from argparse import ArgumentParser

from rightcall.cli.options import repeated
from rightcall.cli.tool_arguments import add_sources


def audit(parser: ArgumentParser) -> None:
    """Say what outsiders could make an agent with these tools do, and what stops them.

    Without --policy, the rules are those of the agents in a file, also of those that its functions make. FILE.py:NAME
    is one agent, or a function that makes one and is called. Ends with 1 when some way is open, or, with --strict, when
    facts are missing.
    """  # noqa: E501 - as wide as help is
    add_sources(parser)
    parser.add_argument(
        "--policy",
        metavar="FILE.toml",
        help="the rules in force (default: the agents' own); an empty file has the usual",
    )
    parser.add_argument("--facts", metavar="FILE.toml|NAME", help="facts that are laid over the tools")
    parser.add_argument("--strict", action="store_true", help="missing facts are a failure, too")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


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
    suggesting.add_argument("--json", action="store_true", help="print the drafts as JSON")
    add_sources(suggesting)
    trying = actions.add_parser("try", help="judge recorded calls under other rules or facts")
    trying.add_argument("journal", metavar="JOURNAL", help="a .jsonl or .sqlite file of runs")
    repeated(trying.add_argument, "--run", "runs", metavar="RUN", words="only this run")
    trying.add_argument(
        "--policy",
        "--rules",
        dest="rules",
        metavar="FILE.toml",
        help="the rules (default: rc.trust.Rules())",
    )
    trying.add_argument("--tools", metavar="FILE.py[:NAME]", help="the tools, with their facts")
    trying.add_argument(
        "--facts", metavar="FILE.toml|NAME", help="facts laid over tools: a file, or a name of starters"
    )
    trying.add_argument("--json", action="store_true", help="print every call as JSON")
    listing = actions.add_parser(
        "starters", help="the MCP servers for which facts ship; with a name, they"
    )
    listing.add_argument("name", nargs="?", metavar="NAME", help="show this one; list all unless given")
    parser.epilog = """\
examples:
  rightcall trust suggest shop.py
  rightcall trust suggest --mcp "uvx mcp-server-git" > git.facts.toml
  rightcall trust try runs.sqlite --policy rules.toml --tools shop.py
  rightcall trust starters filesystem

exit codes: 0 done; 1 with try: some call would be asked about, denied or rewritten; 2 bad usage"""
