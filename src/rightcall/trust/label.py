"""A message into its pieces, each with who could have written it. What a label says never gets less."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from rightcall.core.leaves import leaves
from rightcall.core.result import Result
from rightcall.trust.facts import Settled

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
    if result.outcome not in ("returned", "failed"):
        yield Piece(result.text, Label(writer="runtime", source=name))
    elif result.source is None and facts.untrusted is not True:
        for text in _texts(result.text):
            yield Piece(text, Label(writer="tool", source=name, private=private))
    else:
        source = result.source or name
        label = Label(writer="outsider", source=source, private=private, suspected=result.suspected)
        # A picture holds no text, and orders all the same.
        yield from (Piece(text, label) for text in [*_texts(_opened(result.text))] or [""])
        if facts.untrusted is not True:
            for text in result.vouched:
                yield Piece(text, Label(writer="tool", source=name, private=private))


def _opened(text: str) -> str:
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
