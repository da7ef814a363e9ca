"""Finds the sentences of a request to pay that only tell something: their numbers are no amounts to pay.

Only where another sentence says how much is to be paid. "Pay the plumber. It's 80." tells how much.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from rightcall.trust.words.amounts import CURRENCY, amounts
from rightcall.trust.words.spelling import folded

_NUMBER = re.compile(r"\d|\b(?:hundred|thousand|grand|million|billion)\b|\w(?:teen|ty)\b")
_PART = re.compile(
    r"(?<=[.!?;])\s|\n|,\s(?=(?:by the way|btw|it|that|this|he|she|they|we|you|i|the|my|our|last)\b)"
)
"""Where a sentence ends, or goes on with another subject; in ``folded`` text, as the rest."""
_PAYS = re.compile(
    r"\b(?:pay|send|transfer|wire|tip|give|move|put|deposit|refund|reimburse|donate|settle|remit|buy|book|order"
    r"|spend|invest|lend|top\s+up|charge|venmo|credit|debit|\u00fcberweis\w*|(?:be)?zahl\w*|schick\w*|gib)(?:ing|ting)?\b"
)
_HAS_CURRENCY = re.compile(rf"\d\s?{CURRENCY}|[\u20ac$\u00a3]\s?\d|\b(?:eur|usd|gbp|chf)\s?\d")
_TELLS = re.compile(
    r"['\u2019](?:s|m|re)\b|\b(?:is|are|am|was|were|has|have|had|costs?|did|sent|paid|spent|bought|sold|took|went|made"
    r"|lives?|weighs?|lasts?|[a-z]{2,}ed)\b"
)
_SAYS_HOW_MUCH = re.compile(
    r"(?:['\u2019]s|\b(?:is|are|comes\s+to|makes|totals?|be|up\s+to))\s+(?:about\s+|around\s+|only\s+|just\s+|exactly\s+)?\S?\d"
    r"|\b(?:should|must|needs?|gets?|owe[sd]?|due|wants?|asks?|another|extra|more|less|on\s+top|too|instead|limit|most"
    r"|least|budget|total|sum|amount|price|fee|rent|bill|each|per|plus|rather|also|agreed|promised|and\s+\S?\d)\b"
)
"""What goes on with how much is to be paid."""


def without_statements(texts: Sequence[str]) -> list[str]:
    """The parts of a text, without what only tells something, if others say how much is to be paid."""
    if sum(len(_NUMBER.findall(folded(each))) for each in texts) < 2:  # noqa: PLR2004 - no other lifts one
        return list(texts)
    parts = [_sentences(each) for each in texts]
    if not any(_is_paid(folded(each)) for part in parts for each in part):
        return list(texts)
    return ["".join(each for each in part if not _only_tells(folded(each))) for part in parts]


def _sentences(text: str) -> list[str]:
    """The sentences of a text. Together they are all of it."""
    ends = [0, *(each.end() for each in _PART.finditer(folded(text))), len(text)]
    return [text[start:end] for start, end in pairwise(ends)]


def _is_paid(sentence: str) -> bool:
    """Whether a sentence says how much is to be paid."""
    if _HAS_CURRENCY.search(sentence):
        return True
    return _PAYS.search(sentence) is not None and any(True for _ in amounts(sentence))


def _only_tells(sentence: str) -> bool:
    return (
        _NUMBER.search(sentence) is not None
        and _TELLS.search(sentence) is not None
        and _PAYS.search(sentence) is None
        and _HAS_CURRENCY.search(sentence) is None
        and _SAYS_HOW_MUCH.search(sentence) is None
    )
