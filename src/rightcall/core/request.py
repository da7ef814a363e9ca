"""A request to a model, and its options.

The other side is here, too: a client's request to a server of models, and the answer. The server half
of a dialect makes these values, which are all that the serving code knows of it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict

from msgspec import Struct, field

from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.message import Transcript
from rightcall.core.options import KnownOptions, NameCheckedMeta, TypeCheckedMeta, annotations_of
from rightcall.core.secret_formats import redact_formats
from rightcall.core.tool import Spec


class Named(Struct, frozen=True, gc=False, tag="named", metaclass=NameCheckedMeta):
    """The model must call this tool."""

    name: str


ToolChoice: TypeAlias = Literal["auto", "required", "none"] | Named
"""The model decides; it must call some tool; it must call none; it must call this one."""


class Conversation:
    """Identifies one conversation: the same object is in every request of it.

    A model may keep a cache in it, which lives as long as the conversation. The conversation is not part
    of what is asked, so all of them compare equal, and only their identity differs.
    """

    __slots__ = ("__weakref__", "caches")

    def __init__(self) -> None:
        self.caches: dict[object, object] = {}
        """What models cache of it, each by a key of its own."""

    def __reduce__(self) -> tuple[type["Conversation"], tuple[()]]:
        return Conversation, ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Conversation)

    def __hash__(self) -> int:
        return hash(Conversation)

    def __repr__(self) -> str:
        return "Conversation()"


class Request(Struct, frozen=True, kw_only=True, gc=False, metaclass=NameCheckedMeta):
    """One request to a model."""

    messages: Transcript
    system: str = ""
    specs: tuple[Spec, ...] = ()
    choice: ToolChoice = "auto"
    output: JsonObject | None = None
    """The JSON Schema that the answer must satisfy, for models that support one; ``ANY_OBJECT`` asks for
    any JSON object."""
    max_tokens: int | None = None
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    """Other options of the model, see ``ModelOptions``."""
    conversation: Conversation = field(default_factory=Conversation)
    """The conversation that this continues, for models that cache what they have sent of it."""

    def __post_init__(self) -> None:
        if self.options:
            MODEL_OPTIONS.check_names(self.options)


class ModelOptions(TypedDict, total=False):
    """The options that every dialect has; each is translated into the vendor's own field."""

    temperature: float
    """How freely the next token is chosen; 0 for the likeliest."""
    top_p: float
    """Choose only among the likeliest tokens that have this much probability together."""
    seed: int
    """The same seed gives the same reply, as far as the vendor can."""
    stop: Sequence[str]
    """Stop sequences."""
    parallel: bool
    """Whether one reply may contain several calls."""
    reasoning: str | int
    """How much to think: none, minimal, low, medium, high, xhigh, max, or a number of tokens."""
    foreign_reasoning: Literal["leave_out", "text"]
    """What happens to reasoning that another vendor's model wrote: left out, the default, or sent as
    text."""
    system_turns: bool
    """Whether Claude gets developer messages in the middle of a conversation as system messages; True by
    default for models that document it. Other vendors have a role for it, or none."""
    strict: bool | Literal["auto"]
    """Have the vendor enforce the schemas of tools and answer: ``auto``, the default, where its strict
    mode can express them without loss; True for all, or an error; False for none."""
    cache: bool
    """Mark the stable beginning for the vendor's prompt cache; True by default."""
    cache_ttl: Literal["5m", "30m", "1h", "12h", "24h"]
    """How long the vendor keeps the cache; each vendor supports some of these."""
    cache_key: str
    """Requests with the same key use the same cache, at vendors that take one."""
    logprobs: bool | int
    """Return the log probability of each token; a number also returns that many alternatives."""
    eager: bool
    """Stream arguments as the model writes them, before the vendor has checked them."""
    user: str
    """An opaque name for the end user."""
    vendor_tools: Sequence[JsonObject]
    """The vendor's own tools (web search, code, computer use), in the vendor's format."""
    extra: JsonObject
    """Members to put into the request's body as they are."""


MODEL_OPTIONS = KnownOptions(
    "options",
    annotations_of(ModelOptions),
    say="options={{{!r}: …}}",
    more="whatever else a vendor takes goes into 'extra'",
)


def check_model_options(options: ModelOptions) -> None:
    """Raise UsageError for unknown options and values of the wrong type. None: the vendor's default."""
    MODEL_OPTIONS.check_names(options)
    MODEL_OPTIONS.check({name: value for name, value in options.items() if value is not None})


ANY_OBJECT: JsonObject = {"type": "object"}
"""The schema for JSON mode: any object."""


class StrictTools(Struct, frozen=True, kw_only=True):
    """Which tools of a request the vendor enforces the schema of."""

    forced: frozenset[str] = frozenset()
    """Those whose optional members must all be written, with null for one that is left out."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why others are not sent as strict, by name."""


NONE_HELD = StrictTools()


class EncodedRequest(Struct, frozen=True, kw_only=True, gc=False):
    """An encoded request, without address and key."""

    path: str
    """The path after the base URL."""
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    held: StrictTools = NONE_HELD


class PreparedRequest(Struct, frozen=True, kw_only=True, gc=False):
    """A request that is about to be sent, for a signer."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    time: float
    """Seconds since the epoch: signatures are dated, and a dialect has no clock."""

    def __repr__(self) -> str:
        return f"PreparedRequest({self.method} {redact_formats(self.url)!r}, {len(self.body)} bytes)"


Sign: TypeAlias = Callable[[PreparedRequest], Mapping[str, str]]
"""Returns the headers that sign a whole request."""


OutputMode: TypeAlias = Literal["native", "tool", "text", "json"]
"""How an output schema is enforced: by the vendor, by a forced tool, or by asking and checking. With
``json`` the vendor enforces JSON, and the schema is asked for."""


class RequiredOutput(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The output that a run must end with."""

    tool: str
    """The tool that stands for the answer: the model calls it, or its schema validates the text."""
    mode: OutputMode
    schema: JsonObject
    """The schema of the answer."""
    retries: int = 2
    """How often an invalid answer may be returned to the model with its problems."""


class Profile(Struct, frozen=True, kw_only=True, gc=False, metaclass=TypeCheckedMeta):
    """Facts about one model."""

    context_window: int | None = None
    """Tokens of input and output together; of an unknown context, agents assume 128,000."""
    structured: OutputMode = "tool"
    """How it is held to an output type: ``native`` by the vendor, ``tool`` by a forced call, ``json`` by
    the vendor's JSON mode, ``text`` by asking and checking."""
    forced_choice: bool = True
    """Whether it can be forced to call a tool."""
    priced: bool = False
    """Whether the cost of a reply is known: from price tables, from the vendor, or because it is free.
    Otherwise a limit in dollars cannot be enforced."""
    has_another: bool = False
    """Whether there is a fallback model, which can be asked again when an answer broke off."""


Framing: TypeAlias = Literal["sse", "array"]
"""How a stream is framed: as server-sent events, or as the items of one JSON array."""


class ClientRequest(Struct, frozen=True, kw_only=True, gc=False):
    """A client's request, parsed."""

    request: Request
    model: str
    """The client's name for the model."""
    stream: bool = False
    usage: bool = True
    """Whether a stream should report its usage. Chat's clients ask for it, the others always get it."""
    framing: Framing = "sse"
    client: str = ""
    """A client whose needs differ from others of its dialect: ``codex``."""
    left_out: tuple[str, ...] = ()
    """By path: what in the request only the dialect's own vendor would understand."""
    forms: Mapping[str, JsonObject] = field(default_factory=dict)
    """By a tool's name in the request: how the dialect writes its calls; used by its writer."""


class ReplyHeader(Struct, frozen=True, kw_only=True, gc=False):
    """What is fixed about a reply before the model has begun it."""

    id: str
    """Letters and digits that are unique to this answer; the ids of the response, its items and its
    calls are made from it."""
    model: str
    created: int = 0
    """Seconds since the epoch."""
    input_tokens: int = 0
    """About how many tokens the request has, for dialects that report it first; corrected at the end."""
    shorten: Callable[[str], str] | None = None
    """Returns a handle for a long token in a call's id; None where nothing may be kept."""


class ErrorResponse(Struct, frozen=True, kw_only=True, gc=False):
    """A refusal in the client's own format."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class ListedModel(Struct, frozen=True, kw_only=True, gc=False):
    """A model in a list of models."""

    name: str
    created: int = 0
    owner: str = "rightcall"
    context_window: int | None = None
    output_tokens: int | None = None
