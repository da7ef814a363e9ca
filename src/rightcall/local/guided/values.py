"""Finds values in a question: numbers, days, times, addresses, codes, quotes, names.

This is independent of tools. Each value has its position, so that the words around it can show its
parameter, and its JSON value, so that "two hundred" and "$1,200" are numbers.
"""

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import JsonValue
from rightcall.local.guided.formula import in_signs
from rightcall.local.guided.when import DATE, TIME
from rightcall.local.guided.wordlist import listed

Kind: TypeAlias = Literal[
    "number", "numbers", "date", "time", "email", "url", "path", "code", "quote", "name", "sum"
]


class Value(Struct, frozen=True):
    """A value, its position in the question, and its value as an argument."""

    kind: Kind
    start: int
    end: int
    text: str
    plain: JsonValue
    """A number, a list of numbers, or the text without its quotes."""
    unit: str = ""
    """The unit of a number: the sign at it, or the word after it."""


_EMAIL = re.compile(r"[\w.+'-]+@[\w-]+(?:\.[\w-]+)+")
_URL = re.compile(
    r"\bhttps?://[^\s\"'<>]+[^\s\"'<>.,;:?!)\]]|\bwww\.[\w.-]+\w(?:/[^\s\"'<>]*)?"
    r"|\b(?:[\w-]+\.)+(?:com|org|net|io|dev|edu|gov|app|local|de|fr|uk|ch|eu)\b(?:/[^\s\"'<>?]*)?",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"(?<![\w/.])(?:~?/|\./|\.\./|[A-Za-z]:\\)[\w./\\-]*\w/?|\b[\w-]+(?:[/.][\w-]+)*\.[a-z]{2,4}\b(?!\.)"
)
_QUOTE = re.compile(
    r"\"([^\"]+)\"|\u201c([^\u201d]+)\u201d|\u2018([^\u2019]+)\u2019|\u00ab([^\u00bb]+)\u00bb|`([^`]+)`"
    r"|(?<!\w)'((?:[^']|'(?=\w))+)'(?!\w)"
)
_CODE = re.compile(
    r"\b(?:v\d+(?:\.\d+)+|\d+(?:\.\d+){2,})\b|#\w[\w-]*|\b(?=[\w/-]*\d)(?=[\w/-]*[A-Za-z])[A-Za-z0-9]+(?:[-_/][A-Za-z0-9]+)+\b"
    r"|(?<![\w:.])(?=[0-9A-Fa-f:]*::|(?:[0-9A-Fa-f]+:){7})[0-9A-Fa-f:]+[0-9A-Fa-f](?![\w:])"
    r"|\b\d+(?:\.\d+)+[A-Za-z]+\d+\b|\b(?!\d+[EeHh]\d+\w?\b)\d+[A-Za-z]+\d[A-Za-z0-9]*\b"
    r"|\b[A-Za-z]+\d+[A-Za-z0-9]*\b|\b[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+\b|\b\d{2,}-\d{2,}(?:-\d+)*\b"
)
_LIST = re.compile(r"[\[(]\s*-?\d[\d.]*(?:\s*,\s*-?\d[\d.]*)+\s*[\])]|-?\d+\.\d{3,}\s*,\s*-?\d+\.\d{3,}")
_DIGITS = re.compile(
    r"""(?<![\w.^])(?P<sign>[-\u2212])?(?P<money>[$\u20ac\u00a3\u00a5])?
    (?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)
    (?:\s?(?P<scale>thousand|million|billion|trillion|k|mn|bn)\b|\s?(?P<degrees>\u00b0\s?(?:[CF]\b)?)
    |(?P<unit>%|(?:st|nd|rd|th)\b
    |[A-Za-z]{1,4}(?![\w-])))?(?!\w|\.\d)""",
    re.VERBOSE,
)
_SCALES = {"thousand": 3, "k": 3, "million": 6, "mn": 6, "billion": 9, "bn": 9, "trillion": 12}
_SMALL = listed(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen
    """
)
_TENS = listed("twenty thirty forty fifty sixty seventy eighty ninety")
_THOUSAND = 1000
"""A number after a thousand is added to it."""
_COUNTED = re.compile(r"\d{1,3}-(?=[a-z]*[aeiou])[a-z]{3,}")
"""A number of things, and no code: 3-day, 2-bedroom."""
_EXACT = 1e15
"""Below this, a float without a fraction is the integer that was written."""
_LARGEST = 1e300
"""From this on, a number is not one that a tool could reckon with."""
_COUNTS = {word: at for at, word in enumerate(_SMALL)} | {
    word: 10 * at for at, word in enumerate(_TENS, 2)
}
_TIMES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "dozen": 12}
_WORDY = re.compile(
    rf"\b(?:(?:a|half\ a)\ (?=hundred|thousand|million|dozen))?(?:{'|'.join([*_COUNTS, *_TIMES])})"
    rf"(?:(?:[\s-]|\ and\ )(?:{'|'.join([*_COUNTS, *_TIMES])}))*\b",
    re.IGNORECASE,
)
_ONE = re.compile(
    r"\b(?P<half>half\ an)\ (?P<hour>hour)\b|\b(?:a\ )?(?P<quarter>quarter\ of\ an)\ hour\b"
    r"|\b(?P<more>an\ hour\ and\ a\ half)\b|\ban?\ (?P<unit>second|minute|hour|day|week|month|year)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_][\w'\u2019-]*")
_PROPER = re.compile(
    r"(?:(?:Dr|Mr|Mrs|Ms|Prof|St)\.(?=\s+[A-Z])|[A-Z\u00c0-\u00de][\w'\u2019&.-]*\w|[A-Z])"
    r"(?:\s+(?:(?:of|de|la|del|di|da|van|von|the|&)\s+){0,2}"
    r"(?:(?:Dr|Mr|Mrs|Ms|Prof|St)\.(?=\s+[A-Z])|[A-Z\u00c0-\u00de][\w'\u2019&.-]*\w|[A-HJ-Z](?!\w)|\d+(?=\W*$|\s+[a-z])))*"
    r"(?:,\s(?:[A-Z]{2}\b|[A-Z\u00c0-\u00de][a-z]+(?=[?.!]?$|\s+(?!and)[a-z])))?"
)


def values_in(question: str) -> tuple[Value, ...]:
    """The values of a question, in order.

    A value inside of another is not listed: no number of a date is. Those of a sum are.
    """
    found: list[Value] = []
    taken = bytearray(len(question))
    for value in _by_form(question):
        if not any(taken[value.start : value.end]):
            found.append(value)
            taken[value.start : value.end] = b"\1" * (value.end - value.start)
    sums = [value for value in found if value.kind == "sum"]
    found += [each for each in _numbers(question) if any(_is_in(each, value) for value in sums)]
    return tuple(sorted(found, key=lambda value: (value.start, -value.end)))


def number_words(text: str) -> int | None:
    """The number that some words name: two hundred and fifty."""
    total, part, seen = 0, 0, False
    for word in re.findall(r"[a-z]+", text.lower()):
        if word in _COUNTS:
            part, seen = part + _COUNTS[word], True
        elif word in _TIMES:
            part, seen = (part or 1) * _TIMES[word], True
            if part >= _THOUSAND:
                total, part = total + part, 0
    if not seen:
        return None
    whole = total + part
    return whole // 2 if text.lower().startswith("half a") else whole


def _is_in(value: Value, other: Value) -> bool:
    return other.start <= value.start and value.end <= other.end


def _by_form(question: str) -> Iterator[Value]:
    """The values that are recognised by their form, the surest first."""
    for found in _QUOTE.finditer(question):
        inner = next(group for group in found.groups() if group is not None)
        yield Value("quote", found.start(), found.end(), found[0], inner.strip())
    yield from _plain("email", _EMAIL, question)
    yield from _plain("url", _URL, question)
    yield from _plain("date", DATE, question)
    yield from _plain("time", TIME, question)
    for start, end in in_signs(question):
        yield Value("sum", start, end, question[start:end], question[start:end])
    for found in _LIST.finditer(question):
        numbers = [_number(each) for each in re.findall(r"-?\d+(?:\.\d+)?", found[0])]
        if None not in numbers:
            yield Value("numbers", found.start(), found.end(), found[0], [*numbers])
    yield from _plain("path", _PATH, question)
    for found in _CODE.finditer(question):
        if not (_DIGITS.fullmatch(found[0]) or _COUNTED.fullmatch(found[0])):
            text = found[0].removeprefix("#")
            number = _number(text) if text.isdecimal() else None
            kind: Kind = "code" if number is None else "number"
            yield Value(kind, found.start(), found.end(), found[0], text if number is None else number)
    yield from _durations(question)
    yield from _numbers(question)
    yield from _names(question)


def _plain(kind: Kind, pattern: re.Pattern[str], question: str) -> Iterator[Value]:
    for found in pattern.finditer(question):
        yield Value(kind, found.start(), found.end(), found[0], found[0])


def _numbers(question: str) -> Iterator[Value]:
    for found in _DIGITS.finditer(question):
        scale = 10 ** _SCALES[found["scale"]] if found["scale"] else 1
        number = _number(found["digits"].replace(",", ""), scale)
        if number is None:
            continue
        if found["sign"]:
            number = -number
        sign = found["degrees"] or found["unit"] or found["money"] or ""
        unit = sign.strip() or _word_behind(question, found.end())
        yield Value("number", found.start(), found.end(), found[0], number, unit)
    for found in _WORDY.finditer(question):
        count = number_words(found[0])
        # "One" is as often a pronoun.
        if count is not None and not (
            found[0].lower() == "one" and not _word_behind(question, found.end())
        ):
            unit = _word_behind(question, found.end())
            yield Value("number", found.start(), found.end(), found[0], count, unit)


def _durations(question: str) -> Iterator[Value]:
    """A duration without a number: half an hour."""
    for found in _ONE.finditer(question):
        if found["unit"]:
            yield Value("number", found.start(), found.end(), found[0], 1, found["unit"].lower())
        else:
            minutes = 30 if found["half"] else 15 if found["quarter"] else 90
            yield Value("number", found.start(), found.end(), found[0], minutes, "minutes")


def _names(question: str) -> Iterator[Value]:
    """Capitalised words. The first of a sentence always is; the caller cuts it off."""
    for found in _PROPER.finditer(question):
        text = re.sub(r"['\u2019]s$", "", found[0]).rstrip(".,")
        if text != "I" and not text.startswith(("I'", "I\u2019")):
            yield Value("name", found.start(), found.start() + len(text), text, text)


def _word_behind(question: str, at: int) -> str:
    found = _WORD.match(question, at + 1) if question[at : at + 1] in {" ", "-"} else None
    if found and found[0].lower() in {"degree", "degrees"}:
        # The kind of degrees says more.
        return _word_behind(question, found.end()) or found[0].lower()
    return found[0].lower() if found else ""


def _number(digits: str, scale: int = 1) -> int | float | None:
    """The number that some digits are; None if it is too large, as in the code 6e400."""
    number = float(digits) * scale
    if abs(number) >= _LARGEST:
        return None
    if digits.isdecimal():
        return int(digits) * scale
    return int(number) if number.is_integer() and abs(number) < _EXACT else number
