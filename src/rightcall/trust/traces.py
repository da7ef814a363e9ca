"""Turns written text into traces by which a later result with that text is recognised.

A trace survives what a system does to a text: it may be stored with others, cut, respelled, or joined to
its other half. Traces are strings that do not depend on the state of a process, so that they can be
stored between runs. Nothing here knows where they are stored.
"""

import codecs
import re
from base64 import b32decode, b64decode
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from html import unescape
from itertools import chain, islice, pairwise
from typing import TypeAlias
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from rightcall.core.jsontext import JsonValue, dump, leaves
from rightcall.core.parts import Result
from rightcall.trust.characters import plain
from rightcall.trust.facts import ResolvedFacts
from rightcall.trust.pieces import open_envelope
from rightcall.trust.spelling import Token, grouped, is_host, scan

Kinds: TypeAlias = Sequence[tuple[Token, str]]
"""The tokens of a text, each with its type."""
IsWritten: TypeAlias = Callable[[str], bool]
"""Whether a trace was recorded."""

_GRAM = 5
_WORDS = 4
"""Words in a row: this many are hardly ever the same by chance."""
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
    given = list(filter(None, texts))
    halves = []
    for one, other in pairwise(given):
        # Two texts without spaces could be halves of one token.
        if len(one.split()) == 1 and len(other.split()) == 1:
            halves += [f"{one}{other}", f"{other}{one}"]
    tokens: list[Iterator[str]] = []
    words: list[Iterator[str]] = []
    for text in (*given, *halves):
        for at in range(0, min(len(text), _MOST_PARTS * _LONGEST), _LONGEST):
            for form in map(plain, forms(text[at : at + _LONGEST])):
                kinds = scan(form)
                tokens.append(_token_traces(form, kinds, is_known))
                words.append(_word_traces(kinds, is_target=text in targets))
    # The traces are made one by one, so that none beyond the limits costs time.
    some_tokens = islice(chain.from_iterable(tokens), _MOST_TOKENS)
    return frozenset(chain(some_tokens, islice(chain.from_iterable(words), _MOST_TRACES)))


def came_back(value: JsonValue, is_written: IsWritten) -> frozenset[str]:
    """The texts in a value that were written before, with the other texts of the same record."""
    found: set[str] = set()
    todo: list[JsonValue] = [value]
    while todo:
        item = todo.pop()
        if not isinstance(item, dict | list):
            item = [item]
        values = item.values() if isinstance(item, dict) else item
        texts = []
        for each in values:
            if isinstance(each, dict | list):
                todo.append(each)
            else:
                texts.append(each if isinstance(each, str) else dump(each))
        was_written = partial(is_back, is_written=is_written)
        if isinstance(item, list):
            found.update(filter(was_written, texts))
            continue
        for key in item:
            if not _FIELD.fullmatch(key):
                texts.append(key)
        if any(map(was_written, texts)):
            # A short number is an identifier or a count by the system: a written one would be
            # recognised by itself.
            for text in texts:
                if not text.isdigit() or len(text) >= _FEWEST_DIGITS:
                    found.add(text)
    return frozenset(found)


def is_opaque(text: str) -> bool:
    """Whether a text is a link or encoded: a tool may turn it into anything."""
    found = scan(plain(text[:_LONGEST]))
    for kind, token in found:
        if kind == "link" or (kind == "host" and is_host(token)):
            return True
    blob = text.strip()
    has_digits = re.search(r"\d", blob)
    has_letters = re.search("[a-zA-Z]", blob)
    is_mixed = (has_digits and has_letters) or re.search("[a-z][A-Z]|[A-Z][A-Z][a-z]", blob)
    return _CODE.fullmatch(blob) is not None and bool(is_mixed)


def forms(text: str) -> Iterator[str]:
    """A text, and what common tools turn it into: spoken addresses, escapes, encodings, reversal."""
    yield text
    spoken = text
    for pattern, sign in _SPOKEN:
        spoken = pattern.sub(sign, spoken)
    found = {text, spoken, codecs.encode(text, "rot13"), text[::-1]}
    read = {text}
    for _ in range(2):
        # What is escaped twice is written out by the second tool that reads it.
        for each in sorted(read):
            read |= {unquote(each), unescape(each), _ESCAPE.sub(_character, each)}
    for blob in (*_BLOB.findall(text)[:8], *_PAIRS.findall(text)[:8]):
        for decode in (_from_base64, b32decode, bytes.fromhex):
            try:
                decoded = decode(blob.replace(":", " ")).decode()
            except ValueError:
                continue
            if decoded.isprintable():
                found.add(decoded)
    yield from sorted((found | read) - {text})


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    if code:
        return chr(int(code, 16))
    return found[3]


def _from_base64(blob: str) -> bytes:
    padded = blob.rstrip("=") + "=" * (-len(blob.rstrip("=")) % 4)
    return b64decode(padded.replace("-", "+").replace("_", "/"), validate=True)


def _token_traces(text: str, kinds: Kinds, is_known: IsWritten) -> Iterator[str]:
    """The traces of the addresses and numbers in a text, addresses first."""
    unknown = []
    for kind, token in kinds:
        if not _may_matter(kind, token) or not is_known(token):
            unknown.append((kind, token))
    unknown.sort(key=lambda each: each[0] not in _ADDRESSES)
    for _, squeezed in _distinctive(text, unknown):
        for gram in _grams(squeezed):
            yield f"t {gram}"


def _word_traces(kinds: Kinds, *, is_target: bool) -> Iterator[str]:
    words = [token for _, token in kinds]
    # A name, recognised as a whole; one of more words is a run of them.
    if (is_target and words) or 1 < len(words) < _WORDS:
        yield f"v {' '.join(words)}"
    for run in _runs(words):
        yield f"w {run}"


def is_back(text: str, is_written: IsWritten) -> bool:
    """Whether a text was written before, in whatever spelling."""
    text = plain(text[:_LONGEST])
    kinds = scan(text)
    words = [token for _, token in kinds]
    if 0 < len(words) < _WORDS and is_written(f"v {' '.join(words)}"):
        return True
    for run in _runs(words):
        if is_written(f"w {run}"):
            return True
    return next(_tokens_back(text, kinds, is_written), None) is not None


def _tokens_back(text: str, kinds: Kinds, is_written: IsWritten) -> Iterator[str]:
    """The addresses and numbers in a text that were written before, in any spelling."""
    for token, squeezed in _distinctive(text, kinds):
        grams = [is_written(f"t {gram}") for gram in _grams(squeezed)]
        if 2 * sum(grams) >= len(grams):
            yield token


def _runs(words: list[str]) -> Iterator[str]:
    for at in range(len(words) - _WORDS + 1):
        yield " ".join(words[at : at + _WORDS])


def _distinctive(text: str, kinds: Kinds) -> Iterator[tuple[str, str]]:
    """The distinctive tokens, each as it is and squeezed: addresses, links, accounts."""
    for kind, token in kinds:
        if _may_matter(kind, token):
            yield token, _squeeze_token(token)
    for number in grouped(text):
        if len(number) >= _FEWEST_DIGITS:
            yield number, _squeeze_token(number)


def _may_matter(kind: Token, token: str) -> bool:
    squeezed = _squeeze_token(token)
    if len(squeezed) < _GRAM or kind == "date":
        return False
    if squeezed.isdigit():
        return len(squeezed) >= _FEWEST_DIGITS
    return kind in _ADDRESSES or any(map(str.isdigit, squeezed))


def _squeeze_token(token: str) -> str:
    return _NOT_ALNUM.sub("", token.casefold())


def _grams(token: str) -> Iterator[str]:
    for at in range(max(len(token) - _GRAM + 1, 1)):
        yield token[at : at + _GRAM]


EARLIER = " (written there before)"
"""Added to the name of the tool through which written text came back."""


def restore_label(result: Result, facts: ResolvedFacts) -> Result:
    """A result of an earlier run; if it may have lost its labels, it is untrusted."""
    fields = facts.untrusted
    if result.source is not None or result.own:
        return result
    found = content_of(result)
    if isinstance(found, dict) and "untrusted_source" in found:
        return replace(result, source=result.name)
    if not isinstance(fields, tuple):
        return result
    # Text alone, or one of the fields that outsiders fill in.
    names = {field.rpartition(".")[2] for field in fields}
    if not isinstance(found, dict | list):
        return replace(result, source=result.name)
    for place, _ in leaves(found):
        if not names.isdisjoint(place):
            return replace(result, source=result.name)
    return result


def content_of(result: Result) -> JsonValue:
    """The content of a result, parsed if it is JSON."""
    if result.source is not None:
        text = open_envelope(result.text)
    else:
        text = result.text
    if text[:1] not in ("{", "["):
        return text
    try:
        found: JsonValue = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return found
