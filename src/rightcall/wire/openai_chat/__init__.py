"""OpenAI's Chat Completions, and every server that claims to be compatible with them.

The module is the dialect as OpenAI's own hosts want it. ``dialect_at`` gives the same dialect for the
server behind a base URL, with the differences that ``hosts`` lists::

    dialect = openai_chat.dialect_at("http://localhost:8080/v1")
"""

from collections.abc import Mapping

from msgspec import Struct

from rightcall.core.message import Reply
from rightcall.core.request import Outgoing, Request
from rightcall.errors import VendorError
from rightcall.wire.openai_chat.decode import Decoder, decode, decoder
from rightcall.wire.openai_chat.encode import authorize, encode
from rightcall.wire.openai_chat.errors import error
from rightcall.wire.openai_chat.hosts import (
    COMPATIBLE,
    DEEPSEEK,
    HOSTS,
    MISTRAL,
    OPENAI,
    OPENROUTER,
    Host,
    host_of,
)
from rightcall.wire.openai_chat.tables import NAME

name: str = NAME

__all__ = [
    "COMPATIBLE",
    "DEEPSEEK",
    "HOSTS",
    "MISTRAL",
    "OPENAI",
    "OPENROUTER",
    "Decoder",
    "Host",
    "HostDialect",
    "authorize",
    "decode",
    "decoder",
    "dialect_at",
    "encode",
    "error",
    "host_of",
    "name",
]


class HostDialect(Struct, frozen=True):
    """The dialect as one host wants it."""

    host: Host

    @property
    def name(self) -> str:
        """The key of this dialect in vendor bags, the same for all hosts."""
        return NAME

    def encode(self, request: Request, /, *, model: str, stream: bool) -> Outgoing:
        """The request as the host wants it."""
        return encode(request, model=model, stream=stream, host=self.host)

    def decoder(self) -> Decoder:
        """A decoder for one streamed reply."""
        return Decoder()

    def decode(self, body: bytes, /) -> Reply:
        """The reply in a body that was not streamed."""
        return decode(body)

    def error(self, status: int, headers: Mapping[str, str], body: bytes, /) -> VendorError:
        """The host's refusal."""
        return error(status, headers, body)

    def authorize(self, key: str, /) -> Mapping[str, str]:
        """The headers that carry the key."""
        return authorize(key)


def dialect_at(base_url: str) -> HostDialect:
    """The dialect for the server behind a base URL."""
    return HostDialect(host_of(base_url))
