"""Text into JSON strings, whole or in pieces."""

from json.encoder import encode_basestring


def quoted(text: str) -> str:
    """A string as JSON."""
    return escaped(encode_basestring(text))


def inner(text: str) -> str:
    """A piece of a string as it stands inside of a JSON string."""
    return quoted(text)[1:-1]


def escaped(text: str) -> str:
    """Half a surrogate pair cannot be written out; as an escape it can, and the gate will refuse it."""
    if text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text)
