"""Turns what ``-a`` names (a file, standard input or an address) into parts of a prompt.

Text becomes text, under its name; anything else is sent unchanged, with its media type.
"""

import mimetypes
import sys
from pathlib import Path
from urllib.parse import urlsplit

from rightcall.core.media_type import ANY_BYTES, kind_of, sniff
from rightcall.core.parts import Media, Text
from rightcall.core.transport import Incoming, Timeouts
from rightcall.errors import RightcallError, UsageError
from rightcall.transport.http import HttpTransport

MOST_BYTES = 32 * 1024 * 1024
"""The largest attachment, in bytes. No vendor takes more."""
_OK = 200


async def attachment(place: str) -> Text | Media:
    """The part for an attachment."""
    if place.startswith(("http://", "https://")):
        return await _fetched(place)
    return _read(place)


def _read(place: str) -> Text | Media:
    if place == "-":
        return part_of(_bounded(sys.stdin.buffer.read(MOST_BYTES + 1), "standard input"), "", None)
    path = Path(place).expanduser()
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"-a {place}: {error.strerror}") from error
    return part_of(_bounded(data, place), mimetypes.guess_type(path.name)[0] or "", path.name)


def part_of(data: bytes, media_type: str, name: str | None) -> Text | Media:
    """Detects the type of bytes: by signature, by declared type, else as text if they decode."""
    told = sniff(data)
    kind = told if told != ANY_BYTES else media_type
    if not kind or kind_of(kind) == "text":
        try:
            text = data.decode()
        except UnicodeDecodeError:
            kind = ANY_BYTES
        else:
            return Text(f"{name}:\n{text}" if name else text)
    return Media(data, kind, name)


async def _fetched(url: str) -> Text | Media:
    carrier = HttpTransport()
    try:
        async with carrier.get(
            url, headers={"user-agent": "rightcall"}, timeouts=Timeouts(whole=60.0)
        ) as incoming:
            status, headers = incoming.status, incoming.headers
            data = await _body(incoming)
    except RightcallError as error:
        raise UsageError(f"-a {url}: {error}") from error
    finally:
        await carrier.close()
    if status != _OK:
        raise UsageError(f"-a {url}: the server answered with status {status}")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return part_of(_bounded(data, url), kind, urlsplit(url).path.rpartition("/")[2] or None)


async def _body(incoming: Incoming) -> bytes:
    """The body, up to slightly more than the limit."""
    pieces, size = [], 0
    async for chunk in incoming.chunks:
        pieces.append(chunk)
        size += len(chunk)
        if size > MOST_BYTES:
            break
    return b"".join(pieces)


def _bounded(data: bytes, place: str) -> bytes:
    if len(data) > MOST_BYTES:
        raise UsageError(f"-a {place}: more than {MOST_BYTES:,} bytes are taken by no model")
    if not data:
        raise UsageError(f"-a {place}: is empty")
    return data
