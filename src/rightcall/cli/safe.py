"""Text that somebody else wrote into text that a terminal may be shown.

A model's words, a tool's result and a file's content may hold escape sequences, which can rewrite the
screen, its title and the clipboard, and marks that turn the direction of writing round, which can make
a command read as another. They are shown as what they are.
"""

import re
from typing import TextIO

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BLANKS = re.compile(r"\s+")
_PICTURES = 0x2400
"""Unicode has a picture for each of ASCII's control characters from here on."""


def harmless(text: str) -> str:
    """The text with nothing in it that a terminal would obey, except new lines and tabs.

    Each character is judged by itself, so text that comes in pieces gives the same as the whole.
    """
    return _UNSAFE.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    if character == "\r":
        # Half of a line end, mostly; and nothing is hidden by leaving it out.
        return ""
    if code < 0x20:  # noqa: PLR2004 - where the control characters end
        return chr(_PICTURES + code)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004


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
