"""Whether a model is going round in circles: the same calls, or the same cycle of calls, again."""

import hashlib
from collections.abc import Sequence

from msgspec.json import Encoder

from rightcall.core.call import Call
from rightcall.core.jsontext import JsonError, parse

_sorted = Encoder(order="sorted").encode

LONGEST_CYCLE = 4
"""Turns in the longest cycle that is looked for."""


def signature(calls: Sequence[Call]) -> str:
    """A short text that is the same for the same calls with the same arguments, however written."""
    told = repr([(call.name, canonical(call.arguments)) for call in calls])
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


def extended(trail: tuple[str, ...], latest: str, repeats: int) -> tuple[str, ...]:
    """The trail with the latest turn, as long as it is of any use."""
    return (*trail, latest)[-LONGEST_CYCLE * max(repeats, 2) :]


def is_circling(trail: Sequence[str], repeats: int) -> bool:
    """Whether the trail ends in ``repeats`` rounds of one cycle; one round alone repeats nothing."""
    repeats = max(repeats, 2)
    return any(_repeats(trail, length, repeats) for length in range(1, LONGEST_CYCLE + 1))


def _repeats(trail: Sequence[str], length: int, repeats: int) -> bool:
    end = trail[-length * repeats :]
    if len(end) < length * repeats:
        return False
    return all(end[at] == end[at - length] for at in range(length, len(end)))


def canonical(arguments: str) -> str:
    """Arguments as text that is the same however they were written."""
    try:
        value = parse(arguments or "{}")
    except JsonError:
        return arguments
    return _sorted(value).decode()
