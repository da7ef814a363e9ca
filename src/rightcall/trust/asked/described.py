"""The records that a run has seen, and the words that may describe them: the order with the bookshelf.

Adding a result costs time in its length; looking up a record costs time in the words said of it.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from rightcall.core.jsontext import JsonValue, leaves
from rightcall.core.parts import Result
from rightcall.trust.asked.compared import Wishes
from rightcall.trust.asked.lacking import Lacking
from rightcall.trust.asked.limits import Limit
from rightcall.trust.asked.paying import Paying
from rightcall.trust.asked.records import Reading, Record, codes_in
from rightcall.trust.asked.requests import Request, heard
from rightcall.trust.facts import ResolvedFacts
from rightcall.trust.pieces import open_envelope
from rightcall.trust.words.acts import Act
from rightcall.trust.words.counts import is_same_noun
from rightcall.trust.words.describing import nouns_of, stem
from rightcall.trust.words.places import words_for_codes


class Kin(Struct, eq=False):
    """The records of one kind: those of one tool with the same identifier field."""

    members: dict[str, Record] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    """For each word, the number of records that contain it."""
    holders: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many hold something, by its field."""
    spelt: set[str] = field(default_factory=set)
    """Their identifiers, as somebody's words are kept."""
    names: set[str] = field(default_factory=set)
    """The words about the records themselves."""


_Beside: TypeAlias = tuple[Act, frozenset[str], frozenset[tuple[frozenset[str], frozenset[str]]]]
"""An act, the nouns for its object, and the words of requests whose condition is met."""
_MOST_KEPT = 32
_MOST_ATTEMPTS = 50
"""Acts that are remembered, at most, so that judging a call takes no longer in a long run."""


class Attempt(Struct, frozen=True):
    """An act with some records."""

    tool: str
    values: frozenset[str]
    is_done: bool
    """Whether it ran; if not, the tool itself refused it."""


class Described:
    """The known records, and what was said of them. ``above``: the same for the outer run."""

    def __init__(self, above: "Described | None" = None) -> None:
        self._said: set[str] = set()
        self._sure: set[str] = set()
        """The words that stand under no condition."""
        self._sentences: list[frozenset[str]] = []
        self._excepted: set[str] = set()
        """The words for what the user or the developer does not want."""
        self._released: frozenset[str] = frozenset()
        """The words for what they do not want as it is, but that they want something done to."""
        self._exceptions: list[frozenset[str]] = []
        """The words for each thing that was left out of all."""
        self._requests: list[Request] = []
        self._beside: dict[_Beside, set[str]] = {}
        """The words that may describe the object of an act, as far as they were looked for."""
        self._codes: dict[str, frozenset[str]] = {**words_for_codes()}
        self._kinds: dict[tuple[str, str], Kin] = {}
        self._by_value: dict[str, list[tuple[Kin, Record]]] = {}
        self._lists: dict[str, frozenset[str]] = {}
        """By identifier: the list that it is in. The run may have looked at only some of that list."""
        self._ranked: set[str] = set()
        """Identifiers that the user singled out by rank, such as the newest."""
        self._given: set[str] = set()
        """What the tools returned as the only one of its field, in results that nobody narrowed."""
        self._general: set[str] = set()
        """Words in private results about the person they belong to: these describe no single record."""
        self._values: dict[str, frozenset[str]] = {}
        """By field: what the records have in it."""
        self._counts: list[tuple[int, frozenset[str]]] = []
        """How many of something the user or the developer wants, with the words that follow."""
        self._wishes: list[Wishes] = []
        self._shifts: frozenset[int] = frozenset()
        self._paying: list[Paying] = []
        self._limits: list[Limit] = []
        self._done: deque[Attempt] = deque(maxlen=_MOST_ATTEMPTS)
        """The last acts that ran, or that the tools refused, in order."""
        self._above = above

    def choose(self, value: str) -> None:
        """Record the identifier of something that the user singled out by rank."""
        self._ranked.add(value)

    def hear(self, text: str) -> None:
        """Read a text of the user or the developer."""
        found = heard(text)
        self._said |= found.said
        self._sure |= found.sure
        self._sentences += found.sentences
        self._excepted |= found.excepted
        self._released = (self._released - found.excepted) | found.released
        self._exceptions += found.exceptions
        self._requests += found.requests
        self._beside.clear()
        self._counts += found.counts
        self._wishes += found.wishes
        self._shifts |= found.shifts
        self._paying += found.paying
        self._limits += found.limits

    def asked(self, act: Act, is_met: Callable[[Lacking], bool] | None = None) -> Iterator[Request]:
        """The requests for an act. If it undoes something, conditional ones count only if met."""
        for each in self._requests:
            is_sure = each.is_certain or not act.undoes
            if act and not act.is_asked(each.verbs):
                continue
            if not act or is_sure or (each.lacking and is_met and is_met(each.lacking)):
                yield each
        if self._above is not None:
            yield from self._above.asked(act, is_met)

    def _said_for(self, act: Act, nouns: set[str], met: Collection[Request]) -> set[str]:
        """The words that may describe the object of an act.

        For an act that undoes something: the words beside its verb, or those before if these refer back.
        """
        if not act.undoes:
            return self._said
        # The same for every record of a call, and for every call like it.
        key = (act, frozenset(nouns), frozenset((each.words, each.before) for each in met))
        if (known := self._beside.get(key)) is not None:
            return known
        found = set[str]()
        for each in self._requests:
            if (each.is_certain and act.is_asked(each.verbs)) or each in met:
                found |= each.words | each.before if each.points_back(nouns) else each.words
        if len(self._beside) >= _MOST_KEPT:
            self._beside.clear()
        self._beside[key] = found
        return found

    def see(self, result: Result, facts: ResolvedFacts, *, is_free: bool = True) -> None:
        """Read the records in a trusted result. ``is_free``: no hijacked model has narrowed it."""
        text = open_envelope(result.text)
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            self._given |= {text} if is_free else set()
            return
        self._codes.update(codes_in(value))
        reading = Reading(facts)
        root = reading.read(value)
        is_theirs = facts.reads_private and isinstance(value, dict)
        if is_theirs and not root.records and reading.found:
            self._general |= root.terms.difference(*[record.terms for record in reading.found])
        if is_free:
            self._given.update(*[each for each in root.values.values() if len(each) == 1])
        for record in reading.found:
            record.is_free = is_free
            self._add(result.name, record)
        self._lists.update(reading.lists)

    def _add(self, tool: str, record: Record) -> None:
        kind = self._kinds.setdefault((tool, record.key), Kin())
        before = kind.members.get(record.value)
        if before is None:
            kind.members[record.value] = record
            kind.spelt.add(stem(record.value.lower()))
            kind.names |= record.own
            self._by_value.setdefault(record.value, []).append((kind, record))
            fresh: Iterable[str] = record.terms
            for name, values in record.held.items():
                self._values[name] = self._values.get(name, frozenset()) | values
                for value in values:
                    kind.holders[name, value] = kind.holders.get((name, value), 0) + 1
        else:
            fresh = record.terms - before.terms
            before.is_free = before.is_free or record.is_free
            # Not in place: the identifiers of one object share its words.
            before.terms = before.terms | fresh
            before.held, before.family = record.held, record.family
            if record.is_own or not before.is_own:
                before.traits, before.fields, before.is_own = record.traits, record.fields, record.is_own
        for term in fresh:
            kind.counts[term] = kind.counts.get(term, 0) + 1

    def records(self, value: str) -> Iterator[tuple[Kin, Record]]:
        """The records with an identifier, each with its kind."""
        yield from self._by_value.get(value, ())
        if self._above is not None:
            yield from self._above.records(value)

    def values_of(self, name: str) -> frozenset[str]:
        """What the records have in the field of this name, as far as somebody may say it."""
        found = self._values.get(name, frozenset())
        return found if self._above is None else found | self._above.values_of(name)

    def said_of(
        self, terms: set[str], act: Act, nouns: set[str], met: Collection[Request] = ()
    ) -> set[str]:
        """The terms that the user or the developer used, directly or by the words for a code.

        ``met`` are the requests whose condition is met.
        """
        said = self._said_for(act, nouns, met)
        found = set(terms & said)
        for code in terms & self._codes.keys():
            if self._codes[code] and self._codes[code] <= said:
                found.add(code)
        return found if self._above is None else found | self._above.said_of(terms, act, nouns, met)

    def surely_said_of(self, terms: set[str]) -> set[str]:
        """The terms that the user or the developer used under no condition."""
        found = terms & self._sure
        return found if self._above is None else found | self._above.surely_said_of(terms)

    def is_named(self, value: str, act: Act, nouns: set[str]) -> bool:
        """Whether the user or the developer wrote out an identifier."""
        return bool(self.said_of({stem(value.lower())}, act, nouns))

    def is_given(self, value: str) -> bool:
        """Whether no hijacked model has chosen a value: there was no other of its field."""
        return value in self._given or (self._above is not None and self._above.is_given(value))

    def is_ranked(self, value: str) -> bool:
        """Whether the user singled out an identifier by rank."""
        return value in self._ranked or (self._above is not None and self._above.is_ranked(value))

    def nouns(self) -> set[str]:
        """The nouns for the records seen so far."""
        own = {noun for _, key in self._kinds for noun in nouns_of(key)}
        return own if self._above is None else own | self._above.nouns()

    def sentences(self) -> list[frozenset[str]]:
        """The words of each sentence of the user or the developer."""
        return self._sentences if self._above is None else [*self._above.sentences(), *self._sentences]

    def wishes(self) -> list[Wishes]:
        """How the user or the developer compares things."""
        return self._wishes if self._above is None else [*self._above.wishes(), *self._wishes]

    def shifts(self) -> frozenset[int]:
        """By how many days the user or the developer wants something later or earlier."""
        return self._shifts if self._above is None else self._shifts | self._above.shifts()

    def note(self, tool: str, arguments: JsonValue, is_done: bool) -> None:  # noqa: FBT001 - as named
        """Record an act that ran, or that its tool refused."""
        values = frozenset(leaf for _, leaf in leaves(arguments) if leaf in self._by_value)
        self._done.append(Attempt(tool, values, is_done))

    def attempts(self) -> list[Attempt]:
        """The last acts."""
        return [*self._done] if self._above is None else [*self._above.attempts(), *self._done]

    def failed_instead(self, tool: str, values: Collection[str]) -> dict[str, str]:
        """What takes the place of what, in calls that failed and were otherwise the same as one now."""
        now, found = frozenset(values), dict[str, str]()
        for each in self.attempts():
            old, new = each.values - now, now - each.values
            if each.tool == tool and not each.is_done and len(old) == len(new) == 1:
                found |= zip(old, new, strict=True)
        return found

    def paying(self) -> list[Paying]:
        """What the user or the developer wants to be paid with."""
        return self._paying if self._above is None else [*self._above.paying(), *self._paying]

    def limits(self) -> list[Limit]:
        """What the user or the developer lets a change cost."""
        return self._limits if self._above is None else [*self._above.limits(), *self._limits]

    def general(self) -> set[str]:
        """The words about the person whom all records belong to; these describe no single record."""
        return self._general if self._above is None else self._general | self._above.general()

    def excepted(self) -> set[str]:
        """The words for what the user or the developer does not want."""
        return self._excepted if self._above is None else self._excepted | self._above.excepted()

    def is_released(self, value: str) -> bool:
        """Whether an identifier was forbidden only together with a request to undo it."""
        is_own = stem(value.lower()) in self._released
        return is_own or (self._above is not None and self._above.is_released(value))

    def known(self, words: set[str]) -> set[str]:
        """Those of some words that are in one of the records."""
        own = {word for word in words if any(word in kind.counts for kind in self._kinds.values())}
        return own if self._above is None else own | self._above.known(words)

    def knows_exceptions(self) -> bool:
        """Whether each thing that was left out of all is in one of the records."""
        is_known = all(self.known({*words}) for words in self._exceptions)
        return is_known and (self._above is None or self._above.knows_exceptions())

    def is_all_seen(self, kin: Kin, value: str) -> bool:
        """Whether the run has looked at every identifier in the same list."""
        listed = self._lists.get(value, ())
        is_seen = all(each == value or each in kin.members for each in listed)
        return is_seen and (self._above is None or self._above.is_all_seen(kin, value))

    def wanted(self, nouns: set[str]) -> Iterator[int]:
        """How many of something the user or the developer wants."""
        for number, words in self._counts:
            if any(is_same_noun(word, noun) for word in words for noun in nouns):
                yield number
        if self._above is not None:
            yield from self._above.wanted(nouns)
