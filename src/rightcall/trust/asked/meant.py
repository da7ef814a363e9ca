"""Which records in a dangerous call the user or the developer meant.

That a system lists a record is no order to act on it. A record is meant in one of three cases. First:
it, or something below it, contains a word that the person used and that at most half of its kind
contain, and no record beside it fits those words better. Second: it is the only one of its field in a
record that is meant. Third: all of its kind were asked for. In every case the act itself must also have
been asked for.
"""

from collections.abc import Collection, Iterator, Mapping
from itertools import islice

from rightcall.trust.asked.choosing import Choice
from rightcall.trust.asked.compared import is_extreme
from rightcall.trust.asked.conditions import MOST_RIVALS, Can, Conditions
from rightcall.trust.asked.described import Described, Kin
from rightcall.trust.asked.lacking import is_available
from rightcall.trust.asked.limits import about, is_within
from rightcall.trust.asked.records import Record, own_numbers
from rightcall.trust.asked.replacing import Replacing
from rightcall.trust.asked.requests import ANYTHING, is_any, is_restricted
from rightcall.trust.words.acts import Act
from rightcall.trust.words.counts import is_number
from rightcall.trust.words.describing import joined, nouns_of, stem, terms_of
from rightcall.trust.words.kinds import kind_of_name, words_of
from rightcall.trust.words.said import IDLE
from rightcall.trust.words.shifts import shifted


class Meant:
    """Which identifiers in one call were meant."""

    def __init__(
        self,
        described: Described,
        tool: str,
        act: Act,
        targets: Collection[str],
        values: Collection[str],
        can: Can,
        failed: Mapping[str, str],
    ) -> None:
        self._described = described
        self._targets = targets
        self._act = act
        self._object = stem(words_of(tool)[-1])
        self._values = frozenset(values)
        self._found = [record for value in self._values for _, record in described.records(value)]
        is_met = Conditions(described, self._found, can, failed).is_met
        self._asked = list(described.asked(self._act, is_met))
        self._met = [each for each in self._asked if each.lacking is not None]
        self._choice = Choice(described, self._found, self._values, failed)
        self.is_asked: bool = bool(self._asked)
        """Whether the act of the call was asked for."""
        self.is_exact: bool = act.gives
        """Whether an amount must be exactly one that was named; a smaller one is not enough."""
        found = self._found
        self._limits = about(described.limits(), found, described.known)
        self._nouns = {noun for record in found for noun in nouns_of(record.key)}
        self._replaced = frozenset(value for value in self._values if _is_inside(value, found))
        """Identifiers in the call that another record in it contains: those that others replace."""
        self._whole = [
            each
            for each in found
            if not self._is_new(each) and self._is_thing(each) and self._is_all(each.nouns, each)
        ]
        """The records of which all were asked for."""
        self._replacing = Replacing(described, self._said_of, self._limits, self._whole)
        self._told = frozenset(each for each in self._values if self._fits(each))
        """The identifiers that the words mean directly."""
        only = [each for each in self._values if self._is_only(each)]
        self._own = self._told.union(only, (each.value for each in self._whole))
        self._anchors = [record for record in found if record.value in self._own]
        # The order that alone holds what was described is meant, and so is the card it was paid with.
        self._anchors += [
            each for each in found if each.value not in self._own and self._holds(each.value)
        ]
        # "The whole order" is all of the one that is meant, and not every order.
        self._whole += [each for each in self._anchors if self._is_entire(each)]
        if act.is_listed and not act.undoes:
            self.is_asked = self.is_asked and self._is_affordable()

    def is_meant(self, value: str) -> bool:
        """Whether the record with this identifier was meant."""
        if self._choice.is_left(value) and not (self._met and value in self._choice.failed.values()):
            return False
        is_theirs = value in self._own or self._belongs(value) or self._holds(value)
        is_theirs = is_theirs or self._choice.is_the_other(value, self._anchors)
        return is_theirs and self._is_whole(value)

    def is_changed(self, name: str, value: str) -> bool:
        """Whether a change was asked for of what the tool's name says it changes: the card paid with.

        If one thing replaces another, both are described, and that is enough.
        """
        changed = [each for each in self._targets if self._object in nouns_of(each)]
        if self._act.undoes or not self._act.is_listed or changed != [name]:
            return True
        terms = {term for _, record in self._described.records(value) for term in record.terms}
        return any(
            (each.is_certain or each in self._met)
            and (self._object in each.words or not terms.isdisjoint(each.words - IDLE))
            for each in self._asked
        )

    def _is_affordable(self) -> bool:
        """Whether what is new is to be had, and keeps to every limit on its cost, as prices show."""
        new = [each for each in self._found if self._is_new(each)]
        old = [each for each in self._found if each.value in self._replaced and self._is_swapped([each])]
        if any(is_available(each) is False for each in new):
            return False
        return all(is_within(each, new, old) for each in self._limits)

    def is_released(self, value: str) -> bool:
        """Whether an identifier was only forbidden for another act: "do not ship W1, cancel it"."""
        return self._described.is_released(value)

    def is_for_another(self, value: str) -> bool:
        """Whether an identifier was written out, but only in a request for something else."""
        named = self._described.is_named
        is_here = named(value, self._act, self._nouns) or self.is_meant(value)
        return not is_here and named(value, Act(), set())

    def is_counted(self, name: str, number: float) -> bool:
        """Whether a number is at most the present one, or that plus the number asked for."""
        now = [each for anchor in self._anchors for each in anchor.held.get(name, ()) if is_number(each)]
        most = float(now[0]) if len(now) == 1 else 0
        wanted = self._described.wanted(nouns_of(name) | {self._object})
        return number <= most or any(number <= most + each for each in wanted)

    def numbers(self, names: Collection[str] = ()) -> set[int]:
        """How many were asked for of what the tool's name says, or the names of some parameters."""
        return {
            *self._described.wanted({self._object, *(noun for each in names for noun in nouns_of(each))})
        }

    def is_the_only(self, name: str, text: str) -> bool:
        """Whether all records that were read have this value in the field of this name."""
        return self._described.values_of(name) == {text}

    def says_now(self, name: str, text: str) -> bool:
        """Whether a meant record already has this value, and no other, in the field of this name."""
        return any(anchor.held.get(name) == {text} for anchor in self._anchors)

    def states(self, number: float) -> bool:
        """Whether a meant record has this number in a field for an amount."""
        return any(is_number(text) and float(text) == number for text in self._amounts())

    def has_amounts(self) -> bool:
        """Whether a meant record says what it is about in a field for an amount."""
        return any(map(is_number, self._amounts()))

    def _amounts(self) -> Iterator[str]:
        for anchor in self._anchors:
            for name, values in anchor.held.items():
                if kind_of_name(name) == "amount":
                    yield from values

    def is_shifted(self, name: str, day: str) -> bool:
        """Whether a day is as far from one in a meant record, in the field of this name, as was said."""
        days = [each for anchor in self._anchors for each in anchor.held.get(name, ())]
        return any(shifted(each, by) == day for by in self._described.shifts() for each in days)

    def _said_of(self, terms: set[str]) -> set[str]:
        return self._described.said_of(terms, self._act, self._nouns, self._met)

    def _is_thing(self, record: Record) -> bool:
        """Whether "all" may mean it: beside a record and its parts, nothing else is one of them."""
        made = [each for each in self._found if each.parts]
        return not made or any(each.value == record.value or record.value in each.parts for each in made)

    def _is_all(self, nouns: set[str], record: Record) -> bool:
        """Whether all things of this name were asked for, and this one was not excepted."""
        if self._is_excepted(record) or not self._described.knows_exceptions():
            return False
        return any(
            words == (ANYTHING,) or is_any(words, nouns, record.terms)
            for each in self._asked
            for words in each.all_of
        )

    def _is_entire(self, record: Record) -> bool:
        """Whether the whole of a record that is meant was asked for."""
        return self._described.knows_exceptions() and any(
            words == (ANYTHING,) or is_any(words, record.nouns, record.terms)
            for each in self._asked
            for words in each.whole_of
        )

    def _is_new(self, record: Record) -> bool:
        """Whether the record is to replace another of its list: "all" never means the replacements."""
        return record.value not in self._replaced and any(
            each.value in self._replaced for each in record.family[:MOST_RIVALS]
        )

    def _is_whole(self, value: str) -> bool:
        """Whether a record made of several parts is named itself, if a call undoes all of it."""
        if not self._act.undoes:
            return True
        return all(self._is_called(record) for _, record in self._described.records(value))

    def _is_called(self, record: Record) -> bool:
        if len(record.parts) < 2 or not record.parts.isdisjoint(self._values) or record in self._whole:  # noqa: PLR2004
            return True
        # Its own words and nouns name all of it; ``remove it from my order`` does not.
        names = (record.own | record.nouns) - self._described.general() - record.beside
        for each in self._asked:
            things = each.things | each.before if each.points_back(record.nouns) else each.things
            if each.is_one or not names.isdisjoint(things):
                return True
        return all(map(self._fits, record.parts))

    def _fits(self, value: str) -> bool:
        """Whether the words describe the record with this identifier directly."""
        if self._described.is_named(value, self._act, self._nouns):
            return True
        return any(
            self._said_of(own_numbers(record)) or self._is_described(kin, record)
            for kin, record in self._described.records(value)
        )

    def _is_only(self, value: str) -> bool:
        """Whether it is the only record of its kind, in lists that no hijacked model has narrowed."""
        kinds = [
            len(kin.members) == 1 and len(record.family) <= 1 and self._described.is_all_seen(kin, value)
            for kin, record in self._described.records(value)
        ]
        records = [record for _, record in self._described.records(value)]
        is_free = any(record.is_free for record in records) and all(map(self._is_object, records))
        return is_free and all(kinds) and not self._is_outdone(value)

    def _is_object(self, record: Record) -> bool:
        """Whether the act may have been asked for of this: "cancel my order" closes no account."""
        if not self._act.undoes or (len(self._values) > 1 and self._object not in record.nouns):
            return True
        others = self._described.nouns() - record.nouns
        return any(
            others.isdisjoint(each.words) or not record.nouns.isdisjoint(each.words)
            for each in self._asked
        )

    def _is_described(self, kin: Kin, record: Record) -> bool:
        whole = len(kin.members)
        if not self._described.is_all_seen(kin, record.value):
            return False
        if whole == 1 and self._is_outdone(record.value):
            return False
        if len(record.family) <= 1 and self._is_other_named(kin, record):
            return False
        is_new = record.value not in self._replaced
        family = record.family[:MOST_RIVALS]
        replaced = [each for each in family if is_new and each.value in self._replaced]
        if not replaced and (self._is_left_out(record) or self._choice.is_second(record.value)):
            return False
        if not replaced and self._act.undoes:
            is_compared = is_extreme(self._described.wishes(), record, self._members(kin))
            is_compared = self._is_measured(kin, record) if is_compared is None else is_compared
            if is_compared is not None:
                return is_compared
        is_ranked = not replaced and self._described.is_ranked(record.value)
        if is_ranked and self._said_of(record.context | record.terms):
            return True
        if len(replaced) == 1 and (wishes := self._replacing.wishes_for(record, replaced[0])):
            return self._replacing.is_compared(record, self._rivals(kin, record), replaced[0], wishes)
        old = [each.terms for each in replaced]
        # Words that fit the record it replaces do not describe it.
        idle = self._described.general().union(record.beside, *old) | self._named_by_others(record)
        said = self._said_of(record.terms) - idle
        others = self._rivals(kin, record)
        most = whole // 2 if len(record.family) <= MOST_RIVALS else 1
        is_alone = whole == 1 and record.is_free
        if not any(is_alone or kin.counts.get(term, 0) <= most for term in said):
            return bool(old) and self._replacing.is_best_in_one(record, others, replaced)
        rivals = [self._said_of(other.terms) - idle for other in others]
        if old:
            is_best = not any(len(said) < len(other) for other in rivals)
            return is_best or self._replacing.is_best_in_one(record, others, replaced)
        return not any(said < other or (said == other and self._is_one(record)) for other in rivals)

    def _is_measured(self, kin: Kin, record: Record) -> bool | None:
        """Whether it has as much of something as was said; None if nothing was, or it does not show."""
        if not record.parts.isdisjoint(self._values):
            return None
        for measure in (measure for each in self._asked for measure in each.measures):
            is_it = measure.fits(record.held)
            if is_it is None:
                continue
            others = [measure.fits(each.held) for each in self._members(kin) if each is not record]
            return is_it and (measure.is_any or not any(others))
        return None

    @staticmethod
    def _members(kin: Kin) -> list[Record]:
        return list(islice(kin.members.values(), MOST_RIVALS))

    def _is_left_out(self, record: Record) -> bool:
        """Whether all things of its sort were asked for that are as it is not: "all small shirts"."""
        terms = record.terms | record.context
        return any(
            is_restricted(words, terms)
            for each in self._asked
            for words in each.all_of
            if not record.terms.isdisjoint(words)
        )

    def _named_by_others(self, record: Record) -> set[str]:
        """The words in the other identifiers of the call: a credit card is not what an SD card is in."""
        others = [value for value in self._values if value != record.value]
        return {term for value in others for term in (*terms_of(value), *joined(value))}

    def _is_other_named(self, kin: Kin, record: Record) -> bool:
        """Whether somebody spelt out another of its kind, where this one was described at most."""
        spelt = self._described.said_of(kin.spelt, Act(), set())
        return bool(spelt) and not self._described.is_named(record.value, Act(), set())

    def _rivals(self, kin: Kin, record: Record) -> list[Record]:
        """The other records that may be meant: those in the same list, or of the same kind."""
        among = record.family
        if len(among) <= 1 and self._act.undoes:
            among = self._members(kin)
        return [
            other
            for other in among[:MOST_RIVALS]
            if other is not record
            and other.value not in self._values
            and other.key == record.key
            and other.flags == record.flags
        ]

    def _is_one(self, record: Record) -> bool:
        """Whether a call undoes something, and the request for it is about a single one."""
        plural = {f"{noun}s" for noun in record.nouns}
        return self._act.undoes and all(plural.isdisjoint(each.verbs) for each in self._asked)

    def _is_outdone(self, value: str) -> bool:
        """Whether another record in the same list fits the words better."""
        if self._choice.is_second(value):
            return True
        for _, record in self._described.records(value):
            said = self._said_of(record.terms)
            for other in record.family[:MOST_RIVALS]:
                is_left = other.value not in self._values and other.value not in self._choice.failed
                if is_left and said < self._said_of(other.terms):
                    return True
        return False

    def _belongs(self, value: str) -> bool:
        """Whether it is the only one of its field in a meant record, or all of them were asked for."""
        own = [record for _, record in self._described.records(value)]
        if any(value in whole.parts for whole in self._whole):
            return not any(self._is_excepted(record) for record in own)
        for anchor in self._anchors:
            for name, values in anchor.held.items():
                if value not in values:
                    continue
                is_kept = self._is_swapped(own) or self._choice.is_as_before(name, value)
                if len(values) == 1 and (is_kept or not self._is_outdone(value)):
                    return True
                if own and all(self._is_all(nouns_of(name), record) for record in own):
                    return True
        return False

    def _is_swapped(self, records: list[Record]) -> bool:
        """Whether another of its list takes its place: words that fit that one say nothing of it."""
        return any(
            other.value in self._values and other.value not in self._replaced
            for record in records
            for other in record.family[:MOST_RIVALS]
        )

    def _is_excepted(self, record: Record) -> bool:
        """Whether the words except a record from "all"; only its own do if a call lists its parts."""
        if not record.parts.isdisjoint(self._values):
            return bool(record.own & self._described.excepted() - IDLE - record.nouns)
        # What one result calls by its name may be in another by its number alone.
        same = [each for each in self._found if each.value == record.value]
        terms = set[str]().union(*[each.terms | each.context for each in same or [record]])
        return bool(terms & self._described.excepted() - IDLE - record.nouns)

    def _holds(self, value: str) -> bool:
        """Whether it is the only one of its kind with a part that is meant."""
        for kin, record in self._described.records(value):
            for anchor in self._anchors:
                if anchor.value not in self._told:
                    continue
                is_inside = anchor is not record and anchor.value in record.parts
                is_seen = self._described.is_all_seen(kin, record.value)
                if is_inside and is_seen and kin.holders.get((anchor.key, anchor.value)) == 1:
                    return True
        return False


def _is_inside(value: str, records: list[Record]) -> bool:
    """Whether one of the records, other than its own, contains an identifier."""
    return any(
        value in held for record in records if record.value != value for held in record.held.values()
    )
