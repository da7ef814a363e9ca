"""What a change may cost at most, where a person says so: "only if it costs less than 50".

The cost is computed from trusted prices. Where they do not show it, a person is asked.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from msgspec import Struct

from rightcall.trust.asked.compared import measured, price_in
from rightcall.trust.asked.records import Record
from rightcall.trust.words.describing import terms_of
from rightcall.trust.words.said import IDLE
from rightcall.trust.words.spelling import folded

_UNDER = "(?:(?:less|lower) than|under|below|at most|(?:no|not) more than|within|up to|<=?)"
_OVER = "(?:(?:more|higher) than|over|above)"
_ONLY_IF = r"(?:only\b[^.;]{0,120}?\bif|as long as|provided(?: that)?|on (?:the )?condition that)"
_COST = "(?:costs?|prices?|charges?|fees?|difference|surcharge|total)"
_MONEY = r"(?:[$\u20ac\u00a3]\s?|(?:usd|eur|gbp)\s+)?(?P<most>\d[\d,]*(?:\.\d+)?)"
_LIMITS = tuple(
    re.compile(rf"\b{each}\s+{_MONEY}")
    for each in (
        rf"{_ONLY_IF}\b(?P<what>[^.;]{{0,120}}?)\b{_UNDER}",
        rf"if\b(?P<what>[^.;,]{{0,60}}?\b{_COST}\b[^.;,]{{0,30}}?)\b{_UNDER}",
        rf"unless\b(?P<what>[^.;,]{{0,60}}?\b{_COST}\b[^.;,]{{0,30}}?)\b{_OVER}",
        rf"(?:may|must|should|shall|can)\s+(?:only\s+)?(?P<what>)cost\s+{_UNDER}",
        rf"(?:may|must|should|shall|can)\s*(?:not|n['\u2019]?t)\s+(?P<what>)cost\s+{_OVER}",
    )
)
_STARTS = ("only", "as long as", "provided", "condition", "if", "unless", "cost")
_EXTRA = re.compile(r"\b(?:extra|difference|additional|surcharge|more|fees?|change|on top)\b")


class Limit(Struct, frozen=True):
    """What a change may cost at most."""

    most: float
    is_extra: bool
    """Whether it is about the difference to the present price."""
    words: frozenset[str]
    """The words of its sentence and of the one before, which say for what."""


def limit_in(sentence: str, earlier: str) -> Limit | None:
    """The limit in a sentence; ``earlier`` is the sentence before."""
    text = folded(sentence)
    # Looking for words is cheaper than for patterns, and most sentences have none of these.
    if not any(each in text for each in _STARTS):
        return None
    found = next(filter(None, (pattern.search(text) for pattern in _LIMITS)), None)
    if found is None:
        return None
    words = frozenset((*terms_of(sentence), *terms_of(earlier)))
    is_extra = _EXTRA.search(found["what"]) is not None
    return Limit(float(found["most"].replace(",", "")), is_extra, words)


def about(
    limits: Iterable[Limit], records: Sequence[Record], known: Callable[[set[str]], set[str]]
) -> list[Limit]:
    """The limits on a change of some records: those whose words are about nothing else that is known."""
    own = {term for each in records for term in each.terms | each.context}
    found = [(each, known({*each.words} - IDLE)) for each in limits]
    return [limit for limit, words in found if not words or not words.isdisjoint(own)]


def is_within(limit: Limit, new: Iterable[Record], old: Iterable[Record]) -> bool:
    """Whether what is new costs no more than the limit, beside what it replaces."""
    costs, before = _prices(new), _prices(old)
    if not costs or None in (*costs, *before) or (limit.is_extra and not before):
        return False
    return sum(filter(None, costs)) - (sum(filter(None, before)) if limit.is_extra else 0) <= limit.most


def cost_of(records: Sequence[Record], new: Collection[str] = ()) -> float | None:
    """What a call with these records costs: what is new beside what it replaces, or what was paid.

    ``new`` are the identifiers that the call itself calls so. None if the prices do not show it.
    """
    inside = {
        each.value
        for each in records
        for other in records
        if other.value != each.value and any(each.value in held for held in other.held.values())
    }.difference(new)
    fresh = [
        each
        for each in records
        if each.value not in inside and any(other.value in inside for other in each.family)
    ]
    if not fresh:
        paid = {text for each in records if each.parts for text in each.held.get("amount", ())}
        known = measured(paid)
        return known[0] if known and len(known) == 1 else None
    replaced = {other.value for each in fresh for other in each.family} & inside
    costs, before = _prices(fresh), _prices(each for each in records if each.value in replaced)
    if None in (*costs, *before):
        return None
    return sum(filter(None, costs)) - sum(filter(None, before))


def _prices(records: Iterable[Record]) -> list[float | None]:
    """The price of each thing, as one of its records shows it; None if none does."""
    found = dict[str, float | None]()
    for each in records:
        price = price_in(each.traits)
        found[each.value] = found.get(each.value) if price is None else price
    return list(found.values())
