"""What in a question speaks for a tool, and for the arguments that a small model wrote.

Such a model calls a tool for a question that has nothing to do with it, and copies what its lessons hold
into an argument that nobody gave. Both show in the words: none is shared.
"""

import re
from collections.abc import Iterator, Mapping

from rightcall.core.jsontext import JsonError, JsonValue, dump, parse
from rightcall.core.tool import Spec
from rightcall.local.guided.formula import numbers_in, takes_formulas

_WORD = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"\d")
_SHORTEST_STEM = 4
_ENDING = 2
"""Letters at the end of a word that may differ: multiply, multiplied."""
_NUMBER_WORDS = frozenset(
    _WORD.findall("""
    zero one two three four five six seven eight nine ten eleven twelve thirteen fifteen twenty thirty
    forty fifty sixty seventy eighty ninety hundred thousand million half third quarter dozen percent
    twice double triple square squared cube cubed
    """)
)
_COMMON = frozenset(
    _WORD.findall("""
    a about all also an and any are as ask at be been but by can could did do does for from get give had
    has have he her here him his how i if in into is it its just know let like make may me my need no
    not of on one or our out please say see she should so some tell than that the their them then there
    these they this those to up us use want was we were what when where which who whose why will with
    would you your
    """)
)

_TURNING = frozenset(
    _WORD.findall("tomorrow yesterday next last previous ago later until till since before after")
)
"""Words that make another question of one: what is so now does not answer it."""


def speaks_for(question: str, spec: Spec) -> bool:
    """Whether the question has a word of the tool's, or a number for one that takes numbers."""
    words = _words(question)
    if (_DIGIT.search(question) or words & _NUMBER_WORDS) and _takes_numbers(spec):
        return True
    own = _words(" ".join(_texts(spec)))
    return any(_alike(word, other) for word in words - _COMMON for other in own - _COMMON)


def without_inventions(arguments: str, spec: Spec, question: str) -> str:
    """The arguments without the optional ones whose value the question does not hold."""
    try:
        given = parse(arguments)
    except JsonError:
        return arguments
    required = spec.parameters.get("required", [])
    if not isinstance(given, Mapping) or not isinstance(required, list):
        return arguments
    kept = {
        name: value for name, value in given.items() if name in required or _is_held(value, question)
    }
    return arguments if len(kept) == len(given) else dump(kept)


def is_called_for(arguments: str, spec: Spec, question: str) -> bool:
    """Whether these arguments can have come of the question, and leave none of it out that turns it.

    Numbers of which none stands in the question are a lesson's; a formula with another number instead of
    one that was asked about is miscopied. A question about tomorrow is not answered by a tool that says
    nothing of it and was given nothing.
    """
    try:
        given = parse(arguments)
    except JsonError:
        return True
    words = _words(question)
    if not words & _NUMBER_WORDS and not _has_numbers_of(
        numbers_in(question), numbers_in(dump(given)), spec
    ):
        return False
    return bool(given) or not (words & _TURNING) - _words(" ".join(_texts(spec)))


def _has_numbers_of(asked: set[str], given: set[str], spec: Spec) -> bool:
    if takes_formulas(spec) and given - asked and asked - given:
        # One was miscopied. Elsewhere five in the afternoon may have become 17:00.
        return False
    return not given or bool(given & asked)


def _is_held(value: JsonValue, question: str) -> bool:
    """Words and numbers must stand in the question; a yes or no, or a list, says nothing about that."""
    match value:
        case bool() | None:
            return True
        case int() | float():
            return bool(re.search(rf"(?<!\d){re.escape(dump(value))}(?!\d)", question)) or bool(
                _words(question) & _NUMBER_WORDS
            )
        case str():
            if value.casefold() in question.casefold():
                return True
            asked = _words(question) - _COMMON
            return any(_alike(word, other) for word in _words(value) for other in asked)
        case _:
            return True


def _takes_numbers(spec: Spec) -> bool:
    properties = spec.parameters.get("properties")
    kinds = properties.values() if isinstance(properties, Mapping) else ()
    if any(isinstance(kind, Mapping) and kind.get("type") in {"integer", "number"} for kind in kinds):
        return True
    return any(_DIGIT.search(dump(example)) for example in spec.examples)


def _texts(spec: Spec) -> Iterator[str]:
    yield from (spec.name.replace("_", " ").replace("-", " "), spec.description, spec.short)
    yield from spec.questions
    yield from (dump(example) for example in spec.examples)
    yield dump(spec.parameters)


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _alike(word: str, other: str) -> bool:
    """The same word, but for its ending."""
    stem = max(_SHORTEST_STEM, min(len(word), len(other)) - _ENDING)
    return word == other or (min(len(word), len(other)) >= stem and word[:stem] == other[:stem])
