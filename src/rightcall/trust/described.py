"""What a run knows of records, and what was said that may describe them: the order with the bookshelf.

Adding a result costs its own length, and looking up a record costs what was said of it.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

import msgspec
from msgspec import Struct, field

from rightcall.core.parts import Result
from rightcall.trust.acts import is_asked, is_undoing
from rightcall.trust.counts import counts_in, is_same_noun
from rightcall.trust.facts import Settled
from rightcall.trust.heard import kept
from rightcall.trust.provenance import opened
from rightcall.trust.records import Reading, Record, codes_in, joined, stem, terms_of

_ALL = re.compile(
    r"\b(?:all|every|both|entire|whole|each)\b"
    r"((?:[\s-]+(?!(?:and|but|or|to|for|in|on|with|is|are)\b)\w+){1,4})",
    re.IGNORECASE,
)
_EVERYTHING = re.compile(
    r"(?<!make )\beverything\b"
    r"(?!\s+(?:is|was|will|goes|else|about|associated|related|not|that|which|but|except)\b)",
    re.IGNORECASE,
)
"""All there is. Everything of some sort is what is described, and no more."""
_ANYTHING = "*"


class Kin(Struct, eq=False):
    """The records of one kind: of one tool, by one field."""

    members: dict[str, Record] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    """Of how many each word is said."""
    holders: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many hold something, by its field."""


class _Sentence(Struct, frozen=True):
    """What a sentence asks for."""

    words: frozenset[str]
    whole: frozenset[str]
    """Of what all is asked for, by its noun."""
    counts: tuple[tuple[int, frozenset[str]], ...]
    """How many are wanted, with the words that follow."""


@kept
def _read(text: str) -> tuple[_Sentence, ...]:
    from rightcall.trust.polarity import clauses, sentences  # noqa: PLC0415 - light until used

    read = []
    for sentence in sentences(text):
        parts = [part.text for part in clauses(sentence) if not part.forbidden]
        words = frozenset().union(*map(terms_of, parts), *map(joined, parts))
        all_of = [
            stem(word)
            for part in parts
            for each in _ALL.finditer(part)
            for word in each[1].lower().split()
        ]
        everything = [_ANYTHING] if any(_EVERYTHING.search(part) for part in parts) else []
        counts = [each for part in parts for each in counts_in(part)]
        read.append(_Sentence(words, frozenset([*all_of, *everything]), tuple(counts)))
    return tuple(read)


class Described:
    """The records that there are, and what was said of them. ``above``: of the run that it is inside."""

    def __init__(self, above: "Described | None" = None) -> None:
        self._said: set[str] = set()
        self._sentences: list[frozenset[str]] = []
        """The words of each sentence; an empty one before each text."""
        self._beside: dict[tuple[str, ...], set[str]] = {}
        """The words beside those that ask for an act."""
        self._whole: set[str] = set()
        """Of what all was asked for, by its noun."""
        self._codes: dict[str, frozenset[str]] = {}
        self._kinds: dict[tuple[str, str], Kin] = {}
        self._by_value: dict[str, list[tuple[Kin, Record]]] = {}
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
        self._sentences.append(frozenset())
        for sentence in _read(text):
            self._sentences.append(sentence.words)
            self._said |= sentence.words
            self._whole |= sentence.whole
            self._counts += sentence.counts
        self._beside.clear()

    def _said_for(self, acts: tuple[str, ...]) -> set[str]:
        """The words in which somebody may have said to what something is to be done.

        What is to be undone stands beside the word for it, or in the sentence before.
        """
        if not is_undoing(acts):
            return self._said
        found = self._beside.get(acts)
        if found is None:
            found = self._beside[acts] = set()
            for before, sentence in pairwise(self._sentences):
                if is_asked(acts, sentence):
                    found |= before | sentence
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

    def _add(self, tool: str, record: Record) -> None:
        kind = self._kinds.setdefault((tool, record.key), Kin())
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

    def records(self, value: str) -> Iterator[tuple[Kin, Record]]:
        """What is known under an identifier."""
        yield from self._by_value.get(value, ())
        if self._above is not None:
            yield from self._above.records(value)

    def said_of(self, terms: set[str], acts: tuple[str, ...]) -> set[str]:
        """Those of some words that somebody used, or for which they used the words of a code."""
        said = self._said_for(acts)
        found = terms & said
        for code in terms & self._codes.keys():
            if self._codes[code] and self._codes[code] <= said:
                found.add(code)
        return found if self._above is None else found | self._above.said_of(terms, acts)

    def is_named(self, value: str, acts: tuple[str, ...]) -> bool:
        """Whether somebody spelt out an identifier."""
        return bool(self.said_of({stem(value.lower())}, acts))

    def is_ranked(self, value: str) -> bool:
        """Whether somebody singled something out by its rank."""
        return value in self._ranked or (self._above is not None and self._above.is_ranked(value))

    def general(self) -> set[str]:
        """The words that say of whom everything is, and describe none of the records."""
        return self._general if self._above is None else self._general | self._above.general()

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

    def is_act_asked(self, acts: tuple[str, ...]) -> bool:
        """Whether somebody asked for an act."""
        own = not acts or is_asked(acts, self._said)
        return own or (self._above is not None and self._above.is_act_asked(acts))
