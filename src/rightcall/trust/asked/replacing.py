"""Whether what is to replace something is what was described: by other words, or by a comparison."""

from collections.abc import Callable, Sequence

from rightcall.trust.asked.compared import Wishes, applies, fitting, topmost, words_compared
from rightcall.trust.asked.described import Described
from rightcall.trust.asked.limits import Limit, is_within
from rightcall.trust.asked.records import Record


class Replacing:
    """What was said of the things that are to replace others, for one call."""

    def __init__(
        self,
        described: Described,
        said_of: Callable[[set[str]], set[str]],
        limits: Sequence[Limit],
        whole: Sequence[Record],
    ) -> None:
        self._described = described
        self._said_of = said_of
        """Those of some words that were said of what the call is about."""
        self._limits = limits
        self._whole = whole
        """The records of which all were asked for."""

    def is_best_in_one(
        self, record: Record, rivals: Sequence[Record], replaced: Sequence[Record]
    ) -> bool:
        """Whether one sentence about such things describes it best, and else it is most as before."""
        names = record.context - self._described.general()
        idle = self._described.general().union(record.beside, *[each.terms for each in replaced])

        def fits(thing: Record, words: frozenset[str]) -> tuple[int, int]:
            alike = max(len(thing.traits.items() & each.traits.items()) for each in replaced)
            return len(thing.terms & words - idle), alike

        for words in self._described.sentences():
            own = (0, 0) if names.isdisjoint(words) else fits(record, words)
            if own[0] and all(own > fits(other, words) for other in rivals):
                return True
        return False

    def wishes_for(self, record: Record, now: Record) -> list[Wishes]:
        """The comparisons that single out what is to replace a record."""
        names = record.context - self._described.general()
        others = set[str]().union(*[kin.names for kin, _ in self._described.records(now.value)]) - names
        is_all = any(each.value == now.value for each in self._whole)
        found = [
            each.of(names, others)
            for each in self._described.wishes()
            if is_all or each.names(names, others)
        ]
        return found if any(applies(each, now.traits) for each in found) else []

    def is_compared(
        self, record: Record, rivals: Sequence[Record], now: Record, wishes: Sequence[Wishes]
    ) -> bool:
        """Whether it fits the comparisons, then the words best, and is otherwise most as before."""
        things = [record, *rivals]
        traits, left = [each.traits for each in things], list(range(len(things)))
        for each in wishes:
            fit = fitting(each, traits, now.traits)
            left = [at for at in left if at in fit]
        for limit in self._limits:
            left = [at for at in left if is_within(limit, [things[at]], [now])]
        idle = now.terms.union(
            self._described.general(), record.beside, *[each.numbers for each in wishes]
        )
        orders = [order for each in wishes for _, order in each.preferred]
        said = {at: self._said_of(things[at].terms) - idle.union(*orders) for at in left}
        left = [at for at in left if len(said[at]) == max(map(len, said.values()))]
        for order in orders:
            places = {at: _place_in(order, things[at].terms) for at in left}
            left = [at for at in left if places[at] == min(places.values())]
        # Of these, what was said of the old one as well: a shorter one of bamboo.
        same = now.terms.difference(words_compared(wishes, now.traits), *orders)
        kept = {at: len(self._said_of(things[at].terms & same)) for at in left}
        left = [at for at in left if kept[at] == max(kept.values())]
        for each in wishes:
            left = topmost(each, traits, left)
        alike = {at: len(traits[at].items() & now.traits.items()) for at in left}
        return [at for at in left if alike[at] == max(alike.values())] == [0]


def _place_in(order: tuple[str, ...], terms: set[str]) -> int:
    """The place of the first of some words, in order of preference, that a record contains."""
    return next((at for at, word in enumerate(order) if word in terms), len(order))
