"""Turns written text into traces by which a later result with that text is recognised.

A trace survives what a system does to a text: it may be stored with others, cut, respelled, or joined to
its other half. Traces are strings that do not depend on the state of a process, so that they can be
stored between runs. Nothing here knows where they are stored.
"""

import binascii
import codecs
import re
from base64 import b64decode
from collections.abc import Callable, Collection, Iterable, Iterator
from html import unescape
from itertools import pairwise
from typing import TypeAlias
from urllib.parse import unquote

import msgspec

from rightcall.core.jsontext import JsonValue
from rightcall.trust.words.spelling import Token, grouped, is_host, plain, scan

IsWritten: TypeAlias = Callable[[str], bool]
"""Whether a trace was recorded."""

_GRAM = 5
_WORDS = 4
"""Words in a row: this many are hardly ever the same by chance."""
_SHORT = 6
"""Tokens of a value that is recognised as a whole, at most: a name, a title."""
_LONGEST = 20_000
_MOST_TRACES = 4000
"""Limit for the texts of one call."""
_FEWEST_DIGITS = 8
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPOKEN = tuple(
    (re.compile(rf"\s*[\[({{<]?\b{word}\b[\])}}>]?\s*", re.IGNORECASE), sign)
    for word, sign in (("at", "@"), ("dot", "."))
)
_BLOB = re.compile(r"[A-Za-z0-9+/_=-]{12,}")
_CODE = re.compile(r"[A-Za-z0-9+/=]{12,}")
_NOT_ALNUM = re.compile(r"[^a-z0-9]+")


def traces_of(texts: Iterable[str], targets: Collection[str], is_known: IsWritten) -> frozenset[str]:
    """The traces of texts that are written together.

    ``targets`` are those of the texts that are targets: for these a single plain word leaves a trace,
    too. What ``is_known``, because it is vouched for, leaves no trace.
    """
    given = [text[:_LONGEST] for text in texts]
    found: dict[str, None] = {}
    halves = [f"{one}{other}" for one, other in pairwise(given) if _can_join(one, other)]
    halves += [f"{other}{one}" for one, other in pairwise(given) if _can_join(one, other)]
    for text in (*given, *halves):
        for form in forms(text):
            for trace in _traces(form, is_known, is_target=text in targets):
                if len(found) >= _MOST_TRACES:
                    return frozenset(found)
                found[trace] = None
    return frozenset(found)


def is_of_token(trace: str) -> bool:
    """Whether a trace is of an address or a number, and not of words."""
    return trace.startswith("t ")


def came_back(value: JsonValue, is_written: IsWritten) -> frozenset[str]:
    """The texts in a value that were written before, with the other texts of the same record."""
    found: set[str] = set()
    todo: list[JsonValue] = [value]
    while todo:
        item = todo.pop()
        match item:
            case dict():
                own = [_told(each) for each in item.values() if not isinstance(each, dict | list)]
                own += [key for key in item if not _FIELD.fullmatch(key)]
                if any(_is_back(text, is_written) for text in own):
                    # A short number is an identifier or a count by the system: a written one would be
                    # recognised by itself.
                    found.update(each for each in own if not _is_short_number(each))
                todo.extend(each for each in item.values() if isinstance(each, dict | list))
            case list():
                plainly = [_told(each) for each in item if not isinstance(each, dict | list)]
                found.update(text for text in plainly if _is_back(text, is_written))
                todo.extend(each for each in item if isinstance(each, dict | list))
            case _:
                text = _told(item)
                if _is_back(text, is_written):
                    found.add(text)
    return frozenset(found)


def is_opaque(text: str) -> bool:
    """Whether a text is a link or encoded: a tool may turn it into anything."""
    found = scan(plain(text[:_LONGEST]))
    if any(kind == "link" or (kind == "host" and is_host(token)) for kind, token in found):
        return True
    blob = text.strip()
    has_digits, has_letters = re.search(r"\d", blob), re.search("[a-zA-Z]", blob)
    is_mixed = (has_digits and has_letters) or re.search("[a-z][A-Z]|[A-Z][A-Z][a-z]", blob)
    return _CODE.fullmatch(blob) is not None and bool(is_mixed)


def forms(text: str) -> Iterator[str]:
    """A text, and what common tools turn it into: spoken addresses, escapes, encodings, reversal."""
    yield text
    spoken = text
    for pattern, sign in _SPOKEN:
        spoken = pattern.sub(sign, spoken)
    told = {spoken, unquote(text), unescape(text), codecs.encode(text, "rot13"), text[::-1]}
    for blob in _BLOB.findall(text)[:8]:
        told.update(_decoded(blob))
    told.discard(text)
    yield from sorted(told)


def _can_join(one: str, other: str) -> bool:
    """Whether two texts could be halves of one token."""
    return len(one.split()) == 1 and len(other.split()) == 1


def _decoded(blob: str) -> Iterator[str]:
    for decode in (_from_base64, bytes.fromhex):
        try:
            found = decode(blob).decode()
        except (ValueError, binascii.Error):
            continue
        if found.isprintable():
            yield found


def _from_base64(blob: str) -> bytes:
    padded = blob.rstrip("=") + "=" * (-len(blob.rstrip("=")) % 4)
    return b64decode(padded.replace("-", "+").replace("_", "/"), validate=True)


def _told(value: JsonValue) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _traces(text: str, is_known: IsWritten, *, is_target: bool) -> Iterator[str]:
    text = plain(text)
    kinds = list(scan(text))
    unknown = [each for each in kinds if not (_may_matter(*each) and is_known(each[1]))]
    for _, squeezed in _distinctive(text, unknown):
        yield from (f"t {gram}" for gram in _grams(squeezed))
    words = [token for _, token in kinds]
    yield from (f"w {' '.join(run)}" for run in _runs(words))
    if (is_target and words) or 1 < len(words) <= _SHORT:
        yield f"v {' '.join(words)}"


def _is_back(text: str, is_written: IsWritten) -> bool:
    text = plain(text[:_LONGEST])
    kinds = list(scan(text))
    words = [token for _, token in kinds]
    if 0 < len(words) <= _SHORT and is_written(f"v {' '.join(words)}"):
        return True
    if any(is_written(f"w {' '.join(run)}") for run in _runs(words)):
        return True
    return any(True for _ in _tokens_back(text, kinds, is_written))


def tokens_back(text: str, is_written: IsWritten) -> Iterator[str]:
    """The addresses and numbers in a text that were written before, in any spelling."""
    text = plain(text[:_LONGEST])
    return _tokens_back(text, list(scan(text)), is_written)


def _tokens_back(text: str, kinds: list[tuple[Token, str]], is_written: IsWritten) -> Iterator[str]:
    for token, squeezed in _distinctive(text, kinds):
        grams = [is_written(f"t {gram}") for gram in _grams(squeezed)]
        if 2 * sum(grams) >= len(grams):
            yield token


def _runs(words: list[str]) -> Iterator[list[str]]:
    return (words[at : at + _WORDS] for at in range(len(words) - _WORDS + 1))


def _distinctive(text: str, kinds: list[tuple[Token, str]]) -> Iterator[tuple[str, str]]:
    """The distinctive tokens, each as it is and squeezed: addresses, links, accounts."""
    yield from ((token, _squeezed(token)) for kind, token in kinds if _may_matter(kind, token))
    yield from ((each, _squeezed(each)) for each in grouped(text) if len(each) >= _FEWEST_DIGITS)


def _may_matter(kind: Token, token: str) -> bool:
    squeezed = _squeezed(token)
    if len(squeezed) < _GRAM or kind == "date":
        return False
    if squeezed.isdigit():
        return len(squeezed) >= _FEWEST_DIGITS
    return kind in ("link", "mail", "host") or any(each.isdigit() for each in squeezed)


def _is_short_number(text: str) -> bool:
    return text.isdigit() and len(text) < _FEWEST_DIGITS


def _squeezed(token: str) -> str:
    return _NOT_ALNUM.sub("", token.casefold())


def _grams(token: str) -> Iterator[str]:
    return (token[at : at + _GRAM] for at in range(max(len(token) - _GRAM + 1, 1)))
