"""What an engine is: something that turns a rendered prompt, under a grammar, into text."""

from collections.abc import AsyncGenerator
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonObject
from rightcall.core.options import Spelt
from rightcall.core.parts import Usage

Syntax: TypeAlias = Literal["gbnf", "lark"]
"""llama.cpp's grammars, or llguidance's."""

MOST_TOKENS = 2048
"""How much is generated where nobody says and the window is not known: small models go on for ever."""


class Grammar(Struct, frozen=True, kw_only=True, gc=False, metaclass=Spelt):
    """The grammar that a model's text must follow."""

    syntax: Syntax
    text: str
    triggers: tuple[str, ...] = ()
    """Lazy: anything goes until one of these has been written; from its first character on, the grammar
    governs. Without any, it governs from the start."""
    special: tuple[str, ...] = ()
    """Markers in the grammar that may be single special tokens of the model's vocabulary."""


class Sampling(Struct, frozen=True, kw_only=True, gc=False, metaclass=Spelt):
    """How the next token is chosen, and when to stop. None leaves it to the engine."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    samplers: tuple[str, ...] = ()
    """The steps by which llama.cpp chooses, by their names and in their order. What each of them takes,
    as ``min_p``, is given in ``extra``."""
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    """Text that ends generation; it is not part of what is given out."""
    special: tuple[str, ...] = ()
    """Markers that must come out as text even if they are single special tokens."""
    extra: JsonObject = field(default_factory=dict)
    """Whatever else this engine takes, as it names it."""


class Piece(Struct, frozen=True, gc=False):
    """Generated text, including special tokens, except the one that ends a reply."""

    text: str


class Finish(Struct, frozen=True, gc=False):
    """Why generation ended, and its usage. Always the last item of a completion."""

    stop: Literal["end", "length", "stop_sequence"]
    usage: Usage
    stop_word: str = ""
    """The stop sequence that was met."""


class Card(Struct, frozen=True, kw_only=True, gc=False, metaclass=Spelt):
    """Facts about a model, known before it is asked."""

    name: str
    template: str = ""
    """The chat template's own text; empty when the model carries none."""
    folder: str = ""
    """A folder of the model's files, where its template is to be found instead."""
    advice: str = ""
    """What to do where there is no template."""
    bos: str = ""
    eos: str = ""
    context_window: int | None = None


def room(window: int | None, used: int) -> int:
    """How many tokens may be generated where nobody says: what a prompt leaves of the window.

    At least one: a prompt that fills the window is for the engine to refuse, which knows how to say it.
    """
    return MOST_TOKENS if window is None else max(1, window - used)


class Engine(Protocol):
    """A raw model. Several completions may run at once; closing one's iterator stops its generation."""

    @property
    def syntax(self) -> Syntax:
        """How grammars must be written for it."""

    async def ready(self) -> Card:
        """Load what must be loaded; what is known of the model."""

    def complete(
        self, prompt: str, *, grammar: Grammar | None = None, sampling: Sampling = ...
    ) -> AsyncGenerator[Piece | Finish, None]:
        """The text that follows a prompt, whose special tokens are read as such; none is added."""

    async def close(self) -> None:
        """Stop what is being generated, and let go of the model."""
