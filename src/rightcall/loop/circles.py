"""Detects a model that goes round in circles: the same calls, or the same cycle of calls, again."""

import hashlib
from collections.abc import Sequence

from msgspec.json import Encoder

from rightcall.core.call import Call
from rightcall.core.jsontext import JsonError, parse

_sorted = Encoder(order="sorted").encode

LONGEST_CYCLE = 4
"""The longest cycle that is detected, in turns."""


def signature(calls: Sequence[Call]) -> str:
    """Returns a short hash that is equal for the same calls with equal arguments, however formatted."""
    told = repr([(call.name, canonical(call.arguments)) for call in calls])
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


def extended(trail: tuple[str, ...], latest: str, repeats: int) -> tuple[str, ...]:
    """Returns the trail with the latest turn, cut to the length that ``is_circling`` needs."""
    return (*trail, latest)[-LONGEST_CYCLE * max(repeats, 2) :]


def is_circling(trail: Sequence[str], repeats: int) -> bool:
    """Whether the trail ends in ``repeats`` rounds of one cycle, two at least."""
    repeats = max(repeats, 2)
    if len(trail) < repeats:
        return False
    return any(_repeats(trail, length, repeats) for length in range(1, LONGEST_CYCLE + 1))


def _repeats(trail: Sequence[str], length: int, repeats: int) -> bool:
    end = trail[-length * repeats :]
    if len(end) < length * repeats:
        return False
    return all(end[at] == end[at - length] for at in range(length, len(end)))


def canonical(arguments: str) -> str:
    """Returns arguments as text that is equal however they were formatted."""
    try:
        value = parse(arguments or "{}")
    except JsonError:
        return arguments
    return _sorted(value).decode()
