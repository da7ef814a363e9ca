"""What an amount is counted in, and how often it is paid: words for currencies and for repetition."""

import re
from collections.abc import Iterator

from rightcall.trust.words.said import named_words
from rightcall.trust.words.spelling import folded

_CURRENCIES: tuple[tuple[str, str], ...] = (
    ("eur", "eur euro euros \u20ac"),
    ("usd cad aud nzd sgd hkd", "dollar dollars bucks $"),
    ("usd", "usd us$"),
    ("gbp", "gbp pound pounds quid sterling \u00a3"),
    ("jpy", "jpy yen \u00a5"),
    ("cny", "cny rmb yuan renminbi \u00a5"),
    ("chf", "chf franc francs franken"),
    ("inr", "inr rupee rupees \u20b9"),
    ("krw", "krw won \u20a9"),
    ("btc", "btc bitcoin bitcoins \u20bf"),
    ("eth", "eth ether ethereum"),
)
"""Codes, and what people say for them."""
_SAID = [(code, word) for codes, said in _CURRENCIES for code in codes.split() for word in said.split()]
_BY_WORD = {word: frozenset(code for code, other in _SAID if other == word) for _, word in _SAID}
_WORD = re.compile(r"[^\W\d_]+|[$\u20ac\u00a3\u00a5\u20b9\u20a9\u20bf]")
_OFTEN: dict[str, frozenset[str]] = {
    "daily": named_words("daily day days"),
    "weekly": named_words("weekly week weeks"),
    "biweekly": named_words("biweekly fortnightly fortnight weeks"),
    "monthly": named_words("monthly month months"),
    "quarterly": named_words("quarterly quarter quarters"),
    "yearly": named_words("yearly annually annual year years"),
}
_ONCE = named_words("once none never no single one one_time onetime one-off oneoff")


def currencies_in(text: str) -> Iterator[str]:
    """The codes of the currencies that a text speaks of, in small letters."""
    for found in _WORD.finditer(folded(text)):
        yield from _BY_WORD.get(found[0], ())


def ways_to_say_how_often(text: str) -> frozenset[str]:
    """The words for how often something is repeated; empty if it is done once."""
    often = text.strip().lower()
    if often in _ONCE or not often:
        return frozenset()
    return _OFTEN.get(often, frozenset({often}))
