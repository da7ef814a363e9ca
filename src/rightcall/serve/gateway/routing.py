"""Which place of a model is asked first, and which are avoided for a while.

Places are ordered by weighted rendezvous hashing of the key and the beginning of the conversation: each
gets its share of conversations, one conversation stays where its beginning is in the vendor's cache, and
a place that goes away moves only its own conversations.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from math import log
from typing import Generic, TypeVar

from rightcall.errors import RightcallError, TransportError, VendorError

_FIRST_REST, _LONGEST_REST = 1.0, 60.0
_SPAN = float(2**64)
_MOST_NAMES = 64
"""Models of one place whose health is tracked; limited, because clients choose their names."""
Target = TypeVar("Target")


class Health:
    """The recent failures of a place."""

    __slots__ = ("_clock", "failures", "refused_until", "rests_until")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.failures = 0
        self.rests_until = 0.0
        """Until then, other places are asked first."""
        self.refused_until = 0.0
        """Until then it must not be asked, as it said itself."""

    def worked(self) -> None:
        """Note that it answered."""
        self.failures = 0
        self.rests_until = self.refused_until = 0.0

    def failed(self, error: RightcallError) -> None:
        """Note that it failed: avoid it for a while, or for as long as it asked for."""
        if not is_its_fault(error):
            return
        now = self._clock()
        self.failures += 1
        rest = min(_FIRST_REST * 2.0 ** (self.failures - 1), _LONGEST_REST)
        asked = error.retry_after if isinstance(error, VendorError) else None
        if asked is not None and asked > 0:
            self.refused_until = now + asked
            rest = max(rest, asked)
        self.rests_until = now + rest

    @property
    def rest(self) -> float:
        """Seconds for which other places are asked first."""
        return max(self.rests_until - self._clock(), 0.0)

    @property
    def refusal(self) -> float:
        """Seconds for which it must not be asked at all."""
        return max(self.refused_until - self._clock(), 0.0)


def is_its_fault(error: RightcallError) -> bool:
    """Whether another place may do better: this one is down, busy or locked, and the request is fine."""
    if isinstance(error, VendorError):
        return error.retryable or error.kind in (
            *("rate_limit", "overloaded", "server", "timeout", "auth", "quota"),
        )
    return isinstance(error, TransportError)


class Candidate(Generic[Target]):
    """A place among others."""

    __slots__ = ("_name", "_named", "_salt", "health", "target", "weight")

    def __init__(self, name: str, target: Target, weight: float = 1.0) -> None:
        self.target = target
        self.weight = weight
        self.health = Health()
        self._name = name
        self._salt = name.encode()
        self._named: OrderedDict[str, Candidate[Target]] = OrderedDict()

    def named(self, model: str) -> "Candidate[Target]":
        """The candidate for one of its models: vendors are overloaded, and limit rates, per model."""
        found = self._named.get(model)
        if found is None:
            found = self._named[model] = Candidate(self._name, self.target, self.weight)
            if len(self._named) > _MOST_NAMES:
                self._named.popitem(last=False)
        else:
            self._named.move_to_end(model)
        return found

    def score(self, beginning: bytes) -> float:
        """The place's score for a conversation: the highest is asked first."""
        drawn = int.from_bytes(blake2b(beginning, digest_size=8, key=self._salt[:64]).digest(), "big")
        return -self.weight / log((drawn + 0.5) / _SPAN)


def ordered(candidates: Sequence[Candidate[Target]], beginning: bytes) -> tuple[Candidate[Target], ...]:
    """The candidates, best first: those that rest come last, those that refuse are left out."""
    willing = [each for each in candidates if not each.health.refusal]
    if len(willing) == 1:
        return tuple(willing)
    return tuple(sorted(willing, key=lambda each: (each.health.rest > 0, -each.score(beginning))))


def least_wait(candidates: Sequence[Candidate[Target]]) -> float:
    """Seconds until the first of the candidates may be asked again."""
    return min((each.health.refusal for each in candidates), default=0.0)
