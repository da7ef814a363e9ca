"""Finds who is only spoken about in a person's text: they are named, but nothing is to go to them.

Whoever a mail came from, whoever is to be blocked, and the account that money comes from are no
recipients, unless the text goes on with them ("reply", "send him the list").
"""

import re
from bisect import bisect_right
from collections.abc import Iterator

from rightcall.trust.words.keys import looks_like
from rightcall.trust.words.kinds import words_of
from rightcall.trust.words.said import named_words
from rightcall.trust.words.spelling import folded
from rightcall.trust.words.spoken import FILL, SPOKEN_OF, WHO

_AGAINST = named_words(
    "block report mute ban unfollow unfriend blacklist blocklist unsubscribe flag filter remove delete "
    "kick uninvite disinvite suspend evict deny reject expel revoke archive"
)
"""Verbs for what is done against somebody."""
_BLOCKED = re.compile(
    rf"(?i:\b(?:{'|'.join(sorted(_AGAINST))})(?:p?ing|n?ed)?)\s+{FILL}{WHO}",
)
_THING = re.compile(
    r"\b(?i:channel|file|folder|document|doc|note|room|spreadsheet|album|playlist|notebook|calendar|repository)\s+"
    r"(?:(?i:called|named|titled)\s+)?[\"'(<#]{0,2}(?P<who>[^\s\"'()<>,;]+)"
)
"""A thing, and its name, which may look like an address."""
_CALLED = re.compile(
    r"\b(?:channel|file|folder|document|doc|note|room|spreadsheet|sheet|album|playlist|notebook|calendar|repository"
    r"|repo|project|page|list|board|ticket|issue|task|recipe|event|meeting|presentation|deck|report|draft|template"
    r"|label|tag|database|table|bucket|branch|server|product|item|song|book|film|movie|photo|picture|image|video"
    r"|dataset|article|post|thread|workspace|script|form|survey|campaign|contract|entry|chapter|section)s?\s+"
    r"(?:(?:that|which)\s+(?:is|are)\s+)?(?:called|named|titled|labell?ed|entitled)\s+"
    r"(?:[\"'\u201c\u2018](?P<quoted>[^\"'\u201d\u2019\n]{1,80})[\"'\u201d\u2019]"
    r"|(?P<who>[^\s\"'()<>,;.!?]+(?:\s+[A-Z][^\s\"'()<>,;.!?]*){0,3}))",
    re.IGNORECASE,
)
"""A thing, and the name that it is said to have."""
_ENDS = re.compile(r"[.!?](?=\s)|[;\n]")
_REPLIES = re.compile(
    r"\b(?:repl(?:y|ies)|respond|answer|react|thank|refund|reimburse|the sender"
    r"|remind(?:er)?(?!\s+(?:me|us)\b)|nudge|follow[- ]up"
    r"|(?:be)?antwort\w*|ihm|ihnen|(?:schreib|sag|schick|send|gib|teil)\w*\s+ihr"
    r"|(?:write|send|pay|get|give|call)\b[^.;!?]{0,40}\bback"
    r"|(?:do|follow|carry out|act on|handle|take care of|deal with)\s+(?:what|as|the|this|that|it))\b"
)
"""What somebody who wrote may get an answer by, or may have done for them."""
_WHETHER_REPLIED = re.compile(
    r"\bdid(?:n['\u2019]t)?\s+\S+\s+(?:\S+\s+)?(?:ever\s+|already\s+)?(?:reply|respond|answer|react|thank)\b"
)
"""A question whether somebody else has answered; in ``folded`` text. It asks for no answer."""
_THEM = re.compile(
    r"\b(?!(?:about|from|of|against|by|than|like)\b)(?P<verb>\w+)\s+(?:(?:to|for|with)\s+)?"
    r"(?:him\b|them\b(?!\s+(?:to|with|for|from|in|on|into|all|up|out|down|together)\b)|her\b(?=\s*(?:[.,;!?)]|$)|\s+(?:that|an?|the|my|our"
    r"|about|if|whether|to|back|why|when|what|how|and|for|on|in|at|this|these|those|some|it|\d))"
    r"|they\s+(?:should|must|can|may|need|get))"
)
"""Somebody who was named before, as the one to whom something goes; in ``folded`` text."""
_CUE = re.compile(
    r"\b(?:access\w*|permissions?|visib\w+|shar\w+|publish\w*|grant\w*|rights?|roles?|privileges?|ma[kd]\w*|open\w*"
    r"|sett?(?:ing)?|allow\w*|let|post\w*|can|may|should|giv\w+|promot\w+|upload\w*|creat\w+|add\w*|invit\w+|turn"
    r"|chang\w+|be)\b"
)
"""Words of a sentence that may be about access; in ``folded`` text, as the rest."""
_ASKS = re.compile(
    r"(?:\A|(?<=[.!?;\n]))[^\w.!?;\n]*(?:(?:can|could|may|will|would|does|do|is|are|has|have|did)\s+(?!you\b|we\b|i\b)"
    r"|(?:who|which|what|why|when|where|how)\b(?!\s+about\b))[^.!?;\n]*\?"
)
"""A question about how things are: "can anyone see it?" gives nobody access."""
_NO_ACCESS = re.compile(
    r"\bpublic\s+(?:relations|transport\w*|transit|holidays?|schools?|librar\w+|sector|health|parks?|servants?|offices?"
    r"|opinion|affairs|figures?|speaking|places?|roads?|toilets?|pools?|records?)\b"
    r"|\b(?:write|edit)\s+(?:to|an?|the|him|her|them|me|us|it|down|about|back|my|our|this|that|for|up)\b"
    r"|\b(?:with|to|from|by|of|for|is|are|was|'s|tell|ask|inform|call|mail|message|contact|thank|remind)"
    r"\s+(?:the|our|my|his|her|their|its)\s+(?:owner|admin\w*|editor|writer|maintainer)s?\b"
)
"""What contains a word for access and is about something else."""
_WORD = re.compile(r"[^\W_]+")


def words_for_access(text: str) -> Iterator[str]:
    """The words of the sentences that may say who gets access, without what is about something else."""
    for sentence in _ENDS.split(_ASKS.sub(" ", folded(text))):
        if _CUE.search(sentence):
            yield from _WORD.findall(_NO_ACCESS.sub(" ", sentence))


def is_against(tool: str) -> bool:
    """Whether a tool does something against whom it names, by its name: ``block_sender``."""
    return not _AGAINST.isdisjoint(words_of(tool)[:1])


def without_mentioned(text: str, *, is_answered: bool = False) -> str:
    """A text with blanks for those who are only spoken about.

    ``is_answered``: text after this one goes on with somebody who was spoken of before.
    """
    low, rest, end = folded(text), list[str](), 0
    for start, stop in sorted(_spoken_of(text, low, is_answered=is_answered)):
        if start >= end:
            rest += (text[end:start], " " * (stop - start))
            end = stop
    return "".join((*rest, text[end:])) if rest else text


def without_titles(text: str) -> str:
    """A text with blanks for the names of things: "the note called Mallory"."""
    if "ed " not in text:
        return text
    return _CALLED.sub(lambda found: " " * len(found[0]), text)


def _spoken_of(text: str, low: str, *, is_answered: bool) -> Iterator[tuple[int, int]]:
    if any(verb in low for verb in _AGAINST):
        yield from (found.span("who") for found in _BLOCKED.finditer(text))
    named = _THING.finditer(text) if "." in text else ()
    yield from (found.span("who") for found in named if looks_like(found["who"]) in ("address", "web"))
    if is_answered:
        return
    found = [
        each.span("who")
        for pattern, hints in SPOKEN_OF
        if any(hint in low for hint in hints)
        for each in pattern.finditer(text)
    ]
    last = answered_at(text) if found else -1
    ends = [each.end() for each in _ENDS.finditer(low)] if last >= 0 else []
    for span in found:
        # What stands in the same sentence may come before: "reply to the mail from Ann".
        at = bisect_right(ends, span[0])
        if last < (ends[at - 1] if at else 0):
            yield span


def answered_at(text: str) -> int:
    """Where a text last lets something go to somebody who was spoken of before; -1 if nowhere."""
    low = folded(text)
    if "did" in low:
        low = _WHETHER_REPLIED.sub(lambda each: " " * len(each[0]), low)
    found = [each.start() for each in _REPLIES.finditer(low)]
    found += [each.start() for each in _THEM.finditer(low) if each["verb"] not in _AGAINST]
    return max(found, default=-1)
