"""A command's bytes into text that is safe to read, or into the word that they are no text."""

import re

from rightcall.process.command import Captured

_LOOKED_AT = 8192
_MOST_BROKEN = 0.1
"""The part of a text that may be bytes that are not UTF-8: an odd name in a listing is still text."""

# ECMA-48: an escape begins a control sequence, a string that ends with ST or BEL, or a short escape.
_TERMINAL = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\|$)|[ -/]*[0-~])?"
)
# What is left of the controls says nothing to a reader, and can move a terminal's cursor.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]")


def decode(output: Captured) -> str:
    """The output as text: UTF-8 with replacements, no terminal controls, what was left out marked."""
    if is_binary(output.head):
        return f"[binary output: {output.size:,} bytes]"
    if not output.left_out:
        return _plain(output.head + output.tail)
    marker = f"\n[… {output.left_out:,} of {output.size:,} bytes left out here …]\n"
    # What was cut in two at the seam is not the command's fault, and is dropped instead of replaced.
    head = output.head.decode(errors="ignore") if _is_utf8(output.head) else _plain(output.head)
    tail = output.tail
    while tail and tail[0] & 0xC0 == 0x80:  # noqa: PLR2004 - a byte within a UTF-8 character
        tail = tail[1:]
    return _plain(head.encode()) + marker + _plain(tail)


def is_binary(head: bytes) -> bool:
    """Whether bytes are no text: a NUL among the first, or too many that are not UTF-8."""
    head = head[:_LOOKED_AT]
    if b"\x00" in head:
        return True
    return head.decode(errors="replace").count("\ufffd") > max(len(head) * _MOST_BROKEN, 1)


def _is_utf8(data: bytes) -> bool:
    """Whether bytes are UTF-8 but for a character that is cut off at their end."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def _plain(data: bytes) -> str:
    text = data.decode(errors="replace")
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    return _CONTROLS.sub("", text.replace("\r\n", "\n")).replace("\r", "\n")
