"""Builds the user's message from the argument, standard input and attachments."""

import os
import select
import sys
from argparse import Namespace

from rightcall.cli.attachments import attachment
from rightcall.core.message import User
from rightcall.core.parts import Media, Text
from rightcall.errors import UsageError

MAX_PROMPT = 16 * 1024 * 1024
"""The most bytes on standard input; more is probably a mistake."""
_PATIENCE = 3.0
_WAITING = "rightcall: reading standard input, too; < /dev/null leaves it alone"


def read_question(options: Namespace) -> str:
    """The text of the question: standard input, then the argument, the order that is usually meant.

    A terminal is read only for ``-``.
    """
    given: str | None = options.prompt
    is_attached = "-" in options.attachments
    if given == "-" and is_attached:
        raise UsageError("standard input is either the question or an attachment, not both")
    piped = "" if is_attached else _piped(given)
    asked = "" if given in (None, "-") else _text(given)
    if piped.strip() and asked.strip():
        return f"{piped.rstrip()}\n\n{asked}"
    words = asked if asked.strip() else piped
    if not words.strip() and not options.attachments:
        raise UsageError(
            'what is the question? rightcall ask "…"'
            if given is None and sys.stdin.isatty()
            else "standard input holds no question"
        )
    return words


async def with_attachments(words: str, places: list[str]) -> User:
    """The attachments, and then the text."""
    parts: list[Text | Media] = [await attachment(place) for place in places]
    if words:
        parts.append(Text(words))
    return User(tuple(parts))


def _text(given: str | None) -> str:
    # Undecodable bytes of the command line arrive as lone surrogates.
    return (given or "").encode(errors="surrogateescape").decode(errors="replace")


def _piped(given: str | None) -> str:
    if sys.stdin.isatty() and given != "-":
        return ""
    if given not in (None, "-"):
        _tell_if_nothing_comes()
    text = sys.stdin.buffer.read(MAX_PROMPT + 1)
    if len(text) > MAX_PROMPT:
        raise UsageError(f"standard input holds more than {MAX_PROMPT:,} bytes")
    return text.decode(errors="replace")


def _tell_if_nothing_comes() -> None:
    """Warn about a pipe that stays open without data: reading it would wait silently."""
    if os.name != "posix":
        return
    try:
        if not select.select([sys.stdin.fileno()], [], [], _PATIENCE)[0]:
            print(_WAITING, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        # Not every stream has a descriptor, or one that can be polled.
        return
