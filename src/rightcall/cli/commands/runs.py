"""``rightcall journal`` and ``rightcall runs …``: what was recorded, and durable runs."""

from argparse import ArgumentParser

from rightcall.cli.options import add, add_agent_options, add_repeatable, count_of

STATUSES = ("queued", "running", "waiting", "done", "failed", "cancelled", "parked", "stranded")
"""The values of ``RunStatus``, repeated so that help need not import what runs need."""


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
    add(listing, "json", help="one line of JSON for each run")
    showing = actions.add_parser("show", help="print a run: messages, and each call's outcome")
    add(showing, "reasoning")
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
    resuming.add_argument(
        "--agent",
        metavar="MODULE:NAME",
        help="the agent that continues the run, instead of the options below",
    )
    for option, words in (("--allow", "run this call, by its id"), ("--deny", "do not run it")):
        add_repeatable(resuming.add_argument, option, option[2:], metavar="ID", words=words)
    add_agent_options(resuming)
    # Options that matter only when a run begins.
    resuming.set_defaults(go_on=False, conversation=None, no_log=True, schema=None, journal=None)
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


def _add_where(parser: ArgumentParser, *, run: bool = True) -> None:
    """Where durable runs are kept, and which of them."""
    parser.add_argument(
        "where",
        metavar="ADDRESS|MODULE:APP",
        help="where the runs are kept: an address such as sqlite:///runs.db, or the app",
    )
    if run:
        parser.add_argument("run", metavar="RUN", help="the run's name")


def list_runs(parser: ArgumentParser) -> None:
    """List every durable run and how it stands, the latest first."""
    parser.add_argument(
        "--status", choices=STATUSES, metavar="WORD", help=f"only those: {', '.join(STATUSES)}"
    )
    parser.add_argument("--count", type=count_of, metavar="N", help="how many segments to look at")
    add(parser, "json")
    _add_where(parser, run=False)
    parser.epilog = "examples:\n  rightcall runs list sqlite:///runs.db --status waiting"
    parser.set_defaults(action="list")


def show(parser: ArgumentParser) -> None:
    """Show a durable run: its status, pending calls, steps and answer."""
    add(parser, "json")
    _add_where(parser)
    parser.set_defaults(action="show")


def watch(parser: ArgumentParser) -> None:
    """Watch one run in the terminal, from its beginning and while it goes on.

    Without a FILE it is one that ask or chat keeps. A RUN is named by its name or how that begins, and
    is the last one unless it is named. It ends when the run does, or when it waits for a person. A
    durable run is watched at the address of its store, or at its app, by its whole name.
    """
    parser.add_argument(
        "where",
        nargs="*",
        metavar="[FILE|ADDRESS|MODULE:APP] [RUN]",
        help="the journal or the durable runs, and how the run's name begins",
    )
    add(parser, "reasoning")
    add(parser, "json", help="every event as a line of JSON")
    parser.set_defaults(quiet=False)
    parser.epilog = """\
examples:
  rightcall runs watch
  rightcall runs watch runs.sqlite invoice-17
  rightcall runs watch sqlite:///runs.db order-17

exit codes: 0 answered; 1 ended without an answer, or waits for a person; 2 bad usage; 130 interrupted"""


def approve(parser: ArgumentParser) -> None:
    """Approve the calls that a durable run waits for."""
    _add_where(parser)
    parser.add_argument("calls", nargs="*", metavar="ID", help="the calls (default: all)")
    words = "say no to this one"
    add_repeatable(parser.add_argument, "--deny", "others", metavar="ID", words=words)
    parser.epilog = "examples:\n  rightcall runs approve postgresql://app@db/runs order-17"
    parser.set_defaults(action="approve")


def deny(parser: ArgumentParser) -> None:
    """Say no to the calls that a durable run waits for."""
    parser.add_argument("--reason", default="", metavar="TEXT", help="what the model is told")
    _add_where(parser)
    parser.add_argument("calls", nargs="*", metavar="ID", help="the calls (default: all)")
    words = "say yes to this one"
    add_repeatable(parser.add_argument, "--approve", "others", metavar="ID", words=words)
    parser.set_defaults(action="deny")


def cancel(parser: ArgumentParser) -> None:
    """End a durable run, wherever it is."""
    _add_where(parser)
    parser.set_defaults(action="cancel")


def retry(parser: ArgumentParser) -> None:
    """Try parked runs again, once what ended their workers is mended."""
    _add_where(parser, run=False)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the parked runs' names")
    parser.epilog = "examples:\n  rightcall runs retry sqlite:///runs.db order-17 order-18"
    parser.set_defaults(action="retry")


def fork(parser: ArgumentParser) -> None:
    """Begin another run from a step of this one."""
    parser.add_argument("--at", required=True, metavar="KEY", help="the step, as show names it")
    parser.add_argument("--new", metavar="NAME", help="the new run's name (default: generated)")
    _add_where(parser)
    parser.epilog = "examples:\n  rightcall runs fork shop:app order-17 --at t3.model"
    parser.set_defaults(action="fork")


def forget(parser: ArgumentParser) -> None:
    """Forget durable runs that have long been over."""
    parser.add_argument(
        "--older",
        type=float,
        default=30.0,
        metavar="DAYS",
        help="days since the run ended (default: 30)",
    )
    _add_where(parser, run=False)
    parser.set_defaults(action="gc")


def worker(parser: ArgumentParser) -> None:
    """Execute durable runs: those of an rc.durable.App, taken from its queues.

    Any number of workers may be at one address. Ctrl-C, or SIGTERM, has one take nothing more; what is not
    over within --patience is left to the others.
    """  # noqa: E501 - as wide as help is
    parser.add_argument("app", metavar="MODULE:APP", help="where the app is: shop:app, or shop.py:app")
    add_repeatable(parser.add_argument, "--queue", "queues", metavar="NAME", words="default: the app's")
    parser.add_argument(
        "--concurrency", type=count_of, metavar="N", help="runs at a time (default: the queue's, or 50)"
    )
    parser.add_argument(
        "--patience", type=float, default=30.0, metavar="SECONDS", help="for runs under way, at the end"
    )
    parser.epilog = """\
examples:
  rightcall runs worker shop:app
  rightcall runs worker shop.py:app --queue urgent --concurrency 10"""
    parser.set_defaults(action="work")
