"""Who could have written a text of a run, and who has named a value. What a label says never gets less.

Adding a text costs its own length; looking up a value costs the value's. Neither grows with what was
added before. Of trusted texts their runs of up to three tokens are kept, so that a phrase is found only
where its words stand together; of untrusted ones only the tokens, to say where a value came from.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from rightcall.core.decision import Evidence, Origin
from rightcall.core.jsontext import JsonValue, leaves
from rightcall.core.parts import Result
from rightcall.core.problem import json_path
from rightcall.trust.facts import Settled
from rightcall.trust.spelling import (
    apart,
    grouped,
    loose,
    matches,
    parents,
    plain,
    scan,
    tokens,
    unnumbered,
    without_year,
)

Writer: TypeAlias = Literal["user", "developer", "runtime", "model", "tool", "outsider"]
"""Who could have written a piece: the person, the application, rightcall, a model that had read nothing
of outsiders, a system that its tool vouches for, or anybody."""

_ESCAPES = str.maketrans({"\\": " "})


class Label(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who could have written something, and who may see it."""

    writer: Writer
    source: str = ""
    """The tool that it came through."""
    private: bool = False
    suspected: bool = False
    """A screen took it for an attempt to give orders."""


class Piece(Struct, frozen=True):
    """Some text of a transcript, and its label."""

    text: str
    label: Label


def pieces_of(result: Result, facts: Settled) -> Iterator[Piece]:
    """What a result is made of. A result that nobody ran for is the runtime's own words.

    Those may repeat what the model wrote, so they vouch for nothing.
    """
    private, name = facts.reads_private, result.name
    if result.own or result.outcome not in ("returned", "failed"):
        yield Piece(result.text, Label(writer="runtime", source=name))
    elif result.source is None and facts.untrusted is not True:
        for text in _texts(result.text):
            yield Piece(text, Label(writer="tool", source=name, private=private))
    else:
        source = result.source or name
        label = Label(writer="outsider", source=source, private=private, suspected=result.suspected)
        # A picture holds no text, and orders all the same.
        yield from (Piece(text, label) for text in [*_texts(opened(result.text))] or [""])
        if facts.untrusted is not True:
            for text in result.vouched:
                yield Piece(text, Label(writer="tool", source=name, private=private))


def opened(text: str) -> str:
    """What is in an envelope; the text itself where there is none."""
    try:
        content = msgspec.json.decode(text)["content"]
    except (msgspec.DecodeError, TypeError, KeyError):
        return text
    return content if isinstance(content, str) else text


def _texts(text: str) -> Iterator[str]:
    """The texts that a result's text holds, which may be JSON, or the remains of some."""
    if text[:1] in ("{", "[", '"'):
        try:
            yield from (leaf for _, leaf in leaves(msgspec.json.decode(text)))
        except (msgspec.DecodeError, RecursionError):
            yield text.translate(_ESCAPES)
    else:
        yield text


_RUN = 3
_SEPARATORS = re.compile(r"[,;|\n<>]|\sand\s|\s&\s", re.IGNORECASE)
_HARMLESS = re.compile(r"\W*")
_LONGEST_SHOWN = 120
_LONGEST = 20_000
"""Characters of a value that somebody may have vouched for."""
_LISTED: tuple[Origin, str] = ("developer", "")


class Provenance:
    """Who has named what, so far. ``above`` is what was known where this began: a parent's run."""

    def __init__(self, allowed: Sequence[str] = (), above: "Provenance | None" = None) -> None:
        self._allowed = allowed
        """What the operator vouches for: values and patterns."""
        self._named: dict[int | str, tuple[Origin, str]] = {}
        """Runs of tokens from trusted texts, by hash, and grouped numbers, with who said them first."""
        self._tainted: dict[str, str] = {}
        """Tokens of untrusted texts, with whose they were first."""
        self._planted: set[int | str] = set() if above is None else above._planted  # noqa: SLF001
        """What a model that may be hijacked has put somewhere, and could now have come back."""
        self._above = above

    def vouch(
        self, text: str, origin: Origin, source: str = "", but: Collection[int | str] = ()
    ) -> None:
        """Take in a text of somebody who may be relied on, all but the ``keys`` in ``but``."""
        said, named, text = (origin, source), self._named, unnumbered(plain(text))
        for key in {*_keys(text), *_keys(apart(text))}:
            if key in but or (origin == "trusted" and key in self._planted):
                continue
            # Whoever may order something counts for more than a system that merely knows of it.
            if key not in named or named[key][0] == "trusted":
                named[key] = said

    def name(self, text: str, source: str, but: Collection[int | str] = ()) -> None:
        """Take in a name that an outsider chose, and of which the system says that it exists.

        It is vouched for as a whole, and nothing in it is.
        """
        key = _whole(tokens(text))
        if key not in but and key not in self._planted:
            self._named.setdefault(key, ("trusted", source))

    def distrust(self, planted: Collection[int | str]) -> None:
        """Take no system's word for these keys from now on. Whoever may order something still can."""
        self._planted.update(planted)

    def taint(self, text: str, source: str) -> None:
        """Take in a text that outsiders could have written."""
        known = self._tainted
        for token in loose(text):
            known.setdefault(token, source)

    def of(self, text: str, *, by_name: bool = True) -> tuple[Origin, str]:
        """Where one value was seen. A list written as one text is vouched for when each part is.

        ``by_name``: it may also be a name that the system knows.
        """
        if len(text) > _LONGEST:
            return "nowhere", ""
        whole = self._known(text, by_name)
        if whole is not None:
            return whole
        parts = [part for part in _SEPARATORS.split(text) if not _HARMLESS.fullmatch(part)]
        found = [self._known(part, by_name) for part in parts] if len(parts) > 1 else [None]
        said = [each for each in found if each is not None]
        if len(said) < len(found):
            return self._blame(text)
        return next((each for each in said if each[0] == "trusted"), said[0])

    def trace(
        self, value: JsonValue, name: str, names: Collection[str] = (), listed: Collection[str] = ()
    ) -> Iterator[Evidence]:
        """Every leaf of an argument, with where it was seen.

        ``names`` are members that its schema names, ``listed`` the values that the schema lists.
        """
        for place, leaf in leaves(value, (name,)):
            if place[-1] == leaf and leaf in names:
                continue
            origin, source = _LISTED if leaf in listed else self.of(leaf)
            yield Evidence(shown(json_path(list(place))), shown(leaf), origin, source)

    def _known(self, text: str, by_name: bool) -> tuple[Origin, str] | None:  # noqa: FBT001
        return self._find(text) or (self._look(_whole(tokens(text))) if by_name else None)

    def _find(self, text: str) -> tuple[Origin, str] | None:
        text = plain(text)
        kinds = list(scan(text))
        found = [token for _, token in kinds]
        if not found:
            return None if text.strip() else _LISTED
        said = [self._look(run) for run in longest(found)]
        if None not in said:
            return said[0]
        if all(kind == "word" and token.isalpha() for kind, token in kinds):
            return self._find_composed(found)
        if len(kinds) == 1 and kinds[0][0] == "date":
            return self._look(hash((without_year(found[0]),)))
        if any(matches(pattern, text) for pattern in self._allowed):
            return "operator", ""
        return self._find_grouped(text)

    def _find_composed(self, found: list[str]) -> tuple[Origin, str] | None:
        """Who named plain words that were put together: each stands beside one it was seen beside."""
        pairs = [self._look(hash(tuple(found[at : at + 2]))) for at in range(len(found) - 1)]
        beside = zip([None, *pairs], [*pairs, None], strict=True)
        return pairs[0] if pairs and all(before or after for before, after in beside) else None

    def _find_grouped(self, text: str) -> tuple[Origin, str] | None:
        groups = list(grouped(text.strip()))
        if len(groups) != 1 or len(groups[0]) < len(re.sub(r"[\s().+-]", "", text)):
            return None
        return self._look(groups[0])

    def _look(self, key: int | str) -> tuple[Origin, str] | None:
        said = self._named.get(key)
        return said if said is not None or self._above is None else self._above._look(key)  # noqa: SLF001

    def _blame(self, text: str) -> tuple[Origin, str]:
        """Whose untrusted words hold it: those that hold the longest of its tokens."""
        seen = [
            (len(token), source) for token in tokens(text) if (source := self._source(token)) is not None
        ]
        return ("untrusted", max(seen)[1]) if seen else ("nowhere", "")

    def _source(self, token: str) -> str | None:
        source = self._tainted.get(token)
        return source if source is not None or self._above is None else self._above._source(token)  # noqa: SLF001


def shown(text: str) -> str:
    """A value as evidence shows it."""
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def keys(text: str) -> set[int | str]:
    """Everything that a text, or what stands around it, could make somebody vouch for."""
    text = plain(text)
    found: set[int | str] = {_whole(tokens(text))}
    for form in (text, unnumbered(text), apart(text), apart(unnumbered(text))):
        found.update(_keys(form))
    return found


def _keys(text: str) -> Iterator[int | str]:
    """What a text vouches for: runs of its tokens, the places above its links, its grouped numbers."""
    found = []
    for kind, token in scan(text):
        found.append(token)
        if kind in ("link", "host"):
            yield from (hash((parent,)) for parent in parents(token))
    yield from runs(found)
    yield from grouped(text)


def _whole(found: list[str]) -> int:
    return hash(("whole", *found))


def runs(found: list[str]) -> Iterator[int]:
    """Every run of up to three tokens, as a number."""
    for length in range(1, _RUN + 1):
        for at in range(len(found) - length + 1):
            yield hash(tuple(found[at : at + length]))


def longest(found: list[str]) -> Iterator[int]:
    """The runs that must all be known for the whole to be."""
    length = min(_RUN, len(found))
    return (hash(tuple(found[at : at + length])) for at in range(len(found) - length + 1))
