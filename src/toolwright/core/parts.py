"""What messages and results are made of."""

from typing import TypeAlias

from msgspec import Struct


class Text(Struct, frozen=True, gc=False, tag="text"):
    """Plain text."""

    text: str


class Media(Struct, frozen=True, gc=False, tag="media"):
    """An image, a sound, a document: bytes with a type. A tool may return one."""

    data: bytes
    media_type: str = "application/octet-stream"
    name: str | None = None
    """A file name, where there is one."""


Part: TypeAlias = Text | Media
