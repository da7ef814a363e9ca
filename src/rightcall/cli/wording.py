"""Values and other people's text into what a terminal may be shown, and a program may read."""

import json
import os
import re
import sys
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
    """Whether standard output is a terminal that understands more than lines, and rich is there."""
    moves = sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    return moves and find_spec("rich") is not None


def write(text: str, stream: TextIO) -> None:
    """Write text, with a line end at its end: as it is, or printable where a person looks at it."""
    text = text if text.endswith("\n") else f"{text}\n"
    stream.write(printable(text) if stream.isatty() else text)


def json_line(value: "JsonObject") -> str:
    """One line of JSON, in ASCII: no screen, pipe or encoding can do anything to it."""
    return json.dumps(value, separators=(",", ":")) + "\n"


def one_line(text: str, most: int) -> str:
    """The text on one line of at most so many characters, printable."""
    # What is far beyond the end cannot be seen, and need not be looked at.
    line = _BLANKS.sub(" ", printable(text[: 8 * most])).strip()
    return line if len(line) <= most and len(text) <= 8 * most else line[: most - 1] + "…"


def result_line(result: "Result", most: int) -> str:
    """A result on one line, media by their size."""
    media = [media_words(part) for part in result.content if isinstance(part, Media)]
    return " ".join(filter(None, (one_line(result.text, most), *media)))


def media_words(media: Media) -> str:
    """Bytes that cannot be shown: ``[image/png, 2,008 bytes]``."""
    return f"[{printable(media.about)}]"


def progress_words(progress: "CallProgress") -> str:
    """How far a call is: ``3 of 10, unpacking``."""
    total = "" if progress.total is None else f" of {progress.total:g}"
    return ", ".join(filter(None, (f"{progress.done:g}{total}", one_line(progress.text, 80))))


def cost_words(summary: "Summary") -> str:
    """What a run took: ``2.1 s, 2 turns, 310 tokens in (128 cached), 25 out, $0.0012``."""
    turns = f"{summary.turns} turn{'' if summary.turns == 1 else 's'}"
    return f"{summary.seconds:.1f} s, {turns}, {usage_words(summary.usage)}"


def usage_words(usage: "Usage") -> str:
    """Tokens, and dollars where the price is known."""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    cost = "" if usage.cost is None else f", ${usage.cost:.{2 if usage.cost >= 1 else 4}f}"
    return f"{usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out{cost}"


def interruption_words(summary: "Summary") -> str:
    """What an interrupted run had done."""
    if not summary.calls:
        return "interrupted; no call had finished"
    names = ", ".join(f"{record.name} {record.outcome}" for record in summary.calls)
    return one_line(f"interrupted; done: {names}", 400)
