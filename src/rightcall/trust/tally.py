"""Counts what the calls of a task have used up: once for a run, the runs inside it and its resumptions.

A call that is part of the reply that is being answered reserves what it uses; its result says whether it
ran. What an inner run has used is part of the result of the call that it is, so that the counts follow
from the transcript alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Use: TypeAlias = tuple[str, float]
"""What a call uses up: the name of a count, and how much."""

_collected: ContextVar[list[Use] | None] = ContextVar("uses", default=None)


@contextmanager
def collect_uses() -> Iterator[list[Use]]:
    """Collect what the inner runs in this context use up."""
    uses: list[Use] = []
    token = _collected.set(uses)
    try:
        yield uses
    finally:
        _collected.reset(token)


class Tally:
    """What one task has used up. ``above`` is that of the outer run, which counts the same."""

    def __init__(self, above: "Tally | None" = None) -> None:
        self._used = Counter[str]()
        if above is not None:
            self._used = above._used  # noqa: SLF001
        self._reserved: dict[str, tuple[Use, ...]] = {}
        if above is not None:
            self._reserved = above._reserved  # noqa: SLF001
        self._mine: dict[str, None] = {}
        self._collected = None if above is None else _collected.get()

    def used(self, name: str, but: str = "") -> float:
        """How much of a count is used or reserved, by all calls but one."""
        whole = float(self._used[name])
        for call_id, uses in self._reserved.items():
            if call_id != but:
                whole += sum([amount for each, amount in uses if each == name])
        return whole

    def reserve(self, call_id: str, uses: tuple[Use, ...]) -> None:
        """Reserve what a call of the present reply uses up."""
        if uses:
            self._reserved[call_id] = uses
            self._mine[call_id] = None
        else:
            self.release(call_id)

    def release(self, call_id: str) -> None:
        """Give back what a call had reserved."""
        self._reserved.pop(call_id, None)
        self._mine.pop(call_id, None)

    def reserved_for(self, call_id: str) -> tuple[Use, ...]:
        """What a call has reserved."""
        return self._reserved.get(call_id, ())

    def is_reserved(self, call_id: str) -> bool:
        """Whether a call has reserved anything."""
        return call_id in self._reserved

    def end_reply(self) -> None:
        """Give back what calls of this run had reserved and did not use."""
        for call_id in self._mine:
            self._reserved.pop(call_id, None)
        self._mine.clear()

    def count(self, uses: Iterable[Use]) -> None:
        """Count what was used up."""
        uses = tuple(uses)
        for name, amount in uses:
            self._used[name] += amount  # type: ignore[assignment] # amounts need not be whole
        if self._collected is not None:
            self._collected.extend(uses)
