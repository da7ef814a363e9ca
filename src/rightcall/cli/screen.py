"""Where a command writes, and who reads there, into the view that suits them."""

import os
import sys
from argparse import Namespace
from importlib.util import find_spec

from rightcall.cli.view import View


def view_for(options: Namespace, loading: str) -> View:
    """Events for programs, a live view for a terminal that can move its cursor, lines for the rest."""
    if getattr(options, "json", False):
        from rightcall.cli.jsonlines import JsonLinesView  # noqa: PLC0415 - only one is used

        return JsonLinesView(sys.stdout, sys.stderr)
    if is_lively() and not options.quiet:
        from rightcall.cli.live import LiveView  # noqa: PLC0415

        return LiveView(sys.stdout, loading=loading)
    from rightcall.cli.plain import PlainView  # noqa: PLC0415

    return PlainView(sys.stdout, sys.stderr, loading=loading, quiet=options.quiet)


def is_lively() -> bool:
    """Whether standard output is a terminal that understands more than lines, and rich is there."""
    moves = sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    return moves and find_spec("rich") is not None
