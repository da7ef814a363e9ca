"""Computes figures from verdicts: right by tool, confusions, invented names, the cost.

Confidence intervals, and the test of two shares of the same questions, are exact, without a library.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import comb, sqrt
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.parts import Usage
from rightcall.errors import UsageError
from rightcall.evals.judgement import Verdict

_Z = 1.959963984540054
"""The normal distribution's 97.5% quantile, for a two-sided 5%."""


class Share(NamedTuple):
    """A share: so many of so many."""

    right: int
    of: int

    @property
    def value(self) -> float:
        """Between 0 and 1; 0 if there are none."""
        if self.of:
            return self.right / self.of
        return 0.0

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


class Scores(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The verdicts on a model's replies to cases."""

    title: str
    verdicts: tuple[Verdict, ...]
    tools: int = 0
    """How many tools were offered with a question; the maximum, if that differs."""

    @property
    def choice(self) -> Share:
        """The questions for which exactly the right tools were called."""
        return Share(sum(each.choice for each in self.verdicts), len(self.verdicts))

    @property
    def arguments(self) -> Share:
        """Of those with the right choice and judged arguments: the ones with the right arguments."""
        return _share_of_arguments(self.verdicts)

    @property
    def by_tool(self) -> Mapping[str, Share]:
        """The choice by expected tool, in the order of the cases."""
        shares = {}
        for tool, of in self._groups.items():
            shares[tool] = Share(sum(each.choice for each in of), len(of))
        return shares

    def worst(self, most: int) -> Mapping[str, Share]:
        """``by_tool`` if there are few; otherwise the ``most`` tools with most wrong, worst first."""
        shares = self.by_tool
        if len(shares) <= most:
            return shares
        return dict(sorted(shares.items(), key=lambda each: each[1].right - each[1].of)[:most])

    @property
    def arguments_by_tool(self) -> Mapping[str, Share]:
        """The arguments by expected tool."""
        return {tool: _share_of_arguments(of) for tool, of in self._groups.items()}

    @property
    def confusions(self) -> Sequence[tuple[str, str, int]]:
        """Confusions: the expected tool, the called one, and how often; the most frequent first."""
        pairs = Counter[tuple[str, str]]()
        for each in self.verdicts:
            if not each.choice:
                pairs[each.expected, each.called] += 1
        return [(*pair, count) for pair, count in pairs.most_common()]

    @property
    def invented(self) -> Mapping[str, int]:
        """The called names that are no tool's, each with its count."""
        names = Counter[str]()
        for each in self.verdicts:
            names.update(each.invented)
        return names

    @property
    def usage(self) -> Usage:
        """The total cost."""
        return sum((each.usage for each in self.verdicts), Usage())

    @property
    def errors(self) -> Sequence[Verdict]:
        """The questions without a reply."""
        return [each for each in self.verdicts if each.error]

    @property
    def _groups(self) -> Mapping[str, list[Verdict]]:
        groups: dict[str, list[Verdict]] = {}
        for each in self.verdicts:
            groups.setdefault(each.expected, []).append(each)
        return groups


def _share_of_arguments(verdicts: Sequence[Verdict]) -> Share:
    judged = []
    for each in verdicts:
        if each.arguments is not None:
            judged.append(each.arguments)
    return Share(sum(judged), len(judged))


ALPHA = 0.05
"""The significance level: a split with a smaller p counts as a difference."""


class PairedMeasure(Struct, frozen=True, kw_only=True):
    """One measure, judged in both configurations."""

    what: str
    before: Share
    after: Share
    worse: tuple[str, ...]
    """The cases that were right before and are wrong now."""
    better: tuple[str, ...]
    p: float
    """The two-sided p-value: the probability of a split this uneven if there were no difference."""

    def is_worse(self, alpha: float = ALPHA) -> bool:
        """Whether it became significantly worse."""
        return len(self.worse) > len(self.better) and self.p <= alpha


class Comparison(Struct, frozen=True, kw_only=True):
    """The effect of a change on the choice, and on the whole call."""

    before: Scores
    after: Scores
    choice: PairedMeasure
    whole: PairedMeasure | None = None
    """The choice and the arguments together; None if no arguments were judged."""
    by_tool: tuple[PairedMeasure, ...] = ()
    """The choice by expected tool, if there are several; p is corrected for their number."""
    alpha: float = ALPHA

    @property
    def regression(self) -> bool:
        """Whether the second is worse: in the choice, in the whole call, or for one tool."""
        for each in (self.choice, self.whole, *self.by_tool):
            if each is not None and each.is_worse(self.alpha):
                return True
        return False


def compare(before: Scores, after: Scores, *, alpha: float = ALPHA) -> Comparison:
    """Compare the second with the first; both must be of the same cases.

    The same questions were asked both times, so only those count on which the two differ. McNemar's
    exact test gives the probability of their split by chance. It is applied to all questions, and to
    each tool's own: if one tool is called less, others are called more, and the total would hide it.
    That many tests find something by chance, which Holm's correction accounts for.
    """
    if [each.id for each in before.verdicts] != [each.id for each in after.verdicts]:
        raise UsageError("a comparison needs the same cases both times, in the same order")
    if not 0 < alpha < 1:
        raise UsageError(f"alpha lies between 0 and 1, as 0.05; not {alpha}")
    pairs = list(zip(before.verdicts, after.verdicts, strict=True))
    whole = None
    if any(old.arguments is not None or new.arguments is not None for old, new in pairs):
        whole = _compare_measure("choice and arguments", pairs, lambda each: each.right)
    return Comparison(
        before=before,
        after=after,
        choice=_compare_measure("choice", pairs, lambda each: each.choice),
        whole=whole,
        by_tool=_by_tool(pairs),
        alpha=alpha,
    )


def _by_tool(pairs: Sequence[tuple[Verdict, Verdict]]) -> tuple[PairedMeasure, ...]:
    """Each tool's own questions, the smallest p first, with Holm's correction."""
    groups: dict[str, list[tuple[Verdict, Verdict]]] = {}
    for old, new in pairs:
        groups.setdefault(old.expected, []).append((old, new))
    if len(groups) == 1:
        return ()
    measures = [_compare_measure(tool, of, lambda each: each.choice) for tool, of in groups.items()]
    measures.sort(key=lambda each: each.p)
    corrected = []
    least = 0.0
    for at, each in enumerate(measures):
        least = max(least, min(1.0, each.p * (len(measures) - at)))
        corrected.append(replace(each, p=least))
    return tuple(corrected)


def _compare_measure(
    what: str, pairs: Sequence[tuple[Verdict, Verdict]], is_right: Callable[[Verdict], bool]
) -> PairedMeasure:
    worse = []
    better = []
    both = 0
    for old, new in pairs:
        if is_right(old) and is_right(new):
            both += 1
        elif is_right(old):
            worse.append(old.id)
        elif is_right(new):
            better.append(old.id)
    return PairedMeasure(
        what=what,
        before=Share(both + len(worse), len(pairs)),
        after=Share(both + len(better), len(pairs)),
        worse=tuple(worse),
        better=tuple(better),
        p=mcnemar(len(worse), len(better)),
    )
