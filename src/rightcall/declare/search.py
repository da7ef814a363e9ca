"""Which of many tools fit some words: a ranking by the words of names, descriptions and schemas.

BM25 over the fields of a definition, with what matters most for tools on top: how much of a tool's name
was said, and whether a question holds values such as the tool needs. A word counts by the field that
it stands in, and no oftener than a few times there, so repeating it buys no better place.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from math import log
from typing import Any, TypeAlias

from rightcall.core.tool import Spec
from rightcall.declare.stranger import in_own_words
from rightcall.declare.words import terms

Shares: TypeAlias = list[tuple[int, float]]
"""The tools that a word belongs to, by their places, and what it is worth there."""

# Chosen on half of the Berkeley function-calling questions; the other half was only read.
_NAME, _TEXT, _PARAMETER, _HINT, _VALUE = 5.0, 1.5, 1.5, 1.0, 2.0
_REPEATS = 3
"""How often a word counts in one field."""
_SATURATION, _LENGTH = 1.2, 0.4
"""BM25's k1 and b."""
_COVER = 0.3
"""How much more a tool counts whose whole name was said."""
_MISSING = 0.8
"""What is left of a tool's score for each kind of value that it needs and a question does not hold."""
_QUESTION = 6
"""From so many words on, a text is taken for a question that holds its values."""
_MANY = 20
"""From so many words on, a text may want several tools, and they should not all serve the same words."""
_SERVED = 0.7
"""What a word counts for that a better tool serves already."""
_SPREAD, _POOL = 8, 30
"""How many places are given so, among how many of the best."""
_DEPTH = 6
"""How deep a schema is looked into."""

_DIGIT = re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|hundred)\b", re.IGNORECASE)
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_DATE = re.compile(
    rf"\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}/\d{{1,2}}/\d{{2,4}}\b|\b(?:{_MONTHS}|today|tomorrow|yesterday)\b",
    re.IGNORECASE,
)
_LIST = re.compile(r"\[|\d, ?-?\d")
_KINDS: Mapping[str, re.Pattern[str]] = {
    "number": _DIGIT,
    "date": _DATE,
    "email": re.compile("@"),
    "url": re.compile(r"https?:|www\."),
    "numbers": _LIST,
}
_BITS = {kind: 1 << at for at, kind in enumerate(_KINDS)}
_DEEPER = frozenset(("properties", "enum", "const", "items", "anyOf", "oneOf", "allOf", "$ref"))
"""What of a schema has more words in it."""
_NUMERIC = ("integer", "number")


class ToolIndex:
    """Tools, to be found by words. Ties go to the tool that came first."""

    def __init__(self, specs: Iterable[Spec]) -> None:
        self.specs = tuple(specs)
        self._places: dict[str, int] = {}
        for place, spec in enumerate(self.specs):
            self._places.setdefault(spec.name.casefold(), place)
        self._needs = [sum({_BITS[kind] for kind in _needs(spec.parameters)}) for spec in self.specs]
        counted = [_counted(spec) for spec in self.specs]
        rarity = _rarity(counts for counts, _ in counted)
        self._worth = _worth(counted, rarity)
        self._cover = _cover([frozenset(terms(spec.name, empty=True)) for spec in self.specs], rarity)

    def search(self, queries: Sequence[str], limit: int = 10) -> tuple[Spec, ...]:
        """The tools that fit best, each by the phrasing that fits it best. An exact name comes first."""
        best: dict[int, float] = {}
        for query in queries:
            for place, score in self._ranked(query, max(limit, _POOL)):
                if score > best.get(place, 0.0):
                    best[place] = score
        named = [self._places.get(query.strip().casefold()) for query in queries]
        first = dict.fromkeys(place for place in named if place is not None)
        rest = sorted(best, key=lambda place: (-best[place], place))
        places = [*first, *(place for place in rest if place not in first)]
        return tuple([self.specs[place] for place in places[:limit]])

    def scored(self, query: str, limit: int = 10) -> tuple[tuple[Spec, float], ...]:
        """The tools that fit best, each with its score, which can be compared with no other query's."""
        return tuple([(self.specs[place], score) for place, score in self._ranked(query, limit)])

    def _ranked(self, query: str, most: int) -> list[tuple[int, float]]:
        """The tools that have the words, the best first, with their scores."""
        words = dict.fromkeys(terms(query)) or dict.fromkeys(terms(query, empty=True))
        scores: dict[int, float] = {}
        score = scores.get
        for word in words:
            for place, worth in self._worth.get(word, ()):
                scores[place] = score(place, 0.0) + worth
        factors = self._factors(query, words, scores)
        for place, factor in factors.items():
            scores[place] *= factor
        order = nsmallest(most, scores, key=lambda place: (-scores[place], place))
        top = [scores[place] for place in order]
        if len(words) >= _MANY:
            order = self._spread(order, words, factors)
        # Scores fall with the places, also where those were not given by scores alone.
        return list(zip(order, top, strict=True))

    def _factors(
        self, query: str, words: Collection[str], scores: Mapping[int, float]
    ) -> dict[int, float]:
        """By what scores change: how much of the name was said, and which values are missing."""
        factors: dict[int, float] = {}
        for word in words:
            for place, share in self._cover.get(word, ()):
                factors[place] = factors.get(place, 1.0) + _COVER * share
        if len(words) >= _QUESTION:
            held = sum([_BITS[kind] for kind, pattern in _KINDS.items() if pattern.search(query)])
            left = [_MISSING ** (needs & ~held).bit_count() for needs in range(2 * max(_BITS.values()))]
            for place in scores:
                if needs := self._needs[place]:
                    factors[place] = factors.get(place, 1.0) * left[needs]
        return factors

    def _spread(
        self, order: list[int], words: Collection[str], factors: Mapping[int, float]
    ) -> list[int]:
        """The order with the first places given one by one, words that are served counting less."""
        among = order[:_POOL]
        worth: dict[int, dict[str, float]] = {place: {} for place in among}
        for word in words:
            for place, each in self._worth.get(word, ()):
                if place in worth:
                    worth[place][word] = each * factors.get(place, 1.0)
        served: set[str] = set()
        first: list[int] = []

        def gain(place: int) -> float:
            return sum([w * _SERVED if word in served else w for word, w in worth[place].items()])

        while among and len(first) < _SPREAD:
            best = max(among, key=gain)
            among.remove(best)
            first.append(best)
            served.update(worth[best])
        return [*first, *among, *order[_POOL:]]


def _worth(
    counted: Sequence[tuple[Mapping[str, float], int]], rarity: Mapping[str, float]
) -> dict[str, Shares]:
    """What each word is worth for the tools that have it: BM25."""
    average = sum([length for _, length in counted]) / max(1, len(counted)) or 1.0
    worth: dict[str, Shares] = {word: [] for word in rarity}
    most = _SATURATION + 1
    for place, (counts, length) in enumerate(counted):
        norm = _SATURATION * (1 - _LENGTH + _LENGTH * length / average)
        for word, count in counts.items():
            worth[word].append((place, rarity[word] * most * count / (count + norm)))
    return worth


def _cover(names: Sequence[Collection[str]], rarity: Mapping[str, float]) -> dict[str, Shares]:
    """What share of the names that have it each word is, the rare ones being more of them."""
    cover: dict[str, Shares] = {}
    for place, name in enumerate(names):
        whole = sum([rarity[word] for word in name])
        for word in name:
            cover.setdefault(word, []).append((place, rarity[word] / whole))
    return cover


def _rarity(documents: Iterable[Mapping[str, float]]) -> dict[str, float]:
    held: dict[str, int] = {}
    number = 0
    for counts in documents:
        number += 1
        for word in counts:
            held[word] = held.get(word, 0) + 1
    return {word: log(1 + (number - n + 0.5) / (n + 0.5)) for word, n in held.items()}


def _counted(spec: Spec) -> tuple[dict[str, float], int]:
    """What each word of a definition counts for, and how many words there are."""
    fields: dict[float, list[str]] = {}
    for weight, text in _texts(spec):
        fields.setdefault(weight, []).append(text)
    counts: dict[str, float] = {}
    count = counts.get
    length = 0
    for weight, texts in fields.items():
        words = terms("\n".join(texts), empty=weight == _NAME)
        length += len(words)
        once = set(words)
        for word in once:
            counts[word] = count(word, 0.0) + weight
        if len(once) < len(words):
            for word, often in Counter(words).items():
                if often > 1:
                    counts[word] += weight * (min(often, _REPEATS) - 1)
    return counts, length


def _texts(spec: Spec) -> Iterator[tuple[float, str]]:
    if spec.origin:
        spec = in_own_words(spec)
    yield _NAME, spec.name
    yield _TEXT, spec.description
    for text in (spec.short, spec.origin, *spec.questions):
        if text and text not in spec.description:
            yield _TEXT, text
    yield from _schema_texts(spec.parameters, spec.parameters, _DEPTH)


def _schema_texts(schema: Any, root: Mapping[str, Any], depth: int) -> Iterator[tuple[float, str]]:
    """What a schema says: names, descriptions and values, through lists, unions and references."""
    if not isinstance(schema, dict) or depth < 0:
        return
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, member in properties.items():
            yield _PARAMETER, name
            if not isinstance(member, dict):
                continue
            if isinstance(hint := member.get("description"), str):
                yield _HINT, hint
            if not _DEEPER.isdisjoint(member):
                yield from _schema_texts(member, root, depth - 1)
    values = schema.get("enum")
    for value in (*(values if isinstance(values, list) else ()), schema.get("const")):
        if isinstance(value, str):
            yield _VALUE, value
    for inner in _inner(schema, root):
        yield from _schema_texts(inner, root, depth - 1)


def _inner(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Any]:
    """The schemas in another's place: of items, alternatives, and what a local reference names."""
    if "items" in schema:
        yield schema["items"]
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schemas := schema.get(key), list):
            yield from schemas
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        found: Any = root
        for step in reference[2:].split("/"):
            found = found.get(step) if isinstance(found, dict) else None
        yield found


def _needs(parameters: Mapping[str, Any]) -> Iterator[str]:
    """The kinds of values without which a call cannot be."""
    properties = parameters.get("properties")
    required = parameters.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return
    for name in required:
        member = properties.get(name)
        if not isinstance(member, dict):
            continue
        kind, lower = member.get("type"), str(name).lower()
        items = member.get("items")
        if kind in _NUMERIC:
            yield "number"
        if isinstance(items, dict) and items.get("type") in _NUMERIC:
            yield "numbers"
        if "date" in lower or "yyyy" in str(member.get("description", "")).lower():
            yield "date"
        yield from [word for word in ("email", "url") if word in lower]
