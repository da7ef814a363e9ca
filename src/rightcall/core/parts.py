"""What messages and results are made of."""

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonValue


class Text(Struct, frozen=True, gc=False, omit_defaults=True, tag="text"):
    """Plain text."""

    text: str
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    """Whatever the vendor attached, by dialect; given back to the same dialect untouched."""


class Media(Struct, frozen=True, gc=False, omit_defaults=True, tag="media"):
    """An image, a sound, a document: bytes with a type. A tool may return one."""

    data: bytes
    media_type: str = "application/octet-stream"
    name: str | None = None
    """A file name, where there is one."""
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)


Part: TypeAlias = Text | Media
