"""What messages are made of: text, media, a call's result; and what a reply costs."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonValue
from rightcall.core.media_type import ANY_BYTES, MediaKind, kind_of
from rightcall.core.options import Spelt
from rightcall.core.outcome import OutcomeKind
from rightcall.errors import UsageError

Way: TypeAlias = Literal["bytes", "address", "id"]
"""How media are given: by themselves, by where the vendor finds them, or by the vendor's own name."""

_MUCH = 256 * 1024


class Text(Struct, frozen=True, gc=False, omit_defaults=True, tag="text"):
    """Plain text."""

    text: str
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    """Whatever the vendor attached, by dialect; given back to the same dialect untouched."""
    cache: bool = False
    """Have the vendor keep the prompt up to its end, where that can be said of a part."""


class Media(Struct, frozen=True, gc=False, omit_defaults=True, tag="media", metaclass=Spelt):
    """An image, a sound, a document: bytes with a type, or where they are. A tool may return one.

    ``rc.image`` and ``rc.file`` make them of paths, bytes, addresses and the ids of uploaded files.
    """

    data: bytes = b""
    media_type: str = ANY_BYTES
    name: str | None = None
    """A file name, where there is one."""
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    """Whatever a vendor wants said of it besides, by dialect."""
    url: str | None = None
    """Where the vendor fetches it, in place of bytes."""
    id: str | None = None
    """What the vendor calls it, once it was uploaded there; in place of bytes."""
    cache: bool = False
    """Have the vendor keep the prompt up to its end, where that can be said of a part."""

    def __post_init__(self) -> None:
        if (self.url is not None) + (self.id is not None) + bool(self.data) > 1:
            raise UsageError("media are bytes, an address or a vendor's id, and only one of these")

    @property
    def kind(self) -> MediaKind:
        """Image, pdf, document, text, audio, video or other."""
        return kind_of(self.media_type)

    @property
    def way(self) -> Way:
        """How it is given."""
        if self.url is not None:
            return "address"
        return "bytes" if self.id is None else "id"

    @property
    def about(self) -> str:
        """What can be said of it in words: ``image/png 'cat.png', 2,008 bytes``."""
        name = f" {self.name!r}" if self.name else ""
        if self.url is not None:
            # An address of data would be the data again.
            return f"{self.media_type}{name} at {self.url[:200]}"
        size = f", {len(self.data):,} bytes" if self.id is None else f", file {self.id}"
        return f"{self.media_type}{name}{size}"


Part: TypeAlias = Text | Media


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
    fields: tuple[str, ...] = ()
    """The field that each of ``vouched``, and then of ``names``, stood in, by the path to it."""
    suspected: bool = False
    """A screen took it for an attempt to give orders. One more label, and never the only wall."""
    what: str = ""
    """What it is, in the words of the tool's author."""
    planted: tuple[str, ...] = ()
    """What in it this agent itself wrote, in an earlier run and after outsiders had spoken."""
    own: bool = False
    """The words are the runtime's, or the tool's own: nobody else could have written any of them."""
    withheld: bool = False
    """The tool has run, and a no that came afterwards stands in place of what it returned."""
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    offers: tuple[str, ...] = ()
    """The deferred tools that the model is offered because of it, from its next turn on."""

    @property
    def is_error(self) -> bool:
        """Whether the call failed to do what was asked. In a dry run it did not try."""
        return self.outcome not in ("returned", "dry_run")

    @property
    def text(self) -> str:
        """The text parts, joined."""
        if len(self.content) == 1 and type(self.content[0]) is Text:
            return self.content[0].text
        return "".join([part.text for part in self.content if isinstance(part, Text)])


def is_much(part: object) -> bool:
    """Whether to write this for a vendor takes so long that others would have to wait."""
    return type(part) is Media and len(part.data) > _MUCH


class Usage(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Tokens and money. Cached and reasoning tokens are parts of input and output, not on top."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Input tokens that the vendor had in its cache."""
    cache_written_tokens: int = 0
    """Input tokens that the vendor put into its cache."""
    reasoning_tokens: int = 0
    cost: float | None = None
    """US dollars, where the price is known."""

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        known = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_written_tokens=self.cache_written_tokens + other.cache_written_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cost=sum(known) if known else None,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens - other.input_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
            cached_tokens=self.cached_tokens - other.cached_tokens,
            cache_written_tokens=self.cache_written_tokens - other.cache_written_tokens,
            reasoning_tokens=self.reasoning_tokens - other.reasoning_tokens,
            cost=None if self.cost is None else self.cost - (other.cost or 0.0),
        )
