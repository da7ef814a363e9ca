"""Copies a tool's arguments out of a question, and lists what is missing.

Nothing is made up. A string is a span of the question, a number is one in the question, and each is used
once; choices are made only among those. A required value that is not in the question is missing, and the
user must be asked for it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.tool import Spec
from rightcall.declare.search_words import terms
from rightcall.local.guided.choices import switch_said, values_said
from rightcall.local.guided.fit import NO, SURE, fit, is_measure, named_by
from rightcall.local.guided.parameters import Parameter, members, parameters_of
from rightcall.local.guided.spans import Asked, Span
from rightcall.local.guided.spelling import spelt
from rightcall.local.guided.units import currency

_CLOSE = 0.4
"""How close to the best fit another must be for the model to choose it."""
_MOST = 5
_PLACED = frozenset(("number", "numbers", "date", "time", "email", "url", "path", "code", "quote"))
"""Kinds of values that always have a purpose."""


class Copied(Struct, frozen=True):
    """A call's arguments, as far as the question contains them."""

    given: dict[str, JsonValue]
    """By parameter: the value that fits it best."""
    choices: dict[str, tuple[JsonValue, ...]]
    """By parameter: the candidates, if others fit about as well."""
    missing: tuple[str, ...]
    """The required parameters without a value."""
    worth: float = 0.0
    """The fit of the required values: the worst of them."""
    unused: int = 0
    """How many values of the question have no parameter in the tool."""
    shaped: int = 0
    """How many values whose kind shows by their form have a parameter of that kind."""

    def schema(self) -> JsonObject:
        """The schema that restricts the model when it writes the arguments."""
        properties: dict[str, JsonValue] = {
            name: {"enum": list(self.choices.get(name, (value,)))} for name, value in self.given.items()
        }
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }


def copied(spec: Spec, question: str | Asked) -> Copied:
    """The values in the question for the tool."""
    asked = question if isinstance(question, Asked) else Asked(question)
    parameters = parameters_of(spec)
    return _Copying(parameters, own_words(spec, parameters), asked, spec.parameters).done()


def own_words(spec: Spec, parameters: Sequence[Parameter]) -> frozenset[str]:
    """The stems of the words of a tool's definition; a span is not made of these alone."""
    said = [spec.name, spec.description, *(parameter.name for parameter in parameters)]
    # An example in a description is still a value: dollars, euros.
    return frozenset(word for word in terms(" ".join(said), empty=True) if not currency(word))


def _is_shaped(span: Span, role: str) -> bool:
    """Whether a value has the form of the parameter's kind: a day for a day."""
    return role == span.kind


class _Copying:
    """Assigns values to parameters one by one, the best fits first."""

    def __init__(
        self, parameters: Sequence[Parameter], own: frozenset[str], asked: Asked, root: JsonObject
    ) -> None:
        self._parameters = parameters
        self._own = own
        self._asked = asked
        self._root = root
        self._used: list[Span] = []
        self._given: dict[str, JsonValue] = {}
        self._spans: dict[str, Span] = {}
        self._worths: dict[str, float] = {}
        """By required parameter: the fit of its value."""
        self._choices: dict[str, tuple[JsonValue, ...]] = {}

    def done(self) -> Copied:
        for parameter in self._parameters:
            if (
                parameter.type == "boolean"
                and (switch := switch_said(parameter, self._asked)) is not None
            ):
                self._given[parameter.name] = switch
        lists = [each for each in self._parameters if each.type == "array"]
        for parameter in lists:
            if parameter.items is not None and parameter.items.type in {"integer", "number"}:
                self._numbers(parameter)
        self._match()
        self._left_over()
        for parameter in lists:
            if parameter.name not in self._given:
                self._texts(parameter)
        for parameter in self._parameters:
            if parameter.type == "object":
                self._object(parameter)
        missing = [
            each.name for each in self._parameters if each.is_required and each.name not in self._given
        ]
        order = [each.name for each in self._parameters if each.name in self._given]
        given = {name: self._given[name] for name in order}
        unused = [each for each in self._asked.spans if each.kind in _PLACED and not self._is_used(each)]
        worth = min(self._worths.values(), default=0.0)
        roles = {each.name: each.role for each in self._parameters}
        shaped = [span for name, span in self._spans.items() if _is_shaped(span, roles[name])]
        return Copied(given, self._choices, tuple(missing), worth, len(unused), len(shaped))

    def _match(self) -> None:
        """Assign single values to single parameters."""
        single = [
            each for each in self._parameters if each.type in {"string", "integer", "number", "enum"}
        ]
        pairs = [
            (score, at, parameter, span)
            for at, parameter in enumerate(single)
            for span in self._candidates(parameter)
            if (score := fit(span, parameter, self._asked)) > NO
            and score >= (NO if parameter.is_required else SURE)
            and spelt(span, parameter) is not None
        ]
        pairs.sort(
            key=lambda pair: (-round(pair[0], 2), pair[1], pair[3].start, pair[3].start - pair[3].end)
        )
        for score, _, parameter, span in pairs:
            if parameter.name in self._given:
                continue
            free = self._shortened(span)
            if free is None:
                continue
            self._give(parameter, free, score)
            self._leave_open(parameter, span, score, pairs)
        self._take_back(pairs)
        self._swap(
            {(parameter.name, span.start, span.end): score for score, _, parameter, span in pairs}
        )

    def _take_back(self, pairs: Sequence[tuple[float, int, Parameter, Span]]) -> None:
        """Give a required parameter without a value one that another parameter can spare.

        An optional one can, and so can one that another value fits.
        """
        for score, _, parameter, span in pairs:
            if not parameter.is_required or parameter.name in self._given:
                continue
            owner = next((each for _, _, each, _ in pairs if self._spans.get(each.name) == span), None)
            if owner is None:
                continue
            left = [pair for pair in pairs if pair[2] is owner and not self._is_used(pair[3])]
            if owner.is_required and not left:
                continue
            del self._given[owner.name], self._spans[owner.name]
            self._choices.pop(owner.name, None)
            self._used.remove(span)
            self._give(parameter, span, score)
            if left:
                self._give(owner, left[0][3], left[0][0])

    def _left_over(self) -> None:
        """Assign the remaining numbers, in order, to parameters that take any number: 6 eggs, 3 dice."""
        numbers = [
            each
            for each in self._asked.spans
            if each.kind == "number" and not self._is_used(each) and not is_measure(each)
        ]
        takers = [
            each
            for each in self._parameters
            if each.type in {"integer", "number"}
            and each.name not in self._given
            and not each.is_required
        ]
        if len(numbers) <= len(takers):
            for span, parameter in zip(numbers, takers, strict=False):
                if fit(span, parameter, self._asked) > NO:
                    self._give(parameter, span)

    def _swap(self, scores: Mapping[tuple[str, int, int], float]) -> None:
        """Swap two values if that fits better overall."""

        def worth(parameter: Parameter, span: Span) -> float:
            return scores.get((parameter.name, span.start, span.end), NO)

        for one, other in combinations(
            [each for each in self._parameters if each.name in self._spans], 2
        ):
            mine, yours = self._spans[one.name], self._spans[other.name]
            if worth(one, yours) + worth(other, mine) > worth(one, mine) + worth(other, yours):
                self._spans[one.name], self._spans[other.name] = yours, mine
                self._given[one.name] = spelt(yours, one)
                self._given[other.name] = spelt(mine, other)

    def _give(self, parameter: Parameter, span: Span, score: float | None = None) -> None:
        value = spelt(span, parameter)
        if value is not None:
            if parameter.is_required and score is not None:
                self._worths[parameter.name] = score
            self._given[parameter.name] = value
            self._spans[parameter.name] = span
            self._used.append(span)

    def _leave_open(
        self,
        parameter: Parameter,
        span: Span,
        score: float,
        pairs: Sequence[tuple[float, int, Parameter, Span]],
    ) -> None:
        """Record what fits a text about as well. Numbers that fit equally are assigned by order."""
        if parameter.type != "string" or span.kind == "rest":
            return
        near = [
            value
            for other, _, owner, each in pairs
            if owner is parameter
            and score - other < _CLOSE
            and not self._is_used(each)
            and (value := spelt(each, parameter)) is not None
        ]
        if near:
            self._choices[parameter.name] = (self._given[parameter.name], *near[: _MOST - 1])

    def _shortened(self, span: Span) -> Span | None:
        """The span, if it is free. A text to be said ends where another value begins."""
        if not self._is_used(span):
            return span
        if span.kind != "rest":
            return None
        end = min(each.start for each in self._used if each.overlaps(span))
        text = self._asked.text[span.start : max(span.start, end)].rstrip(" ,;:\"'")
        said, comma, more = text.rpartition(",")
        if comma and self._says_nothing(more):
            text = said
        text = re.sub(r"\s*,?\s*\b(?:at|on|by|for|to|before|in|into|with|and|due)$", "", text).rstrip(
            " ,"
        )
        return (
            Span("rest", span.start, span.start + len(text), text.strip(" '\""))
            if text.strip()
            else None
        )

    def _says_nothing(self, text: str) -> bool:
        """Whether some words only lead to a value: it's the car on contract."""
        return all(
            self._asked.holds(word) or self._own.issuperset(terms(word, empty=True))
            for word in text.split()
        )

    def _is_used(self, span: Span) -> bool:
        return any(span.overlaps(each) for each in self._used)

    def _candidates(self, parameter: Parameter) -> Iterator[Span]:
        if parameter.type == "enum":
            yield from values_said(parameter, self._asked)
        elif parameter.type == "string":
            yield from self._asked.spans_for(self._own)
            if parameter.role in {"text", "title"}:
                rests = tuple(self._asked.rests())
                if parameter.role == "text" and parameter.is_required and not rests:
                    rests = tuple(self._asked.statement(self._own))
                yield from rests
            elif parameter.role == "id":
                yield from self._asked.codes()
            elif parameter.role == "place":
                places = [each for each in self._parameters if each.role == "place"]
                yield from self._asked.addresses(with_town=len(places) == 1)
        else:
            yield from self._asked.spans

    def _numbers(self, parameter: Parameter) -> None:
        """A list of numbers: one that is written as a list, or adjacent numbers."""
        whole = [
            each for each in self._asked.spans if each.kind == "numbers" and not self._is_used(each)
        ]
        if whole:
            self._give(parameter, max(whole, key=lambda span: named_by(span, parameter, self._asked)))
            return
        run: list[Span] = []
        for span in self._asked.spans:
            if span.kind != "number" or self._is_used(span):
                continue
            between = self._asked.text[run[-1].end : span.start] if run else ""
            if run and not re.fullmatch(r"[\s,]*(?:and|&)?\s*\$?", between):
                if len(run) > 1:
                    break
                run = []
            run.append(span)
        if len(run) > 1 or (run and parameter.is_required):
            self._given[parameter.name] = [span.plain for span in run]
            self._used += run

    def _texts(self, parameter: Parameter) -> None:
        """A list of texts: the best one, and those that are joined to it."""
        items = parameter.items
        if items is None or items.type not in {"string", "enum"}:
            return
        if items.type == "enum":
            found = [each for each in values_said(items, self._asked) if not self._is_used(each)]
            if found:
                self._given[parameter.name] = [each.plain for each in found]
                self._used += found
            return
        spans = [each for each in self._asked.spans_for(self._own) if not self._is_used(each)]
        spans.sort(key=lambda span: (span.start, span.start - span.end))
        best = max(spans, key=lambda span: fit(span, items, self._asked), default=None)
        least = 0.0 if parameter.is_required else SURE
        if best is None or fit(best, items, self._asked) < least or not isinstance(best.plain, str):
            return
        joined = [best]
        for span in spans:
            between = self._asked.text[joined[-1].end : span.start]
            if span.start > joined[-1].end and re.fullmatch(
                r"\s*(?:,|,?\s*and|&|or)\s+(?:the\s+|a\s+)?", between
            ):
                joined.append(span)
        for span in reversed(spans):
            between = self._asked.text[span.end : joined[0].start]
            if span.end < joined[0].start and re.fullmatch(
                r"\s*(?:,|,?\s*and|&|or)\s+(?:the\s+|a\s+)?", between
            ):
                joined.insert(0, span)
        self._given[parameter.name] = [each.plain for each in joined if isinstance(each.plain, str)]
        self._used += joined

    def _object(self, parameter: Parameter) -> None:
        inner = tuple(members(parameter.schema, self._root))
        if not inner:
            return
        within = _Copying(inner, self._own, self._asked, self._root)
        within._used = self._used
        found = within.done()
        if found.given and not found.missing:
            self._given[parameter.name] = found.given
