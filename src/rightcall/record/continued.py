"""Histories that an earlier run of the same journal holds already: written once, and named after that.

Each run of a conversation is given everything that was said before. Written out every time, a journal
would grow with the square of a conversation. So the start of a run whose first messages are those that
an earlier run started with names that run, and is written with what is new since then; whoever reads it
gets it whole. A digest in each start tells by its messages which run that is, also to other processes.
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
"""How the text of a start that has a digest begins."""
DIGITS: Final = 32
_DIGEST = re.compile(STARTED + rb"([0-9a-f]{%d})" % DIGITS)
_FEWEST = 3
"""Messages that a history must have to be worth a name."""
_TRIED = 64
"""Places in a history, the latest ones, where an earlier run may have started."""
_DEEPEST = 100_000
"""Runs of one conversation; more of them are a circle, which nobody writes."""
_plain = msgspec.msgpack.Encoder().encode


def digested(start: RunStarted) -> tuple[RunStarted, Mapping[str, int]]:
    """A start with the digest of its messages, and the digests of those that it may go on from.

    Each is given with how many messages it is of, the longest first. A run starts with what a user said,
    so only such messages can be the last of an earlier start.
    """
    messages = start.messages
    digest, found = blake2b(digest_size=DIGITS // 2), dict[str, int]()
    try:
        for number, message in enumerate(messages, 1):
            digest.update(_plain(message))
            if isinstance(message, User):
                found[digest.hexdigest()] = number
    except (OverflowError, UnicodeEncodeError):
        # What has to be written in another way, as half a surrogate pair, is written whole.
        return start, {}
    if not messages or not isinstance(messages[-1], User):
        return start, {}
    latest = islice(reversed(found.items()), _TRIED)
    earlier = {each: number for each, number in latest if number >= _FEWEST}
    return replace(start, digest=digest.hexdigest()), earlier


def continued(start: RunStarted, run: str, number: int) -> RunStarted:
    """The start, of whose messages the first ones are those of another run's start."""
    after = After(run=run, messages=number)
    return replace(start, messages=start.messages[number:], after=after, version=CONTINUED)


def digest_in(text: bytes) -> str | None:
    """The digest in the text of an entry, if it is a start that has one."""
    found = _DIGEST.match(text)
    return None if found is None else found[1].decode()


def whole(
    entries: Sequence[Entry], start_of: Callable[[str], RunStarted | None], where: str
) -> Sequence[Entry]:
    """The entries of a run with all of its history.

    ``start_of`` gives another run's start as it is written; None where there is none to be read.
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
