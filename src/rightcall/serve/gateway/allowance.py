"""Whether a key may ask now: its rate, its day's tokens and dollars, its concurrency."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

from rightcall.errors import VendorError
from rightcall.serve.gateway.keys import Key
from rightcall.serve.gateway.spend import Spend

_DAY = 86_400.0


def today(now: float) -> str:
    """The day of a moment, where days are counted: in UTC."""
    return _named(int(now // _DAY))


@lru_cache(maxsize=4)
def _named(day: int) -> str:
    return datetime.fromtimestamp(day * _DAY, UTC).date().isoformat()


def until_tomorrow(now: float) -> float:
    """Seconds until the next day."""
    return _DAY - now % _DAY


class _Use:
    """What a key is doing: its bucket of requests, and how many are under way."""

    __slots__ = ("at", "left", "under_way")

    def __init__(self, left: float, at: float) -> None:
        self.left = left
        self.at = at
        self.under_way = 0


class Allowances:
    """The keys' limits, held against what they have used."""

    def __init__(self, spend: Spend, clock: Callable[[], float] = time.time) -> None:
        self._spend = spend
        self._clock = clock
        self._uses: dict[str, _Use] = {}

    def enter(self, key: Key) -> None:
        """Let a request pass, and count it as under way; a VendorError where a limit is reached."""
        allowed, now = key.allowed, self._clock()
        spent = self._spend.of(today(now), key.name)
        if allowed.tokens_per_day is not None and spent.tokens >= allowed.tokens_per_day:
            raise _too_much(f"{allowed.tokens_per_day:,} tokens a day", until_tomorrow(now))
        if allowed.dollars_per_day is not None and spent.dollars >= allowed.dollars_per_day:
            raise _too_much(f"{allowed.dollars_per_day:g} dollars a day", until_tomorrow(now))
        use = self._use(key, now)
        if allowed.concurrency is not None and use.under_way >= allowed.concurrency:
            raise _too_much(f"{allowed.concurrency} requests at once", 1.0)
        if allowed.per_minute is not None:
            if use.left < 1.0:
                raise _too_much(
                    f"{allowed.per_minute:g} requests a minute",
                    (1.0 - use.left) * 60 / allowed.per_minute,
                )
            use.left -= 1.0
        use.under_way += 1

    def leave(self, key: Key) -> None:
        """The request is over."""
        if (use := self._uses.get(key.id)) is not None:
            use.under_way -= 1

    def _use(self, key: Key, now: float) -> _Use:
        most = key.allowed.per_minute
        # A minute's requests may come at once; a rate below one a minute still lets one pass.
        full = max(most or 0.0, 1.0)
        use = self._uses.get(key.id)
        if use is None:
            use = self._uses[key.id] = _Use(full, now)
        if most is not None:
            use.left = min(full, use.left + max(now - use.at, 0.0) * most / 60)
        use.at = now
        return use


def _too_much(limit: str, wait: float) -> VendorError:
    return VendorError(
        f"this key has used up its limit of {limit}",
        kind="rate_limit",
        status=429,
        retryable=True,
        retry_after=round(wait, 1),
    )
