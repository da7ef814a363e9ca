"""Which of several similar things a person singles out by comparing them: a larger frame, the cheapest.

A comparison is computed over the fields of the things themselves. Where their values have no order, or
more than one thing fits, nothing is singled out.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from rightcall.trust.asked.records import Record
from rightcall.trust.words.describing import stem, terms_of
from rightcall.trust.words.hinted import Hinted
from rightcall.trust.words.kinds import words_of
from rightcall.trust.words.said import named_words
from rightcall.trust.words.spelling import folded

Traits: TypeAlias = Mapping[str, str]
"""The plain fields of a record, by name."""

_PRICE = "price cost fare rate fee"
_TIME = "start begin time departure hour"
_SIZE = "size capacity volume"
_FIELDS: tuple[tuple[str, str, bool], ...] = (
    ("big|larg|groß|gross|größ", _SIZE, True),
    ("small|tin|klein", _SIZE, False),
    ("bright", "brightness", True),
    ("dim|dark", "brightness", False),
    ("long", "length duration", True),
    ("short", "length duration", False),
    ("tall", "height", True),
    ("thick", "thickness", True),
    ("thin", "thickness", False),
    ("wid", "width", True),
    ("narrow", "width", False),
    ("heav", "weight", True),
    ("fast|quick", "speed", True),
    ("slow", "speed", False),
    ("hard", "difficulty", True),
    ("eas", "difficulty", False),
    ("strong", "strength power pressure torque", True),
    ("weak", "strength power pressure torque", False),
    ("light", "weight", False),
    ("lat", _TIME, True),
    ("earl", _TIME, False),
    ("cheap|billig", _PRICE, False),
    ("dear|pric|teuer", _PRICE, True),
)
"""Stems of adjectives, the fields that they compare, and whether more of it is meant."""
_FORMS = "|".join(rf"(?P<a{at}>{stems})" for at, (stems, _, _) in enumerate(_FIELDS))
_NOUNS = r"(?:\s+(?!(?:and|or|but|than|that|which|with|for|to|of|in|on|as|if|is)\b)[^\W\d_]+){1,2}"
_COUNT = r"(?P<by>\d[\d,]*)"
_COMPARED = re.compile(
    rf"\b{_COUNT}\s+(?P<more>more|less|fewer)(?P<of_more>{_NOUNS})"
    rf"|\b{_COUNT.replace('by', 'by_less')}(?P<of_less>{_NOUNS})\s+(?P<less>more|less|fewer)\b"
    r"|\b(?P<degree>more|most|less|least)\s+expensive\b"
    r"|\b(?P<priced>lower|lowest|higher|highest)[-\s]priced?\b"
    rf"|\b(?P<ends>highest|maximum|maximal|greatest|lowest|minimum|minimal|fewest|least|most)(?P<of_end>{_NOUNS})"
    rf"|\b(?P<steps>higher|greater|lower)(?P<of_step>{_NOUNS})"
    rf"|(?<!no )\b(?P<adjective>{_FORMS})[a-z]??(?P<form>i?er|i?est)\b(?P<of_form>{_NOUNS})?",
)
"""For ``folded`` text."""
_DEGREES = (
    "more",
    "most",
    "less",
    "least",
    "fewer",
    "higher",
    "greater",
    "lower",
    "est",
    "imum",
    "imal",
)
_STEMS = tuple(each for stems, _, _ in _FIELDS for each in stems.split("|"))
"""Every comparison contains one of the degrees, or one of the stems and ``er``."""
_LONGEST = 1000
"""Limit of a sentence that is looked at, in characters: nobody compares in a longer one."""
_SLIGHTLY = re.compile(r"\b(?:slightly|a (?:bit|little)|one (?:size|step))\s*\Z", re.IGNORECASE)
_ASKED_ABOUT = re.compile(r"\b(?:what|which|how)\b[^,;:]*\Z", re.IGNORECASE)
"""A question before a comparison: it wants to know, and singles out nothing."""
_MAXIMISED = Hinted(r"\b([^\W\d_]+)(?:\s+\w+){0,5}\s+(maximi[sz]ed|minimi[sz]ed)\b", "imi")
_MORE = named_words("more most higher highest greater greatest maximum maximal")
_ENDS = named_words("most least highest lowest")
_SAME = Hinted(r"\bsame\s+([^\W\d_]+)(?:\s*(?:,|and)\s*([^\W\d_]+))?", "same")
_PRICE_NOW = Hinted(
    r"\b(?:previous|original|current|old|same)\s+(?:\w+\s+)?(?:price|cost)\b", "price|cost"
)
_PREFERRED = Hinted(
    r"\bprefer\w*\s+(?:the\s+)?([^,;()]+?)\s+(?:rather\s+than|than|over|to)\s+(?:the\s+)?(\w+(?:\s+\w+)?)",
    "prefer",
)
_WORD = re.compile(r"[^\W_]+")
_IN_ORDER = Hinted(r"[\w-]+(?:\s*>\s*[\w-]+)+", ">")
_SCALES = tuple(
    {word: float(at) for at, word in enumerate(scale.split())}
    for scale in (
        "xxs xs s m l xl xxl xxxl",
        "small medium large",
        "portable medium large",
        "low medium high",
        "beginner intermediate advanced expert",
        "easy medium hard",
        "slow medium fast",
    )
)
_PRICES = frozenset(_PRICE.split())
_CLOCK = re.compile(r"(?:(\d{4})-(\d\d)-(\d\d)[t ]?)?(?:(\d\d?):(\d\d)(?::\d\d)?)?")
_NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?)[\s-]*([^\W\d_]*)(.*)", re.DOTALL)
_THOUSANDS = {"k": 1000.0, "p": 1.0}
"""Units of a picture's resolution, of which some count in thousands."""


class Comparison(Struct, frozen=True):
    """More or less of something than now, or the most or the least of it."""

    at: int
    """Where in the sentence it is."""
    nouns: frozenset[str]
    """The words for what is compared: for a field, or for the thing itself."""
    fields: frozenset[str]
    """The words in the names of the fields that the adjective is about, if it is about any."""
    is_more: bool
    is_end: bool = False
    by: float | None = None
    """How much more or less, if that was said."""
    is_next: bool = False
    """Whether the next value is meant, and not any other: slightly larger."""


class Wishes(Struct, frozen=True):
    """How one sentence compares things."""

    words: tuple[tuple[int, str], ...]
    """The words of the sentence, each with where it is."""
    earlier: tuple[str, ...]
    """The words of the sentence before, which it may go on with."""
    compared: tuple[Comparison, ...]
    same: tuple[tuple[int, str], ...]
    """The words for fields that are to stay as they are, each with where it is."""
    price_kept: tuple[int, ...]
    """Where it says that a thing may cost no more than now."""
    preferred: tuple[tuple[int, tuple[str, ...]], ...]
    """Words in the order of preference, with where they are."""

    @property
    def numbers(self) -> frozenset[str]:
        """The numbers that say how much more or less: these describe nothing."""
        return frozenset(f"{each.by:.0f}" for each in self.compared if each.by is not None)

    def names(self, names: Collection[str], others: Collection[str]) -> bool:
        """Whether the sentence is about a thing with these names, or goes on with one that is."""
        said = [word for _, word in self.words]
        if not any(word in names or word in others for word in said):
            said = [next((word for word in reversed(self.earlier) if word in {*names, *others}), "")]
        return any(word in names for word in said)

    def of(self, names: Collection[str], others: Collection[str]) -> "Wishes":
        """The part that is about a thing with these names: the last one named before was not another."""

        def is_ours(at: int) -> bool:
            before = [word for start, word in self.words if start < at]
            named = (word in names for word in reversed(before) if word in names or word in others)
            return next(named, True)

        return Wishes(
            self.words,
            self.earlier,
            tuple(each for each in self.compared if is_ours(each.at)),
            tuple(each for each in self.same if is_ours(each[0])),
            tuple(filter(is_ours, self.price_kept)),
            tuple(each for each in self.preferred if is_ours(each[0])),
        )


def wishes_in(sentence: str, forbidden: Sequence[str], earlier: str = "") -> Wishes | None:
    """The comparisons in a sentence; None if there are none. What is forbidden in it wishes nothing.

    ``earlier`` is the sentence before.
    """
    if len(sentence) > _LONGEST:
        return None
    wanted = sentence
    for each in forbidden:
        wanted = wanted.replace(each, " " * len(each))
    compared = (*_comparisons(wanted), *_maximised(sentence))
    same = tuple(
        (found.start(), stem(each.lower()))
        for found in _SAME.finditer(wanted)
        for each in found.groups()
        if each and each.lower() not in ("price", "cost")
    )
    price_kept = tuple(found.start() for found in _PRICE_NOW.finditer(wanted))
    preferred = tuple(_preferences(wanted))
    if not (compared or same or price_kept or preferred):
        return None
    words = tuple((found.start(), stem(found[0].lower())) for found in _WORD.finditer(sentence))
    before = tuple(stem(word.lower()) for word in _WORD.findall(earlier))
    return Wishes(words, before, compared, same, price_kept, preferred)


def _may_compare(text: str) -> bool:
    has = text.__contains__
    return any(map(has, _DEGREES)) or (has("er") and any(map(has, _STEMS)))


def _comparisons(text: str) -> Iterator[Comparison]:
    text = folded(text)
    for found in _COMPARED.finditer(text) if _may_compare(text) else ():
        if _ASKED_ABOUT.search(text, 0, found.start()):
            continue
        said = {name: each for name, each in found.groupdict().items() if each}
        at, is_next = found.start(), _SLIGHTLY.search(text, 0, found.start()) is not None
        if (number := said.get("by") or said.get("by_less")) is not None:
            nouns = said.get("of_more") or said.get("of_less", "")
            is_more = "more" in (said.get("more"), said.get("less"))
            by = float(number.replace(",", ""))
            yield Comparison(at, _stems(nouns), frozenset(), is_more, by=by)
        elif (degree := said.get("degree") or said.get("priced")) is not None:
            prices, is_end = _stems(_PRICE), degree in _ENDS
            yield Comparison(at, frozenset(), prices, degree in _MORE, is_end, is_next=is_next)
        elif (end := said.get("ends")) is not None:
            yield Comparison(at, _stems(said["of_end"]), frozenset(), end in _MORE, is_end=True)
        elif (step := said.get("steps")) is not None:
            yield Comparison(at, _stems(said["of_step"]), frozenset(), step in _MORE, is_next=is_next)
        else:
            _, fields, is_more = next(each for n, each in enumerate(_FIELDS) if said.get(f"a{n}"))
            nouns, is_end = _stems(said.get("of_form", "")), said["form"].endswith("st")
            yield Comparison(at, nouns, _stems(fields), is_more, is_end, is_next=is_next)


def _maximised(sentence: str) -> Iterator[Comparison]:
    for found in _MAXIMISED.finditer(sentence):
        nouns, is_more = frozenset({stem(found[1].lower())}), found[2][:3].lower() == "max"
        yield Comparison(found.start(), nouns, frozenset(), is_more, is_end=True)


def _preferences(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    for found in _IN_ORDER.finditer(text):
        yield found.start(), tuple(stem(each.strip().lower()) for each in found[0].split(">"))
    for found in _PREFERRED.finditer(text):
        first, second = terms_of(found[1]), terms_of(found[2])
        if first and second:
            yield found.start(), (first[-1], second[0])


def _stems(words: str) -> frozenset[str]:
    return frozenset(map(stem, words.split()))


def measured(texts: Iterable[str]) -> list[float] | None:
    """The values of some texts in one order; None if they have none, or not the same unit."""
    given = [text.strip().lower() for text in texts]
    for scale in _SCALES:
        if all(text in scale for text in given):
            return [scale[text] for text in given]
    if given and all(":" in text for text in given):
        times = [_CLOCK.fullmatch(text) for text in given]
        return [_minutes(each) for each in times if each is not None] if all(times) else None
    found = [_NUMBER.fullmatch(text) for text in given]
    numbers, units = list[float](), set[str]()
    for each in found:
        if each is None:
            return None
        factor = _THOUSANDS.get(each[2])
        numbers.append(float(each[1].replace(",", "")) * (factor or 1))
        units.add("" if factor else f"{stem(each[2])}{each[3]}")
    return numbers if len(units) <= 1 else None


def _minutes(clock: re.Match[str]) -> float:
    year, month, day, hour, minute = (int(each or 0) for each in clock.groups())
    return (((year * 12 + month) * 31 + day) * 24 + hour) * 60.0 + minute


def _field(comparison: Comparison, traits: Traits) -> str | None:
    """The field that a comparison is about."""
    for wanted in (comparison.nouns, comparison.fields):
        named = [name for name in traits if not wanted.isdisjoint(map(stem, words_of(name)))]
        # What has no order is not compared, even if it is named: "a shorter one of that material".
        if len(named) == 1 and (not comparison.fields or measured((traits[named[0]],)) is not None):
            return named[0]
    counted = [name for name, text in traits.items() if _unit(text) in comparison.nouns]
    return counted[0] if len(counted) == 1 else None


def _unit(text: str) -> str | None:
    """The unit of a number: ``20 litres``."""
    found = _NUMBER.fullmatch(text.strip().lower())
    return stem(found[2]) if found is not None and found[2] else None


def applies(wishes: Wishes, traits: Traits) -> bool:
    """Whether a sentence compares things by a field that these have."""
    return any(_field(each, traits) is not None for each in wishes.compared)


def fitting(wishes: Wishes, things: Sequence[Traits], now: Traits) -> list[int]:
    """The indexes of the things that fit, before any is the most or the least of all."""
    left: Sequence[int] = range(len(things))
    for _, word in wishes.same:
        for name in [each for each in now if word in map(stem, words_of(each))]:
            left = [at for at in left if things[at].get(name) == now[name]]
    if wishes.price_kept:
        most = price_in(now)
        left = [at for at in left if _is_within(price_in(things[at]), most)]
    for each in wishes.compared:
        field = None if each.is_end else _field(each, now)
        if field is not None:
            left = _beyond(each, field, things, now, left)
    return list(left)


def price_in(traits: Traits) -> float | None:
    """What something costs, by its only field for a price; None if none shows it."""
    named = [name for name in traits if not _PRICES.isdisjoint(map(stem, words_of(name)))]
    named = ["price"] if "price" in named else named
    known = measured([traits[named[0]]]) if len(named) == 1 else None
    return known[0] if known else None


def _is_within(price: float | None, most: float | None) -> bool:
    return price is not None and most is not None and price <= most


def _beyond(
    wanted: Comparison, name: str, things: Sequence[Traits], now: Traits, left: Sequence[int]
) -> list[int]:
    """Those of the things that have more or less of a field than now."""
    known = measured([now[name], *(things[at].get(name, "") for at in left)])
    if known is None:
        return []
    sign = 1 if wanted.is_more else -1
    ahead = {at: sign * (each - known[0]) for at, each in zip(left, known[1:], strict=True)}
    found = [at for at in left if ahead[at] > 0 and (wanted.by is None or ahead[at] == wanted.by)]
    if wanted.is_next and found:
        nearest = min(ahead[at] for at in found)
        found = [at for at in found if ahead[at] == nearest]
    return found


def topmost(wishes: Wishes, things: Sequence[Traits], left: Sequence[int]) -> list[int]:
    """Those of the things that are the most or the least of all, where that is wanted."""
    found = list(left)
    for each in wishes.compared:
        name = _field(each, things[found[0]]) if found and each.is_end else None
        if name is None:
            continue
        known = measured([things[at].get(name, "") for at in found])
        if known is None:
            return []
        wanted = max(known) if each.is_more else min(known)
        found = [at for at, value in zip(found, known, strict=True) if value == wanted]
    return found


def is_extreme(wishes: Sequence[Wishes], thing: Record, others: Sequence[Record]) -> bool | None:
    """Whether a thing is the one that a comparison singles out among those that the same words name.

    None if no comparison is about it, or if nothing else has its name. "The cheaper lamp" of two is the
    cheapest; if several are, or if they cannot be compared, it is none of them. One of several
    comparisons is enough: "the cheaper one, or rather the dearer".
    """
    found = list[bool]()
    for each in wishes:
        if not applies(each, thing.traits):
            continue
        said = {word for _, word in each.words}
        names = said & thing.terms or {*each.earlier} & thing.terms
        alike = [other for other in others if names and other is not thing and names <= other.terms]
        rest = {word for other in others if alike for word in said & other.terms} - names
        for comparison in each.of(names, rest).compared if alike else ():
            name = _field(comparison, thing.traits) if comparison.by is None else None
            if name is not None:
                known = measured([of.traits.get(name, "") for of in (thing, *alike)])
                sign = 1 if comparison.is_more else -1
                is_it = known is not None and all(sign * known[0] > sign * one for one in known[1:])
                found.append(is_it)
    return any(found) if found else None


def words_compared(wishes: Iterable[Wishes], traits: Traits) -> set[str]:
    """The words of the fields that are compared: these are to change."""
    named = {_field(each, traits) for of in wishes for each in of.compared}
    return {term for name in named if name is not None for term in terms_of(traits[name])}
