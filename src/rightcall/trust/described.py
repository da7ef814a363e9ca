"""Which of the records that a run has seen a person's words describe: the order with the bookshelf.

That a system lists something is no order to act on it. It is meant where it, or what hangs below it, holds
a word that the person used and that not all of its kind hold; where nothing beside it fits those words
better; where it is the only one of its field in something that is meant; or where all of it was asked for.

Adding a result costs its own length. Looking up a record costs what was said of it.
"""

import re
from collections.abc import Collection, Iterable, Iterator

import msgspec
from msgspec import Struct, field

from rightcall.core.parts import Result
from rightcall.trust.acts import is_asked
from rightcall.trust.counts import counts_in, is_number, is_same_noun
from rightcall.trust.facts import Settled
from rightcall.trust.provenance import opened
from rightcall.trust.records import Reading, Record, codes_in, joined, nouns_of, stem, terms_of
from rightcall.trust.said import clauses

_ALL = re.compile(
    r"\b(?:all|every|both|entire|whole|each)\b((?:[\s-]+(?!(?:and|but|or|to|for|in|on|with|is|are)\b)\w+){1,4})",
    re.IGNORECASE,
)
_EVERYTHING = re.compile(r"\beverything\b(?!\s+(?:is|was|will|goes|else|about))", re.IGNORECASE)
_ANYTHING = "*"


class _Kind(Struct, eq=False):
    """The records of one kind: of one tool, by one field."""

    members: dict[str, Record] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    """Of how many each word is said."""
    holders: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many hold something, by its field."""


class Described:
    """The records that there are, and what was said of them. ``above``: of the run that this is inside."""

    def __init__(self, above: "Described | None" = None) -> None:
        self._said: set[str] = set()
        self._whole: set[str] = set()
        """Of what all was asked for, by its noun."""
        self._codes: dict[str, frozenset[str]] = {}
        self._kinds: dict[tuple[str, str], _Kind] = {}
        self._by_value: dict[str, list[tuple[_Kind, Record]]] = {}
        self._ranked: set[str] = set()
        """What somebody singled out by its rank."""
        self._general: set[str] = set()
        """What results say of whoever they are about as a whole: it describes none of the records."""
        self._counts: list[tuple[int, frozenset[str]]] = []
        """How many somebody wants, with the words that follow: of what."""
        self._above = above

    def choose(self, value: str) -> None:
        """Take in that an identifier is that of something with a rank that somebody named."""
        self._ranked.add(value)

    def hear(self, text: str) -> None:
        """Take in the words of somebody who may order something."""
        for part in clauses(text):
            if part.forbidden:
                continue
            self._said.update(terms_of(part.text))
            self._said.update(joined(part.text))
            for found in _ALL.finditer(part.text):
                self._whole.update(stem(word) for word in found[1].lower().split())
            self._counts += counts_in(part.text)
            if _EVERYTHING.search(part.text):
                self._whole.add(_ANYTHING)

    def see(self, result: Result, facts: Settled) -> None:
        """Take in what a trusted result says of its records."""
        try:
            value = msgspec.json.decode(opened(result.text))
        except (msgspec.DecodeError, RecursionError):
            return
        self._codes.update(codes_in(value))
        reading = Reading(facts)
        root = reading.read(value)
        if isinstance(value, dict) and not root.records and reading.found:
            self._general |= root.terms.difference(*[record.terms for record in reading.found])
        for record in reading.found:
            self._add(result.name, record)

    def _add(self, tool: str, record: Record) -> None:
        kind = self._kinds.setdefault((tool, record.field), _Kind())
        before = kind.members.get(record.value)
        if before is None:
            kind.members[record.value] = record
            self._by_value.setdefault(record.value, []).append((kind, record))
            fresh: Iterable[str] = record.terms
            for name, values in record.held.items():
                for value in values:
                    kind.holders[name, value] = kind.holders.get((name, value), 0) + 1
        else:
            fresh = record.terms - before.terms
            before.terms |= fresh
            before.held, before.family = record.held, record.family
        for term in fresh:
            kind.counts[term] = kind.counts.get(term, 0) + 1

    def meant(self, tool: str, values: Collection[str]) -> "Meant":
        """What of some identifiers, used together in one call, was meant."""
        return Meant(self, tool, values)

    def records(self, value: str) -> Iterator[tuple[_Kind, Record]]:
        """What is known under an identifier."""
        yield from self._by_value.get(value, ())
        if self._above is not None:
            yield from self._above.records(value)

    def said_of(self, terms: set[str]) -> set[str]:
        """Those of some words that somebody used, or for which they used the words of a code."""
        found = terms & self._said
        for code in terms & self._codes.keys():
            if self._codes[code] and self._codes[code] <= self._said:
                found.add(code)
        return found if self._above is None else found | self._above.said_of(terms)

    def is_named(self, value: str) -> bool:
        """Whether somebody spelt out an identifier."""
        return bool(self.said_of({stem(value.lower())}))

    def is_all_of(self, nouns: set[str]) -> bool:
        """Whether somebody asked for all that is called so."""
        own = _ANYTHING in self._whole or not nouns.isdisjoint(self._whole)
        return own or (self._above is not None and self._above.is_all_of(nouns))

    def wanted(self, nouns: set[str]) -> Iterator[int]:
        """How many of something somebody wants."""
        for number, words in self._counts:
            if any(is_same_noun(word, noun) for word in words for noun in nouns):
                yield number
        if self._above is not None:
            yield from self._above.wanted(nouns)

    def is_act_asked(self, tool: str) -> bool:
        """Whether somebody asked for what a tool does, as far as its name says."""
        own = is_asked(tool, self._said)
        return own or (self._above is not None and self._above.is_act_asked(tool))

    def fits(self, value: str, beside: Collection[str], together: Collection[str]) -> bool:
        """Whether somebody's words describe what has an identifier, by itself.

        ``beside``: what it is to take the place of. Words that fit that as well say nothing of it.
        ``together``: all that the call names; those are no rivals.
        """
        return any(self._fits(kind, record, beside, together) for kind, record in self.records(value))

    def _fits(
        self, kind: _Kind, record: Record, beside: Collection[str], together: Collection[str]
    ) -> bool:
        whole = len(kind.members)
        if whole == 1 and len(record.family) == 1:
            return True
        if record.value in self._ranked and self.said_of(record.context | record.terms):
            return True
        replaced = [each for each in record.family if each.value in beside and each is not record]
        known = set[str]().union(*[each.terms for each in replaced])
        said = self.said_of(record.terms) - known - self._general
        # What most of them hold was said of them all.
        if not any(whole == 1 or kind.counts.get(term, 0) * 2 <= whole for term in said):
            return False
        others = [
            self.said_of(other.terms) - known - self._general
            for other in record.family
            if other.value not in together
            and other.field == record.field
            and other.flags == record.flags
        ]
        return not any(len(said) < len(other) if replaced else said < other for other in others)


class Meant:
    """What of the identifiers in one call was meant."""

    def __init__(self, described: Described, tool: str, values: Collection[str]) -> None:
        self._described = described
        self.is_asked: bool = described.is_act_asked(tool)
        """Whether somebody asked for what the call does."""
        found = [(value, record) for value in values for _, record in described.records(value)]
        self._whole: list[Record] = [each for _, each in found if described.is_all_of(each.nouns)]
        """All of these was asked for."""
        inside = {
            each for value, record in found for held in record.held.values() for each in held if each != value
        }
        values = frozenset(values)
        replaced = inside & values
        fitting = {
            value
            for value in values
            if described.is_named(value)
            or described.fits(value, () if value in replaced else replaced, values)
        }
        self._own = fitting | {each.value for each in self._whole}
        self._anchors: list[Record] = [record for value, record in found if value in self._own]

    def is_meant(self, value: str) -> bool:
        """Whether somebody's words mean what has this identifier."""
        return value in self._own or self._belongs(value) or self._holds(value)

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
        for kind, record in self._described.records(value):
            for anchor in self._anchors:
                is_inside = anchor is not record and anchor.value in record.held.get(anchor.field, ())
                if is_inside and kind.holders.get((anchor.field, anchor.value)) == 1:
                    return True
        return False

    def is_counted(self, name: str, number: float) -> bool:
        """Whether somebody wants so many, or so many more than there are now."""
        now = [float(each) for anchor in self._anchors for each in anchor.held.get(name, ()) if is_number(each)]
        most = now[0] if len(now) == 1 else 0
        nouns = nouns_of(name)
        return number <= most or any(number <= most + wanted for wanted in self._described.wanted(nouns))

    def says_now(self, name: str, text: str) -> bool:
        """Whether what is meant holds this in a field of this name already, and nothing else there."""
        return any(anchor.held.get(name) == {text} for anchor in self._anchors)

