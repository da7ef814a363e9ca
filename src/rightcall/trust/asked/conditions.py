"""Whether the condition of a request is met, as far as trusted records and the tools answer it.

What they do not answer counts as not met: a hijacked model may claim anything.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from rightcall.trust.asked.described import Described
from rightcall.trust.asked.lacking import Lacking, is_lacking
from rightcall.trust.asked.records import Record
from rightcall.trust.words.acts import act_of, sort_of
from rightcall.trust.words.describing import nouns_of, stem, terms_of
from rightcall.trust.words.kinds import words_of
from rightcall.trust.words.said import IDLE

MOST_RIVALS = 100
"""Records of one list that are compared, at most. In a longer list, only a unique word describes one."""
Can: TypeAlias = Callable[[str, str, Collection[Record]], bool]
"""Whether a tool does what a verb asks for to what a noun names, and the house does it to them."""


class Conditions:
    """The conditions of requests, for a call that names some records."""

    def __init__(
        self, described: Described, found: Sequence[Record], can: Can, failed: Mapping[str, str]
    ) -> None:
        self._described = described
        self._found = found
        self._can = can
        self._failed = failed
        """What would not do in an otherwise same call, with what takes its place."""

    def is_met(self, wish: Lacking) -> bool:
        """Whether a wish cannot be met, or whether what is to be done first was done.

        It cannot if no tool does it, if it was tried in vain, or if no offer for a part is wanted.
        """
        if wish.done:
            return self._is_done(wish)
        if wish.act:
            return self._has_failed(wish.act) or self._is_impossible(wish.act)
        found = [is_lacking(wish, each.family[:MOST_RIVALS], each) for each in self._parts()]
        known = [each for each in found if each is not None]
        return bool(known) and all(known)

    def _parts(self) -> list[Record]:
        """The parts of the records in the call, as every result shows them."""
        parts = {part for each in self._found for part in each.parts}
        return [each for part in sorted(parts) for _, each in self._described.records(part)]

    def _is_done(self, wish: Lacking) -> bool:
        """Whether an act ran with something that the words mean."""
        known = self._described.known({*wish.words} - IDLE)
        return bool(known) and any(
            each.is_done
            and act_of(each.tool).is_asked((wish.done,))
            and known <= self._terms(each.values)
            for each in self._described.attempts()
        )

    def _has_failed(self, act: str) -> bool:
        """Whether nothing that the words mean would do, in the place of what the call has instead."""
        own = {t for each in self._found for t in each.terms - self._terms(self._failed)}
        known = self._described.known({*terms_of(act)}) - own - self._described.nouns()
        for value in dict.fromkeys(self._failed.values()):
            family = [
                each for _, of in self._described.records(value) for each in of.family[:MOST_RIVALS]
            ]
            wanted = [each.value for each in family if each.value != value and known <= each.terms]
            if wanted and self._failed.keys() >= {*wanted}:
                return True
        return False

    def _terms(self, values: Collection[str]) -> set[str]:
        return {t for each in values for _, of in self._described.records(each) for t in of.terms}

    def _is_impossible(self, act: str) -> bool:
        """Whether no tool does an act, or the house does not do it to the records in the call."""
        words = set(map(stem, words_of(act)))
        verbs = [each for each in sorted(words) if sort_of(each) is not None]
        nouns = words & self._described.nouns()
        if "part" in words:
            nouns = {noun for each in self._parts() for noun in nouns_of(each.key)}
        if nouns:
            return bool(verbs) and not any(self._can(a, b, ()) for a in verbs for b in nouns)
        # Words for something else than what the call is about: nothing is known of that.
        if not self._described.known({*terms_of(act)}) <= {
            t for each in self._found for t in each.terms
        }:
            return False
        nouns = {noun for each in self._found for noun in nouns_of(each.key)}
        return bool(verbs and nouns) and not any(
            self._can(a, b, self._found) for a in verbs for b in nouns
        )
