"""Ranks tools for a query by the words of names, descriptions and schemas.

BM25 over the fields of a definition, plus what matters most for tools: how much of a tool's name is in
the query, and whether a question has the kinds of values that the tool needs. A word is weighted by its
field, and counts only a few times in each, so repeating it does not improve the rank.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nsmallest
from itertools import chain, compress, islice
from math import log
from typing import Any, NamedTuple, TypeAlias

from rightcall.core.references import local_target
from rightcall.core.tool import Spec
from rightcall.declare.manual import original_spec
from rightcall.declare.search_words import terms

Shares: TypeAlias = tuple[list[int], list[float]]
"""The indexes of the tools that have a word, with the word's weight for each."""
_NOWHERE: Shares = ([], [])
_Fields: TypeAlias = tuple[list[str], list[str], list[str]]
"""The fields of a definition: descriptions and parameter names, parameter descriptions, and values."""

# Tuned on half of the Berkeley function-calling questions; the other half was only measured.
_NAME = 5.0
_TEXT = 1.5
_HINT = 1.0
_VALUE = 2.0
_REPEATS = 3
"""How often a word counts in one field, at most."""
_SATURATION = 1.2
_LENGTH = 0.4
"""BM25's k1 and b."""
_COVER = 0.3
"""The share by which a tool's score grows if its whole name is in the query."""
_MISSING = 0.8
"""The factor for each kind of value that a tool needs and a question lacks."""
_QUESTION = 6
"""The number of words from which a text counts as a question that has its values."""
_MANY = 20
"""The number of words from which a text may want several tools, which should not all match the same
words."""
_SERVED = 0.7
"""The factor for a word that a better tool already matches."""
_SPREAD = 8
_POOL = 30
"""How many ranks are assigned this way, and among how many of the best."""
_DEPTH = 6
"""How many levels of a schema are read."""

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
"""The keywords of a schema that have subschemas."""
_NUMERIC = ("integer", "number")


class ToolIndex:
    """An index of tools, searched by words. Ties go to the tool that came first."""

    def __init__(self, specs: Iterable[Spec]) -> None:
        self.specs = tuple(specs)
        self._places: dict[str, int] = {}
        for place, spec in enumerate(self.specs):
            self._places.setdefault(spec.name.casefold(), place)
        self._needs = [_needs(spec.parameters) for spec in self.specs]
        counted = [_count_words(spec) for spec in self.specs]
        rarity = {}
        for word, holders in Counter(chain.from_iterable([each.counts for each in counted])).items():
            rarity[word] = log(1 + (len(counted) - holders + 0.5) / (holders + 0.5))
        self._worth = _worth(counted, rarity)
        self._cover = _cover([each.name for each in counted], rarity)

    def search(self, queries: Sequence[str], limit: int = 10) -> tuple[Spec, ...]:
        """The best tools, each by the phrasing that fits it best. An exact name comes first."""
        best: dict[int, float] = {}
        for query in queries:
            for place, score in self._rank_places(query, max(limit, _POOL)):
                if score > best.get(place, 0.0):
                    best[place] = score
        places: dict[int, None] = {}
        for query in queries:
            named = self._places.get(query.strip().casefold())
            if named is not None:
                places[named] = None
        ranked = sorted(best, key=lambda place: (-best[place], place))
        places.update(dict.fromkeys(ranked))
        return tuple([self.specs[place] for place in islice(places, limit)])

    def scored_tools(self, query: str, limit: int = 10) -> tuple[tuple[Spec, float], ...]:
        """The best tools with their scores, which are comparable only within one query."""
        return tuple([(self.specs[place], score) for place, score in self._rank_places(query, limit)])

    def _rank_places(self, query: str, most: int) -> list[tuple[int, float]]:
        """The tools that have the words, best first, with their scores."""
        words = dict.fromkeys(terms(query)) or dict.fromkeys(terms(query, empty=True))
        scores: dict[int, float] = {}
        score = scores.get
        for word in words:
            for place, worth in zip(*self._worth.get(word, _NOWHERE), strict=True):
                scores[place] = score(place, 0.0) + worth
        factors = self._factors(query, words, scores)
        for place, factor in factors.items():
            scores[place] *= factor
        order = nsmallest(most, scores, key=lambda place: (-scores[place], place))
        top = [scores[place] for place in order]
        if len(words) >= _MANY:
            order = self._spread(order, words, factors)
        # Scores decrease with rank, even where ranks were not given by scores alone.
        return list(zip(order, top, strict=True))

    def _factors(
        self, query: str, words: Collection[str], scores: Mapping[int, float]
    ) -> dict[int, float]:
        """The score factors: how much of the name is in the query, and which values are missing."""
        factors: dict[int, float] = {}
        for word in words:
            for place, share in zip(*self._cover.get(word, _NOWHERE), strict=True):
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
        """Reranks the first places one by one, counting words that are already matched for less."""
        among = order[:_POOL]
        worth: dict[int, dict[str, float]] = {place: {} for place in among}
        for word in words:
            for place, each in zip(*self._worth.get(word, _NOWHERE), strict=True):
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


class _WordCounts(NamedTuple):
    """The indexed words of a definition."""

    counts: dict[str, float]
    """The weight of each word."""
    length: int
    """The number of words."""
    name: Collection[str]
    """The words of the name."""


def _worth(counted: Sequence[_WordCounts], rarity: Mapping[str, float]) -> dict[str, Shares]:
    """The BM25 weight of each word for the tools that have it."""
    average = sum([each.length for each in counted]) / max(1, len(counted)) or 1.0
    worth: dict[str, Shares] = {word: ([], []) for word in rarity}
    most = {word: each * (_SATURATION + 1) for word, each in rarity.items()}
    for place, (counts, length, _) in enumerate(counted):
        norm = _SATURATION * (1 - _LENGTH + _LENGTH * length / average)
        for word, count in counts.items():
            places, worths = worth[word]
            places.append(place)
            worths.append(most[word] * count / (count + norm))
    return worth


def _cover(names: Sequence[Collection[str]], rarity: Mapping[str, float]) -> dict[str, Shares]:
    """The share of a name that each of its words is; rare words have a larger share."""
    cover: dict[str, Shares] = {word: ([], []) for word in chain.from_iterable(names)}
    for place, name in enumerate(names):
        whole = sum([rarity[word] for word in name])
        for word in name:
            places, shares = cover[word]
            places.append(place)
            shares.append(rarity[word] / whole)
    return cover


def _count_words(spec: Spec) -> _WordCounts:
    if spec.origin:
        spec = original_spec(spec)
    besides = (spec.short, spec.origin, *spec.questions)
    texts = [spec.description, *[text for text in besides if text not in spec.description]]
    hints: list[str] = []
    values: list[str] = []
    _read(spec.parameters, spec.parameters, _DEPTH, (texts, hints, values))
    name = terms(spec.name, empty=True)
    counts = dict.fromkeys(name, 0.0)
    named = tuple(counts)
    length = 0
    for weight, words in (
        (_NAME, name),
        (_TEXT, terms("\n".join(texts))),
        (_HINT, terms("\n".join(hints))),
        (_VALUE, terms("\n".join(values))),
    ):
        length += len(words)
        once = set(words)
        number = len(once)
        known = once & counts.keys()
        for word in known:
            counts[word] += weight
        once -= known
        counts.update(dict.fromkeys(once, weight))
        if number < len(words):
            # Repeated words are added again, up to a limit.
            often = Counter(words)
            for word in compress(often, map((1).__lt__, often.values())):
                counts[word] += weight * (min(often[word], _REPEATS) - 1)
    return _WordCounts(counts, length, named)


def _read(schema: Any, root: Mapping[str, Any], depth: int, into: _Fields) -> None:
    """The texts of a schema: names, descriptions and values, through lists, unions and references."""
    if not isinstance(schema, dict) or depth < 0:
        return
    texts, hints, values = into
    properties = schema.get("properties")
    if isinstance(properties, dict):
        texts += properties
        for member in properties.values():
            if not isinstance(member, dict):
                continue
            if isinstance(hint := member.get("description"), str):
                hints.append(hint)
            if not _DEEPER.isdisjoint(member):
                _read(member, root, depth - 1, into)
    choices = schema.get("enum")
    if not isinstance(choices, list):
        choices = []
    for value in (*choices, schema.get("const")):
        if isinstance(value, str):
            values.append(value)
    _read(schema.get("items"), root, depth - 1, into)
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(branches := schema.get(key), list):
            for branch in branches:
                _read(branch, root, depth - 1, into)
    _read(local_target(root, schema.get("$ref")), root, depth - 1, into)


def _needs(parameters: Mapping[str, Any]) -> int:
    """The kinds of the required values, as bits."""
    properties = parameters.get("properties")
    required = parameters.get("required")
    needs = 0
    if not isinstance(properties, dict) or not isinstance(required, list):
        return needs
    for name in required:
        member = properties.get(name)
        if not isinstance(member, dict):
            continue
        kind = member.get("type")
        lower = str(name).lower()
        items = member.get("items")
        if kind in _NUMERIC:
            needs |= _BITS["number"]
        if isinstance(items, dict) and items.get("type") in _NUMERIC:
            needs |= _BITS["numbers"]
        if "date" in lower or "yyyy" in str(member.get("description", "")).lower():
            needs |= _BITS["date"]
        for word in ("email", "url"):
            if word in lower:
                needs |= _BITS[word]
    return needs
