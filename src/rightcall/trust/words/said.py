"""Finds what a person's text names, each thing with the role or kind in which they named it.

A count is no identifier, a word at the start of a sentence is no name, and what is to be taken from
somewhere is not to go there. In doubt, nothing is named.
"""

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from rightcall.trust.words.spelling import scan

Role: TypeAlias = Literal["from", "to"]


def named_words(words: str) -> frozenset[str]:
    """The words of a list that is written as one text, separated by spaces."""
    return frozenset(words.split())


IDLE = named_words(
    "want would like need please wish also then now just ask agent help could may must should let try "
    "because since decide lastly finally first second next"
)
"""Words that do not describe the object of an act."""
_FROM = named_words("from out off use using debit debiting source charging von aus depuis desde")
_TO = named_words("to into onto as toward towards credit crediting destination nach auf vers hacia")
_CARD = re.compile(
    r"\b(?:debit|credit)(?=[- ](?:cards?|limits?|lines?|notes?|scores?)\b)"
    r"|\b(?:my|our|your|the|an?|his|her|their)\s+(?:debit|credit)\b",
    re.IGNORECASE,
)
"""Words that say of what sort a card is, and not what is to be done with it."""
_ARROW = re.compile(r"(?<![\w.@/+])([\w.@/+]{1,80})\s?(?:[-=]>|\u2192)\s?")
_PAYS = re.compile(r"(?<![\w.@/+])([\w.@/+]{1,80})\s+pays\s+", re.IGNORECASE)
_PAID_WITH = re.compile(r"\b(pay(?:ing)?\b[^.;\n]{0,80}?)\bwith\b", re.IGNORECASE)
_FILLED = re.compile(r"\b(?:top(?:ping)? up|fund(?:ing)?|refill(?:ing)?|owe[ds]?)\b", re.IGNORECASE)
_FILLERS = named_words(
    "my your our the a this that account accounts iban card number no folder file channel user of and "
    "address bank wallet called named"
)
_FARTHEST = 4
# Given names that are also common words. They count as names only in the middle of a sentence.
_WORDS_TOO = named_words(
    "amber april archer art august autumn baker basil bill brandy buck buddy can cash charity chase "
    "chip clay cliff cooper crystal daisy dawn dean drew duke earl faith forest frank gene ginger glen "
    "grace grant guy harmony heath holly hope hunter iris ivy jack joy june king lance lane lily mark "
    "mason max may melody mercy miles nick norm olive page parker pat patience pearl penny pierce "
    "porter prudence ray reed rich rob rod rose ruby sandy skip sky stone sue summer sunny taylor "
    "tucker van victor violet wade walker ward will woody"
)
_LONGEST_COUNT = 4
"""Digits of a number that may be a count, at most."""
_IDENTIFIES = frozenset({"id", "ids", "number", "nr", "no"})
_JOINS = _IDENTIFIES | {"and", "or", "to", "with", "is", "the", "of"}
_FARTHEST_NOUN = 6
_DIGIT = re.compile(r"\d")
_CAPITALISED = re.compile(r"(?<![\w'\u2019])[A-Z][a-z]+\b(?!['\u2019]?\w)")
_CAPITALISED_RUN = re.compile(r"(?<![\w'\u2019@.-])[A-Z][^\W\d_]+(?:\s+[A-Z][^\W\d_]+)*(?![\w@])")
_OPENING = named_words(
    "not never no skip omit exclude except excluding avoid ignore drop forget spare without "
    "keep leave tell only but besides barring minus neither nor"
)
_TIME = re.compile(
    r"\b(?:by|in|until|till|since|during|before|after|of|last|next|this|early|late|mid|through|every|each)\Z",
    re.IGNORECASE,
)
"""What stands before a month or a season: "by April" names nobody."""
_TIMES = named_words("april may june august summer autumn")
_FOLLOWS = named_words(
    "and or to in on at from with by for into of as is was that which please then now so if but"
)


def is_word_too(token: str) -> bool:
    """Whether a name, in lower case, is also a common word."""
    return token in _WORDS_TOO


def may_count(token: str) -> bool:
    """Whether a token is a number that could be a count."""
    return len(token) <= _LONGEST_COUNT and token.isdigit()


def roles(text: str) -> Iterator[tuple[str, Role]]:
    """The tokens from which something is to be taken, or into which it is to go, each with that role."""
    role: Role | None = None
    since, is_grouped = 0, False
    text = _ARROW.sub(r"from \1 to ", text) if ">" in text or "\u2192" in text else text
    text = _CARD.sub("", text)
    text = _FILLED.sub("to", _PAID_WITH.sub(r"\1 using ", _PAYS.sub(r"from \1 to ", text)))
    for at, (_, token) in enumerate(scan(text)):
        if token in _FROM or token in _TO:
            role, since = ("from" if token in _FROM else "to"), at
            is_grouped = False
        elif role is not None and (token.isalpha() if is_grouped else at - since > _FARTHEST):
            role = None
        elif role is not None and token not in _FILLERS:
            yield token, role
            # ``from Ann to Bob`` and ``from savings account AA11``: the number has the role as well,
            # with all of its groups.
            is_grouped = not token.isalpha()
            role = role if token.isalnum() else None


def names(text: str) -> Iterator[str]:
    """The common words that a text uses as names."""
    before, end = "", 0
    for found in _CAPITALISED.finditer(text):
        # Only the text in between: looking back to the start each time would take quadratic time.
        between = text[end : found.start()].rstrip()
        before, end = between[-1:] or before, found.end()
        word = found[0].lower()
        is_time = word in _TIMES and _TIME.search(between) is not None
        if before and before not in ".!?:;\"'" and not is_time and is_word_too(word):
            yield word
        before = found[0][-1]


def people_in(text: str) -> frozenset[frozenset[str]]:
    """The words with capitals in a text that may be names, each as the words that it is made of."""
    found = set[frozenset[str]]()
    for run in _CAPITALISED_RUN.finditer(text):
        words = run[0].lower().split()
        # The first word of a sentence has a capital whatever it is: "Not Bob".
        found.add(frozenset(words[1:] if words[0] in _OPENING and len(words) > 1 else words))
    return frozenset(found)


def references(text: str) -> Iterator[tuple[str, str]]:
    """Short numbers that identify, each with its noun: ``mail 3``, ``files 3 and 4``, ``id 3``."""
    found = [token for _, token in scan(text)] if _DIGIT.search(text) else []
    for at, token in enumerate(found):
        if token.isdigit() and may_count(token):
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
