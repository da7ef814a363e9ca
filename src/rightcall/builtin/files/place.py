"""Parses a model's path into a place beneath the root, or raises with the reason why not.

Pure text: nothing here accesses a disk. ``..`` is refused anywhere, because a policy reads the path as
the model wrote it, and ``docs/../secrets`` would pass for something under ``docs``.
"""

import os
import re
from collections.abc import Sequence

from msgspec import Struct

from rightcall.core.jsontext import shorten
from rightcall.errors import ToolFailure

MAX_BYTES = 4096
"""The longest path, in bytes. Linux's limit is the same."""
MAX_PARTS = 128
"""The deepest path. A walk holds one open directory for each part."""

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\udc80-\udcff]")
_ESCAPE = re.compile(r"\\x([89a-f][0-9a-f])")
_SURROGATES = 0xDC00
"""The surrogates that Python uses for the bytes of a name that are not UTF-8 (PEP 383)."""


class Place(Struct, frozen=True, gc=False):
    """A path beneath a root."""

    parts: tuple[str, ...] = ()
    prefix: str = ""
    """Shown before the path: the name of a root that has one."""

    @property
    def path(self) -> str:
        """The path for system calls; ``.`` is the root itself."""
        return "/".join(self.parts) or "."

    @property
    def shown(self) -> str:
        """The path as shown to a model."""
        inner = "/".join(map(show, self.parts))
        return f"{self.prefix}/{inner}".rstrip("/") if self.prefix else inner or "."

    @property
    def name(self) -> str:
        """The last part; empty for the root."""
        return self.parts[-1] if self.parts else ""

    @property
    def parent(self) -> "Place":
        """The parent directory; the root's parent is the root."""
        return Place(self.parts[:-1], self.prefix)

    def child(self, name: str) -> "Place":
        """The entry ``name`` of this directory."""
        return Place((*self.parts, name), self.prefix)


def place(text: str, roots: Sequence[str] = ()) -> Place:
    """Parses a model's path. Raises ToolFailure.

    ``roots`` are the root's own absolute names: a path that begins with one of them is accepted, too.
    """
    if "\0" in text:
        raise ToolFailure("A path cannot hold a NUL character.")
    inner = _without_root(text, roots)
    parts = tuple(_raw(part) for part in inner.split("/") if part not in ("", "."))
    if len(os.fsencode("/".join(parts))) > MAX_BYTES or len(parts) > MAX_PARTS:
        raise ToolFailure(f"The path is too long: at most {MAX_PARTS} parts and {MAX_BYTES:,} bytes.")
    if ".." in parts:
        raise ToolFailure(f'{shorten(text)}: ".." is not taken. Write the path from the root down.')
    return Place(parts)


def show(name: str) -> str:
    r"""A file's name for a model: on one line, and bytes that are no text as ``\xNN``."""
    return _UNSEEN.sub(_escape, name)


def _without_root(text: str, roots: Sequence[str]) -> str:
    if text.startswith("~"):
        raise ToolFailure(f"{shorten(text)}: there is no home directory here. {_RELATIVE}")
    if not text.startswith("/") or not text.strip("/"):
        return text
    for root in roots:
        if root != "/" and (text == root or text.startswith(f"{root}/")):
            return text[len(root) :]
        if root == "/":
            return text
    raise ToolFailure(f"{shorten(text)}: absolute paths are not taken. {_RELATIVE}")


_RELATIVE = 'Write paths relative to the root, like "src/main.py"; "." is the root.'


def _raw(part: str) -> str:
    r"""A part as the system knows it: ``\xNN`` is a byte where the name would otherwise be no text."""
    raw = _ESCAPE.sub(lambda found: chr(_SURROGATES + int(found[1], 16)), part)
    return raw if raw != part and os.fsdecode(os.fsencode(raw)) == raw else part


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code >= _SURROGATES:
        return f"\\x{code - _SURROGATES:02x}"
    return found[0].encode("unicode_escape").decode()
