"""Verdicts into figures: what was right by tool, what was taken for what, what was made up, the cost."""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from rightcall.core.parts import Usage
from rightcall.evals.intervals import Share
from rightcall.evals.verdict import Verdict


class Scores(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a model made of cases."""

    title: str
    verdicts: tuple[Verdict, ...]
    tools: int = 0
    """How many tools were offered with a question; the most, where that differs."""

    @property
    def choice(self) -> Share:
        """The questions for which the right tools were called, and no other."""
        return Share(sum(each.choice for each in self.verdicts), len(self.verdicts))

    @property
    def arguments(self) -> Share:
        """Of those with the right choice whose arguments were judged: the ones with the right ones."""
        judged = [each.arguments for each in self.verdicts if each.arguments is not None]
        return Share(sum(judged), len(judged))

    @property
    def by_tool(self) -> Mapping[str, Share]:
        """The choice by expected tool, in the order of the cases."""
        return {
            tool: Share(sum(each.choice for each in of), len(of)) for tool, of in self._groups.items()
        }

    def worst(self, most: int) -> Mapping[str, Share]:
        """``by_tool`` where there are few; of more, those with the most wrong, these first."""
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
        """What was expected, what was called in its place, and how often; the most frequent first."""
        wrong = [(each.expected, each.called) for each in self.verdicts if not each.choice]
        return [(expected, called, n) for (expected, called), n in Counter(wrong).most_common()]

    @property
    def invented(self) -> Mapping[str, int]:
        """The names that were called and are no tool's, each with how often."""
        return Counter(name for each in self.verdicts for name in each.invented)

    @property
    def usage(self) -> Usage:
        """What all of it cost."""
        return sum((each.usage for each in self.verdicts), Usage())

    @property
    def errors(self) -> Sequence[Verdict]:
        """The questions that got no reply."""
        return [each for each in self.verdicts if each.error]

    @property
    def _groups(self) -> Mapping[str, list[Verdict]]:
        groups: dict[str, list[Verdict]] = {}
        for each in self.verdicts:
            groups.setdefault(each.expected, []).append(each)
        return groups
