"""Encodes entries as JSON text and decodes them, for the journals in files."""

import json
import re
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from typing import TypeAlias, get_args

import msgspec

from rightcall.core.entry import CONTINUED, Entry, RunStarted
from rightcall.core.secret import may_be_secret
from rightcall.errors import JournalError, UsageError
from rightcall.record.redact import redact_secrets

Redact: TypeAlias = Callable[[object], object]
"""Takes the plain form of an entry, in which bytes stay bytes, and returns the one to be written."""

_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_PACK = msgspec.msgpack.Encoder()
_MUCH = 16 * 1024
_KINDS = {kind.__struct_config__.tag for kind in get_args(Entry)}


class _Head(msgspec.Struct):
    """The fields that every entry of every version has."""

    type: str
    version: int = 0


_HEAD = msgspec.json.Decoder(_Head)


@cache
def _entries() -> msgspec.json.Decoder[Entry]:
    """Made for the first entry: it reads the types of everything that an entry can hold."""
    return msgspec.json.Decoder(Entry)


def encode(entry: Entry, redact: Redact | None, where: str, packed: bytes | None = None) -> bytes:
    """Encode one entry as JSON on a single line, redacted, and checked that it can be decoded."""
    if packed is not None and redact is redact_secrets and not may_be_secret(packed):
        text = msgspec.json.encode(entry)
    else:
        plain: object = msgspec.to_builtins(entry, builtin_types=(bytes,))
        text = _dump(plain if redact is None else redact(plain))
    decode(text, f"{where}, an entry about to be written")
    return text


def pack(entry: Entry) -> bytes | None:
    """Encode an entry as MessagePack, to find quickly its size and whether it may hold secrets.

    None for an entry with a number or half a surrogate pair that MessagePack cannot hold.
    """
    try:
        return _PACK.encode(entry)
    except (OverflowError, UnicodeEncodeError):
        return None


def is_large(packed: bytes | None) -> bool:
    """Whether encoding an entry may take long: all of it is searched for secrets."""
    return packed is None or len(packed) > _MUCH


def decode(text: bytes, where: str) -> Entry:
    """Decode an entry; ``where`` is for the JournalError if it cannot be decoded."""
    try:
        entry = _read(text)
    except (ValueError, RecursionError) as error:
        raise JournalError(where, _explain(text, error)) from None
    if isinstance(entry, RunStarted) and entry.version > CONTINUED:
        raise JournalError(where, _too_new(entry.version))
    return entry


def is_foreign(text: bytes) -> bool:
    """Whether it is an entry of a newer rightcall, and not a damaged one."""
    try:
        head = _HEAD.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return head.version > CONTINUED or head.type not in _KINDS


def check_name(run: str) -> str:
    """Returns the name of a run, if a file can hold it; UsageError if not."""
    try:
        run.encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"no journal can hold a run named {run!r}: half of a surrogate pair is no text. "
            "Name it otherwise"
        ) from None
    return run


def _dump(plain: object) -> bytes:
    try:
        return msgspec.json.encode(plain)
    except UnicodeEncodeError:
        # Half a surrogate pair, from a file name, a model's reply or a careless tool. It can be written
        # as an escape, and a replay then sees what the run saw.
        return json.dumps(plain, separators=(",", ":"), default=_base64).encode()


def _read(text: bytes) -> Entry:
    try:
        return _entries().decode(text)
    except msgspec.DecodeError:
        if not _HALF.search(text):
            raise
        # msgspec refuses half a surrogate pair; the standard library does not.
        return msgspec.convert(json.loads(text), Entry)  # type: ignore[no-any-return]


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


def _explain(text: bytes, error: Exception) -> str:
    try:
        head = _HEAD.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return f"this is not an entry: {error}"
    if head.version > CONTINUED:
        return _too_new(head.version)
    if head.type not in _KINDS:
        return f"an entry of the kind {head.type!r}, which this rightcall does not know; is it older?"
    return f"a damaged entry of the kind {head.type!r}: {error}"


def _too_new(version: int) -> str:
    return f"a record of version {version}; this rightcall reads up to version {CONTINUED}"
