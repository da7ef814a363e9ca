"""What a person wrote into what it names: not what they forbade, and each thing as what they named it.

A number that counts is no identifier, a word at the start of a sentence is no name, and what is to be
taken from somewhere is not to go there. Where it is in doubt, nothing is named.
"""

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.trust.spelling import scan

Role: TypeAlias = Literal["from", "to"]


def named_words(words: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(words.split())


_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\s*[;\n]+\s*")
_NEGATED = re.compile(
    r"\b(?:never|not|don['\u2019]?t|won['\u2019]?t|cannot|can['\u2019]?t|mustn['\u2019]?t|shouldn['\u2019]?t|avoid|neither|nor"
    r"|nobody|no one|except|excluding|without|other than|instead of|rather than|apart from)\b",
    re.IGNORECASE,
)
"""Ways to forbid. That something was not so ("I haven't paid yet") forbids nothing."""
_TOLD = re.compile(
    r"\b(?:did|does|was|were|has|have|had|is|are)\s+not\b(?!\s+(?:to|allowed|supposed|meant)\b)",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"(?:except|excluding|without|other than|instead of|rather than|apart from|neither|nor)\Z",
    re.IGNORECASE,
)
"""These exclude what follows and nothing before."""
_HARMLESS = re.compile(
    r"\s+(?:(?:want|wish|like|prefer) to (?:mention|reveal|say|tell|share|disclose|provide|speak|repeat)"
    r"|only|sure|yet|forget|hesitate|worry|know|remember|have|need|think|see|understand|exist)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\b(?:if|when|whenever|in case|unless|until|whether)\b[^,]*\Z", re.IGNORECASE)
_BREAK = re.compile(r"(?:[,:(\u2013\u2014-]|\b(?:but|and|or))\s*\Z", re.IGNORECASE)
_NEW_ORDER = re.compile(
    r",\s*(?:but|just|only|instead|then)\b|\bbut (?:do|please|only|rather)\b", re.IGNORECASE
)

_FROM = frozenset({"from", "out"})
_TO = frozenset({"to", "into", "onto", "toward", "towards"})
_FILLERS = named_words(
    "my your our the a this that account accounts iban card number no folder file channel user of and "
    "address bank wallet called named"
)
_FARTHEST = 4
# Given names that are words as well. Only as a name, in the middle of a sentence, do they name anybody.
_WORDS_TOO = named_words(
    "amber april archer art august autumn baker basil bill brandy buck buddy can cash charity chase "
    "chip clay cliff cooper crystal daisy dawn dean drew duke earl faith forest frank gene ginger glen "
    "grace grant guy harmony heath holly hope hunter iris ivy jack joy june king lance lane lily mark "
    "mason max may melody mercy miles nick norm olive page parker pat patience pearl penny pierce "
    "porter prudence ray reed rich rob rod rose ruby sandy skip sky stone sue summer sunny taylor "
    "tucker van victor violet wade walker ward will woody"
)
_LONGEST_COUNT = 4
"""Digits of a number that may be a count."""
_IDENTIFIES = frozenset({"id", "ids", "number", "nr", "no"})
_JOINS = _IDENTIFIES | {"and", "or", "to", "with", "is", "the", "of"}
_FARTHEST_NOUN = 6
_DIGIT = re.compile(r"\d")
_CAPITALISED = re.compile(r"(?<![\w'\u2019])[A-Z][a-z]+\b(?!['\u2019]?\w)")
_FOLLOWS = named_words(
    "and or to in on at from with by for into of as is was that which please then now so if but"
)
_YEARS = range(1900, 2101)
_LONGEST_AMOUNT = 7


class Words(Struct, frozen=True):
    """A part of a text, and whether it says what is not to be."""

    text: str
    forbidden: bool = False


def clauses(text: str) -> Iterator[Words]:
    """The parts of a text, in order, those that forbid apart from the others."""
    if _NEGATED.search(text) is None:
        yield Words(text)
        return
    for sentence in _SENTENCE.split(text):
        yield from _parts(sentence)


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [each for each in _SENTENCE.split(text) if each]


def _parts(sentence: str) -> Iterator[Words]:
    for found in _NEGATED.finditer(sentence):
        before, after = sentence[: found.start()], sentence[found.start() :]
        if _HARMLESS.match(sentence, found.end()) or any(
            told.end() == found.end() for told in _TOLD.finditer(sentence)
        ):
            continue
        if condition := _CONDITION.search(before):
            # What is done when something is not so is still an order.
            end = sentence.find(",", found.end())
            if end < 0:
                continue
            yield Words(sentence[: condition.start()])
            yield from _parts(sentence[end + 1 :])
            return
        is_whole = not (_AFTER.search(found[0]) or not before.strip() or _BREAK.search(before))
        order = _NEW_ORDER.search(after)
        yield Words(before, forbidden=is_whole)
        yield Words(after[: order.start()] if order else after, forbidden=True)
        if order:
            yield from _parts(after[order.end() :])
        return
    yield Words(sentence)


def is_word_too(token: str) -> bool:
    """Whether a name, in lower case, is a common word as well."""
    return token in _WORDS_TOO


def may_count(token: str) -> bool:
    """Whether a token is a number that could be a count."""
    return len(token) <= _LONGEST_COUNT and token.isdigit()


def roles(text: str) -> Iterator[tuple[str, Role]]:
    """Tokens of a text from which something is to be taken, or into which it is to go."""
    role: Role | None = None
    since = 0
    for at, (_, token) in enumerate(scan(text)):
        if token in _FROM or token in _TO:
            role, since = ("from" if token in _FROM else "to"), at
        elif role is not None and at - since > _FARTHEST:
            role = None
        elif role is not None and token not in _FILLERS:
            yield token, role
            # ``from Ann to Bob`` and ``from savings account AA11``: the number is meant as well.
            role = role if token.isalpha() else None


def names(text: str) -> Iterator[str]:
    """The words in a text that are used as names, although they are common words."""
    for found in _CAPITALISED.finditer(text):
        before = text[: found.start()].rstrip()[-1:]
        if before and before not in ".!?:;\"'" and is_word_too(word := found[0].lower()):
            yield word


def references(text: str) -> Iterator[tuple[str, str]]:
    """Short numbers that identify, each after what: ``mail 3``, ``files 3 and 4``, ``id 3``."""
    found = [token for _, token in scan(text)] if _DIGIT.search(text) else []
    for at, token in enumerate(found):
        if may_count(token):
            yield from ((noun, token) for noun in _nouns(found, at))


def _nouns(found: list[str], at: int) -> Iterator[str]:
    after = found[at + 1] if at + 1 < len(found) else ""
    if after and after not in _FOLLOWS and not any(each.isdigit() for each in after):
        return
    for token in reversed(found[max(at - _FARTHEST_NOUN, 0) : at]):
        if token in _IDENTIFIES:
            yield "id"
        if token not in _JOINS and not may_count(token):
            yield token.removesuffix("s")
            return


def amounts(text: str) -> Iterator[float]:
    """The numbers in a text that may be amounts: no years, and nothing as long as an account."""
    for kind, token in scan(text):
        digits = token.lstrip("-")
        if kind != "word" or not digits[:1].isdigit():
            continue
        try:
            value = float(digits)
        except ValueError:
            continue
        if len(digits.partition(".")[0]) < _LONGEST_AMOUNT and not (
            digits.isdigit() and int(digits) in _YEARS
        ):
            yield value
