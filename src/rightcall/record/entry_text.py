"""Encodes entries as JSON text and decodes them, for the journals in files.

A conversation's history is stored once per journal: later runs refer to the run that holds it. Each run
of a conversation is given all earlier messages. If every run stored them, a journal would grow with the
square of a conversation. So if a run's first messages are those that an earlier run started with, its
RunStarted refers to that run and holds only the new messages; readers get all of them. A digest of the
messages in each RunStarted identifies that run, also for other processes.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from itertools import islice
from typing import Final, TypeAlias, get_args

import msgspec
from msgspec.structs import replace

from rightcall.core.entry import CONTINUED, VERSION, EarlierMessages, Entry, RunStarted
from rightcall.core.message import User
from rightcall.core.secret_formats import may_be_secret
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
        if redact is not None:
            plain = redact(plain)
        try:
            text = msgspec.json.encode(plain)
        except UnicodeEncodeError:
            # Half a surrogate pair, from a file name, a model's reply or a careless tool. It can be
            # written as an escape, and a replay then sees what the run saw.
            text = json.dumps(plain, separators=(",", ":"), default=_base64).encode()
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
        try:
            entry = _entries().decode(text)
        except msgspec.DecodeError:
            if not _HALF.search(text):
                raise
            # msgspec refuses half a surrogate pair; the standard library does not.
            entry = msgspec.convert(json.loads(text), Entry)
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


STARTED: Final = b'{"type":"run_started","digest":"'
"""How the text of a RunStarted with a digest begins."""
DIGITS: Final = 32
_DIGEST = re.compile(STARTED + rb"([0-9a-f]{%d})" % DIGITS)
_FEWEST = 3
"""The fewest messages of a history that are replaced by a reference."""
_TRIED = 64
"""How many places in a history, the latest ones, are tried as the start of an earlier run."""
_DEEPEST = 100_000
"""The most runs of one conversation; more mean circular references, which no journal writes."""
_plain = msgspec.msgpack.Encoder().encode


def add_digest(start: RunStarted) -> tuple[RunStarted, Mapping[str, int]]:
    """Returns a RunStarted with the digest of its messages, and the digests of possible predecessors.

    Each comes with its number of messages, the longest first. A run starts with a user message, so only
    at such messages can an earlier run have started.
    """
    messages = start.messages
    digest = blake2b(digest_size=DIGITS // 2)
    found = dict[str, int]()
    try:
        for number, message in enumerate(messages, 1):
            digest.update(_plain(message))
            if isinstance(message, User):
                found[digest.hexdigest()] = number
    except (OverflowError, UnicodeEncodeError):
        # Messages that cannot be encoded like this, such as half a surrogate pair, are stored whole.
        return start, {}
    if not messages or not isinstance(messages[-1], User):
        return start, {}
    latest = islice(reversed(found.items()), _TRIED)
    earlier = {each: number for each, number in latest if number >= _FEWEST}
    return replace(start, digest=digest.hexdigest()), earlier


def refer_to_run(start: RunStarted, run: str, number: int) -> RunStarted:
    """Returns the RunStarted with its first messages replaced by a reference to another run."""
    after = EarlierMessages(run=run, messages=number)
    return replace(start, messages=start.messages[number:], after=after, version=CONTINUED)


def digest_in(text: bytes) -> str | None:
    """Returns the digest in the text of an entry, if it is a RunStarted that has one."""
    found = _DIGEST.match(text)
    if found is None:
        return None
    return found[1].decode()


def restore_history(
    entries: Sequence[Entry], start_of: Callable[[str], RunStarted | None], where: str
) -> Sequence[Entry]:
    """Returns the entries of a run with all of its history.

    ``start_of`` returns another run's RunStarted as stored; None if there is none to be read.
    """
    start = entries[0] if entries else None
    if not isinstance(start, RunStarted) or not start.digest:
        return entries
    parts = [start.messages]
    after = start.after
    while after is not None:
        named = start_of(after.run) if len(parts) <= _DEEPEST else None
        before = 0
        if named is not None and named.after is not None:
            before = named.after.messages
        if named is None or len(named.messages) + before != after.messages:
            reason = f"its history is that of the run {after.run!r}, whose start is not in this journal"
            raise JournalError(where, reason)
        parts.append(named.messages)
        after = named.after
    messages = tuple([message for part in reversed(parts) for message in part])
    whole = replace(start, messages=messages, after=None, digest="", version=VERSION)
    return (whole, *entries[1:])
