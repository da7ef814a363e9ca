"""The arguments of ``rightcall worker`` and ``rightcall runs``."""

from argparse import ArgumentParser

from rightcall.cli.options import count_of, repeated

_WHERE = "ADDRESS|MODULE:APP"
_STATUSES = ("queued", "running", "waiting", "done", "failed", "cancelled", "parked", "stranded")
"""The values of ``RunStatus``, repeated so that help need not import what runs need."""


def worker(parser: ArgumentParser) -> None:
    """Execute durable runs: those of an rc.durable.App, taken from its queues.

    Any number of workers may be at one address. Ctrl-C, or SIGTERM, has one take nothing more; what is not
    over within --patience is left to the others.
    """  # noqa: E501 - as wide as help is
    parser.add_argument("app", metavar="MODULE:APP", help="where the app is: shop:app, or shop.py:app")
    repeated(parser.add_argument, "--queue", "queues", metavar="NAME", words="default: the app's")
    parser.add_argument(
        "--concurrency",
        type=count_of,
        metavar="N",
        help="runs at a time (default: the queue's, or 50)",
    )
    parser.add_argument(
        "--patience", type=float, default=30.0, metavar="SECONDS", help="for runs under way, at the end"
    )
    parser.epilog = """\
examples:
  rightcall worker shop:app
  rightcall worker shop.py:app --queue urgent --concurrency 10"""


def runs(parser: ArgumentParser) -> None:
    """Durable runs: list and show them, watch one, answer what it waits for, end it, begin it again.

    WHERE is the address that the app has, such as sqlite:///runs.db, or the app itself, as MODULE:APP.
    """
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="every run and how it stands, the latest first")
    listing.add_argument(
        "--status", choices=_STATUSES, metavar="WORD", help=f"only those: {', '.join(_STATUSES)}"
    )
    listing.add_argument("--count", type=count_of, metavar="N", help="how many segments to look at")
    showing = actions.add_parser("show", help="a run: its status, pending calls, steps and answer")
    watching = actions.add_parser("watch", help="follow a run to its end")
    for each in (listing, showing, watching):
        each.add_argument("--json", action="store_true", help="lines of JSON")
    approving = actions.add_parser("approve", help="approve the calls that a run waits for")
    denying = actions.add_parser("deny", help="say no to it")
    denying.add_argument("--reason", default="", metavar="TEXT", help="what the model is told")
    cancelling = actions.add_parser("cancel", help="end a run, wherever it is")
    forking = actions.add_parser("fork", help="begin another run from a step of this one")
    forking.add_argument("--at", required=True, metavar="KEY", help="the step, as show names it")
    forking.add_argument("--new", metavar="NAME", help="the new run's name (default: generated)")
    forgetting = actions.add_parser("gc", help="forget runs that have long been over")
    forgetting.add_argument(
        "--older",
        type=float,
        default=30.0,
        metavar="DAYS",
        help="days since the run ended (default: 30)",
    )
    for each in (listing, forgetting):
        each.add_argument("where", metavar=_WHERE, help="where the runs are kept")
    for each in (showing, watching, approving, denying, cancelling, forking):
        each.add_argument("where", metavar=_WHERE, help="where the runs are kept")
        each.add_argument("run", metavar="RUN", help="the run's name")
    for each in (approving, denying):
        each.add_argument("calls", nargs="*", metavar="ID", help="the calls (default: all)")
    repeated(approving.add_argument, "--deny", "others", metavar="ID", words="say no to this one")
    repeated(denying.add_argument, "--approve", "others", metavar="ID", words="say yes to this one")
    parser.epilog = """\
examples:
  rightcall runs list sqlite:///runs.db --status waiting
  rightcall runs show sqlite:///runs.db order-17
  rightcall runs approve postgresql://app@db/runs order-17
  rightcall runs fork shop:app order-17 --at t3.model

exit codes: 0 done; 1 the run has no answer, or there was nothing to do; 2 bad usage"""
