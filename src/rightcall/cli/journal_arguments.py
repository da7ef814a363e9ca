"""The arguments of ``rightcall journal``, for each of its actions."""

from argparse import ArgumentParser

from rightcall.cli.options import add_agent_options, count_of, repeated


def journal(parser: ArgumentParser) -> None:
    """What --journal wrote, and what ask and chat keep by themselves: read it, and go on with it.

    Without a FILE it is what ask and chat have kept. A RUN is named by its name or how that begins, and
    is the last one unless it is named. on and off say whether ask and chat keep what is said.
    """
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the last runs: when, which model, what, how it ended")
    listing.add_argument("where", nargs="*", metavar="FILE", help="what ask and chat keep, unless given")
    count = listing.add_mutually_exclusive_group()
    count.add_argument("--count", type=count_of, default=20, metavar="N", help="how many (default: 20)")
    count.add_argument("--all", action="store_true", help="every one")
    listing.add_argument("--json", action="store_true", help="one line of JSON for each run")
    showing = actions.add_parser("show", help="print a run: messages, and each call's outcome")
    showing.add_argument("--reasoning", action="store_true", help="include the model's reasoning")
    replaying = actions.add_parser(
        "replay", help="go through a run again from its record; nothing is asked"
    )
    exporting = actions.add_parser("export", help="print a run as JSON, Markdown or JSON lines")
    formats = ("json", "markdown", "jsonl")
    exporting.add_argument("--format", choices=formats, default="json", help="default: json")
    exporting.add_argument("--all", action="store_true", help="every run")
    resuming = actions.add_parser(
        "resume", help="continue a run that waits for approval, or was cut off"
    )
    for each in (showing, replaying, exporting, resuming):
        each.add_argument("where", nargs="*", metavar="[FILE] [RUN]", help="the journal, the run")
    _add_resume(resuming)
    actions.add_parser("path", help="where ask and chat store conversations")
    actions.add_parser("on", help="store conversations (default)")
    actions.add_parser("off", help="store nothing")
    checking = actions.add_parser("check", help="print what is damaged, and change nothing")
    repairing = actions.add_parser("repair", help="set damaged runs aside, in FILE.damaged")
    for each in (checking, repairing):
        each.add_argument("files", nargs="+", metavar="FILE.jsonl", help="the journals")
    parser.epilog = """\
examples:
  rightcall journal list
  rightcall journal show runs.sqlite invoice-17
  rightcall journal resume runs.sqlite invoice-17 --tool mail.py -m anthropic:claude-opus-4-8
  rightcall journal export --format markdown > talk.md

exit codes: 0 done; 1 a run that is not as recorded or has no answer, or damage; 2 bad usage"""


def _add_resume(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--agent",
        metavar="MODULE:NAME",
        help="the agent that continues the run, instead of the options below",
    )
    for option, words in (("--allow", "run this call, by its id"), ("--deny", "do not run it")):
        repeated(parser.add_argument, option, option[2:], metavar="ID", words=words)
    add_agent_options(parser)
    # Options that matter only when a run begins.
    parser.set_defaults(go_on=False, conversation=None, no_log=True, schema=None, journal=None)
