"""Hashes texts into the keys under which their names are stored: runs of tokens, each with a kind."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import get_args

from msgspec import Struct

from rightcall.core.facts import Kind
from rightcall.trust.words.plain import plain
from rightcall.trust.words.said import Role, is_word_too, may_count
from rightcall.trust.words.spelling import apart, grouped, is_host, parents, scan, tokens, unnumbered

RUN = 3
_MAIL = frozenset({"mail", "email", "message", "letter"})
_ALWAYS = ("id", "record", "item", "entry")

_SALTS: dict[Kind, int] = {kind: hash(("kind", kind)) for kind in get_args(Kind)}
PLAIN = 0
"""The salt for text without a kind: its kind is what it looks like."""
_ANY = hash(("kind", "any"))
"""The salt for values of any kind but those that can be written to or opened."""
_TITLE = hash(("kind", "title"))
"""The salt for a name that an outsider gave a thing: nobody is to be written to because of it."""
_LOOK_ALIKE: dict[Kind, tuple[Kind, ...]] = {
    "address": ("person", "free"),
    "person": ("free", "address"),
    "path": ("free",),
    "channel": ("free",),
}
"""For a value that is no address, link or account: other kinds under which it may have been named."""
_WHOM: tuple[Kind, ...] = ("address", "account", "person")
NUMBERED: tuple[Kind, ...] = ("record", "account", "address", "person", "channel")
"""Kinds of which a short number must have been named as one: "500" may be an amount, or a count."""
MENTIONED = hash(("mentioned",))
"""The salt for somebody who is only spoken about."""
TITLED = hash(("titled",))
"""The salt for the name of a thing: it names nobody."""
FORBIDDEN = hash(("forbidden",))
"""The salt for what stands in words that seem to forbid it."""
EVERY = (PLAIN, MENTIONED, TITLED, *_SALTS.values())


class Want(Struct, frozen=True):
    """What a value is used as."""

    kind: Kind | None = None
    stated: bool = False
    """Whether the kind was stated; if not, what the value looks like takes precedence."""
    role: Role | None = None
    """Whether something is taken from it or goes into it, for a tool that does both."""
    receives: bool = False
    """Whether it names whom something goes to; who is only spoken about does not count then."""
    nouns: frozenset[str] = frozenset()
    """The words in the tool's and the parameter's name: a short number must have been named as one."""


def salts_of(kind: Kind | None, *, by_name: bool = False) -> tuple[int, ...]:
    """The salts to store a text of this kind. A name without a kind names nothing that can be opened."""
    if by_name and kind == "free":
        return (_TITLE, _ANY)
    if kind is None:
        return (_SALTS["free"], _ANY) if by_name else (PLAIN,)
    return (_SALTS[kind],) if kind in ("address", "web") else (_SALTS[kind], _ANY)


def looks_like(text: str) -> Kind | None:
    """The kind of a value by its form alone: something to write to, to open, or to pay into."""
    found = list(scan(text))
    if any(kind == "mail" for kind, _ in found):
        return "address"
    if any(kind == "link" or (kind == "host" and is_host(token)) for kind, token in found):
        return "web"
    return "account" if any(each[:2].isalpha() for each in grouped(text)) else None


def accepted(want: Want, text: str) -> tuple[int, ...]:
    """The salts under which a value may be stored to count as vouched for in this use."""
    salts = _fitting(want, text)
    is_opened = want.kind == "web"
    if PLAIN in salts and want.kind not in _WHOM:
        salts = (*salts, TITLED)
    return salts if want.receives or is_opened or PLAIN not in salts else (*salts, MENTIONED)


def _fitting(want: Want, text: str) -> tuple[int, ...]:
    like = looks_like(text)
    kind = want.kind if want.stated and want.kind is not None else (like or want.kind)
    if kind is None or kind == "free":
        return (PLAIN, _SALTS["free"], _ANY) if like is None else (PLAIN, _SALTS[like])
    if kind in NUMBERED and all(may_count(token) for _, token in scan(text)):
        return (_SALTS[kind],)
    others = () if like is not None else _LOOK_ALIKE.get(kind, ())
    titles = (_TITLE,) if kind in ("path", "record") and like is None else ()
    return (PLAIN, _SALTS[kind], *[_SALTS[each] for each in others], *titles)


def reference(noun: str, token: str) -> int:
    """The key of a short number as the identifier of something."""
    return hash(("reference", "mail" if noun in _MAIL else noun, token))


def references_to(want: Want, token: str) -> Iterator[int]:
    """The keys under which a short number may have been named as an identifier for this parameter."""
    # In the same order in every process: the first key that was named counts.
    nouns = sorted({noun.removesuffix("s") for noun in want.nouns})
    return (reference(noun, token) for noun in (*_ALWAYS, *nouns))


def as_name(word: str) -> int:
    """The key of a word that is used as a name."""
    return hash(("name", word))


def as_currency(code: str) -> int:
    """The key of a currency."""
    return hash(("currency", code))


def as_access(word: str) -> int:
    """The key of a word that may say who gets access."""
    return hash(("access", word))


def needs_name(want: Want, found: list[str]) -> bool:
    """Whether a value is a person's name that is also a common word."""
    return len(found) == 1 and is_word_too(found[0]) and want.kind in (None, "address", "person", "free")


def keys(text: str) -> set[int]:
    """Every key that a text, alone or within a longer one, could add to what is vouched for."""
    text = plain(text)
    found = {whole(tokens(text))}
    for form in (text, unnumbered(text), apart(text), apart(unnumbered(text))):
        found.update(keys_in(form))
    return found


def keys_in(text: str) -> Iterator[int]:
    """The keys of a text: runs of its tokens, the parents of its links, its grouped numbers."""
    read = scan(text)
    above = [parent for kind, token in read if kind in ("link", "host") for parent in parents(token)]
    found = [token for _, token in read]
    return chain(map(single, above), runs(found), map(in_groups, grouped(text)))


def keys_of_all(texts: Iterable[str]) -> frozenset[int]:
    """The keys of some texts."""
    return frozenset(key for text in texts for key in keys(text))


def single(token: str) -> int:
    """The key of one token."""
    return hash((token,))


def in_groups(number: str) -> int:
    """The key of a number that was written in groups."""
    return hash(("grouped", number))


def whole(found: list[str]) -> int:
    """The key of a whole text."""
    return hash(("whole", *found))


def runs(found: list[str]) -> Iterator[int]:
    """The keys of every run of up to three tokens."""
    return chain.from_iterable(
        map(hash, zip(*(found[at:] for at in range(length)), strict=False))
        for length in range(1, RUN + 1)
    )


def longest(found: list[str]) -> Iterator[int]:
    """The keys of the longest runs: the whole is known if all of these are."""
    length = min(RUN, len(found))
    return (hash(tuple(found[at : at + length])) for at in range(len(found) - length + 1))
