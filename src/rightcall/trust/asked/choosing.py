"""Which of several ways to pay was meant, where the words say it by the one that a record holds.

"The other card" is another than the order was paid with; a second choice counts once the first has
failed.
"""

from collections.abc import Collection, Mapping, Sequence

from rightcall.trust.asked.conditions import MOST_RIVALS
from rightcall.trust.asked.described import Described
from rightcall.trust.asked.paying import Other
from rightcall.trust.asked.records import Record
from rightcall.trust.words.acts import Act
from rightcall.trust.words.describing import initials_of, nouns_of, terms_of
from rightcall.trust.words.kinds import words_of
from rightcall.trust.words.said import IDLE


class Choice:
    """What was said of the ways to pay, for one call."""

    def __init__(
        self,
        described: Described,
        found: Sequence[Record],
        values: Collection[str],
        failed: Mapping[str, str],
    ) -> None:
        self._described = described
        self._found = found
        """The records in the call."""
        self._values = values
        self.failed = failed
        """What would not do in an otherwise same call, with what takes its place."""

    def _records(self, value: str) -> list[Record]:
        return [record for _, record in self._described.records(value)]

    def is_left(self, value: str) -> bool:
        """Whether a record in the call has it now, and somebody asks for another: the other card."""
        rest = [each for each in self._found if each.value != value]
        if any(value in each.parts for each in rest):
            return False
        held = ((name, values) for each in rest for name, values in each.held.items())
        return any(self._is_another_wanted(name, value) for name, values in held if values == {value})

    def _is_another_wanted(self, name: str, value: str) -> bool:
        others = [other for each in self._described.paying() for other in each.others]
        return any(self._is_about(each, name, value) for each in others)

    def _is_about(self, other: Other, name: str, value: str) -> bool:
        """Whether a wish for another is about what is in a field, and about this call."""
        terms = nouns_of(name).union(terms_of(value))
        if other.nouns.isdisjoint(terms):
            return False
        rest = set[str]().union(*[each.terms for each in self._found if each.value != value])
        known = self._described.known({*other.words} - terms - IDLE)
        return not known or not known.isdisjoint(rest - terms)

    def is_as_before(self, name: str, value: str) -> bool:
        """Whether what is in a field is to stay as it is."""
        terms = nouns_of(name).union(terms_of(value))
        return any(not each.as_before.isdisjoint(terms) for each in self._described.paying())

    def is_the_other(self, value: str, anchors: Sequence[Record]) -> bool:
        """Whether it is the only other one of its sort than the one in a record that is meant."""
        for record in self._records(value):
            sorts = {each.value: _sort(each.value) for each in record.family[:MOST_RIVALS]}
            for name, values in ((name, held) for each in anchors for name, held in each.held.items()):
                used = next(iter(values)) if len(values) == 1 else value
                if used == value or used not in sorts or not self._is_another_wanted(name, used):
                    continue
                if [each for each in sorts if each != used and sorts[each] == sorts[used]] == [value]:
                    return True
        return False

    def is_second(self, value: str) -> bool:
        """Whether it was named only for the case that another does not do: "my card, or else PayPal"."""
        sure, said_of = self._described.surely_said_of, self._described.said_of
        if any(value in each.parts for each in self._found):
            return False
        rest = set[str]().union(*[each.rest for each in self._described.paying()])
        records = self._records(value)
        if not any(said_of({*terms_of(record.value)}, Act(), set()) for record in records):
            return False
        if any(not rest.isdisjoint(record.terms) for record in records):
            return False
        return not any(sure({*terms_of(record.value)}) for record in records) and any(
            sure({*terms_of(other.value), initials_of(other.value)})
            for record in records
            for other in record.family[:MOST_RIVALS]
            if other.value not in self._values and other.value not in self.failed
        )


def _sort(value: str) -> tuple[str, ...]:
    """The words of an identifier, which say of what sort it is: ``credit_card_77``."""
    return tuple(word for word in words_of(value) if word.isalpha())
