"""Show recorded runs in the browser."""

import sys
import threading
import webbrowser
from argparse import Namespace
from pathlib import Path

from rightcall.cli import OK
from rightcall.cli.conversations import conversations_file
from rightcall.cli.load import is_journal, load_agent, object_at
from rightcall.durable.app import App
from rightcall.errors import UsageError
from rightcall.serve import studio
from rightcall.user_files import cache_folder


def run(options: Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    agents = {place: load_agent(place) for place in options.agents}
    studio.serve(
        _journal(options),
        agents=agents,
        write=options.write,
        host=options.host,
        port=options.port,
        names=options.names,
        started=lambda address: _say(address, is_opened=not options.no_open),
        cache=cache_folder() / "studio",
    )
    return OK


def _journal(options: Namespace) -> str | Path | App:
    if options.journal is None:
        file = conversations_file()
        if not file.exists():
            raise UsageError("ask and chat have kept nothing yet; name a journal with --journal FILE")
        return file
    if "://" in options.journal:
        return str(options.journal)
    if not is_journal(options.journal):
        place = options.journal
        if ":" not in place:
            raise UsageError(
                f"--journal {place}: its name must end in .jsonl, .sqlite or .db; durable runs are at "
                "an address such as sqlite:///runs.db, or at MODULE:NAME of an app"
            )
        app = object_at("--journal", place)
        if not isinstance(app, App):
            raise UsageError(f"--journal {place} is not an rc.durable.App")
        return app
    file = Path(options.journal)
    if not file.exists() and not options.write:
        raise UsageError(f"there is no journal {file}")
    return file


def _say(address: str, *, is_opened: bool) -> None:
    print(f"rightcall: the studio is at {address}", file=sys.stderr, flush=True)
    if is_opened:
        # Some browsers block the process that starts them until they exit.
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
