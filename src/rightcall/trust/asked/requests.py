"""Parses what a person asked for: each act with the words for its object.

An act under a condition was not asked for yet, unless the condition is one that can be computed
(``lacking``): a hijacked model may claim anything. A person is asked about such an act.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from rightcall.trust.asked.compared import Wishes, wishes_in
from rightcall.trust.asked.lacking import Condition, Lacking, condition_in
from rightcall.trust.asked.limits import Limit, limit_in
from rightcall.trust.asked.paying import Paying, paying_in
from rightcall.trust.words.acts import sort_of, stem_of_done
from rightcall.trust.words.counts import Measure, counts_in, measures_in
from rightcall.trust.words.describing import NUMBERS, joined, stem, terms_of
from rightcall.trust.words.excepting import excepted_last, exceptions_in
from rightcall.trust.words.heard import kept
from rightcall.trust.words.rewording import released_in, reworded
from rightcall.trust.words.said import IDLE, named_words
from rightcall.trust.words.shifts import shifts_in
from rightcall.trust.words.spelling import folded

_SHORT = 1000
"""Limit of a part whose words are cached, in characters."""
_NEXT = r"((?:[\s-]+(?!(?:and|but|or|to|for|in|on|with|is|are|that|which|who|whose)\b)\w+){1,4}+)"
_ALL = re.compile(
    rf"\b(?:all|every|both|each)\b{_NEXT}(?!\s+(?:that|which|whose|who)\s+(?:only|have|has|contain))"
)
"""In ``folded`` text, as most of what is looked for here."""
_WHOLE = re.compile(rf"\b(?:entire|whole|complete)\b{_NEXT}")
_EVERYTHING = re.compile(
    r"(?<!make )\beverything\b"
    r"(?!\s+(?:is|was|will|goes|else|about|associated|related|not|that|which|but|except|on|in|from)\b)"
)
""""Everything" without a restriction. "Everything in …" means what is described, and no more."""
_INSIDE = re.compile(r"\beverything\s+(?:in|from|on|of|inside)\s+(?:my|the|that|this|an?|our)\b")
"""All of something that is described: "everything in that order"."""
ANYTHING = "*"
_POLITE = re.compile(
    r",?\s*\bif (?:at all )?"
    r"(?:possible|you (?:can|could|please|would|don['\u2019]?t mind)|necessary|needed)\b",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"\b(?:wonder(?:ing|ed)?|see)\s+(?:if|whether)\s+(?:you|the agent)\s+(?:can|could|would|might)\b"
    r"|\A\s*(?:(?:also|and),?\s+)?if\s+(?:you|the agent)\s+(?:can|could)\s+help\b(?=[^,;]*\Z)",
    re.IGNORECASE,
)
"""A request in the form of a question, or of a condition for which nothing is said to follow."""
_WHETHER_DONE = re.compile(
    r"\b(?:see|ask|check|find out)\s+(?:if|whether)\s+(it|they|that|this|these|those)\s+"
    r"(?:can|could)\s+be\s+(\w+)",
    re.IGNORECASE,
)
"""The same in the passive voice: "see if it can be cancelled"."""
_WHEN_ASKED = re.compile(
    r"\bif (?:and only if )?(?:you|the agent) asks?\b[^,.;]*,?|\b(?:if|when) asked\b[^,.;]*,?",
    re.IGNORECASE,
)
"""What somebody will answer, they have said."""
_ASIDE_AFTER = re.compile(r"[.!?]\s+(?=\()")
"""The end of a sentence that words in brackets explain."""
_CONDITION = re.compile(
    r"\b(?:if|unless|whether|in case|provided that|assuming|as long as|otherwise|or else"
    r"|(?:once|after|as soon as)(?=\s[^,;.]*\b\w+ed\s*,)|falls|sofern|wenn)\b"
)
_MYSELF = re.compile(
    r"\b(?:will|would|shall|can|going to|['\u2019]ll)\s+(?:rather\s+)?\w+\s+(?:it|that|this|them|so)\s+"
    r"(?:my|our|your)sel(?:f|ves)\b|\bno need for (?:you|the agent) to\b"
)
"""Words by which somebody takes back what they asked for."""
_BREAK = re.compile(r"(?:[,;:\u2013\u2014]|\b(?:and|but|then|also|or))\s*")
_ASIDE = re.compile(r"\([^()]*\)")
_WORD = re.compile(r"[^\W_]+")
_NOUN = re.compile(
    r"\b(?:refunds?|returns?|changes?|exchanges?|orders?)\s+(?:method|policy|amount|date|flight|fee|status|window|trip)s?\b"
)
"""Words for acts that are used as nouns."""
_NOUN_AFTER = re.compile(
    r"\b(?:the|my|your|our|an?|this|that|any|which|each|every|of|his|her|their)\s+"
    r"(?:order|book|transfer|wire|reset|release|charge|share|bin)\b"
)
"""The same, where only the word before shows it. "A refund" and "an exchange" are asked for so."""
_QUESTION = re.compile(
    r"\A\W*(?:(?:and|so|hi|hello|hey|ok(?:ay)?|then|please|but|also)\W+)*"
    r"(?:what|which|who|whose|whom|when|where|why|how|are|was|were|any|does|did"
    r"|is(?!\s+(?:it\s+(?:possible|ok(?:ay)?|alright)|there\s+(?:a|any)\s+(?:way|chance)))"
    r"|(?:do|have)\s+(?:i|you|we|they|any|all))\b(?!\s+(?:about|not|don['\u2019]?t\s+you)\b)[^?]*\?"
)
"""A sentence that asks to be told something, and for nothing to be done; in ``folded`` text."""
_JOINS = named_words("and or to then also")
_ORDERED = re.compile(rf"\W*(?:\d+|an?|{'|'.join(NUMBERS[1:])})\s[^.!?;]*\bplease\W*")
"""What is bought without a verb: "two tickets for Friday, please"."""
_PRONOUN = re.compile(r"\b(?:it|them|that|this|these|those|they|ones?|both|him|her)\b")
_ONE = re.compile(r"\b(?:the|that|this|those|these) (?:\w+ )?ones?\b")
_OUT_OF = re.compile(r"\b(?:from|out of|off|of|in|inside|within)\s+(?:my|your|the|this|that|our)\b")
_WHICHEVER = named_words(
    "of my your our the their her his these those possible existing remaining upcoming current "
    "available recent other single two three four five"
)
"""Words after ``all`` that do not restrict it."""


_WHETHER = named_words("available but also just still")
"""Words in a condition that say nothing of what is wanted."""


class Request(Struct, frozen=True):
    """One act that was asked for, or the rest of a sentence that asks for none."""

    verbs: frozenset[str]
    words: frozenset[str]
    """The words about the act's object."""
    things: frozenset[str]
    """The same, without the words for what it is to be taken out of."""
    before: frozenset[str]
    """The words before it, which it may refer to."""
    refers: bool
    """Whether it contains a pronoun that may refer back: ``cancel it``."""
    all_of: tuple[tuple[str, ...], ...]
    """The words after each ``all`` or the like; ``("*",)`` for everything."""
    whole_of: tuple[tuple[str, ...], ...]
    """The words after each ``whole`` or the like; ``("*",)`` for everything in what is meant."""
    is_one: bool
    """Whether ``the one`` or the like refers to something as a whole."""

    is_certain: bool
    """Whether it is to be done without a condition."""
    measures: tuple[Measure, ...] = ()
    """How much of something its object has: over three hours."""
    lacking: Lacking | None = None
    """The wish that must not be possible, if that is the condition."""

    def points_back(self, nouns: set[str]) -> bool:
        """Whether it has no words of its own about its object, except for these nouns."""
        return self.refers or self.words - IDLE <= nouns


def is_any(words: tuple[str, ...], nouns: set[str], terms: set[str]) -> bool:
    """Whether the words after ``all`` mean everything of these nouns that fits the words between."""
    for at, word in enumerate(words):
        if word in nouns:
            return all(each in terms or each in _WHICHEVER for each in words[:at])
    return False


def is_restricted(words: tuple[str, ...], terms: set[str]) -> bool:
    """Whether the words after ``all`` name something with these terms, but with a word it has not."""
    # What follows an ``of`` is what they belong to: "all extras of the van".
    end = words.index("of", 1) if "of" in words[1:] else len(words)
    last = max((at for at, word in enumerate(words[:end]) if word in terms), default=0)
    return any(word not in terms and word not in _WHICHEVER for word in words[:last])


def certain(sentence: str) -> str:
    """A sentence without its conditional part."""
    if _CONDITION.search(folded(sentence)) is None and "asked" not in sentence:
        return sentence
    sentence = _POLITE.sub("", _in_active_voice(sentence))
    sentence = _ASIDE.sub(lambda each: "" if _CONDITION.search(folded(each[0])) else each[0], sentence)
    sentence = _WHEN_ASKED.sub("", _ASKING.sub("", sentence))
    found = _CONDITION.search(folded(sentence))
    if found is None:
        return sentence
    before, end = sentence[: found.start()], 0
    for each in _BREAK.finditer(folded(before)):
        end = each.end()
    # ``cancel it, but if …`` asks to cancel; ``cancel it if …`` does not yet.
    return before if end == len(before) else before[:end]


def _in_active_voice(sentence: str) -> str:
    if " be " not in sentence:
        return sentence
    return _WHETHER_DONE.sub(lambda each: f"{stem_of_done(each[2].lower())} {each[1]}", sentence)


class Heard(Struct, frozen=True):
    """The parse of one text."""

    said: frozenset[str]
    sure: frozenset[str]
    """Those of the words that stand under no condition."""
    sentences: tuple[frozenset[str], ...]
    """The words of each sentence."""
    excepted: frozenset[str]
    """The words for what is not wanted."""
    exceptions: tuple[frozenset[str], ...]
    """The words for each thing that was left out of all."""
    requests: tuple[Request, ...]
    counts: tuple[tuple[int, frozenset[str]], ...]
    """How many are wanted, with the words that follow."""
    wishes: tuple[Wishes, ...]
    """The comparisons, sentence by sentence."""
    shifts: frozenset[int]
    """By how many days something is to be later or earlier."""
    paying: tuple[Paying, ...]
    """What is to be paid with, sentence by sentence."""
    limits: tuple[Limit, ...]
    """What a change may cost."""
    released: frozenset[str]
    """The words for what is not wanted as it is, but that something is to be done to."""


@kept
def heard(text: str) -> Heard:
    """Parses what a text asks for."""
    from rightcall.trust.words.polarity import clauses, sentences  # noqa: PLC0415 - light until used

    requests, wanted, excepted = list[Request](), list[str](), list[str]()
    wishes, said, certainly = list[Wishes](), list[frozenset[str]](), list[str]()
    before = frozenset[str]()
    topic, compared_before, last, earlier = frozenset[str](), None, "", ""
    texts = sentences(_ASIDE_AFTER.sub(" ", excepted_last(reworded(text))))
    for sentence in texts:
        parts = list(clauses(sentence))
        own = [part.text for part in parts if not part.forbidden]
        excepted += [part.text for part in parts if part.forbidden]
        wanted += own
        compared = wishes_in(sentence, [part.text for part in parts if part.forbidden], last)
        wishes += [compared] if compared is not None else []
        lower = folded(sentence)
        is_taken_back = _MYSELF.search(lower) is not None
        if is_taken_back:
            requests = list(_taken_back(requests, sentence))
        sure = "" if is_taken_back else certain(sentence)
        certainly += [part.text for part in clauses(sure) if not part.forbidden]
        requests += _requests(sure, before, is_certain=True)
        requests += _requests(sentence, before, is_certain=False) if sure != sentence else ()
        condition = None if is_taken_back else condition_in(sentence, earlier)
        if condition is not None:
            meant = before if condition.most is None or condition.what else topic
            requests += _conditional(condition, meant, compared_before, topic)
        before, compared_before, earlier = _words(own), compared, sentence
        # A sentence about "it" or "the one" goes on with what was named before it.
        is_going_on = _PRONOUN.search(lower) is not None
        last = f"{last} {sentence}"[-_SHORT:] if is_going_on else sentence
        said.append(before)
        topic = topic | before if is_going_on or _CONDITION.search(lower) else before
    pairs = list(pairwise(("", *texts)))
    return Heard(
        _words(wanted),
        _words(certainly),
        tuple(said),
        _words(excepted),
        tuple(each for sentence in texts for each in exceptions_in(sentence)),
        tuple(requests),
        tuple(each for part in wanted for each in counts_in(part)),
        tuple(wishes),
        frozenset(each for part in wanted for each in shifts_in(part)),
        tuple(filter(None, (paying_in(each, before, certain) for before, each in pairs))),
        tuple(filter(None, (limit_in(each, before) for before, each in pairs))),
        released_in(text) - _words(excepted),
    )


def _conditional(
    condition: Condition, before: frozenset[str], compared: Wishes | None, topic: frozenset[str]
) -> Iterator[Request]:
    """The requests under a condition that can be computed. ``before``: what it may refer to."""
    own_words = frozenset(terms_of(condition.what)) - _WHETHER
    what = _words([condition.what]) if own_words else before
    wish = Lacking(what, compared, condition.most, condition.act, condition.done)
    for each in _requests(_in_active_voice(condition.then), topic, is_certain=False):
        yield replace(each, lacking=wish, before=topic, refers=True)


def _taken_back(requests: list[Request], sentence: str) -> Iterator[Request]:
    """The requests, without certainty for the sorts of acts in a sentence that takes them back."""
    sorts = {sort_of(word) for word in _WORD.findall(sentence.lower())} - {None}
    for each in requests:
        is_meant = not sorts.isdisjoint(map(sort_of, each.verbs))
        yield replace(each, is_certain=False) if is_meant else each


def _requests(sentence: str, before: frozenset[str], *, is_certain: bool) -> Iterator[Request]:
    from rightcall.trust.words.polarity import clauses  # noqa: PLC0415 - light until used

    lower = folded(sentence)
    is_question = _QUESTION.match(lower) is not None
    is_ordered = _ORDERED.fullmatch(lower) is not None
    for clause in clauses(sentence):
        for part in () if clause.forbidden else _acts_apart(clause.text):
            request = _request(part, before, is_certain=is_certain)
            if is_question or is_ordered:
                request = replace(request, verbs=frozenset({"order"} if is_ordered else ()))
            before = request.words if request.words - IDLE else before
            yield request


def _words(parts: list[str]) -> frozenset[str]:
    """The words in some parts of a text that may describe something."""
    return frozenset().union(
        *[_known_words_in(each) if len(each) <= _SHORT else _words_in(each) for each in parts]
    )


def _words_in(part: str) -> frozenset[str]:
    return frozenset(terms_of(part)).union(joined(part))


# A sentence is looked at by itself, in its text, and as a request.
_known_words_in = lru_cache(64)(_words_in)


def _acts_apart(text: str) -> Iterator[str]:
    """A text, cut before each verb that asks for another sort of act than the verb before it."""
    start, at_verb = 0, -1
    last: int | None = None
    for found in _WORD.finditer(text):
        sort = sort_of(found[0].lower())
        if sort is None:
            continue
        between = text[at_verb : found.start()] if at_verb >= 0 else ""
        is_joined = at_verb >= 0 and set(_WORD.findall(between.lower())) <= _JOINS
        if last is not None and sort != last and not is_joined:
            yield text[start : found.start()]
            start = found.start()
        last, at_verb = sort, found.end()
    yield text[start:]


def _after(words: re.Pattern[str], part: str) -> list[tuple[str, ...]]:
    """What follows each of some words in a part of a text."""
    return [tuple(map(stem, each[1].split())) for each in words.finditer(part)]


def _request(part: str, before: frozenset[str], *, is_certain: bool) -> Request:
    words = _words([part])
    lower = folded(part)
    taken = _OUT_OF.search(lower)
    things = _words([part[: taken.start()]]) if taken else words
    all_of = _after(_ALL, lower)
    if _EVERYTHING.search(lower):
        all_of.append((ANYTHING,))
    whole_of = _after(_WHOLE, lower)
    if _INSIDE.search(lower):
        whole_of.append((ANYTHING,))
    return Request(
        verbs=frozenset(_WORD.findall(_NOUN_AFTER.sub("", _NOUN.sub("", lower)))),
        words=words,
        things=things,
        before=before,
        refers=_PRONOUN.search(lower) is not None,
        all_of=tuple(all_of),
        whole_of=tuple(whole_of),
        is_one=_ONE.search(lower) is not None,
        is_certain=is_certain,
        measures=tuple(measures_in(part)),
    )
