"""Reads the known families from ``families.json``, and finds one by a chat template's text or a name.

A family is one object there, by the fields of ``Family``; its signs, rank and aliases are in it, and
nothing else lists it.
"""

import difflib
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

import msgspec

from rightcall.errors import UsageError
from rightcall.local.families.family import Family

_TABLE = files("rightcall.local.families").joinpath("families.json").read_bytes()
FAMILIES: Mapping[str, Family] = {
    family.name: family for family in msgspec.json.decode(_TABLE, type=tuple[Family, ...])
}
"""Every family that is known, by name."""
_BY_RANK = sorted(FAMILIES.values(), key=lambda family: family.rank)


@lru_cache(maxsize=64)
def detect(template: str) -> Family:
    """The family whose markers a chat template's text contains; the generic one if there is none."""
    for family in _BY_RANK:
        if any(all(sign in template for sign in signs) for signs in family.signs):
            return family
    return FAMILIES["generic"]


def find_family(name: str) -> Family:
    """The family with a name, ignoring case and punctuation."""
    folded = _fold(name)
    if folded in _FOLDED:
        return _FOLDED[folded]
    near = difflib.get_close_matches(folded, _FOLDED, n=1)
    if near:
        hint = f"did you mean {_FOLDED[near[0]].name!r}?"
    else:
        hint = f"known are {', '.join(sorted(FAMILIES))}"
    raise UsageError(f"there is no model family {name!r}; {hint}")


def _fold(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


_FOLDED: Mapping[str, Family] = {
    **{_fold(alias): family for family in FAMILIES.values() for alias in family.aliases},
    **{_fold(name): family for name, family in FAMILIES.items()},
}
