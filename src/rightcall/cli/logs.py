"""Writes rightcall's log to standard error: warnings, and more with ``--verbose``."""

import logging
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager

from rightcall.core.sanitize import printable
from rightcall.log import local_logger

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


def add_verbose(parser: ArgumentParser) -> None:
    """Add the option that every command has."""
    parser.add_argument(
        "-v",
        "--verbose",
        action="count",
        default=0,
        help="print turns, calls and tracebacks on standard error; -vv adds requests",
    )


@contextmanager
def shown_log(verbose: int, *, quiet: bool = False) -> Iterator[None]:
    """Show the log inside this context. ``quiet`` hides warnings, unless more is requested."""
    level = _LEVELS[min(verbose, len(_LEVELS) - 1)]
    if quiet and not verbose:
        level = logging.ERROR
    logger, handler = logging.getLogger("rightcall"), _ToPeople(traces=verbose > 0)
    handler.setLevel(level)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    # A person at a terminal sees why they wait: a large model takes a while to load.
    waiting = _ToPeople(traces=False) if sys.stderr.isatty() and not (quiet or verbose) else None
    if waiting is not None:
        local_logger.addHandler(waiting)
        local_logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        if waiting is not None:
            local_logger.removeHandler(waiting)
            local_logger.setLevel(logging.NOTSET)


class _ToPeople(logging.Handler):
    """Writes lines to the current ``sys.stderr``.

    A view that moves the cursor replaces that stream, so that log lines do not break its drawing.
    """

    def __init__(self, *, traces: bool) -> None:
        super().__init__()
        self._traces = traces

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record) if self._traces else record.getMessage()
            print(printable(f"rightcall: {text}"), file=sys.stderr, flush=True)
        except Exception:  # noqa: BLE001 - what cannot be shown must not end a run
            self.handleError(record)
