"""Stores a conversation's history once per journal: later runs refer to the run that holds it.

Each run of a conversation is given all earlier messages. If every run stored them, a journal would grow
with the square of a conversation. So if a run's first messages are those that an earlier run started
with, its RunStarted refers to that run and holds only the new messages; readers get all of them. A
digest of the messages in each RunStarted identifies that run, also for other processes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Final

import msgspec
from msgspec.structs import replace

from rightcall.core.entry import CONTINUED, VERSION, After, Entry, RunStarted
from rightcall.core.message import User
from rightcall.errors import JournalError

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


def digested(start: RunStarted) -> tuple[RunStarted, Mapping[str, int]]:
    """Returns a RunStarted with the digest of its messages, and the digests of possible predecessors.

    Each comes with its number of messages, the longest first. A run starts with a user message, so only
    at such messages can an earlier run have started.
    """
    messages = start.messages
    digest, found = blake2b(digest_size=DIGITS // 2), dict[str, int]()
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


def continued(start: RunStarted, run: str, number: int) -> RunStarted:
    """Returns the RunStarted with its first messages replaced by a reference to another run."""
    after = After(run=run, messages=number)
    return replace(start, messages=start.messages[number:], after=after, version=CONTINUED)


def digest_in(text: bytes) -> str | None:
    """Returns the digest in the text of an entry, if it is a RunStarted that has one."""
    found = _DIGEST.match(text)
    return None if found is None else found[1].decode()


def whole(
    entries: Sequence[Entry], start_of: Callable[[str], RunStarted | None], where: str
) -> Sequence[Entry]:
    """Returns the entries of a run with all of its history.

    ``start_of`` returns another run's RunStarted as stored; None if there is none to be read.
    """
    start = entries[0] if entries else None
    if not isinstance(start, RunStarted) or not start.digest:
        return entries
    return (_whole(start, start_of, where), *entries[1:])


def _whole(start: RunStarted, start_of: Callable[[str], RunStarted | None], where: str) -> RunStarted:
    parts, after = [start.messages], start.after
    while after is not None:
        named = start_of(after.run) if len(parts) <= _DEEPEST else None
        before = 0 if named is None or named.after is None else named.after.messages
        if named is None or len(named.messages) + before != after.messages:
            reason = f"its history is that of the run {after.run!r}, whose start is not in this journal"
            raise JournalError(where, reason)
        parts.append(named.messages)
        after = named.after
    messages = tuple([message for part in reversed(parts) for message in part])
    return replace(start, messages=messages, after=None, digest="", version=VERSION)
