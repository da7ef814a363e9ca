"""Which of the records in a call that does harm a person's words mean.

That a system lists something is no order to act on it. It is meant where it, or what hangs below it,
holds a word that the person used and that at most half of its kind hold, and nothing beside it fits
those words better; where it is the only one of its field in something that is meant; or where all of it
was asked for. And somebody must have asked for what is done to it.
"""

from collections.abc import Collection

from rightcall.trust.acts import acts_of
from rightcall.trust.counts import is_number
from rightcall.trust.described import Described, Kin
from rightcall.trust.records import Record, nouns_of

_MOST_RIVALS = 100
"""Records in one list that are compared. Among more, only a word that no other holds describes one."""


class Meant:
    """What of the identifiers in one call was meant."""

    def __init__(self, described: Described, tool: str, values: Collection[str]) -> None:
        self._described = described
        self._acts = acts_of(tool)
        self._values = frozenset(values)
        self.is_asked: bool = described.is_act_asked(self._acts)
        """Whether somebody asked for what the call does."""
        found = [record for value in self._values for _, record in described.records(value)]
        self._whole = [each for each in found if described.is_all_of(each.nouns)]
        """All of these was asked for."""
        self._replaced = frozenset(value for value in self._values if _is_inside(value, found))
        """What the call names and something else in it holds: what others take the place of."""
        own = {each.value for each in self._whole} | {each for each in self._values if self._fits(each)}
        self._own = frozenset(own)
        self._anchors = [record for record in found if record.value in own]

    def is_meant(self, value: str) -> bool:
        """Whether somebody's words mean what has this identifier."""
        return value in self._own or self._belongs(value) or self._holds(value)

    def is_for_another(self, value: str) -> bool:
        """Whether an identifier was spelt out, but where something else was asked for."""
        named = self._described.is_named
        return named(value, ()) and not named(value, self._acts) and not self.is_meant(value)

    def is_counted(self, name: str, number: float) -> bool:
        """Whether somebody wants so many, or so many more than there are now."""
        now = [each for anchor in self._anchors for each in anchor.held.get(name, ()) if is_number(each)]
        most = float(now[0]) if len(now) == 1 else 0
        wanted = self._described.wanted(nouns_of(name))
        return number <= most or any(number <= most + each for each in wanted)

    def says_now(self, name: str, text: str) -> bool:
        """Whether what is meant holds this in a field of this name already, and nothing else there."""
        return any(anchor.held.get(name) == {text} for anchor in self._anchors)

    def _said_of(self, terms: set[str]) -> set[str]:
        return self._described.said_of(terms, self._acts)

    def _fits(self, value: str) -> bool:
        """Whether somebody's words describe what has an identifier, by itself."""
        if self._described.is_named(value, self._acts):
            return True
        return any(self._is_described(kin, record) for kin, record in self._described.records(value))

    def _is_described(self, kin: Kin, record: Record) -> bool:
        whole = len(kin.members)
        if whole == 1 and len(record.family) == 1:
            return True
        if self._described.is_ranked(record.value) and self._said_of(record.context | record.terms):
            return True
        is_new = record.value not in self._replaced
        family = record.family[:_MOST_RIVALS]
        old = [each.terms for each in family if is_new and each.value in self._replaced]
        # Words that fit what it takes the place of say nothing of it.
        idle = self._described.general().union(*old)
        said = self._said_of(record.terms) - idle
        most = whole // 2 if len(record.family) <= _MOST_RIVALS else 1
        if not any(whole == 1 or kin.counts.get(term, 0) <= most for term in said):
            return False
        rivals = [
            self._said_of(other.terms) - idle
            for other in family
            if other.value not in self._values
            and other.key == record.key
            and other.flags == record.flags
        ]
        return not any(len(said) < len(other) if old else said < other for other in rivals)

    def _belongs(self, value: str) -> bool:
        """Whether it is the only one of its field in what is meant, or all of them were asked for."""
        if any(value in values for whole in self._whole for values in whole.held.values()):
            return True
        for anchor in self._anchors:
            for name, values in anchor.held.items():
                if value in values and (len(values) == 1 or self._described.is_all_of(nouns_of(name))):
                    return True
        return False

    def _holds(self, value: str) -> bool:
        """Whether it, and nothing else of its kind, holds something that is meant."""
        for kin, record in self._described.records(value):
            for anchor in self._anchors:
                is_inside = anchor is not record and anchor.value in record.held.get(anchor.key, ())
                if is_inside and kin.holders.get((anchor.key, anchor.value)) == 1:
                    return True
        return False


def _is_inside(value: str, records: list[Record]) -> bool:
    """Whether one of some records, and not itself, holds an identifier."""
    return any(
        value in held for record in records if record.value != value for held in record.held.values()
    )
