"""The texts of a transcript, piece by piece, each labelled with who could have written it."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.jsontext import field_at, leaves
from rightcall.core.parts import Result
from rightcall.trust.facts import WHOM, Settled
from rightcall.trust.words.keys import looks_like
from rightcall.trust.words.kinds import is_identity
from rightcall.trust.words.plain import plain

Writer: TypeAlias = Literal["user", "developer", "runtime", "model", "tool", "outsider"]
"""Who could have written a piece: the person, the application, rightcall, a model that had read no
untrusted text, a system that its tool vouches for, or anybody."""

_ESCAPES = str.maketrans({"\\": " "})


class Label(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who could have written something, and who may see it."""

    writer: Writer
    source: str = ""
    """The tool that it came through."""
    private: bool = False
    suspected: bool = False
    """Whether a screen suspected it of giving orders to the model."""


class Piece(Struct, frozen=True):
    """Some text of a transcript, and its label."""

    text: str
    label: Label
    field: str = ""
    """The path of the field of a structured result that it was in."""


def pieces_of(result: Result, facts: Settled) -> Iterator[Piece]:
    """The pieces of a result. The result of a call that did not run is the runtime's own text.

    That text may repeat what the model wrote, so it vouches for nothing.
    """
    private, name = facts.reads_private, result.name
    own = Label(writer="tool", source=name, private=private)
    if result.own or result.outcome not in ("returned", "failed"):
        yield Piece(result.text, Label(writer="runtime", source=name))
    elif result.source is None and facts.untrusted is not True:
        for field, text in _texts(result.text):
            yield _attributed(Piece(text, own, field), facts)
    else:
        source = result.source or name
        label = Label(writer="outsider", source=source, private=private, suspected=result.suspected)
        # A picture contains no text that can be read here, but can still give orders.
        yield from (Piece(text, label) for _, text in [*_texts(opened(result.text))] or [("", "")])
        if facts.untrusted is not True:
            for text, field in zip_longest(
                result.vouched, result.fields[: len(result.vouched)], fillvalue=""
            ):
                yield _attributed(Piece(text, own, field), facts)


def _attributed(piece: Piece, facts: Settled) -> Piece:
    """A piece of a trusted result. A field that says who got in touch is the outsider's own claim."""
    if not piece.field or not (facts.is_identity(piece.field) or _says_whom(piece, facts)):
        return piece
    return Piece(piece.text, replace(piece.label, writer="outsider"), piece.field)


def _says_whom(piece: Piece, facts: Settled) -> bool:
    """Whether a value beside an outsider's text has the form of an address or an account."""
    is_open = facts.is_mixed and facts.identity is None and facts.kind_in(piece.field) in (None, "free")
    return is_open and looks_like(plain(piece.text)) in WHOM


def says_who(name: str, field: str, facts: Settled) -> bool:
    """Whether a name that outsiders chose is their own address or account, by its field and its form.

    That a system knows a file of that name vouches for it. That somebody wrote does not vouch for them.
    """
    is_theirs = facts.identity is None and any(map(is_identity, field.split(".")))
    return is_theirs and looks_like(plain(name)) in WHOM


def opened(text: str) -> str:
    """The content of an envelope; the text itself if it is none."""
    try:
        content = msgspec.json.decode(text)["content"]
    except (msgspec.DecodeError, RecursionError, TypeError, KeyError):
        return text
    return content if isinstance(content, str) else text


def _texts(text: str) -> Iterator[tuple[str, str]]:
    """The texts in a result's text, with their fields. The text may be JSON, or a cut-off part of it."""
    if text[:1] in ("{", "[", '"'):
        try:
            yield from ((field_at(place), leaf) for place, leaf in leaves(msgspec.json.decode(text)))
        except (msgspec.DecodeError, RecursionError):
            yield "", text.translate(_ESCAPES)
    else:
        yield "", text
