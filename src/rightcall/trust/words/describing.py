"""The words of a text that may describe something, each in one form: without plural, by one unit."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from rightcall.trust.words.dates import without_year
from rightcall.trust.words.kinds import words_of
from rightcall.trust.words.plain import plain
from rightcall.trust.words.said import named_words
from rightcall.trust.words.spelling import scan

FEWEST_DIGITS = 3
"""Digits of a number that describes a record, at least: smaller numbers are used of anything."""
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_UNITS = {
    spelt: unit
    for unit, others in (
        ("ft", "foot feet"),
        ("inch", "inches"),
        ("liter", "litre"),
        ("liters", "litres"),
        ("v", "volt volts"),
        ("w", "watt watts"),
        ("kg", "kilo kilos kilogram kilograms"),
        ("g", "gram grams gramme grammes"),
        ("cm", "centimetre centimetres centimeter centimeters"),
        ("mm", "millimetre millimetres millimeter millimeters"),
        ("gb", "gigabyte gigabytes gig gigs"),
        ("hour", "hr hrs"),
        ("min", "mins minute minutes"),
    )
    for spelt in others.split()
}
"""Other spellings of units."""
_POSSESSIVE = re.compile(r"['\u2019]s\b")
_PART = re.compile(r"[^\W_]+")
_COMMON = named_words(
    "a an and any are as at be but by can do for from get had has have he her his i if in is it its me "
    "my new no none not of on one only or our she so than that the their them then they this to true "
    "false up was we were what when which who will with yes you your"
)


@lru_cache(8192)
def stem(word: str) -> str:
    """A word without a plural ending and without punctuation."""
    word = "".join(_PART.findall(word))
    word = _UNITS.get(word, word)
    return word[:-1] if len(word) > FEWEST_DIGITS and word.endswith("s") else word


def terms_of(text: str) -> list[str]:
    """The words of a text that may describe something, in order."""
    found = list[str]()
    for kind, token in scan(_POSSESSIVE.sub("", plain(text))):
        if kind == "date":
            found += (token, without_year(token))
            continue
        parts = [token] if token.isalpha() else _PART.findall(token)
        found += [stem(each) for each in ([token, *parts] if len(parts) > 1 else parts) if _tells(each)]
    return found


def nouns_of(name: str) -> set[str]:
    """The nouns in a field's name."""
    return {stem(word) for word in name.lower().split("_")} - {"id"}


def joined(text: str) -> Iterator[str]:
    """Each two adjacent words of a text as one word: ``smart watch`` as ``smartwatch``."""
    words = [
        part
        for _, token in scan(_POSSESSIVE.sub("", plain(text)))
        for part in ([token] if token.isalpha() else _PART.findall(token))
    ]
    return (stem(one + _UNITS.get(two, two)) for one, two in pairwise(words))


def _tells(word: str) -> bool:
    return word not in _COMMON and not (word.isdigit() and len(word) < FEWEST_DIGITS)


def initials_of(text: str) -> str:
    """The letters for the words of an identifier, as people write them: ``GC`` for ``gift_card_77``."""
    words = [word for word in words_of(text) if word.isalpha()]
    return "".join(word[0] for word in words) if len(words) > 1 else ""
