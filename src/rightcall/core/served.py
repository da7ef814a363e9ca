"""A client's request to a server of models, and the answer.

The server half of a dialect parses a request; these values are all that the serving code needs to know
of the dialect.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonObject
from rightcall.core.request import Request

Framing: TypeAlias = Literal["sse", "array"]
"""How a stream is framed: as server-sent events, or as the items of one JSON array."""


class Asked(Struct, frozen=True, kw_only=True, gc=False):
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


class Answer(Struct, frozen=True, kw_only=True, gc=False):
    """What is fixed about a reply before the model has begun it."""

    id: str
    """Letters and digits that are unique to this answer; the ids of the response, its items and its
    calls are made from it."""
    model: str
    created: int = 0
    """Seconds since the epoch."""
    input_tokens: int = 0
    """About how many tokens the request has, for dialects that report it first; corrected at the end."""


class Refused(Struct, frozen=True, kw_only=True, gc=False):
    """A refusal in the client's own format."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Listed(Struct, frozen=True, kw_only=True, gc=False):
    """A model in a list of models."""

    name: str
    created: int = 0
    owner: str = "rightcall"
    context_window: int | None = None
    output_tokens: int | None = None
