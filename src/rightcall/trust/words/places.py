"""Codes of places that a person calls by their names: ``TX`` for Texas."""

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from rightcall.trust.words.describing import terms_of

_NAMES = (
    "al alabama,ak alaska,az arizona,ar arkansas,ca california,co colorado,ct connecticut,de delaware,"
    "fl florida,ga georgia,hi hawaii,id idaho,il illinois,in indiana,ia iowa,ks kansas,ky kentucky,"
    "la louisiana,me maine,md maryland,ma massachusetts,mi michigan,mn minnesota,ms mississippi,"
    "mo missouri,mt montana,ne nebraska,nv nevada,nh new hampshire,nj new jersey,nm new mexico,"
    "ny new york,nc north carolina,nd north dakota,oh ohio,ok oklahoma,or oregon,pa pennsylvania,"
    "ri rhode island,sc south carolina,sd south dakota,tn tennessee,tx texas,ut utah,vt vermont,"
    "va virginia,wa washington,wv west virginia,wi wisconsin,wy wyoming"
)


@cache
def _codes() -> dict[str, str]:
    """The states of the USA: their codes, by name."""
    return {name: code for each in _NAMES.split(",") for code, _, name in [each.partition(" ")]}


@cache
def words_for_codes() -> dict[str, frozenset[str]]:
    """By code: the words that a record's are compared with."""
    return {code: frozenset(terms_of(name)) for name, code in _codes().items()}


def codes_for(words: list[str]) -> Iterator[str]:
    """The codes of the places that a text names, of which these are the words."""
    by_name = _codes()
    pairs = (f"{one} {two}" for one, two in pairwise(words))
    yield from (by_name[each] for each in (*words, *pairs) if each in by_name)
