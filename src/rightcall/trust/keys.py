"""Texts into numbers under which it is kept what they name: runs of tokens, each as what it is."""

from collections.abc import Iterator
from typing import get_args

from msgspec import Struct

from rightcall.core.facts import Kind
from rightcall.trust.said import Role, is_word_too, may_count
from rightcall.trust.spelling import apart, grouped, is_host, parents, plain, scan, tokens, unnumbered

RUN = 3
_MAIL = frozenset({"mail", "email", "message", "letter"})
_ALWAYS = ("id", "record", "item", "entry")

_SALTS: dict[Kind, int] = {kind: hash(("kind", kind)) for kind in get_args(Kind)}
PLAIN = 0
"""Of what was said without a kind: it is what it looks like."""
_ANY = hash(("kind", "any"))
"""Of what has a kind, and one under which there is nobody to write to and nothing to open."""
_LOOK_ALIKE: dict[Kind, tuple[Kind, ...]] = {
    "address": ("person", "free"),
    "person": ("free", "address"),
    "path": ("free",),
    "channel": ("free",),
}
"""Where a value is no address, link or account: what else may name it."""
EVERY = (PLAIN, *_SALTS.values())


class Want(Struct, frozen=True):
    """What a value is used as."""

    kind: Kind | None = None
    stated: bool = False
    """Somebody stated the kind; otherwise what the value looks like counts for more."""
    role: Role | None = None
    """Whether something is taken from it or goes into it, where a tool does both."""
    nouns: frozenset[str] = frozenset()
    """What its tool and its parameter are called: what a short number must be said to be."""


def salts_of(kind: Kind | None, *, by_name: bool = False) -> tuple[int, ...]:
    """Under what a text of this kind is kept. A name without a kind names nothing that can be opened."""
    if kind is None:
        return (_SALTS["free"], _ANY) if by_name else (PLAIN,)
    return (_SALTS[kind],) if kind in ("address", "web") else (_SALTS[kind], _ANY)


def looks_like(text: str) -> Kind | None:
    """What a value is, whoever says what: something to write to, to open, or to pay into."""
    found = list(scan(text))
    if any(kind == "mail" for kind, _ in found):
        return "address"
    if any(kind == "link" or (kind == "host" and is_host(token)) for kind, token in found):
        return "web"
    return "account" if any(each[:2].isalpha() for each in grouped(text)) else None


def accepted(want: Want, text: str) -> tuple[int, ...]:
    """Under what a value may be kept to be vouched for as what it is used as."""
    like = looks_like(text)
    kind = want.kind if want.stated and want.kind is not None else (like or want.kind)
    if kind is None or kind == "free":
        return (PLAIN, _SALTS["free"], _ANY) if like is None else (PLAIN, _SALTS[like])
    if kind == "record" and all(may_count(token) for _, token in scan(text)):
        return (_SALTS["record"],)
    others = () if like is not None else _LOOK_ALIKE.get(kind, ())
    return (PLAIN, _SALTS[kind], *[_SALTS[each] for each in others])


def reference(noun: str, token: str) -> int:
    """A short number as the identifier of something."""
    return hash(("reference", "mail" if noun in _MAIL else noun, token))


def references_to(want: Want, token: str) -> Iterator[int]:
    """The ways in which a short number may have been said to identify what a parameter is for."""
    # In one order in every process: the first that somebody said is the one that counts.
    nouns = sorted({noun.removesuffix("s") for noun in want.nouns})
    return (reference(noun, token) for noun in (*_ALWAYS, *nouns))


def as_name(word: str) -> int:
    """A word that is used as a name."""
    return hash(("name", word))


def needs_name(want: Want, found: list[str]) -> bool:
    """Whether a value is somebody's name, and a common word as well."""
    return len(found) == 1 and is_word_too(found[0]) and want.kind in (None, "address", "person", "free")


def keys(text: str) -> set[int]:
    """Everything that a text, or what stands around it, could make somebody vouch for."""
    text = plain(text)
    found = {whole(tokens(text))}
    for form in (text, unnumbered(text), apart(text), apart(unnumbered(text))):
        found.update(keys_in(form))
    return found


def keys_in(text: str) -> Iterator[int]:
    """What a text vouches for: runs of its tokens, the places above its links, its grouped numbers."""
    found = []
    for kind, token in scan(text):
        found.append(token)
        if kind in ("link", "host"):
            yield from (single(parent) for parent in parents(token))
    yield from runs(found)
    yield from map(in_groups, grouped(text))


def single(token: str) -> int:
    """One token alone."""
    return hash((token,))


def in_groups(number: str) -> int:
    """A number that was written in groups."""
    return hash(("grouped", number))


def whole(found: list[str]) -> int:
    """All of a text."""
    return hash(("whole", *found))


def runs(found: list[str]) -> Iterator[int]:
    """Every run of up to three tokens, as a number."""
    for length in range(1, RUN + 1):
        for at in range(len(found) - length + 1):
            yield hash(tuple(found[at : at + length]))


def longest(found: list[str]) -> Iterator[int]:
    """The runs that must all be known for the whole to be."""
    length = min(RUN, len(found))
    return (hash(tuple(found[at : at + length])) for at in range(len(found) - length + 1))
