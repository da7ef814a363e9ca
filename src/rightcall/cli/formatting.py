"""Formats values and untrusted text for a terminal, or for a program."""

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, TextIO

from rightcall.core.parts import Media
from rightcall.core.sanitize import printable

if TYPE_CHECKING:
    from rightcall.cli.summary import Summary
    from rightcall.core.handler import CallProgress
    from rightcall.core.jsontext import JsonObject
    from rightcall.core.parts import Result, Usage

_BLANKS = re.compile(r"\s+")


def is_lively() -> bool:
    """Whether standard output is a capable terminal, and rich is installed."""
    moves = sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    return moves and find_spec("rich") is not None


def write(text: str, stream: TextIO) -> None:
    """Print text with a final line end: verbatim, or escaped to printable for a terminal."""
    text = text if text.endswith("\n") else f"{text}\n"
    stream.write(printable(text) if stream.isatty() else text)


def json_line(value: "JsonObject") -> str:
    """One line of JSON, in ASCII, so that no terminal, pipe or encoding can corrupt it."""
    return json.dumps(value, separators=(",", ":")) + "\n"


def table_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows of a table, printable, with columns as wide as their longest cell."""
    widths = [0] * (len(rows[0]) - 1)
    for row in rows:
        for column in range(len(widths)):
            widths[column] = max(widths[column], len(printable(row[column])))
    for row in rows:
        line = ""
        for cell, width in zip(row, widths, strict=False):
            line += f"{printable(cell):<{width}}  "
        yield f"{line}{printable(row[-1])}".rstrip()


def one_line(text: str, most: int) -> str:
    """The text on one line of at most that many characters, printable."""
    # Text far beyond the end is cut off anyway, and need not be processed.
    line = _BLANKS.sub(" ", printable(text[: 8 * most])).strip()
    if len(line) <= most and len(text) <= 8 * most:
        return line
    return line[: most - 1] + "…"


def result_line(result: "Result", most: int) -> str:
    """A result on one line; media are shown by their size."""
    words = [one_line(result.text, most)]
    for part in result.content:
        if isinstance(part, Media):
            words.append(media_words(part))
    return " ".join(filter(None, words))


def media_words(media: Media) -> str:
    """A placeholder for bytes: ``[image/png, 2,008 bytes]``."""
    return f"[{printable(media.about)}]"


def progress_words(progress: "CallProgress") -> str:
    """A call's progress: ``3 of 10, unpacking``."""
    words = f"{progress.done:g}"
    if progress.total is not None:
        words += f" of {progress.total:g}"
    if text := one_line(progress.text, 80):
        words += f", {text}"
    return words


def cost_words(summary: "Summary") -> str:
    """The cost of a run: ``2.1 s, 2 turns, 310 tokens in (128 cached), 25 out, $0.0012``."""
    turns = f"{summary.turns} turn{'' if summary.turns == 1 else 's'}"
    return f"{summary.seconds:.1f} s, {turns}, {usage_words(summary.usage)}"


def usage_words(usage: "Usage") -> str:
    """Tokens, and dollars if the price is known."""
    words = f"{usage.input_tokens:,} tokens in"
    if usage.cached_tokens:
        words += f" ({usage.cached_tokens:,} cached)"
    words += f", {usage.output_tokens:,} out"
    if usage.cost is not None:
        words += f", ${usage.cost:.{2 if usage.cost >= 1 else 4}f}"
    return words


def interruption_words(summary: "Summary") -> str:
    """What an interrupted run had done so far."""
    if not summary.calls:
        return "interrupted; no call had finished"
    names = ", ".join(f"{record.name} {record.outcome}" for record in summary.calls)
    return one_line(f"interrupted; done: {names}", 400)
