"""The part of an outcome that the model reads."""

from collections.abc import Mapping

from msgspec import Struct, field

from rightcall.core.jsontext import JsonValue
from rightcall.core.outcome import OutcomeKind
from rightcall.core.parts import Part, Text


class Result(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="result"):
    """An outcome, worded, labelled and encoded. Every call has exactly one."""

    call_id: str
    name: str
    outcome: OutcomeKind
    content: tuple[Part, ...]
    source: str | None = None
    """Whose words these are, when they are not to be trusted; None when the tool vouches for them."""
    vouched: tuple[str, ...] = ()
    """What in it is the system's own word, although the source is not to be trusted."""
    names: tuple[str, ...] = ()
    """What in it names something that the system knows, although outsiders chose the name."""
    suspected: bool = False
    """A screen took it for an attempt to give orders. One more label, and never the only wall."""
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)

    @property
    def is_error(self) -> bool:
        """Whether the call did not do what was asked."""
        return self.outcome != "returned"

    @property
    def text(self) -> str:
        """The text parts, joined."""
        if len(self.content) == 1 and type(self.content[0]) is Text:
            return self.content[0].text
        return "".join([part.text for part in self.content if isinstance(part, Text)])
