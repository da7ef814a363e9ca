"""Answers to identical deterministic requests, cached in memory for a while. Off unless configured.

A request is deterministic when its temperature is 0 or it has a seed. Keys share nothing: an immediate
answer would reveal to one what another has asked.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b

from msgspec import Struct

from rightcall.serve.gateway.exchange import Exchange

_MOST_BYTES = 64 * 1024 * 1024
_LARGEST = 1024 * 1024
_ASKING = ("anthropic-version", "anthropic-beta", "openai-beta")
"""Headers that change the answer."""


class Kept(Struct, frozen=True, gc=False):
    """An answer as it was given."""

    data: bytes
    until: float


class Cache:
    """The cached answers; the oldest are evicted."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[bytes, Kept] = OrderedDict()
        self._size = 0

    def get(self, exchange: Exchange) -> bytes | None:
        """The cached answer to the same request."""
        name = _name(exchange)
        kept = self._kept.get(name)
        if kept is None:
            return None
        if kept.until < self._clock():
            self._forget(name)
            return None
        self._kept.move_to_end(name)
        return kept.data

    def put(self, exchange: Exchange, data: bytes, seconds: float) -> None:
        """Cache an answer."""
        if len(data) > _LARGEST:
            return
        name = _name(exchange)
        self._forget(name)
        self._kept[name] = Kept(data, self._clock() + seconds)
        self._size += len(data)
        while self._size > _MOST_BYTES:
            self._forget(next(iter(self._kept)))

    def _forget(self, name: bytes) -> None:
        if (kept := self._kept.pop(name, None)) is not None:
            self._size -= len(kept.data)


def _name(exchange: Exchange) -> bytes:
    http = exchange.http
    place = f"{exchange.key.id} {exchange.endpoint.dialect} {http.path} {sorted(http.query.items())}"
    place += str([http.headers.get(name) for name in _ASKING])
    return blake2b(place.encode() + b"\n" + exchange.body, digest_size=32).digest()
