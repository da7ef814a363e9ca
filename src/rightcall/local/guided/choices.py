"""Finds the value of a parameter with fixed values in a question: one of a list, or yes or no."""

from collections.abc import Iterator, Mapping

from rightcall.declare.search_words import stem, terms
from rightcall.local.guided.kin import is_verb, kin_of
from rightcall.local.guided.parameters import Parameter
from rightcall.local.guided.spans import Asked, Span
from rightcall.local.guided.units import currency
from rightcall.local.guided.wordlist import listed

_LONG = 3
"""The fewest letters for a word to be an abbreviation."""
_NOT = frozenset(
    listed(
        """
    no not without don't doesn't off disable disabled never exclude excluding isn't
    """
    )
)
_SWITCHES = frozenset(stem(word) for word in listed("on enabled enable active state status"))
_ON, _OFF = (
    frozenset(listed("on enable activate start open")),
    frozenset(["off", "disable", "deactivate", "stop"]),
)


def values_said(parameter: Parameter, asked: Asked) -> Iterator[Span]:
    """Finds one of a parameter's fixed values in the question, in this or another form."""
    said: list[tuple[float, Span]] = []
    for value in parameter.values:
        if value is None or isinstance(value, bool | Mapping | list):
            continue
        for worth, start, end in _said(str(value), asked):
            said.append((worth, Span("enum", start, end, value)))
    # The longest form first: "very high" is not "high".
    said.sort(key=lambda each: (-each[0], each[1].start))
    taken: list[Span] = []
    for _, span in said:
        if not any(span.overlaps(each) for each in taken):
            taken.append(span)
            yield span


def _said(value: str, asked: Asked) -> Iterator[tuple[float, int, int]]:
    """The places of a value, each with a confidence."""
    wanted = terms(value, empty=True)
    # An x-ray is two words to a search.
    tokens = [
        (start, end, each)
        for start, end, word in asked.tokens
        for each in terms(word, empty=True) or (word.lower(),)
    ]
    if not wanted:
        for start, end, word in asked.tokens:
            if word == value:
                yield 1.0, start, end
        return
    for at in range(len(tokens) - len(wanted) + 1):
        if [each[2] for each in tokens[at : at + len(wanted)]] == wanted:
            yield float(len(wanted)), tokens[at][0], tokens[at + len(wanted) - 1][1]
    if value.isupper() and currency(value):
        yield from ((0.9, start, end) for start, end, word in tokens if currency(word) == value)
    elif len(wanted) == 1:
        for start, end, word in tokens:
            if worth := _stands_for(word, wanted[0]):
                yield worth, start, end


def _stands_for(word: str, wanted: str) -> float:
    """How surely one stem stands for another: a synonym, or an abbreviation."""
    if word in kin_of(wanted) and not is_verb(word):
        # What is to be done is no value: "add" is not "open".
        return 0.5
    is_short = len(word) > _LONG and wanted.startswith(word)
    return 0.6 if is_short or (len(wanted) > _LONG and word.startswith(wanted)) else 0.0


def switch_said(parameter: Parameter, asked: Asked) -> bool | None:
    """The question's answer to a yes-or-no parameter; None if it has none."""
    words = set(parameter.words)
    if words & _SWITCHES:
        if asked.words & _OFF:
            return False
        if asked.words & _ON:
            return True
    telling = words - frozenset(
        terms("is should include has with get use return show calculate", empty=True)
    )
    for start, _, word in asked.tokens:
        if stem(word.lower()) in telling and len(word) >= _LONG:
            return not set(asked.before(start, 3)) & _NOT
    return None
