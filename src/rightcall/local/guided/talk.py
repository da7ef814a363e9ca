"""Detects small talk, and limits what a very small model may say to it.

Such a model claims whatever follows from how a sentence began: cities that do not exist, letters that it
has sent. So it only answers small talk, and only about the user and itself: a sentence about neither is
about the world, and a name or a number that the user did not give is made up.
"""

import re
from collections.abc import Iterator

from rightcall.local.guided.formula import numbers_in

_GREETING = re.compile(
    r"""(?:hi|hello|hey|good\ (?:morning|day|afternoon|evening|night)|thanks?(?:\ you)?|cheers|bye
    |goodbye|see\ you|ok|okay|great|nice|cool|wow|sorry|welcome|yes|no|sure|perfect|awesome
    |how\ are\ you|how\ do\ you\ do|how\ is\ it\ going|how's\ it\ going|what's\ up)\b[\s,.!?]*""",
    re.IGNORECASE | re.VERBOSE,
)
_OF_ONESELF = re.compile(
    r"""(?:i|i'm|i've|my|we|we're|you're|you\ are|that's|that\ was)\b
    (?!\s+(?:am\s+)?(?:need|want|wish|must|would|should|looking|searching|wondering|trying)\b)(?!'d\b)""",
    re.IGNORECASE | re.VERBOSE,
)
_ASKS = re.compile(
    r"\b(?:what|which|when|where|who|whose|why|how|tell|give|show|please)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_BETWEEN_US = re.compile(r"\b(?:i|me|my|you|your|we|us|our)\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=[\w,;:'\u2019-]\s)[^\W\d_a-z][\w\u2019'-]*|(?<=[Ii]['\u2019]m )\w+")
_WORD = re.compile(r"[^\W\d_]+")
_SHORT = 3
"""The most words of a mere greeting."""
_MOST_SENTENCES = 2


def is_talk(text: str) -> bool:
    """Whether the user wants nothing: a greeting, thanks, or a statement about themselves."""
    rest = text.strip()
    while greeting := _GREETING.match(rest):
        rest = rest[greeting.end() :]
    if not rest:
        return True
    if "?" in rest or _ASKS.search(rest):
        return False
    return rest != text.strip() or _OF_ONESELF.match(rest) is not None


def worth_saying(text: str, said: str) -> str:
    """The first sentences of a text that keep to user, model and conversation; or empty."""
    return " ".join(_kept(text, said))


def _kept(text: str, said: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(text.strip())[:_MOST_SENTENCES]:
        # A sentence without its end was cut off.
        if not sentence.endswith((".", "!", "?")) or not _keeps_to(sentence, said):
            return
        yield sentence


def _keeps_to(sentence: str, said: str) -> bool:
    known = {word.casefold() for word in _WORD.findall(said)}
    names = [word.casefold() for name in _NAME.findall(sentence) for word in _WORD.findall(name)[:1]]
    if any(name not in known | {"i"} for name in names) or numbers_in(sentence) - numbers_in(said):
        return False
    return bool(_BETWEEN_US.search(sentence)) or len(_WORD.findall(sentence)) <= _SHORT
