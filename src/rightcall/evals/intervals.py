"""Confidence intervals, and a test of two shares of the same questions. Exact, without a library."""

from math import comb, sqrt
from typing import NamedTuple

_Z = 1.959963984540054
"""The normal distribution's 97.5% quantile, for a two-sided 5%."""


class Share(NamedTuple):
    """A share: so many of so many."""

    right: int
    of: int

    @property
    def value(self) -> float:
        """Between 0 and 1; 0 if there are none."""
        return self.right / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval. It stays between 0 and 1, even for few questions or none wrong."""
        if not self.of:
            return 0.0, 1.0
        spread = _Z * _Z / self.of
        middle = (self.value + spread / 2) / (1 + spread)
        half = _Z / (1 + spread) * sqrt((self.value * (1 - self.value) + spread / 4) / self.of)
        # At 0% and 100% the interval ends exactly there, which rounding would miss.
        low = 0.0 if self.right == 0 else max(0.0, middle - half)
        return low, 1.0 if self.right == self.of else min(1.0, middle + half)

    def __str__(self) -> str:
        if not self.of:
            return "0/0"
        low, high = self.interval
        return f"{self.right}/{self.of}  {self.value:4.0%}  [{low:.0%}, {high:.0%}]"


def mcnemar(worse: int, better: int) -> float:
    """The exact two-sided p-value: the probability of a split this uneven if there were no difference.

    ``worse`` and ``better`` are the questions on which the two differ; the others do not count.
    """
    of = worse + better
    tail = sum(comb(of, at) for at in range(min(worse, better) + 1))
    # In integers: two to the power of many questions overflows a float.
    return min(1.0, 2 * tail / (1 << of))
