"""Computes figures from verdicts: right by tool, confusions, invented names, the cost."""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from rightcall.core.parts import Usage
from rightcall.evals.intervals import Share
from rightcall.evals.verdict import Verdict


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
        judged = [each.arguments for each in self.verdicts if each.arguments is not None]
        return Share(sum(judged), len(judged))

    @property
    def by_tool(self) -> Mapping[str, Share]:
        """The choice by expected tool, in the order of the cases."""
        return {
            tool: Share(sum(each.choice for each in of), len(of)) for tool, of in self._groups.items()
        }

    def worst(self, most: int) -> Mapping[str, Share]:
        """``by_tool`` if there are few; otherwise the ``most`` tools with most wrong, worst first."""
        shares = self.by_tool
        if len(shares) <= most:
            return shares
        return dict(sorted(shares.items(), key=lambda each: each[1].right - each[1].of)[:most])

    @property
    def arguments_by_tool(self) -> Mapping[str, Share]:
        """The arguments by expected tool."""
        judged = {
            tool: [each.arguments for each in of if each.arguments is not None]
            for tool, of in self._groups.items()
        }
        return {tool: Share(sum(each), len(each)) for tool, each in judged.items()}

    @property
    def confusions(self) -> Sequence[tuple[str, str, int]]:
        """Confusions: the expected tool, the called one, and how often; the most frequent first."""
        wrong = [(each.expected, each.called) for each in self.verdicts if not each.choice]
        return [(expected, called, n) for (expected, called), n in Counter(wrong).most_common()]

    @property
    def invented(self) -> Mapping[str, int]:
        """The called names that are no tool's, each with its count."""
        return Counter(name for each in self.verdicts for name in each.invented)

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
