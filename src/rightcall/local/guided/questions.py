"""A user's message into the questions in it, so that each can be asked by itself.

A small model that is asked two things does one of them. What leads up to a question stays with it.
"""

import re

_END = re.compile(r"(?<=\?)[\"')\]]*\s+")
_AND = re.compile(
    r",?\s+and\s+(?:also\s+)?(?=(?:what|what's|which|when|where|who|how|is it|tell me|give me)\b)",
    re.IGNORECASE,
)
_LEAD = re.compile(r"^(?:and|also|then)\b[,\s]*", re.IGNORECASE)
_MOST = 6
"""A message of more questions than this is taken as one."""


def questions_in(text: str) -> tuple[str, ...]:
    """The questions of a message, in order; the message itself when there is only one."""
    pieces = [piece for sentence in _END.split(text.strip()) for piece in _asked(sentence)]
    found = [_LEAD.sub("", piece) or piece for piece in pieces]
    if not 1 < len(found) <= _MOST:
        return (text.strip(),)
    return tuple(piece[:1].upper() + piece[1:] for piece in found)


def _asked(sentence: str) -> list[str]:
    """What a sentence asks; each piece is a question, if the whole is one."""
    pieces = [piece.strip() for piece in _AND.split(sentence) if piece.strip()]
    mark = "?" if sentence.endswith("?") else ""
    return [f"{piece.rstrip(' ,;')}{mark}" for piece in pieces[:-1]] + pieces[-1:]
