"""The amounts that a run has sent to each target: naming 50 once does not permit 50 again and again."""

from collections import Counter
from collections.abc import Iterator

from rightcall.core.jsontext import JsonValue, leaves
from rightcall.trust.facts import Settled
from rightcall.trust.words.counts import is_number
from rightcall.trust.words.plain import plain

_NO_GOAL = ("amount", "date")


class Paid:
    """The amounts of the calls that ran, summed by target."""

    def __init__(self, above: "Paid | None" = None) -> None:
        self._sums: Counter[str] = Counter() if above is None else above._sums  # noqa: SLF001
        """One sum for a run and its inner runs: they spend what the same user named."""

    def __bool__(self) -> bool:
        """Whether anything was paid."""
        return bool(self._sums)

    def add(self, arguments: JsonValue, facts: Settled) -> None:
        """Add the amounts of a call that may have run."""
        if isinstance(arguments, dict):
            amount = sum(_amounts(arguments, facts))
            for goal in {*_goals(arguments, facts)} if amount else ():
                self._sums[goal] += amount  # type: ignore[assignment] # amounts need not be whole

    def to(self, arguments: JsonValue, facts: Settled) -> float:
        """The amount that already went to a target of the call; the largest, if it has several."""
        if not self._sums or not isinstance(arguments, dict):
            return 0
        return max((self._sums[goal] for goal in _goals(arguments, facts)), default=0)


def _amounts(arguments: dict[str, JsonValue], facts: Settled) -> Iterator[float]:
    for place, text in leaves(arguments):
        if facts.is_amount(place) and is_number(text):
            yield abs(float(text))


def _goals(arguments: dict[str, JsonValue], facts: Settled) -> Iterator[str]:
    for name in facts.targets:
        kind = facts.kinds.get(name, facts.guessed.get(name))
        if name not in facts.sources and name not in facts.bounded and kind not in _NO_GOAL:
            for place, text in leaves(arguments.get(name), (name,)):
                if not facts.is_amount(place):
                    yield plain(text).strip().lower()
