"""What a transcript is made of: the messages between a user, a model and its tools."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from rightcall.core.call import Call
from rightcall.core.citation import Citation, Token
from rightcall.core.jsontext import JsonValue
from rightcall.core.options import Spelt
from rightcall.core.parts import Media, Result, Text, Usage

StopReason: TypeAlias = Literal[
    "end", "calls", "length", "stop_sequence", "refusal", "pause", "filtered", "error"
]
"""Why generation stopped. ``pause``: the vendor wants to be asked to go on. ``error``: the reply broke
off, and nothing in it can be relied on to be complete."""

Author: TypeAlias = Literal["user", "developer", "runtime", "agent"]
"""Who speaks in a user message: the person, the application, rightcall itself, or another agent's model
that hands on a task."""


class Reasoning(Struct, frozen=True, gc=False, omit_defaults=True, tag="reasoning"):
    """What the model thought, as far as the vendor shows it."""

    text: str
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    """Signatures and encrypted thoughts, by dialect; given back to the same dialect untouched."""


class Unknown(Struct, frozen=True, gc=False, omit_defaults=True, tag="unknown"):
    """A part that the decoder did not know; kept, and given back to the same dialect."""

    vendor: Mapping[str, JsonValue]


class User(Struct, frozen=True, gc=False, omit_defaults=True, tag="user", metaclass=Spelt):
    """What is said to the model."""

    content: tuple[Text | Media, ...]
    author: Author = "user"
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join([part.text for part in self.content if isinstance(part, Text)])


class Reply(Struct, frozen=True, gc=False, omit_defaults=True, tag="reply"):
    """What the model said: its parts in order, and why it stopped."""

    content: tuple[Text | Reasoning | Call | Media | Unknown, ...]
    stop: StopReason = "end"
    stop_word: str = ""
    """The vendor's own word for why it stopped; of one that broke off, what broke it."""
    usage: Usage = Usage()
    model: str = ""
    """The model that answered, as the vendor names it."""
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    answered_by: str = ""
    """Which of several models answered, by the name it was given to ``fallback`` with."""
    fault: str = ""
    """What the vendor could not take of what the model wrote, in words for the model."""
    written_by: str = ""
    """The host that it came from: what only that one understands is given back to it alone."""
    citations: tuple[Citation, ...] = ()
    """What its words are from, where the vendor says; spans are those of ``text``."""
    logprobs: tuple[Token, ...] = ()
    """How likely each token was, where that was asked for."""
    tainted: bool | None = None
    """Whether outsiders had spoken when it was written; None where no rules of trust watched."""
    elsewhere: Mapping[str, Usage] = field(default_factory=dict)
    """What of ``usage`` other models took, by their names: an advisor, or one that stood in."""

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
        """The pictures, sounds and files that the model made, in order."""
        return tuple([part for part in self.content if isinstance(part, Media)])

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls, in order."""
        return tuple([part for part in self.content if isinstance(part, Call)])


class Results(Struct, frozen=True, gc=False, omit_defaults=True, tag="results"):
    """The results of the calls in the reply before it, in the order of those calls."""

    results: tuple[Result, ...]


Message: TypeAlias = User | Reply | Results
Transcript: TypeAlias = tuple[Message, ...]


def said(text: str, author: Author = "user") -> User:
    """A user message of plain text."""
    return replace(_SILENCE, content=(Text(text),), author=author)


_SILENCE = User(())
"""Every turn says something: a copy of this takes less than to make one with its names looked at."""
