"""Carries out commands, one module for each, with rightcall's log on standard error.

Of the log, warnings are written, and more with ``--verbose``.
"""

import logging
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from rightcall.core.sanitize import printable
from rightcall.log import local_logger

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


def run_command(name: str, options: Namespace, *, quiet: bool) -> int:
    """Carry out a command by its module here; returns the exit code."""
    with shown_log(options.verbose, quiet=quiet):
        code: int = import_module(f"{__name__}.{name}").run(options)
    return code


@contextmanager
def shown_log(verbose: int, *, quiet: bool = False) -> Iterator[None]:
    """Show the log inside this context. ``quiet`` hides warnings, unless more is requested."""
    level = _LEVELS[min(verbose, len(_LEVELS) - 1)]
    if quiet and not verbose:
        level = logging.ERROR
    logger = logging.getLogger("rightcall")
    handler = _ToPeople(traces=verbose > 0)
    handler.setLevel(level)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    # A person at a terminal sees why they wait: a large model takes a while to load.
    if sys.stderr.isatty() and not (quiet or verbose):
        waiting = _ToPeople(traces=False)
    else:
        waiting = None
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
            if self._traces:
                text = self.format(record)
            else:
                text = record.getMessage()
            print(printable(f"rightcall: {text}"), file=sys.stderr, flush=True)
        except Exception:  # noqa: BLE001 - what cannot be shown must not end a run
            self.handleError(record)
