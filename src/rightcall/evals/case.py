"""What an eval asks and what is right: cases, as values."""

from collections.abc import Mapping

from msgspec import Struct, field

from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Transcript, said
from rightcall.core.tool import Spec

ANY = "*"
"""Stands for whatever tool is offered."""
NONE = "none"
"""What a case is called by that wants no call, in tables and reports."""


class Expected(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call that is right."""

    names: tuple[str, ...]
    """The tools that are right for it: one, or several that are as good; ``*`` for any."""
    arguments: Mapping[str, JsonValue] | None = None
    """The arguments, to the letter."""
    possible: Mapping[str, tuple[JsonValue, ...]] | None = None
    """The values that are right for each argument, as the Berkeley set writes them: an empty string
    among them says that it may be left out. Blanks, case and punctuation of words do not count."""

    @property
    def label(self) -> str:
        """What it is called in tables."""
        return "|".join(self.names)

    @property
    def judges_arguments(self) -> bool:
        """Whether anything is said of the arguments."""
        return self.arguments is not None or self.possible is not None


class Case(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question, and the calls that a model should answer it with."""

    id: str
    question: str
    calls: tuple[Expected, ...] = ()
    """All of these, in any order, and no other; none when there is nothing to call."""
    history: Transcript = ()
    """What was said before the question."""
    system: str = ""
    tools: tuple[Spec, ...] = field(default_factory=tuple)
    """The tools of this question alone, where the cases bring their own."""

    @property
    def label(self) -> str:
        """The expected tools, in one word: what tables are ordered by."""
        return "+".join(sorted(each.label for each in self.calls)) or NONE

    @property
    def messages(self) -> Transcript:
        """What the model is sent."""
        return (*self.history, said(self.question))

    @property
    def judges_arguments(self) -> bool:
        """Whether anything is said of any arguments."""
        return any(each.judges_arguments for each in self.calls)
