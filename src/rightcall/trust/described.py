"""What a run knows of records, and what was said that may describe them: the order with the bookshelf.

Adding a result costs its own length, and looking up a record costs what was said of it.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct, field

from rightcall.core.parts import Result
from rightcall.trust.acts import is_asked, is_undoing
from rightcall.trust.counts import is_same_noun
from rightcall.trust.facts import Settled
from rightcall.trust.provenance import opened
from rightcall.trust.records import Reading, Record, codes_in, stem
from rightcall.trust.requests import Request, heard


class Kin(Struct, eq=False):
    """The records of one kind: of one tool, by one field."""

    members: dict[str, Record] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    """Of how many each word is said."""
    holders: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many hold something, by its field."""
    spelt: set[str] = field(default_factory=set)
    """Their identifiers, as somebody's words are kept."""


class Described:
    """The records that there are, and what was said of them. ``above``: of the run that it is inside."""

    def __init__(self, above: "Described | None" = None) -> None:
        self._said: set[str] = set()
        self._excepted: set[str] = set()
        """The words for what is not to be."""
        self._requests: list[Request] = []
        self._codes: dict[str, frozenset[str]] = {}
        self._kinds: dict[tuple[str, str], Kin] = {}
        self._by_value: dict[str, list[tuple[Kin, Record]]] = {}
        self._lists: dict[str, frozenset[str]] = {}
        """By identifier, the list it stands in: of those only some may have been looked at."""
        self._ranked: set[str] = set()
        """What somebody singled out by its rank."""
        self._general: set[str] = set()
        """What private results say of whoever they are about: it describes none of the records."""
        self._counts: list[tuple[int, frozenset[str]]] = []
        """How many somebody wants, with the words that follow: of what."""
        self._above = above

    def choose(self, value: str) -> None:
        """Take in that an identifier is that of something with a rank that somebody named."""
        self._ranked.add(value)

    def hear(self, text: str) -> None:
        """Take in the words of somebody who may order something."""
        found = heard(text)
        self._said |= found.said
        self._excepted |= found.excepted
        self._requests += found.requests
        self._counts += found.counts

    def asked(self, acts: tuple[str, ...]) -> Iterator[Request]:
        """Where somebody asked for an act. What undoes something is asked for without a condition."""
        for each in self._requests:
            if not acts or ((each.is_certain or not is_undoing(acts)) and is_asked(acts, each.verbs)):
                yield each
        if self._above is not None:
            yield from self._above.asked(acts)

    def _said_for(self, acts: tuple[str, ...], nouns: set[str]) -> set[str]:
        """The words in which somebody may have said to what something is to be done.

        What is to be undone stands beside the word for it, or before, where that points back.
        """
        if not is_undoing(acts):
            return self._said
        found = set[str]()
        for each in self._requests:
            if each.is_certain and is_asked(acts, each.verbs):
                found |= each.words | each.before if each.points_back(nouns) else each.words
        return found

    def see(self, result: Result, facts: Settled) -> None:
        """Take in what a trusted result says of its records."""
        try:
            value = msgspec.json.decode(opened(result.text))
        except (msgspec.DecodeError, RecursionError):
            return
        self._codes.update(codes_in(value))
        reading = Reading(facts)
        root = reading.read(value)
        is_theirs = facts.reads_private and isinstance(value, dict)
        if is_theirs and not root.records and reading.found:
            self._general |= root.terms.difference(*[record.terms for record in reading.found])
        for record in reading.found:
            self._add(result.name, record)
        self._lists.update(reading.lists)

    def _add(self, tool: str, record: Record) -> None:
        kind = self._kinds.setdefault((tool, record.key), Kin())
        before = kind.members.get(record.value)
        if before is None:
            kind.members[record.value] = record
            kind.spelt.add(stem(record.value.lower()))
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

    def records(self, value: str) -> Iterator[tuple[Kin, Record]]:
        """What is known under an identifier."""
        yield from self._by_value.get(value, ())
        if self._above is not None:
            yield from self._above.records(value)

    def said_of(self, terms: set[str], acts: tuple[str, ...], nouns: set[str]) -> set[str]:
        """Those of some words that somebody used, or for which they used the words of a code."""
        said = self._said_for(acts, nouns)
        found = set(terms & said)
        for code in terms & self._codes.keys():
            if self._codes[code] and self._codes[code] <= said:
                found.add(code)
        return found if self._above is None else found | self._above.said_of(terms, acts, nouns)

    def is_named(self, value: str, acts: tuple[str, ...], nouns: set[str]) -> bool:
        """Whether somebody spelt out an identifier."""
        return bool(self.said_of({stem(value.lower())}, acts, nouns))

    def is_ranked(self, value: str) -> bool:
        """Whether somebody singled something out by its rank."""
        return value in self._ranked or (self._above is not None and self._above.is_ranked(value))

    def general(self) -> set[str]:
        """The words that say of whom everything is, and describe none of the records."""
        return self._general if self._above is None else self._general | self._above.general()

    def excepted(self) -> set[str]:
        """The words for what somebody does not want."""
        return self._excepted if self._above is None else self._excepted | self._above.excepted()

    def is_all_seen(self, kin: Kin, value: str) -> bool:
        """Whether all that are listed with something were looked at."""
        is_seen = self._lists.get(value, frozenset()) <= kin.members.keys() | {value}
        return is_seen and (self._above is None or self._above.is_all_seen(kin, value))

    def wanted(self, nouns: set[str]) -> Iterator[int]:
        """How many of something somebody wants."""
        for number, words in self._counts:
            if any(is_same_noun(word, noun) for word in words for noun in nouns):
                yield number
        if self._above is not None:
            yield from self._above.wanted(nouns)
