"""Cases: what an eval asks, and which calls are right."""

from collections.abc import Mapping

from msgspec import Struct, field

from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Transcript, said
from rightcall.core.tool import Spec

ANY = "*"
"""Matches any offered tool."""
NONE = "none"
"""The name, in tables and reports, of a case that expects no call."""


class Expected(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An expected call."""

    names: tuple[str, ...]
    """The tools that are right for it: one, or several equally good ones; ``*`` for any."""
    arguments: Mapping[str, JsonValue] | None = None
    """The exact arguments."""
    possible: Mapping[str, tuple[JsonValue, ...]] | None = None
    """The right values of each argument, as the Berkeley set writes them: an empty string among them
    means that it may be omitted. White space, case and punctuation of words are ignored."""

    @property
    def label(self) -> str:
        """Its name in tables."""
        return "|".join(self.names)

    @property
    def judges_arguments(self) -> bool:
        """Whether it constrains the arguments."""
        return self.arguments is not None or self.possible is not None


class Case(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question, and the calls that a model should answer it with."""

    id: str
    question: str
    calls: tuple[Expected, ...] = ()
    """All of these, in any order, and no others; empty if nothing should be called."""
    history: Transcript = ()
    """The messages before the question."""
    system: str = ""
    tools: tuple[Spec, ...] = field(default_factory=tuple)
    """The tools of this question alone, if the cases have their own."""

    @property
    def label(self) -> str:
        """The expected tools as one word, by which tables are sorted."""
        return "+".join(sorted(each.label for each in self.calls)) or NONE

    @property
    def messages(self) -> Transcript:
        """The messages for the model."""
        return (*self.history, said(self.question))

    @property
    def judges_arguments(self) -> bool:
        """Whether any expected call constrains its arguments."""
        return any(each.judges_arguments for each in self.calls)
