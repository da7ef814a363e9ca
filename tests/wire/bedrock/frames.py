"""Event-stream messages, written plainly: what the decoder reads is not written by its own hand."""

import json
from struct import pack
from typing import Any
from zlib import crc32


def header(name: str, value: str) -> bytes:
    written = value.encode()
    return bytes([len(name)]) + name.encode() + b"\x07" + pack(">H", len(written)) + written


def message(headers: bytes, payload: bytes) -> bytes:
    lengths = pack(">II", 16 + len(headers) + len(payload), len(headers))
    begun = lengths + pack(">I", crc32(lengths)) + headers + payload
    return begun + pack(">I", crc32(begun))


def of_kind(kind: str, name: str, payload: bytes) -> bytes:
    """A message as AWS writes it: what it is stands in its headers."""
    return message(
        header(f":{kind}-type", name)
        + header(":content-type", "application/json")
        + header(":message-type", kind),
        payload,
    )


def frame(event: str, payload: dict[str, Any]) -> bytes:
    return of_kind("event", event, json.dumps(payload, ensure_ascii=False).encode())


def exception(kind: str, payload: dict[str, Any]) -> bytes:
    return of_kind("exception", kind, json.dumps(payload).encode())


def error(code: str, words: str) -> bytes:
    headers = (
        header(":error-code", code) + header(":error-message", words) + header(":message-type", "error")
    )
    return message(headers, b"")
