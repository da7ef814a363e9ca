"""The parts of messages: text, media, a call, its result; and what a reply costs."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonValue, dump
from rightcall.core.options import NameCheckedMeta
from rightcall.core.outcome import OutcomeKind
from rightcall.errors import UsageError

MediaKind: TypeAlias = Literal["image", "pdf", "document", "text", "audio", "video", "other"]
"""The kinds that vendors distinguish. A document is an office document; ``other`` is anything
unknown."""

ANY_BYTES = "application/octet-stream"
PLAIN_TEXT = "text/plain"

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_BRANDS = {b"avif": "image/avif", b"heic": "image/heic", b"mif1": "image/heif", b"M4A ": "audio/mp4"}

_TEXTS = frozenset(
    f"application/{name}"
    for name in ("json", "xml", "yaml", "x-yaml", "toml", "javascript", "x-javascript", "sql", "x-sh")
)
_TEXT_ENDINGS = ("+json", "+xml", "+yaml")
_DOCUMENTS = (
    "application/vnd.openxmlformats-",
    "application/vnd.oasis.opendocument.",
    "application/vnd.ms-",
)
_OTHER_DOCUMENTS = frozenset(("application/msword", "application/rtf", "application/epub+zip"))


def essence(media_type: str) -> str:
    """Returns the type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def media_kind(media_type: str) -> MediaKind:
    """Returns the kind of a media type."""
    plain = essence(media_type)
    match plain.partition("/")[0]:
        case "image":
            return "image"
        case "audio":
            return "audio"
        case "video":
            return "video"
        case "text" | "message":
            # A mail, as ``message/rfc822``, is text as well.
            return "text"
        case _:
            pass
    if plain == "application/pdf":
        return "pdf"
    if plain in _TEXTS or plain.endswith(_TEXT_ENDINGS):
        return "text"
    if plain in _OTHER_DOCUMENTS or plain.startswith(_DOCUMENTS):
        return "document"
    return "other"


def sniff(data: bytes) -> str:
    """Returns the media type that the first bytes show, or plain bytes."""
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], ANY_BYTES)
    if data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12], "video/mp4")
    for signature, media_type in _SIGNATURES:
        if data.startswith(signature):
            return media_type
    return ANY_BYTES


Way: TypeAlias = Literal["bytes", "address", "id"]
"""How media are given: as bytes, by a URL that the vendor fetches, or by the vendor's id."""


class Text(Struct, frozen=True, gc=False, omit_defaults=True, tag="text"):
    """Plain text."""

    text: str
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the vendor attached, by dialect; sent back unchanged to the same dialect."""
    cache: bool = False
    """Have the vendor cache the prompt up to the end of this part, if it supports that."""


class Media(Struct, frozen=True, gc=False, omit_defaults=True, tag="media", metaclass=NameCheckedMeta):
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
    untrusted: str = ""
    """Whose words these are, if an outsider could have written them; the trust rules go by it."""

    def __post_init__(self) -> None:
        if (self.url is not None) + (self.id is not None) + bool(self.data) > 1:
            raise UsageError("media are bytes, an address or a vendor's id, and only one of these")

    @property
    def kind(self) -> MediaKind:
        """Image, pdf, document, text, audio, video or other."""
        return media_kind(self.media_type)

    @property
    def way(self) -> Way:
        """How it is given."""
        if self.url is not None:
            return "address"
        if self.id is None:
            return "bytes"
        return "id"

    @property
    def about(self) -> str:
        """A short description: ``image/png 'cat.png', 2,008 bytes``."""
        name = f" {self.name!r}" if self.name else ""
        if self.url is not None:
            # A data URL would repeat the data.
            return f"{self.media_type}{name} at {self.url[:200]}"
        if self.id is None:
            size = f", {len(self.data):,} bytes"
        else:
            size = f", file {self.id}"
        return f"{self.media_type}{name}{size}"


Part: TypeAlias = Text | Media


CallForm: TypeAlias = Literal["json", "text", "approval"]
"""What the arguments are: JSON; plain text, for a tool whose input is text; or ``approval``: a call that
the vendor itself runs once a person approves it. Only a vendor makes the last."""

TEXT_MEMBER = "input"
"""The key that holds a call's text for vendors that support only JSON."""


class Call(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="call"):
    """A call as the model wrote it. The arguments stay the raw text."""

    id: str
    name: str
    arguments: str = ""
    truncated: bool = False
    """The reply stopped before this call was complete. Such a call is never run."""
    form: CallForm = "json"
    nulls: bool = False
    """The vendor's strict mode made the model write every optional member, so null means "left out"
    where the schema takes no null."""
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the vendor attached, by dialect; sent back unchanged to the same dialect."""

    @property
    def as_json(self) -> str:
        """The arguments as JSON text, if they are JSON."""
        if self.form == "text":
            return dump({TEXT_MEMBER: self.arguments})
        return self.arguments


class Repair(Struct, frozen=True, gc=False, omit_defaults=True):
    """One lossless change that made arguments fit their schema, or a null that was removed.

    Only if the tool allows it, or if the vendor's strict mode demanded the null.
    """

    path: str
    before: JsonValue
    after: JsonValue
    removed: bool = False
    """The member was removed."""


class Result(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="result"):
    """What the model reads of a call: its outcome, worded, labelled and encoded. One per call."""

    call_id: str
    name: str
    outcome: OutcomeKind
    content: tuple[Part, ...]
    source: str | None = None
    """Where the text comes from, if it is untrusted; None if it is trusted."""
    suspected: bool = False
    """A screen suspects it of containing instructions to the model. One more label, never the only
    protection."""
    what: str = ""
    """What it is, described by the tool's author."""
    planted: tuple[str, ...] = ()
    """The values in it that this agent itself wrote, in an earlier tainted run."""
    own: bool = False
    """The text is the runtime's or the tool's own, and contains nothing untrusted."""
    uses: tuple[tuple[str, float], ...] = ()
    """What the call used up of what the task may do, and the calls inside it: names of counts, and how
    much of each."""
    withheld: bool = False
    """The tool has run, and a later refusal replaced what it returned."""
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    offers: tuple[str, ...] = ()
    """The deferred tools that are offered because of it, from the next turn on."""
    later: str = ""
    """The handle of an answer that comes later, if the tool has only begun something."""
    waits: bool = False
    """Whether the run waits for that answer, which then takes the place of this result."""
    reference: str = ""
    """The handle of the whole result in a store, if this is its beginning and its shape."""

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
        cost = other.cost
        if self.cost is not None:
            cost = self.cost + (other.cost or 0.0)
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
