"""How sure a share is, and whether two shares of the same questions differ. Exact, and no library."""

from math import comb, sqrt
from typing import NamedTuple

_Z = 1.959963984540054
"""The normal distribution's 97.5%: what lies outside on both sides is 5%."""


class Share(NamedTuple):
    """So many of so many."""

    right: int
    of: int

    @property
    def value(self) -> float:
        """Between 0 and 1; 0 of nothing."""
        return self.right / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval. It stays between 0 and 1, also for few questions or none wrong."""
        if not self.of:
            return 0.0, 1.0
        spread = _Z * _Z / self.of
        middle = (self.value + spread / 2) / (1 + spread)
        half = _Z / (1 + spread) * sqrt((self.value * (1 - self.value) + spread / 4) / self.of)
        # What is all right or all wrong has its end there, which rounding would miss.
        low = 0.0 if self.right == 0 else max(0.0, middle - half)
        return low, 1.0 if self.right == self.of else min(1.0, middle + half)

    def __str__(self) -> str:
        if not self.of:
            return "0/0"
        low, high = self.interval
        return f"{self.right}/{self.of}  {self.value:4.0%}  [{low:.0%}, {high:.0%}]"


def mcnemar(worse: int, better: int) -> float:
    """How likely so uneven a split would be if there were no difference: exact, on both sides.

    ``worse`` and ``better`` are the questions on which the two differ; the others say nothing.
    """
    of = worse + better
    tail = sum(comb(of, at) for at in range(min(worse, better) + 1))
    # As whole numbers: two to the power of many questions is more than a float holds.
    return min(1.0, 2 * tail / (1 << of))
