"""What a client asks of a server of models, and what it is answered with.

A request is read by the server half of its dialect, and these values are all that whoever serves it
needs to know of the dialect.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonObject
from rightcall.core.request import Request

Framing: TypeAlias = Literal["sse", "array"]
"""How a stream is cut into pieces: as server-sent events, or as the items of one JSON array."""


class Asked(Struct, frozen=True, kw_only=True, gc=False):
    """A client's request, read."""

    request: Request
    model: str
    """The name that the client has for the model."""
    stream: bool = False
    usage: bool = True
    """Whether a stream is to say what it took. Chat's clients ask for it, the others are always told."""
    framing: Framing = "sse"
    client: str = ""
    """A client that wants something else than others of its dialect: ``codex``."""
    left_out: tuple[str, ...] = ()
    """What the request says and nobody but the dialect's own vendor could be told, by its place."""
    forms: Mapping[str, JsonObject] = field(default_factory=dict)
    """By a tool's name in the request, what the dialect has its calls look like; read by its writer."""


class Answer(Struct, frozen=True, kw_only=True, gc=False):
    """What is decided about a reply before the model has said anything."""

    id: str
    """Letters and digits that no other answer has; the ids of the response, its items and its calls
    are made from it."""
    model: str
    created: int = 0
    """Seconds since the epoch."""
    input_tokens: int = 0
    """About how many tokens the request is, for dialects that say it first; the end corrects it."""


class Refused(Struct, frozen=True, kw_only=True, gc=False):
    """A refusal in the client's own shape."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Listed(Struct, frozen=True, kw_only=True, gc=False):
    """A model as a list of models tells of it."""

    name: str
    created: int = 0
    owner: str = "rightcall"
    context_window: int | None = None
    output_tokens: int | None = None
