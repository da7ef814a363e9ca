"""The special strings of a template: found in what it writes, made harmless in what it is given.

Whoever can write ``<|im_end|>`` into a tool's result can end its turn and speak as someone else: an
engine reads the prompt's special tokens as such, wherever they come from. So text that is not the
template's own has a space put into each of them.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

Segment: TypeAlias = tuple[Literal["marker", "text"], str]

# Tags of all kinds, as they stand around content: <|im_end|>, <turn|>, <tool_call>, [INST].
_AROUND = re.compile(r"<[^<>\s]{1,64}>|\[/?[A-Za-z][A-Z_]{2,40}\]")
# Those that are special wherever they stand in a template.
# DeepSeek writes its bars in full width.
_SPECIAL = re.compile(r"<[|\uff5c][^<>\s]{1,64}>|<[^<>\s]{1,64}[|\uff5c]>|\[/[A-Z][A-Z_]{2,40}\]")
_LEAST = 3
# A special token that is a word, or holds a space, cannot be told from text, and is left alone.
_ORDINARY = re.compile(r"\s|^\w")


def find_markers(
    rendered: Iterable[str], words: re.Pattern[str], template: str, known: Sequence[str]
) -> tuple[str, ...]:
    """The special strings, longest first.

    From renderings, what stands between the words that were put in; from the template's text, what can
    only be special; and those that are known anyway.
    """
    found = set(known)
    for text in rendered:
        for between in words.split(text):
            found.update(_AROUND.findall(between))
    found.update(_SPECIAL.findall(template))
    legal = [marker for marker in found if len(marker) >= _LEAST and not _ORDINARY.search(marker)]
    return tuple(sorted(legal, key=lambda marker: (-len(marker), marker)))


def neutralise(text: str, markers: Sequence[str]) -> str:
    """The text with a space inside of everything that is one of the markers, so that none is left.

    Seen by the model and by people, and of no effect: ``<|im_end|>`` becomes ``< |im_end|>``.
    """
    # Looking for one after the other is faster than looking for all at once, and most texts have none.
    if not any(marker in text for marker in markers):
        return text
    pattern = _pattern(tuple(markers))
    # Markers may overlap, and the second one is left when the first has been broken. A space is in no
    # marker, so every pass leaves fewer.
    while pattern.search(text):
        text = pattern.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)
    return text


def segments(text: str, markers: Sequence[str]) -> list[Segment]:
    """The text in pieces, special strings apart, for showing. Joined again they are the text."""
    if not markers:
        return [("text", text)] if text else []
    pieces: list[Segment] = []
    at = 0
    for found in _pattern(tuple(markers)).finditer(text):
        if found.start() > at:
            pieces.append(("text", text[at : found.start()]))
        pieces.append(("marker", found[0]))
        at = found.end()
    if at < len(text):
        pieces.append(("text", text[at:]))
    return pieces


@lru_cache(maxsize=64)
def _pattern(markers: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(markers, key=len, reverse=True))))
