"""A text as it is compared: its characters normalised, and without those that nobody sees."""

import re
import unicodedata
from collections.abc import Set as AbstractSet

# Browsers treat these as dots.
_DOTS = str.maketrans(dict.fromkeys("\u3002\uff0e\uff61", "."))
SYLLABLE = "\\u3040-\\u30ff\\u3400-\\u9fff\\uac00-\\ud7af\\uf900-\\ufaff"
"""Scripts without spaces between words; each character is a token."""
SYLLABLES = re.compile(rf"[{SYLLABLE}]+")
# Invisible characters that browsers ignore, although Unicode does not class them as format (Cf).
_UNSEEN = frozenset(
    map(chr, [0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x1810)])
) | frozenset(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
_MOST_GROWN = 1000
_LONGEST_FORM = 3
_WORDS = re.compile(r"[^\W\d_a-zA-Z]+(?: [^\W\d_a-zA-Z]+)*")


def plain(text: str) -> str:
    """``text`` with its characters normalised, and without the invisible ones."""
    if text.isascii():
        return text
    text = _normalised(_without(text, _UNSEEN & {*text}))
    present = {*text}
    if not _DOTS.keys().isdisjoint(map(ord, present)):
        text = text.translate(_DOTS)
    return _without(text, {each for each in present if each in _UNSEEN or _is_format(each)})


def compose(text: str) -> str:
    """``text`` with each letter in one form (NFC), and otherwise as it is."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def is_plain(text: str) -> bool:
    """Whether a program reads in a value what a person sees: nothing invisible, wide or blank."""
    if text != text.strip() or not text.isprintable():
        return False
    return text.isascii() or plain(text) == compose(text)


def _normalised(text: str) -> str:
    """``text`` in the normal form NFKC, in which one character may become eighteen.

    Of those that become many, a text may have more than anybody writes. Each further one becomes two
    rare letters of the same kind, others for each: an address with it stays one, and equals no other.
    """
    normal = unicodedata.normalize("NFKC", text)
    if len(normal) <= 2 * len(text) + _MOST_GROWN:
        return normal
    short = {each: letters for each in sorted({*text}) if (letters := _shorter(each))}
    left, pieces = _MOST_GROWN, list[str]()
    for each in text:
        left -= each in short
        pieces.append(short.get(each, each) if left < 0 else each)
    return unicodedata.normalize("NFKC", "".join(pieces))


def _shorter(character: str) -> str:
    """What stands for a character that becomes many letters; empty for any other.

    Signs and letters of ASCII stay whole, however many: they can begin or end an address.
    """
    form = unicodedata.normalize("NFKC", character)
    if len(form) <= _LONGEST_FORM or not (form[0] + form[-1]).isalpha() or not _WORDS.fullmatch(form):
        return ""
    first = 0x3400 if SYLLABLES.fullmatch(form) else 0xA000
    return "".join(chr(first + part) for part in divmod(ord(character), 1024))


def _without(text: str, characters: AbstractSet[str]) -> str:
    """A text without some characters. A check of each character of a long text would be slow."""
    return text.translate(dict.fromkeys(map(ord, characters))) if characters else text


def _is_format(character: str) -> bool:
    return unicodedata.category(character) == "Cf"
