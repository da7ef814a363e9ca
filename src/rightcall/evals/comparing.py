"""Tests whether the second of two configurations answers the same questions worse.

The same questions were asked both times, so only those count on which the two differ. McNemar's exact
test gives the probability of their split by chance. It is applied to all questions, and to each tool's
own: if one tool is called less, others are called more, and the total would hide it. That many tests
find something by chance, which Holm's correction accounts for.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rightcall.errors import UsageError
from rightcall.evals.intervals import Share, mcnemar
from rightcall.evals.scores import Scores
from rightcall.evals.verdict import Verdict

ALPHA = 0.05
"""The significance level: a split with a smaller p counts as a difference."""


class Paired(Struct, frozen=True, kw_only=True):
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
    choice: Paired
    whole: Paired | None = None
    """The choice and the arguments together; None if no arguments were judged."""
    by_tool: tuple[Paired, ...] = ()
    """The choice by expected tool, if there are several; p is corrected for their number."""
    alpha: float = ALPHA

    @property
    def regression(self) -> bool:
        """Whether the second is worse: in the choice, in the whole call, or for one tool."""
        whole = () if self.whole is None else (self.whole,)
        return any(each.is_worse(self.alpha) for each in (self.choice, *whole, *self.by_tool))


def compare(before: Scores, after: Scores, *, alpha: float = ALPHA) -> Comparison:
    """Compare the second with the first; both must be of the same cases."""
    if [each.id for each in before.verdicts] != [each.id for each in after.verdicts]:
        raise UsageError("a comparison needs the same cases both times, in the same order")
    if not 0 < alpha < 1:
        raise UsageError(f"alpha lies between 0 and 1, as 0.05; not {alpha}")
    has_arguments = any(each.arguments is not None for each in (*before.verdicts, *after.verdicts))
    return Comparison(
        before=before,
        after=after,
        choice=_paired("choice", before.verdicts, after.verdicts, lambda each: each.choice),
        whole=_paired("choice and arguments", before.verdicts, after.verdicts, lambda each: each.right)
        if has_arguments
        else None,
        by_tool=_by_tool(before.verdicts, after.verdicts),
        alpha=alpha,
    )


def _by_tool(before: Sequence[Verdict], after: Sequence[Verdict]) -> tuple[Paired, ...]:
    """Each tool's own questions, the smallest p first, with Holm's correction."""
    groups: dict[str, list[tuple[Verdict, Verdict]]] = {}
    for old, new in zip(before, after, strict=True):
        groups.setdefault(old.expected, []).append((old, new))
    if len(groups) == 1:
        return ()
    found = [
        _paired(tool, [old for old, _ in of], [new for _, new in of], lambda each: each.choice)
        for tool, of in groups.items()
    ]
    found.sort(key=lambda each: each.p)
    corrected, least = [], 0.0
    for at, each in enumerate(found):
        least = max(least, min(1.0, each.p * (len(found) - at)))
        corrected.append(replace(each, p=least))
    return tuple(corrected)


def _paired(
    what: str,
    before: Sequence[Verdict],
    after: Sequence[Verdict],
    is_right: Callable[[Verdict], bool],
) -> Paired:
    pairs = list(zip(before, after, strict=True))
    worse = tuple(old.id for old, new in pairs if is_right(old) and not is_right(new))
    better = tuple(old.id for old, new in pairs if is_right(new) and not is_right(old))
    return Paired(
        what=what,
        before=Share(sum(map(is_right, before)), len(before)),
        after=Share(sum(map(is_right, after)), len(after)),
        worse=worse,
        better=better,
        p=mcnemar(len(worse), len(better)),
    )
