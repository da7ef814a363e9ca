"""The condition that a wish cannot be met: "if it is not available, cancel the order".

Whether it is so stands in the trusted records of what is on offer, or in what the tools can do, and is
computed from these. No other condition is: a hijacked model may claim anything.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from rightcall.trust.asked.compared import Wishes, fitting, price_in
from rightcall.trust.asked.records import Record
from rightcall.trust.words.acts import stem_of_done
from rightcall.trust.words.hinted import Hinted
from rightcall.trust.words.spelling import folded

_LONGEST = 1000
"""Limit of a sentence that is looked at, in characters: the patterns take time in the cube of it."""
_PART = r"[^,;.]*"
_NOT = r"(?:\b(?:is|are)\s+|['\u2019]s\s+)?(?:\b(?:not|no longer)\s+|n['\u2019]t\s+|\b[iu][mn])"
_OVER = r"(?:more than|over|above)\s*\$?\s?(?P<most>\d[\d,]*(?:\.\d+)?)"
_THEN = rf"{_PART},\s*(?P<then>.+)"
_CONDITIONS = tuple(
    Hinted(rf"\bif\b{each}{_THEN}", "if", re.DOTALL)
    for each in (
        rf"(?P<what>{_PART}?)\s*{_NOT}(?:availab\w*|in stock)\b",
        rf"(?P<what>{_PART}?)\b(?:the|its)\s+(?:price|cost)\s+(?:is|are)\s+{_OVER}",
        rf"(?P<act>{_PART}?\w)\s*{_NOT}possible\b",
        rf"(?P<what>{_PART}?)\s+(?:cannot|can['\u2019]?t|can not)\s+be\s+(?P<done>\w+ed)\b",
        rf"\s+(?:i|you|we|they|the agent)\s+(?:cannot|can['\u2019]?t|can not)\s+(?P<act>{_PART})",
    )
)
_AFTER = re.compile(
    rf"\b(?:if|once|when|after|as soon as)\s+(?P<what>(?!{_PART}?\b(?:not|can|could|cannot)\b){_PART}?)"
    rf"(?:\s+(?:is|are|was|were|has been|have been|gets?))?\s+(?P<done>\w+ed)\s*,\s*(?P<then>.+)",
    re.IGNORECASE | re.DOTALL,
)
"""Something that is to be done before: "once the guitar is returned, …"."""
_STARTS = ("if", "once", "when", "after", "as soon")
_OTHERWISE = re.compile(
    rf"\s*if\s+(?:(?:that|this|it)\s+is\s+)?not(?P<act>\s+possible)?\s*,{_PART}?,?\s*(?P<then>.+)",
    re.IGNORECASE | re.DOTALL,
)
_ASKED = re.compile(
    r"\b(?:wonder\w*|see|ask|check|know|find out)\s+(?:if|whether)\s+(?:i|you|we|the agent|it)\s+"
    r"(?:can|could|might)\b(?P<act>[^.;?]*)",
    re.IGNORECASE,
)
"""A wish in the form of a question, which "if not" refers to."""
_UNDER = re.compile(
    r"\bif\s+(?:it|that|this|the\s+(?:price|cost))\s+(?:is|costs)\s+(?:less than|under|below|at most)"
    r"\s*\$?\s?(?P<most>\d[\d,]*(?:\.\d+)?)",
    re.IGNORECASE,
)
_FLAGS = frozenset({"available", "in_stock"})


class Lacking(Struct, frozen=True):
    """The wish for something that may not be on offer."""

    words: frozenset[str]
    """The words for what is wanted."""
    wishes: Wishes | None = None
    """How it is compared with what there is now."""
    most: float | None = None
    """What it may cost."""
    act: str = ""
    """What must not be possible, if that is the condition."""
    done: str = ""
    """The stem of the verb for what must have been done, if that is the condition."""


class Condition(Struct, frozen=True):
    """A condition that can be computed, as it stands in a sentence."""

    then: str
    """What is asked for if it is met."""
    what: str = ""
    """The words in it for what is wanted."""
    most: float | None = None
    act: str = ""
    done: str = ""


def condition_in(sentence: str, earlier: str = "") -> Condition | None:
    """The condition in a sentence; None if it has none that can be computed.

    ``earlier`` is the sentence before, which "if not" refers to.
    """
    if len(sentence) > _LONGEST or not any(word in folded(sentence) for word in _STARTS):
        return None
    if (otherwise := _OTHERWISE.match(sentence)) is not None:
        if (under := _UNDER.search(earlier)) is not None:
            return Condition(otherwise["then"], most=float(under["most"].replace(",", "")))
        if otherwise["act"]:
            return Condition(otherwise["then"], act=earlier)
        asked = _ASKED.search(earlier)
        return Condition(otherwise["then"], act=asked["act"]) if asked is not None else None
    if (after := _AFTER.search(sentence)) is not None and (done := stem_of_done(after["done"].lower())):
        return Condition(after["then"], after["what"], done=done)
    for pattern in _CONDITIONS:
        if (found := pattern.search(sentence)) is not None:
            said = found.groupdict()
            what, act, most = (said.get(name) or "" for name in ("what", "act", "most"))
            if verb := said.get("done"):
                what, act = "", f"{stem_of_done(verb.lower())} {what}"
            limit = float(most.replace(",", "")) if most else None
            return Condition(found["then"], what, limit, act)
    return None


def is_lacking(wish: Lacking, offers: Sequence[Record], now: Record) -> bool | None:
    """Whether what is wanted is among some offers and not to be had; None if the words do not say."""
    known = [each for each in offers if is_available(each) is not None]
    said = [wish.words & each.terms for each in known]
    wanted = set[str]().union(*said) - set[str](known[0].terms if known else ()).intersection(*said)
    fit = [each for each, words in zip(known, said, strict=True) if words >= wanted]
    if wish.wishes is not None:
        fit = [fit[at] for at in fitting(wish.wishes, [each.traits for each in fit], now.traits)]
    if not wanted and wish.most is not None and known and not wish.words.isdisjoint(known[0].context):
        # Any of them would do that costs no more.
        return not any(is_available(each) and _is_within(each, wish.most) for each in known)
    if not (wanted and fit):
        return None
    return not any(is_available(each) and _is_within(each, wish.most) for each in fit)


def is_available(record: Record) -> bool | None:
    """Whether a record says that it is to be had; None if it does not say."""
    return next((is_so for name, is_so in record.flags if name in _FLAGS), None)


def _is_within(record: Record, most: float | None) -> bool:
    price = price_in(record.traits)
    return most is None or (price is not None and price <= most)
