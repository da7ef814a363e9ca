"""The messages of a transcript, between a user, a model and its tools."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from rightcall.core.call import Call
from rightcall.core.citation import Citation, Token
from rightcall.core.jsontext import JsonValue
from rightcall.core.options import Spelt
from rightcall.core.parts import Media, Result, Text, Usage, is_much

StopReason: TypeAlias = Literal[
    "end", "calls", "length", "stop_sequence", "refusal", "pause", "filtered", "error"
]
"""Why generation stopped. ``pause``: the vendor wants to be asked to continue. ``error``: the reply
broke off, and may be incomplete."""

Author: TypeAlias = Literal["user", "developer", "runtime", "agent"]
"""Who wrote a user message: the person, the application, rightcall itself, or another agent's model
that delegates a task."""


class Reasoning(Struct, frozen=True, gc=False, omit_defaults=True, tag="reasoning"):
    """The model's reasoning, as far as the vendor shows it."""

    text: str
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    """Signatures and encrypted thoughts, by dialect; sent back unchanged to the same dialect."""


class Unknown(Struct, frozen=True, gc=False, omit_defaults=True, tag="unknown"):
    """A part that the decoder did not know; kept, and sent back to the same dialect."""

    vendor: Mapping[str, JsonValue]


class User(Struct, frozen=True, gc=False, omit_defaults=True, tag="user", metaclass=Spelt):
    """A message to the model."""

    content: tuple[Text | Media, ...]
    author: Author = "user"
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join([part.text for part in self.content if isinstance(part, Text)])


class Reply(Struct, frozen=True, gc=False, omit_defaults=True, tag="reply"):
    """A reply of the model: its parts in order, and why it stopped."""

    content: tuple[Text | Reasoning | Call | Media | Unknown, ...]
    stop: StopReason = "end"
    stop_word: str = ""
    """The vendor's own word for why it stopped; for a reply that broke off, the cause."""
    usage: Usage = Usage()
    model: str = ""
    """The model that answered, as the vendor names it."""
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    answered_by: str = ""
    """Which of several models answered, by its name in ``fallback``."""
    fault: str = ""
    """What the vendor could not accept of the model's output, as a message for the model."""
    written_by: str = ""
    """The host that it came from. Parts that only this host understands are sent back only to it."""
    citations: tuple[Citation, ...] = ()
    """The sources of its text, if the vendor gives them; spans refer to ``text``."""
    logprobs: tuple[Token, ...] = ()
    """The probability of each token, if requested."""
    tainted: bool | None = None
    """Whether the run had read untrusted text when it was written; None without trust rules."""
    elsewhere: Mapping[str, Usage] = field(default_factory=dict)
    """The part of ``usage`` that other models took, by model: an advisor, or a vendor's fallback."""

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join([part.text for part in self.content if isinstance(part, Text)])

    @property
    def reasoning(self) -> str:
        """The reasoning parts, joined."""
        return "".join([part.text for part in self.content if isinstance(part, Reasoning)])

    @property
    def media(self) -> tuple[Media, ...]:
        """The images, audio and files that the model produced, in order."""
        return tuple([part for part in self.content if isinstance(part, Media)])

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls, in order."""
        content = self.content
        if len(content) == 1:
            # Most replies are one text or one call, and this is asked for ten times in a turn.
            part = content[0]
            return (part,) if isinstance(part, Call) else ()
        return tuple([part for part in self.content if isinstance(part, Call)])


class Results(Struct, frozen=True, gc=False, omit_defaults=True, tag="results"):
    """The results of the calls in the reply before it, in the order of those calls."""

    results: tuple[Result, ...]


Message: TypeAlias = User | Reply | Results
Transcript: TypeAlias = tuple[Message, ...]


def said(text: str, author: Author = "user") -> User:
    """Returns a user message of plain text."""
    return replace(_SILENCE, content=(Text(text),), author=author)


_SILENCE = User(())
"""Copied for each new message: that is faster than the constructor, which checks names."""


def holds_much(messages: Transcript, *, begun: bool = False) -> bool:
    """Whether a message holds a file too large to encode on the event loop.

    If the conversation is ``begun``, only messages since the last reply count: older ones are encoded
    already.
    """
    for message in reversed(messages):
        if begun and isinstance(message, Reply):
            return False
        parts = message.results if isinstance(message, Results) else (message,)
        if any(is_much(part) for each in parts for part in each.content):
            return True
    return False
