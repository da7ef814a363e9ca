"""Parses a vendor's bytes into the JSON objects of a reply. Anything else is the vendor's error."""

from typing import Any

import msgspec

from rightcall.errors import ProtocolError, TruncatedStream
from rightcall.wire.refusal import UNREADABLE, excerpt

_any = msgspec.json.Decoder().decode


def whole_object(name: str, body: bytes) -> dict[str, Any]:
    """The object in a body that was not streamed. Raises TruncatedStream if it is incomplete."""
    try:
        value = _any(body)
    except UNREADABLE as problem:
        kind = TruncatedStream if "truncated" in str(problem) else ProtocolError
        raise kind(f"{name}: the reply is not JSON: {excerpt(body)}") from problem
    if not isinstance(value, dict):
        raise ProtocolError(f"{name}: the reply is not an object: {excerpt(body)}")
    return value


def event_object(name: str, data: bytes) -> dict[str, Any]:
    """The object in a stream's event."""
    try:
        value = _any(data)
    except UNREADABLE as problem:
        raise ProtocolError(f"{name}: an event that cannot be read: {excerpt(data)}") from problem
    if not isinstance(value, dict):
        raise ProtocolError(f"{name}: an event is not an object: {excerpt(data)}")
    return value
