"""The texts of a transcript, piece by piece, each labelled with who could have written it."""

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.jsontext import field_at, leaves
from rightcall.core.parts import Media, Part, Result
from rightcall.trust.characters import plain
from rightcall.trust.facts import WHOM, ResolvedFacts
from rightcall.trust.spelling import looks_like

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


def pieces_of(result: Result, facts: ResolvedFacts) -> Iterator[Piece]:
    """The pieces of a result. The result of a call that did not run is the runtime's own text.

    That text may repeat what the model wrote, so it vouches for nothing.
    """
    private = facts.reads_private
    name = result.name
    own = Label(writer="tool", source=name, private=private)
    yield from attached_pieces(result.content, private=private)
    if result.own or result.outcome not in ("returned", "failed"):
        yield Piece(result.text, Label(writer="runtime", source=name))
    elif result.source is None and facts.untrusted is not True:
        for field, text in _texts(result.text):
            yield _attribute_piece(Piece(text, own, field), facts)
    else:
        source = result.source or name
        label = Label(writer="outsider", source=source, private=private, suspected=result.suspected)
        is_mixed = isinstance(facts.untrusted, tuple) and source == name
        # A picture contains no text that can be read here, but can still give orders.
        for field, text in list(_texts(open_envelope(result.text))) or [("", "")]:
            if is_mixed and field and not facts.is_outsiders(field):
                yield _attribute_piece(Piece(text, own, field), facts)
            else:
                yield Piece(text, label)


def attached_pieces(content: Iterable[Part], *, private: bool = False) -> Iterator[Piece]:
    """The pieces of attachments that an outsider could have written, in a message or a result."""
    for part in content:
        if isinstance(part, Media) and part.untrusted:
            text = ""
            if part.kind == "text":
                text = open_envelope(part.data.decode(errors="replace"))
            label = Label(writer="outsider", source=part.untrusted, private=private)
            for _, each in list(_texts(text)) or [("", "")]:
                yield Piece(each, label)


def _attribute_piece(piece: Piece, facts: ResolvedFacts) -> Piece:
    """A piece of a trusted result. A field that says who got in touch is the outsider's own claim."""
    if not piece.field:
        return piece
    is_theirs = facts.is_identity(piece.field)
    if facts.is_mixed and facts.identity is None and facts.kind_in(piece.field) in (None, "free"):
        # Beside an outsider's text, what has the form of an address or an account is theirs.
        is_theirs = is_theirs or looks_like(plain(piece.text)) in WHOM
    if is_theirs:
        return Piece(piece.text, replace(piece.label, writer="outsider"), piece.field)
    return piece


def open_envelope(text: str) -> str:
    """The content of an envelope; the text itself if it is none."""
    try:
        content = msgspec.json.decode(text)["content"]
    except (msgspec.DecodeError, RecursionError, TypeError, KeyError):
        return text
    if isinstance(content, str):
        return content
    return text


def _texts(text: str) -> Iterator[tuple[str, str]]:
    """The texts in a result's text, with their fields. The text may be JSON, or a cut-off part of it."""
    if text[:1] in ("{", "[", '"'):
        try:
            for place, leaf in leaves(msgspec.json.decode(text)):
                yield field_at(place), leaf
        except (msgspec.DecodeError, RecursionError):
            yield "", text.translate(_ESCAPES)
    else:
        yield "", text
