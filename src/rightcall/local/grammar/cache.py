"""What was made once, kept for the next time: a bounded, thread-safe memory of grammars.

Keys are structures: a digest of what a schema admits. Two toolboxes that differ in descriptions share
a grammar. A schema's digest is remembered by its identity, so that asking again costs a look-up.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import blake2b
from threading import Lock
from typing import Generic, TypeVar

from rightcall.core.jsontext import JsonObject, dump
from rightcall.local.grammar.structure import structure

Kept = TypeVar("Kept")

MOST_KEPT = 256
"""How many grammars are kept; the one that was not asked for the longest goes first."""
_MOST_DIGESTS = 4096


class Memory(Generic[Kept]):
    """The last so many things that were asked for, by key."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """What is kept under a key; made now if nothing is. Two threads may make the same at once."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            kept = self._kept.setdefault(key, made)
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return kept

    def __len__(self) -> int:
        with self._lock:
            return len(self._kept)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()


_digests: Memory[tuple[JsonObject, bytes]] = Memory(_MOST_DIGESTS)


def digest(schema: JsonObject) -> bytes:
    """The same for schemas that admit the same by the same words in the same order."""
    # The schema is kept beside its digest: while it is, no other object can have its identity.
    return _digests.get(id(schema), lambda: (schema, _digest(schema)))[1]


def _digest(schema: JsonObject) -> bytes:
    return blake2b(dump(structure(schema)).encode(), digest_size=16).digest()
