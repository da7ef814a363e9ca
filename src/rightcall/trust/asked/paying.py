"""Which of several a person means by what was used before: the other card, the way it was paid.

What a record already holds is taken for granted only as long as nobody asks for another.
"""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from rightcall.trust.words.describing import stem, terms_of
from rightcall.trust.words.spelling import folded

_OTHER = re.compile(
    r"\b(?:other|another|different|opposite)\s+(?!than\b|hand\b)(?P<nouns>[^\W\d_]+(?:['\u2019]s)?(?:\s+[^\W\d_]+){0,2})"
)
_PAYMENT = "payment|card|account|method|wallet|paypal"
_AS_BEFORE = re.compile(
    rf"\b(?:original|same|initial|previous)\s+(?:(?:form|method|means|mode|way)\s+of\s+)?(?P<noun>{_PAYMENT})\b"
    rf"|\b(?:the\s+)?(?P<what>way|{_PAYMENT})\s+(?:(?:that|which)\s+)?(?:i|you|we)\s+"
    r"(?:(?:have|had|originally|already|first)\s+)*(?:paid|used)\b"
)
_REST = re.compile(
    r"\b(?:rest|remainder|remaining(?:\s+[^\W\d_]+)?|difference)\b[^.;]{0,60}?\b(?:with|on|by|from|using|to)\s+"
    r"(?P<what>[^.,;]{1,100})"
)
_BEFORE = ("original", "same", "initial", "previous", "paid", "used")
_ANY = frozenset({"payment", "card", "account", "method", "wallet", "paypal"})


class Other(Struct, frozen=True):
    """The wish for another one than a record holds."""

    nouns: frozenset[str]
    """The words for what it is to be another of."""
    words: frozenset[str]
    """The words around it, which say for what."""


class Paying(Struct, frozen=True):
    """How a text says what to pay with."""

    others: tuple[Other, ...] = ()
    as_before: frozenset[str] = frozenset()
    """The nouns for what is to stay as it is in the record."""
    rest: frozenset[str] = frozenset()
    """The words for what pays the rest: no second choice."""


def paying_in(sentence: str, earlier: str, certain: Callable[[str], str]) -> Paying | None:
    """How a sentence says what to pay with; None if it does not.

    ``earlier`` is the sentence before, ``certain`` gives the part of one that is under no condition.
    """
    text = folded(sentence)
    before = frozenset[str]()
    # Looking for words is cheaper than for patterns, and most sentences have none of these.
    if any(each in text for each in _BEFORE) and _AS_BEFORE.search(text) is not None:
        before = frozenset(_as_before(folded(certain(sentence))))
    rest = frozenset[str]()
    if any(each in text for each in ("rest", "remain", "difference")):
        rest = frozenset(term for found in _REST.finditer(text) for term in terms_of(found["what"]))
    # To split something with another adds one, and takes no other.
    is_other = "split" not in text and any(each in text for each in ("other", "different", "opposite"))
    named = list(_OTHER.finditer(text)) if is_other else []
    words = frozenset((*terms_of(text), *terms_of(earlier))) if named else frozenset[str]()
    others = [Other(frozenset(map(stem, each["nouns"].split())), words) for each in named]
    return Paying(tuple(others), before, rest) if others or before or rest else None


def _as_before(text: str) -> Iterator[str]:
    for found in _AS_BEFORE.finditer(text):
        noun = found["noun"] or found["what"]
        yield from _ANY if noun == "way" else (noun,)
