"""Puts what people say in several words for one act as the verb for it: "call off" as "cancel".

Only for what a text asks for. What it names and forbids is read from the text as it is.
"""

import re
from collections.abc import Callable

from rightcall.trust.words.describing import stem
from rightcall.trust.words.spelling import folded

_ORDERED = r"(?:orders?|bookings?|reservations?|subscriptions?|purchases?|rentals?|appointments?)"
_SOME = r"(?:\s+(?!(?:and|or|then|but|when|if|to|for|with|from|off)\b)[^\s,;.!?@]+){1,4}?"
_DETERMINED = r"(?:(?:my|our|the|this|that|his|her|their|all|both|these|those)\s+)?"
_CALLED_OFF = re.compile(
    rf"\bcall(?P<ing>ing)?(?:\s+off\b|(?P<what>\s+(?:it|them|that|this|everything|(?:my|our|the|this|that){_SOME}"
    rf"|{_ORDERED}(?:\s+[^\s,;.!?@]+)?))\s+off\b)(?!\s+(?:hours?|duty|work|peak|season|site)\b)"
)
_UNDONE = re.compile(rf"\bundo(?=\s+{_DETERMINED}(?:[^\W_]+\s+)?{_ORDERED}\b)")
_MONEY_BACK = re.compile(
    r"\b(?:give|get|send|want|need|(?:like|wish)\s+to\s+have)(?:\s+(?!my\b|our\b|the\b|their\b)\S+)?\s+"
    r"(?:(?:all|my|our|his|her|their|the)\s+){1,3}money\s+back\b"
)
_NOT_WANTED = re.compile(
    r"(?P<lead>\A\s{0,3}|[.!?;,:\n]\s{0,3}|\b(?:please|and|but|so|because|as|since)\s+)(?:(?:i|we)\s+)?"
    r"(?:do\s+not|don['\u2019]?t|no\s+longer)\s+"
    r"(?:(?:want|need)(?:\s+to\s+keep)?|ship|deliver|keep|renew|process|dispatch|fulfil+)"
    rf"(?P<what>{_SOME})(?:\s+(?:any\s?more|any\s+longer|after\s+all))?\s?,\s+(?:(?:so|and|please|just|but)\s+){{0,2}}"
    r"(?P<act>cancel|return|refund|delete|remove|exchange)\s+(?:it|them|that|this)\b"
)
"""What is not to be had, and what is to be done to it instead; in ``folded`` text, as the rest."""


def reworded(text: str) -> str:
    """A text with the verbs for what it asks for."""
    low = folded(text)
    if "money" in low:
        text = _put(_MONEY_BACK, text, lambda _: "refund")
    if " off" in low:
        text = _put(_CALLED_OFF, text, _cancelled)
    if "undo" in low:
        text = _put(_UNDONE, text, lambda _: "cancel")
    return _put(_NOT_WANTED, text, _instead) if "," in low else text


def released_in(text: str) -> frozenset[str]:
    """The words for what a text does not want, and wants undone: "do not ship W1, cancel it"."""
    found = _NOT_WANTED.finditer(folded(text)) if "," in text else ()
    return frozenset(stem(word) for each in found for word in each["what"].split())


def _cancelled(found: re.Match[str]) -> str:
    return f"cancel{'ling' if found['ing'] else ''}{found['what'] or ''}"


def _instead(found: re.Match[str]) -> str:
    return f"{found['lead']}{found['act']}{found['what']}"


def _put(pattern: re.Pattern[str], text: str, verb: Callable[[re.Match[str]], str]) -> str:
    """A text with other words for what a pattern finds, which are read without regard to capitals."""
    end, parts = 0, list[str]()
    for found in pattern.finditer(folded(text)):
        parts += (text[end : found.start()], verb(found))
        end = found.end()
    return "".join((*parts, text[end:])) if parts else text
