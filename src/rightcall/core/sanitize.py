r"""Text that somebody else wrote into text that can be encoded, or shown to a person.

Half a surrogate pair comes from the name of a file, a model's ``\ud83d`` or a careless tool; no UTF-8
and no JSON can hold it. Escape sequences can rewrite a terminal, its title and the clipboard, and marks
that turn the direction of writing round can make a command read as another.
"""

import re
from typing import Any

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_PICTURES = 0x2400
"""Unicode has a picture for each of ASCII's control characters from here on."""


def encodable(text: str) -> str:
    """The text with a question mark for each half of a surrogate pair."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def encodable_json(value: Any) -> Any:
    """A value of JSON's kinds, with every text in it encodable."""
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
    """The text with nothing in it that a terminal would obey, except new lines and tabs.

    Each character is judged by itself, so text that comes in pieces gives the same as the whole.
    """
    return _UNSAFE.sub(_shown, text)


def visible(text: str) -> str:
    """The text with every character that would not be seen written as its number, except new lines.

    For somebody who decides by what they read: nothing in it is hidden, not even between the letters.
    """
    return "".join([c if c.isprintable() or c == "\n" else f"\\u{ord(c):04x}" for c in text])


def _shown(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    if character == "\r":
        # Half of a line end, mostly; and nothing is hidden by leaving it out.
        return ""
    if code < 0x20:  # noqa: PLR2004 - where the control characters end
        return chr(_PICTURES + code)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004
