"""Whether a key may ask now, and a model be asked: rate, concurrency, the day's tokens and dollars.

Requests under way have not been counted yet, so each reserves what it is expected to use until it is
over. Otherwise a hundred that come at once would spend a day's limit a hundred times.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

from msgspec import Struct

from rightcall.errors import VendorError
from rightcall.serve.gateway.keys import Key
from rightcall.serve.gateway.settings import Served
from rightcall.serve.gateway.spend import Spend, Spent

_DAY = 86_400.0


def today(now: float) -> str:
    """The day of a moment, in UTC, by which usage is counted."""
    return _named(int(now // _DAY))


@lru_cache(maxsize=4)
def _named(day: int) -> str:
    return datetime.fromtimestamp(day * _DAY, UTC).date().isoformat()


def until_tomorrow(now: float) -> float:
    """Seconds until the next day."""
    return _DAY - now % _DAY


class Expected(Struct, frozen=True, gc=False):
    """What a request is expected to use."""

    tokens: int = 0
    dollars: float = 0.0


class _Use:
    """The state of a key or a model: its bucket of requests, those under way, what they reserve."""

    __slots__ = ("at", "dollars", "left", "tokens", "under_way")

    def __init__(self, left: float = 0.0, at: float = 0.0) -> None:
        self.left = left
        self.at = at
        self.under_way = 0
        self.tokens = 0
        self.dollars = 0.0

    def enter(self, expected: Expected) -> None:
        self.under_way += 1
        self.tokens += expected.tokens
        self.dollars += expected.dollars

    def leave(self, expected: Expected) -> None:
        self.under_way -= 1
        self.tokens -= expected.tokens
        # Sums of floats leave rounding errors, so the sum is reset when nothing is under way.
        self.dollars = self.dollars - expected.dollars if self.under_way else 0.0


class Allowances:
    """The limits of keys and of models, compared with what was used of them."""

    def __init__(self, spend: Spend, clock: Callable[[], float] = time.time) -> None:
        self._spend = spend
        self._clock = clock
        self._keys: dict[str, _Use] = {}
        self._models: dict[str, _Use] = {}

    def enter(self, key: Key, expected: Expected) -> Expected:
        """Admit a request; returns what it reserves until it leaves. Raises VendorError at a limit."""
        allowed, now = key.allowed, self._clock()
        use = self._use(key, now)
        spent = self._spend.of(today(now), key.name)
        _check("this key has", use, spent, allowed.tokens_per_day, allowed.dollars_per_day, now)
        if allowed.concurrency is not None and use.under_way >= allowed.concurrency:
            raise _too_much("this key has", f"{allowed.concurrency} requests at once", 1.0)
        if allowed.per_minute is not None:
            if use.left < 1.0:
                words = f"{allowed.per_minute:g} requests a minute"
                raise _too_much("this key has", words, (1.0 - use.left) * 60 / allowed.per_minute)
            use.left -= 1.0
        held = _usual(spent, expected)
        use.enter(held)
        return held

    def leave(self, key: Key, held: Expected) -> None:
        """End a request, and release what it reserved."""
        if (use := self._keys.get(key.id)) is not None:
            use.leave(held)

    def refusal(self, name: str, served: Served) -> VendorError | None:
        """Why a model may not be asked now; None if it may."""
        if not served.has_budget:
            return None
        now = self._clock()
        spent, use = self._spend.of_model(today(now), name), self._models.get(name) or _Use()
        try:
            _check(f"{name} has", use, spent, served.tokens_per_day, served.dollars_per_day, now)
        except VendorError as error:
            return error
        return None

    def hold(self, name: str, served: Served, expected: Expected) -> Expected | None:
        """Reserve part of a model's limits for a request; returns what is reserved, until ``let_go``."""
        if not served.has_budget:
            return None
        held = _usual(self._spend.of_model(today(self._clock()), name), expected)
        self._models.setdefault(name, _Use()).enter(held)
        return held

    def let_go(self, name: str, held: Expected | None) -> None:
        """Release what a request reserved of a model's limits."""
        if held is not None:
            self._models[name].leave(held)

    def _use(self, key: Key, now: float) -> _Use:
        most = key.allowed.per_minute
        # A minute's requests may come at once; a rate below one a minute still admits one.
        full = max(most or 0.0, 1.0)
        use = self._keys.get(key.id)
        if use is None:
            use = self._keys[key.id] = _Use(full, now)
        if most is not None:
            use.left = min(full, use.left + max(now - use.at, 0.0) * most / 60)
        use.at = now
        return use


def _usual(spent: Spent, expected: Expected) -> Expected:
    """What a request is assumed to use: its estimate, or the average of earlier ones if that is more."""
    if not spent.requests:
        return expected
    tokens = max(expected.tokens, spent.tokens // spent.requests)
    return Expected(tokens, max(expected.dollars, spent.dollars / spent.requests))


def _check(
    whose: str, use: _Use, spent: Spent, tokens: int | None, dollars: float | None, now: float
) -> None:
    if tokens is not None and spent.tokens + use.tokens >= tokens:
        wait = until_tomorrow(now) if spent.tokens >= tokens else 1.0
        raise _too_much(whose, f"{tokens:,} tokens a day", wait)
    if dollars is not None and spent.dollars + use.dollars >= dollars:
        wait = until_tomorrow(now) if spent.dollars >= dollars else 1.0
        raise _too_much(whose, f"{dollars:g} dollars a day", wait)


def _too_much(whose: str, limit: str, wait: float) -> VendorError:
    return VendorError(
        f"{whose} used up its limit of {limit}",
        kind="rate_limit",
        status=429,
        retryable=True,
        retry_after=round(wait, 1),
    )
