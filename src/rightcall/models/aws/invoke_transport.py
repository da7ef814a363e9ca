"""A transport for Anthropic's requests to Claude on Bedrock (InvokeModel).

InvokeModel takes Anthropic's body without the model and with Bedrock's own version, the model in the
URL, and betas in the body. It streams Anthropic's events in AWS's messages, in base64; this transport
returns them as server-sent events, so that Anthropic's dialect can be used unchanged.
https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html
"""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Self
from urllib.parse import quote

import msgspec

from rightcall.core.transport import Incoming, Timeouts, Transport
from rightcall.errors import ProtocolError
from rightcall.wire.bedrock.errors import refused
from rightcall.wire.bedrock.eventstream import EventStreamDecoder, StreamMessage
from rightcall.wire.refusal import UNREADABLE, excerpt, readable

VERSION = "bedrock-2023-05-31"
_ASKED = "/v1/messages"
_FRAMED = "application/vnd.amazon.eventstream"
_LEFT_OUT = frozenset(["anthropic-version", "anthropic-beta", "x-api-key"])


class _Chunk(msgspec.Struct, gc=False):
    bytes: str


_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_text = msgspec.json.Decoder(str).decode
_chunk = msgspec.json.Decoder(_Chunk).decode


class InvokeTransport:
    """Wraps each request for Bedrock, and unwraps the reply; closes the transport that it wraps."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    @asynccontextmanager
    async def post(
        self, url: str, /, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[Incoming]:
        """Send a request in Anthropic's format, and stream the reply."""
        named = {name.lower(): text for name, text in headers.items()}
        path, enclosed = _enclosed(body, named.get("anthropic-beta", ""))
        kept = {name: text for name, text in headers.items() if name.lower() not in _LEFT_OUT}
        if key := named.get("x-api-key"):
            kept["authorization"] = f"Bearer {key}"
        async with self._inner.post(
            url.removesuffix(_ASKED) + path, headers=kept, body=enclosed, timeouts=timeouts
        ) as incoming:
            if _FRAMED in incoming.headers.get("content-type", ""):
                shown = {**incoming.headers, "content-type": "text/event-stream"}
                yield Incoming(incoming.status, shown, _Unframed(incoming.chunks))
            else:
                yield incoming

    def get(
        self, url: str, /, *, headers: Mapping[str, str], timeouts: Timeouts
    ) -> AbstractAsyncContextManager[Incoming]:
        """Pass the request on unchanged: GET is not used to call a model."""
        return self._inner.get(url, headers=headers, timeouts=timeouts)

    async def close(self) -> None:
        """Close all connections."""
        await self._inner.close()


class _Unframed:
    """The body of a reply as a stream of server-sent events."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._frames = EventStreamDecoder()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while True:
            messages = self._frames.feed(await anext(self._chunks))
            if events := b"".join(map(_event, messages)):
                return events


def _enclosed(body: bytes, betas: str) -> tuple[str, bytes]:
    """The path and the body for Bedrock. The members are not parsed, as the history may be long."""
    members = _members(body)
    model = _text(members.pop("model"))
    stream = bytes(members.pop("stream", msgspec.Raw(b"false"))) == b"true"
    own = {"anthropic_version": VERSION, **({"anthropic_beta": betas.split(",")} if betas else {})}
    method = "invoke-with-response-stream" if stream else "invoke"
    return f"/model/{quote(model, safe='')}/{method}", msgspec.json.encode({**own, **members})


def _event(message: StreamMessage) -> bytes:
    headers, payload = message.headers, message.payload
    match headers.get(":message-type"):
        case "event" if headers.get(":event-type") == "chunk":
            try:
                event = b64decode(_chunk(payload).bytes, validate=True)
            except (*UNREADABLE, NotBase64) as problem:
                raise ProtocolError(
                    f"bedrock: a chunk that cannot be read: {excerpt(payload)}"
                ) from problem
            # Line breaks occur between the members of an event, never within its strings.
            return b"data: " + event.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n\n"
        case "exception":
            raise refused(readable(payload), headers.get(":exception-type", ""))
        case "error":
            told = headers.get(":error-message") or readable(payload)
            raise refused(told, headers.get(":error-code", ""))
        case _:
            return b""
