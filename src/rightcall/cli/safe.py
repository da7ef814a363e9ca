"""Text that somebody else wrote into text that a terminal may be shown."""

import re
from typing import TextIO

from rightcall.core.sanitize import printable

harmless = printable
_BLANKS = re.compile(r"\s+")


def one_line(text: str, most: int) -> str:
    """The text on one line of at most so many characters, harmless."""
    # What is far beyond the end cannot be seen, and need not be looked at.
    line = _BLANKS.sub(" ", harmless(text[: 8 * most])).strip()
    return line if len(line) <= most and len(text) <= 8 * most else line[: most - 1] + "…"


def write(text: str, stream: TextIO) -> None:
    """Write text as it is, or harmless where a person looks at it."""
    stream.write(harmless(text) if stream.isatty() else text)


def ended(text: str) -> str:
    """The text with a line end at its end."""
    return text if text.endswith("\n") else f"{text}\n"
