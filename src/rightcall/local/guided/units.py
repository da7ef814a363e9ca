"""Units and currencies, by all their names: kilometres and km, dollars and USD."""

from collections.abc import Iterable, Iterator, Mapping

from rightcall.declare.search_words import stem

_MEASURES = """
length: kilometer kilometre km
length: mile mi
length: meter metre m
length: centimeter centimetre cm
length: millimeter millimetre mm
length: foot feet ft
length: inch inches in
length: yard yd
weight: kilogram kilo kg
weight: gram gramme g
weight: pound lb lbs
weight: ounce oz
weight: tonne ton t
heat: celsius centigrade c °c
heat: fahrenheit f °f
heat: kelvin k
volume: liter litre l
volume: milliliter millilitre ml
volume: gallon gal
volume: pint pt
share: percent percentage %
time: second sec s
time: minute min
time: hour hr h
time: day
time: week
time: month
time: year yr
"""
_CURRENCIES = """
usd dollar buck $
eur euro €
gbp pound sterling quid £
jpy yen ¥
chf franc
inr rupee
cny yuan renminbi
sek krona
nok krone
mxn peso
krw won
pln zloty
brl real
try lira
ils shekel
"""
_QUANTITIES = """
length: length height width depth distance radius diameter altitude
weight: weight mass
heat: temperature
time: duration
money: price cost fee salary budget income payment principal
"""
"""By quantity: the words that name it without a unit."""


def _named() -> Iterator[tuple[str, tuple[str, str]]]:
    for line in _MEASURES.strip().splitlines():
        kind, _, names = line.partition(": ")
        for name in names.split():
            yield stem(name), (kind, names.split()[0])


_MEASURE_OF: Mapping[str, tuple[str, str]] = dict(_named())
_CODE_OF: Mapping[str, str] = {
    stem(name): line.split()[0].upper()
    for line in _CURRENCIES.strip().splitlines()
    for name in line.split()
}
_QUANTITY_OF: Mapping[str, str] = {
    stem(name): kind
    for kind, _, names in (line.partition(": ") for line in _QUANTITIES.strip().splitlines())
    for name in names.split()
}


def measure(word: str) -> tuple[str, str]:
    """The quantity that a unit measures, and the unit's full name; empty for other words."""
    return _MEASURE_OF.get(stem(word.lower().replace(" ", "")), ("", ""))


def currency(word: str) -> str:
    """The code of a currency that a word names; empty for other words."""
    return _CODE_OF.get(stem(word.lower()), "")


def quantity(unit: str) -> str:
    """The quantity that a unit measures, money included; empty if it is none, or may be two: pounds."""
    if unit == "in":
        # "19 in the hall" are no inches.
        return ""
    kinds = {measure(unit)[0], "money" if currency(unit) else ""} - {""}
    return kinds.pop() if len(kinds) == 1 else ""


def quantities(words: Iterable[str]) -> frozenset[str]:
    """The quantities that a parameter's stems are about: of a unit, or of a word as "height"."""
    found = [kind for word in words for kind in (measure(word)[0], _QUANTITY_OF.get(word, ""))]
    return frozenset(found) - {""}
