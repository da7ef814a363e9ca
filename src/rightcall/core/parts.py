"""The parts of messages: text, media, a call's result; and what a reply costs."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonValue
from rightcall.core.media_type import ANY_BYTES, MediaKind, kind_of
from rightcall.core.options import Spelt
from rightcall.core.outcome import OutcomeKind
from rightcall.errors import UsageError

Way: TypeAlias = Literal["bytes", "address", "id"]
"""How media are given: as bytes, by a URL that the vendor fetches, or by the vendor's id."""

_MUCH = 256 * 1024


class Text(Struct, frozen=True, gc=False, omit_defaults=True, tag="text"):
    """Plain text."""

    text: str
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the vendor attached, by dialect; sent back unchanged to the same dialect."""
    cache: bool = False
    """Have the vendor cache the prompt up to the end of this part, if it supports that."""


class Media(Struct, frozen=True, gc=False, omit_defaults=True, tag="media", metaclass=Spelt):
    """An image, audio, a document: bytes with a type, or where they are. A tool may return one.

    ``rc.image`` and ``rc.file`` make them from paths, bytes, URLs and ids of uploaded files.
    """

    data: bytes = b""
    media_type: str = ANY_BYTES
    name: str | None = None
    """A file name, if there is one."""
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    """More fields for a vendor, by dialect."""
    url: str | None = None
    """Where the vendor fetches it, instead of bytes."""
    id: str | None = None
    """The vendor's id of an uploaded file, instead of bytes."""
    cache: bool = False
    """Have the vendor cache the prompt up to the end of this part, if it supports that."""

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
        """A short description: ``image/png 'cat.png', 2,008 bytes``."""
        name = f" {self.name!r}" if self.name else ""
        if self.url is not None:
            # A data URL would repeat the data.
            return f"{self.media_type}{name} at {self.url[:200]}"
        size = f", {len(self.data):,} bytes" if self.id is None else f", file {self.id}"
        return f"{self.media_type}{name}{size}"


Part: TypeAlias = Text | Media


class Result(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="result"):
    """What the model reads of a call: its outcome, worded, labelled and encoded. One per call."""

    call_id: str
    name: str
    outcome: OutcomeKind
    content: tuple[Part, ...]
    source: str | None = None
    """Where the text comes from, if it is untrusted; None if it is trusted."""
    vouched: tuple[str, ...] = ()
    """The trusted values in it, although the source is untrusted."""
    names: tuple[str, ...] = ()
    """The values in it that name something the system knows, although others chose the name."""
    fields: tuple[str, ...] = ()
    """The path of the field that each of ``vouched``, and then of ``names``, was in."""
    suspected: bool = False
    """A screen suspects it of containing instructions to the model. One more label, never the only
    protection."""
    what: str = ""
    """What it is, described by the tool's author."""
    planted: tuple[str, ...] = ()
    """The values in it that this agent itself wrote, in an earlier tainted run."""
    own: bool = False
    """The text is the runtime's or the tool's own, and contains nothing untrusted."""
    withheld: bool = False
    """The tool has run, and a later refusal replaced what it returned."""
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    offers: tuple[str, ...] = ()
    """The deferred tools that are offered because of it, from the next turn on."""

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
    """Whether encoding this for a vendor takes so long that it would block the event loop."""
    return type(part) is Media and len(part.data) > _MUCH


class Usage(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Tokens and cost. Cached and reasoning tokens are parts of input and output, not on top."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Input tokens that the vendor had cached."""
    cache_written_tokens: int = 0
    """Input tokens that the vendor wrote to its cache."""
    reasoning_tokens: int = 0
    cost: float | None = None
    """US dollars, if the price is known."""

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        cost = self.cost
        if other.cost is not None:
            cost = other.cost if cost is None else cost + other.cost
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_written_tokens=self.cache_written_tokens + other.cache_written_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cost=cost,
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
