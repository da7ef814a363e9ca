"""The arguments of ``rightcall studio`` and ``rightcall watch``. Light imports, so help is quick."""

from argparse import ArgumentParser

from rightcall.cli.options import repeated


def studio(parser: ArgumentParser) -> None:
    """Look at recorded runs in the browser: while they go on, and when they wait for somebody.

    Without --journal it is what ask and chat have kept. Nothing is changed and nobody is asked anything
    unless --write is said. Only this machine can reach it; on another --host, only who has the address
    that is printed, with its token.
    """
    parser.add_argument(
        "--journal",
        metavar="FILE|URL|MODULE:APP",
        help="a journal (.jsonl, .sqlite, .db), or durable runs by their address or app",
    )
    which = "an agent that continues runs and can be tried, as module:NAME or FILE.py:NAME"
    repeated(parser.add_argument, "--agent", "agents", metavar="MODULE:NAME", words=which)
    parser.add_argument(
        "--write", action="store_true", help="allow to decide, fork, try tools and talk to agents"
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: any free port")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (default: %(default)s)")
    which = "a name that it is reached under, with another --host"
    repeated(parser.add_argument, "--name", "names", metavar="NAME", words=which)
    parser.add_argument("--no-open", action="store_true", help="only print the address")
    parser.epilog = """\
examples:
  rightcall studio
  rightcall studio --journal runs.sqlite
  rightcall studio --journal runs.sqlite --agent shop.py:agent --write
  rightcall studio --journal sqlite:///runs.db --write
  rightcall studio --journal shop:app --write

exit codes: 0 ended by Ctrl-C, 2 bad usage"""


def watch(parser: ArgumentParser) -> None:
    """Watch one run in the terminal, from its beginning and while it goes on.

    Without a FILE it is one that ask or chat keeps. A RUN is named by its name or how that begins, and
    is the last one unless it is named. It ends when the run does, or when it waits for a person. A
    durable run is watched at the address of its store, by its whole name.
    """
    parser.add_argument(
        "where", nargs="*", metavar="[FILE] [RUN]", help="the journal, and how the run's name begins"
    )
    parser.add_argument("--reasoning", action="store_true", help="include the model's reasoning")
    parser.add_argument("--json", action="store_true", help="every event as a line of JSON")
    parser.set_defaults(quiet=False)
    parser.epilog = """\
examples:
  rightcall watch
  rightcall watch runs.sqlite invoice-17
  rightcall watch sqlite:///runs.db order-17

exit codes: 0 answered; 1 ended without an answer, or waits for a person; 2 bad usage; 130 interrupted"""
