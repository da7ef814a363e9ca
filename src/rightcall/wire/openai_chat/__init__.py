"""OpenAI's Chat Completions, and every server that claims to be compatible with them.

The module is the dialect as OpenAI's own hosts want it. ``dialect_at`` gives the same dialect for the
server behind a base URL, with the differences that ``hosts`` lists::

    dialect = openai_chat.dialect_at("http://localhost:8080/v1")
"""

from msgspec import Struct

from rightcall.core.ports import Encode
from rightcall.core.request import EncodedRequest, Request
from rightcall.wire.openai_chat.decode import Decoder, decode, decoder
from rightcall.wire.openai_chat.encode import authorize, encode, encoder, strict_mode
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
from rightcall.wire.openai_chat.tables import NAME, error
from rightcall.wire.payload import EncodeCache
from rightcall.wire.strictness import StrictMode

name: str = NAME

__all__ = [
    "COMPATIBLE", "DEEPSEEK", "HOSTS", "MISTRAL", "OPENAI", "OPENROUTER", "Decoder", "Host",
    "HostDialect", "authorize", "decode", "decoder", "dialect_at", "encode", "encoder", "error",
    "host_of", "name", "strict_mode",
]  # fmt: skip


class HostDialect(Struct, frozen=True):
    """The dialect for one host. Only requests differ."""

    host: Host

    name = NAME
    decoder = staticmethod(decoder)
    decode = staticmethod(decode)
    error = staticmethod(error)
    authorize = staticmethod(authorize)

    def encode(
        self, request: Request, /, *, model: str, stream: bool, cache: EncodeCache | None = None
    ) -> EncodedRequest:
        """Encode the request for the host."""
        return encode(request, model=model, stream=stream, host=self.host, cache=cache)

    def encoder(self) -> Encode:
        """An ``encode`` for one conversation, which encodes each message once."""
        return encoder(self.host)

    def strict_mode(self, model: str = "") -> StrictMode:
        """The host's strict mode for tools."""
        return strict_mode(model, self.host)


def dialect_at(base_url: str) -> HostDialect:
    """The dialect for the server behind a base URL."""
    return HostDialect(host_of(base_url))
