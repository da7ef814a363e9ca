"""Checks a question for evidence of a tool, and of the arguments that a small model wrote.

Such a model calls a tool for an unrelated question, and copies values of its lessons into arguments that
the user did not give. Both can be detected: no words are shared.
"""

import re
from collections.abc import Iterator, Mapping

from rightcall.core.jsontext import JsonError, JsonValue, dump, parse
from rightcall.core.tool import Spec
from rightcall.declare.search_words import stem
from rightcall.local.guided.formula import numbers_in, takes_formulas
from rightcall.local.guided.kin import kin_of
from rightcall.local.guided.parameters import Parameter, parameters_of
from rightcall.local.guided.values import values_in
from rightcall.local.guided.when import clock_time

_WORD = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"\d")
_SHORTEST_STEM = 4
_ENDING = 2
"""How many letters at the end of a word may differ: multiply, multiplied."""
_NUMBER_WORDS = frozenset(
    _WORD.findall("""
    zero one two three four five six seven eight nine ten eleven twelve thirteen fifteen twenty thirty
    forty fifty sixty seventy eighty ninety hundred thousand million half third quarter dozen percent
    twice double triple square squared cube cubed
    """)
)
_STANDS_FOR = {
    word: frozenset(numbers.split())
    for word, numbers in {
        "second": "60",
        "minute": "60",
        "hour": "60 24 3600",
        "day": "24 7",
        "week": "7 52",
        "month": "12 30",
        "year": "12 52 365",
        "half": "2 0.5",
        "third": "3",
        "quarter": "4 0.25 15",
        "dozen": "12",
        "percent": "100",
        "twice": "2",
        "double": "2",
        "triple": "3",
        "square": "2",
        "squared": "2",
        "cube": "3",
        "cubed": "3",
    }.items()
}
"""Words that contain a number."""
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
"""Words that change a question, so that the present state does not answer it."""
_OF_ONE = frozenset(_WORD.findall("root squared cubed factorial"))
_OF_TWO = frozenset(
    _WORD.findall("""
    plus minus times multiply multiplied divide divided subtract subtracted add added sum difference
    product power percent
    """)
)
"""What is done with one number, and with several."""


def is_sum(question: str) -> bool:
    """Whether the question is a sum in words: "seven times nine"."""
    numbers = sum(value.kind == "number" for value in values_in(question))
    words = _words(question)
    return (numbers > 0 and not words.isdisjoint(_OF_ONE)) or (
        numbers > 1 and not words.isdisjoint(_OF_TWO)
    )


def speaks_for(question: str, spec: Spec) -> bool:
    """Whether the question has a word of the tool's, or a number for a tool that takes numbers."""
    words = _words(question)
    if (_DIGIT.search(question) or words & _NUMBER_WORDS) and _takes_numbers(spec):
        return True
    own = _words(" ".join(_texts(spec))) - _COMMON
    stems = {stem(word) for word in own}
    return any(
        any(_alike(word, other) for other in own) or not stems.isdisjoint(kin_of(stem(word)))
        for word in words - _COMMON
    )


def without_inventions(arguments: str, spec: Spec, question: str) -> tuple[str, tuple[str, ...]]:
    """The arguments without those that are not in the question; and the required ones now missing."""
    try:
        given = parse(arguments)
    except JsonError:
        return arguments, ()
    if not isinstance(given, Mapping):
        return arguments, ()
    kept = {
        parameter.name: given[parameter.name]
        for parameter in parameters_of(spec)
        if parameter.name in given and _is_allowed(given[parameter.name], parameter, question)
    }
    missing = [each.name for each in parameters_of(spec) if each.is_required and each.name not in kept]
    return (arguments if len(kept) == len(given) else dump(kept)), tuple(missing)


def _is_allowed(value: JsonValue, parameter: Parameter, question: str) -> bool:
    return parameter.type == "enum" or _is_held(value, question)


def written(spec: Spec) -> frozenset[str]:
    """The parameters that a tool's own examples do not copy: a time zone for a city, a sum."""
    pairs = zip(spec.questions, spec.examples, strict=False)
    return frozenset(
        name
        for question, example in pairs
        for name, value in example.items()
        if isinstance(value, str) and value.casefold() not in question.casefold()
    )


def is_called_for(arguments: str, spec: Spec, question: str) -> bool:
    """Whether these arguments can come from the question, and omit nothing that changes it.

    Numbers none of which is in the question come from a lesson; a formula with a number other than the
    question's is miscopied. A question about tomorrow is not answered by a tool that neither mentions it
    nor got it as an argument.
    """
    try:
        given = parse(arguments)
    except JsonError:
        return True
    asked = numbers_in(question)
    if takes_formulas(spec) and (numbers := numbers_in(dump(given))) - asked and asked - numbers:
        # One was miscopied.
        return False
    return bool(given) or not (_words(question) & _TURNING) - _words(" ".join(_texts(spec)))


def _is_held(value: JsonValue, question: str) -> bool:
    """Words and numbers must be in the question; a boolean or a list is no evidence either way."""
    match value:
        case bool() | None:
            return True
        case int() | float():
            return numbers_in(dump(value)) <= _numbers(question)
        case str():
            if value.casefold() in question.casefold():
                return True
            if not numbers_in(value) <= _numbers(question):
                return False
            asked = _words(question) - _COMMON
            own = _words(value)
            return any(_alike(word, other) for word in own for other in asked) or bool(
                numbers_in(value) or not own
            )
        case Mapping():
            return all(_is_held(each, question) for each in value.values())
        case _:
            return all(_is_held(each, question) for each in value)


def _numbers(question: str) -> set[str]:
    """The numbers in a question: in digits, in words, and in common units of counting."""
    held = numbers_in(question)
    for value in values_in(question):
        held |= numbers_in(dump(value.plain))
        if value.kind == "time":
            held |= numbers_in(clock_time(value.text))
    for word in _words(question):
        held |= _STANDS_FOR.get(word.removesuffix("s"), frozenset())
    return held


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
    """Whether two words are equal except for their endings."""
    same = max(_SHORTEST_STEM, min(len(word), len(other)) - _ENDING)
    return word == other or (min(len(word), len(other)) >= same and word[:same] == other[:same])
