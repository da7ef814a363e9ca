"""What somebody types, or what a pipe holds, into lines."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

MAX_LINE = 16 * 1024 * 1024
"""Bytes after which a line from a pipe is cut in two."""
MAX_HISTORY = 1000


def is_typed() -> bool:
    """Whether a person types the lines, and sees what they type."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def next_line(prompt: str, people: TextIO) -> str | None:
    """The next line, without its end; None when there is no more."""
    if is_typed():
        try:
            return input(prompt)
        except EOFError:
            people.write("\n")
            return None
    if sys.stdin.isatty():
        people.write(prompt)
        people.flush()
    line = sys.stdin.buffer.readline(MAX_LINE)
    return line.decode(errors="replace").rstrip("\r\n") if line else None


@contextmanager
def remembered() -> Iterator[None]:
    """Keys to edit a line with, and the lines of earlier conversations, where Python has readline."""
    try:
        import readline  # noqa: PLC0415 - not on every platform, and it takes hold of the terminal
    except ImportError:  # pragma: no cover
        yield
        return
    path = history_file()
    readline.set_auto_history(True)
    # History is a comfort: a disk that will not have it is no reason not to talk.
    with suppress(OSError):
        readline.read_history_file(path)
    try:
        yield
    finally:
        readline.set_history_length(MAX_HISTORY)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            readline.write_history_file(path)


def history_file() -> Path:
    """Where typed lines are remembered: under the XDG state directory."""
    given = os.environ.get("XDG_STATE_HOME", "")
    home = Path(given) if given.startswith("/") else Path.home() / ".local" / "state"
    return home / "rightcall" / "history"
