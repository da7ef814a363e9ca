r"""Makes text that somebody else wrote safe to encode, or to show to a person.

Half a surrogate pair comes from a file name, a model's ``\ud83d`` or a careless tool; neither UTF-8 nor
JSON can hold it. Escape sequences can rewrite a terminal, its title and the clipboard, and characters
that reverse the direction of writing can make a command read as another.
"""

import re
import unicodedata
from typing import Any

from rightcall.core.pattern import pattern

_UNSAFE = pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# Printable for Python, but misleading: blanks and joiners that show nothing, characters that look like
# quotation marks, and box-drawing characters.
_DISGUISED = pattern(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
    "\u02ba\u02dd\u02ee\u05f4\u1cd3\u201c-\u201f\u2033\u2036\u275d\u275e\u3003\u301d-\u301f\uff02"
    "\u01c0\u2016\u2223\u2225\u2500-\u259f\u2758-\u275a\uff5c]"
)
_MOST_MARKS = 2
"""The most combining marks on one letter; more would reach into other lines."""
_PICTURES = 0x2400
"""Unicode's pictures of ASCII's control characters begin here."""


def encodable(text: str) -> str:
    """Returns the text with a question mark for each half of a surrogate pair."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def encodable_json(value: Any) -> Any:
    """Returns a JSON value with every text in it encodable."""
    match value:
        case str():
            return encodable(value)
        case list() | tuple():
            return [encodable_json(item) for item in value]
        case dict():
            return {encodable_json(key): encodable_json(item) for key, item in value.items()}
        case _:
            return value


def printable(text: str) -> str:
    """Returns the text without anything that a terminal would obey, except new lines and tabs.

    Each character is replaced on its own, so text in pieces gives the same as the whole.
    """
    return _UNSAFE.sub(_shown, text)


def spelled(text: str) -> str:
    """Returns the same for a web page, with each such character as its number: ``⟨U+001B⟩``."""
    return _UNSAFE.sub(lambda found: "" if found[0] == "\r" else f"⟨U+{ord(found[0]):04X}⟩", text)


def visible(text: str) -> str:
    """Returns the text in one line, with every invisible or misleading character as its number.

    For a person who decides by what they read. Nothing is hidden between the letters, nothing reverses
    the direction of writing, and nothing looks like a quotation mark or the edge of a box. JSON stays
    JSON.
    """
    if text.isascii() and text.isprintable():
        return text
    shown, marks = [], 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        is_seen = character.isprintable() and not _DISGUISED.match(character) and marks <= _MOST_MARKS
        shown.append(character if is_seen else _number(character))
    return "".join(shown)


def _number(character: str) -> str:
    units = character.encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _shown(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    if character == "\r":
        # Mostly half of a line ending; leaving it out hides nothing.
        return ""
    if code < 0x20:  # noqa: PLR2004 - where the control characters end
        return chr(_PICTURES + code)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004
