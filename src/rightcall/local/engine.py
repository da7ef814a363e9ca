"""The interface of an engine: it generates text from a rendered prompt, under a grammar."""

from collections.abc import AsyncGenerator
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonObject
from rightcall.core.options import NameCheckedMeta
from rightcall.core.parts import Usage

Syntax: TypeAlias = Literal["gbnf", "lark"]
"""The grammar language: llama.cpp's, or llguidance's."""

MOST_TOKENS = 2048
"""The default token limit if the context window is unknown: small models never stop by themselves."""


class Grammar(Struct, frozen=True, kw_only=True, gc=False, metaclass=NameCheckedMeta):
    """The grammar that a model's text must follow."""

    syntax: Syntax
    text: str
    triggers: tuple[str, ...] = ()
    """Triggers of a lazy grammar: text is unrestricted until one of them was written; from its first
    character on, the grammar applies. Without any, it applies from the start."""
    special: tuple[str, ...] = ()
    """Markers in the grammar that may be single special tokens of the model's vocabulary."""


class Sampling(Struct, frozen=True, kw_only=True, gc=False, metaclass=NameCheckedMeta):
    """How the next token is chosen, and when to stop. None leaves it to the engine."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    samplers: tuple[str, ...] = ()
    """llama.cpp's sampling steps, by name and in order. Their parameters, such as ``min_p``, are given
    in ``extra``."""
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    """Texts that end generation; they are not part of the output."""
    special: tuple[str, ...] = ()
    """Markers that must come out as text even if they are single special tokens."""
    extra: JsonObject = field(default_factory=dict)
    """Any other option of this engine, under the engine's own name."""


class Piece(Struct, frozen=True, gc=False):
    """Generated text, including special tokens, except the one that ends a reply."""

    text: str


class Finish(Struct, frozen=True, gc=False):
    """Why generation ended, and its usage. Always the last item of a completion."""

    stop: Literal["end", "length", "stop_sequence"]
    usage: Usage
    stop_word: str = ""
    """The stop sequence that was found."""


class Card(Struct, frozen=True, kw_only=True, gc=False, metaclass=NameCheckedMeta):
    """Facts about a model, known before the first request."""

    name: str
    template: str = ""
    """The text of the chat template; empty if the model has none."""
    folder: str = ""
    """A folder of the model's files, where its template is found instead."""
    advice: str = ""
    """A hint for the user if there is no template."""
    bos: str = ""
    eos: str = ""
    context_window: int | None = None


def default_max_tokens(window: int | None, used: int) -> int:
    """The default token limit: what a prompt leaves of the window.

    At least one: the engine refuses a prompt that fills the window, with a better message.
    """
    if window is None:
        return MOST_TOKENS
    return max(1, window - used)


class Engine(Protocol):
    """A raw model. Several completions may run at once; closing one's iterator stops its generation."""

    @property
    def syntax(self) -> Syntax:
        """The language in which its grammars must be written."""

    async def ready(self) -> Card:
        """Load the model if needed; returns the facts about it."""

    def complete(
        self, prompt: str, *, grammar: Grammar | None = None, sampling: Sampling = ...
    ) -> AsyncGenerator[Piece | Finish, None]:
        """Generates the text after a prompt, whose special tokens are parsed as such; none is added."""

    async def close(self) -> None:
        """Stop all generation, and release the model."""
