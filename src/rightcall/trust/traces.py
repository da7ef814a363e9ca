"""Turns written text into traces by which a later result with that text is recognised.

A trace survives what a system does to a text: it may be stored with others, cut, respelled, or joined to
its other half. Traces are strings that do not depend on the state of a process, so that they can be
stored between runs. Nothing here knows where they are stored.
"""

import binascii
import codecs
import re
from base64 import b32decode, b64decode
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from html import unescape
from itertools import chain, islice, pairwise
from typing import TypeAlias
from urllib.parse import unquote

import msgspec

from rightcall.core.jsontext import JsonValue
from rightcall.trust.words.plain import plain
from rightcall.trust.words.spelling import Token, grouped, is_host, scan

Kinds: TypeAlias = Sequence[tuple[Token, str]]
"""The tokens of a text, each with its type."""
IsWritten: TypeAlias = Callable[[str], bool]
"""Whether a trace was recorded."""

_GRAM = 5
_WORDS = 4
"""Words in a row: this many are hardly ever the same by chance."""
_SHORT = 6
"""Tokens of a value that is recognised as a whole, at most: a name, a title."""
_LONGEST = 20_000
"""Characters of a text that are read at once."""
_MOST_PARTS = 5
"""So many times that of each text leave traces."""
_MOST_TRACES = 4000
"""Limit for the words of one call."""
_MOST_TOKENS = 12_000
"""The same for its addresses and numbers: words, of which there may be many, must not displace them."""
_FEWEST_DIGITS = 8
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPOKEN = tuple(
    # Begins where the spaces begin: from each space of many, the search would go to the last of them.
    (
        re.compile(
            rf"(?<!\s)\s*[\[({{<_-]?(?<![^\W_])(?:{word})(?![^\W_])[\])}}>_-]?\s*", re.IGNORECASE
        ),
        sign,
    )
    for word, sign in (
        ("at|arobase|arroba|chiocciola|klammeraffe|apenstaartje", "@"),
        ("dot|period|punkt|point|punto|ponto|punt", "."),
    )
)
_BLOB = re.compile(r"[A-Za-z0-9+/_=-]{12,}")
_PAIRS = re.compile(r"\b(?:[0-9A-Fa-f]{2}[\s:]){5,}[0-9A-Fa-f]{2}\b")
"""Bytes in hex, apart from each other."""
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_CODE = re.compile(r"[A-Za-z0-9+/=]{12,}")
_ADDRESSES = ("link", "mail", "host")
_NOT_ALNUM = re.compile(r"[^a-z0-9]+")


def traces_of(texts: Iterable[str], targets: Collection[str], is_known: IsWritten) -> frozenset[str]:
    """The traces of texts that are written together.

    ``targets`` are those of the texts that are targets: for these a single plain word leaves a trace,
    too. What ``is_known``, because it is vouched for, leaves no trace.
    """
    given = [text for text in texts if text]
    halves = [f"{one}{other}" for one, other in pairwise(given) if _can_join(one, other)]
    halves += [f"{other}{one}" for one, other in pairwise(given) if _can_join(one, other)]
    told = [
        (form, scan(form), text in targets)
        for text in (*given, *halves)
        for form in map(plain, _forms_of(text))
    ]
    tokens = (trace for form, kinds, _ in told for trace in _token_traces(form, kinds, is_known))
    words = (trace for _, kinds, is_target in told for trace in _word_traces(kinds, is_target=is_target))
    return frozenset(chain(islice(tokens, _MOST_TOKENS), islice(words, _MOST_TRACES)))


def _forms_of(text: str) -> Iterator[str]:
    """The forms of each part of a text."""
    for at in range(0, min(len(text), _MOST_PARTS * _LONGEST), _LONGEST):
        yield from forms(text[at : at + _LONGEST])


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
    told = {spoken, codecs.encode(text, "rot13"), text[::-1]}
    read = {text}
    for _ in range(2):
        # What is escaped twice is written out by the second tool that reads it.
        read |= {opened(each) for each in read for opened in (unquote, unescape, _unescaped)}
    for blob in (*_BLOB.findall(text)[:8], *_PAIRS.findall(text)[:8]):
        told.update(_decoded(blob))
    yield from sorted((told | read) - {text})


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else found[3]


def _can_join(one: str, other: str) -> bool:
    """Whether two texts could be halves of one token."""
    return len(one.split()) == 1 and len(other.split()) == 1


def _decoded(blob: str) -> Iterator[str]:
    for decode in (_from_base64, b32decode, bytes.fromhex):
        try:
            found = decode(blob.replace(":", " ")).decode()
        except (ValueError, binascii.Error):
            continue
        if found.isprintable():
            yield found


def _from_base64(blob: str) -> bytes:
    padded = blob.rstrip("=") + "=" * (-len(blob.rstrip("=")) % 4)
    return b64decode(padded.replace("-", "+").replace("_", "/"), validate=True)


def _told(value: JsonValue) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _token_traces(text: str, kinds: Kinds, is_known: IsWritten) -> Iterator[str]:
    """The traces of the addresses and numbers in a text, addresses first."""
    unknown = [each for each in kinds if not (_may_matter(*each) and is_known(each[1]))]
    unknown.sort(key=lambda each: each[0] not in _ADDRESSES)
    for _, squeezed in _distinctive(text, unknown):
        yield from (f"t {gram}" for gram in _grams(squeezed))


def _word_traces(kinds: Kinds, *, is_target: bool) -> Iterator[str]:
    words = [token for _, token in kinds]
    if (is_target and words) or 1 < len(words) <= _SHORT:
        yield f"v {' '.join(words)}"
    yield from (f"w {' '.join(run)}" for run in _runs(words))


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


def _tokens_back(text: str, kinds: Kinds, is_written: IsWritten) -> Iterator[str]:
    for token, squeezed in _distinctive(text, kinds):
        grams = [is_written(f"t {gram}") for gram in _grams(squeezed)]
        if 2 * sum(grams) >= len(grams):
            yield token


def _runs(words: list[str]) -> Iterator[list[str]]:
    return (words[at : at + _WORDS] for at in range(len(words) - _WORDS + 1))


def _distinctive(text: str, kinds: Kinds) -> Iterator[tuple[str, str]]:
    """The distinctive tokens, each as it is and squeezed: addresses, links, accounts."""
    yield from ((token, _squeezed(token)) for kind, token in kinds if _may_matter(kind, token))
    yield from ((each, _squeezed(each)) for each in grouped(text) if len(each) >= _FEWEST_DIGITS)


def _may_matter(kind: Token, token: str) -> bool:
    squeezed = _squeezed(token)
    if len(squeezed) < _GRAM or kind == "date":
        return False
    if squeezed.isdigit():
        return len(squeezed) >= _FEWEST_DIGITS
    return kind in _ADDRESSES or any(each.isdigit() for each in squeezed)


def _is_short_number(text: str) -> bool:
    return text.isdigit() and len(text) < _FEWEST_DIGITS


def _squeezed(token: str) -> str:
    return _NOT_ALNUM.sub("", token.casefold())


def _grams(token: str) -> Iterator[str]:
    return (token[at : at + _GRAM] for at in range(max(len(token) - _GRAM + 1, 1)))
