"""An HTTP client for model servers: requests, event streams, and refusals as VendorErrors."""

from collections.abc import AsyncGenerator, Callable, Container, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import msgspec
from msgspec import Struct

from rightcall.core.jsontext import JsonObject
from rightcall.core.refusal_kind import refusal_kind
from rightcall.core.secret_formats import redact_formats, redact_key
from rightcall.core.sse import ServerEvent, SseDecoder
from rightcall.core.transport import MAX_REPLY_BYTES, StreamedResponse, Timeouts, Transport
from rightcall.errors import ProtocolError, VendorError

T = TypeVar("T")

MAX_BODY = 64 * 1024 * 1024
"""The longest response, in bytes; a longer one is refused."""
_OK = 200
_LONGEST_EXCERPT = 500

Refuse = Callable[[int, bytes], VendorError]
"""Turns an error status and body into an exception."""


class Refusal(Struct, frozen=True):
    """A server's error, in OpenAI's format, which llama.cpp and vLLM share."""

    message: str = ""
    code: int | str | None = None
    type: str = ""
    n_prompt_tokens: int | None = None
    n_ctx: int | None = None
    """The length and the limit of the prompt, if llama.cpp refuses it for that."""

    def error(
        self, server: str, status: int | None, retryable: Container[int], message: str = ""
    ) -> VendorError:
        """The exception for it; with the given message, if there is a better one."""
        if status is None and isinstance(self.code, int):
            status = self.code
        return VendorError(
            message or f"{server} refused: {self.message or 'it did not say why'}",
            kind=refusal_kind(status, (self.type, str(self.code)), self.message),
            status=status,
            vendor_code=self.type,
            retryable=status in retryable,
        )


class _ErrorBody(Struct, frozen=True):
    error: Refusal


def refusal_in(body: bytes) -> Refusal:
    """The message of an error body; its beginning, if the format is unknown."""
    try:
        return msgspec.json.decode(body, type=_ErrorBody).error
    except msgspec.MsgspecError:
        return Refusal(message=body[:_LONGEST_EXCERPT].decode(errors="replace"))


def decode_response(raw: bytes, kind: type[T], server: str = "a model's server") -> T:
    """Decodes what a server sent. Raises ProtocolError."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.MsgspecError as error:
        raise ProtocolError(f"{server} sent what it should not: {error}") from error


class RemoteServer:
    """One server. ``refuse`` makes exceptions of its errors."""

    def __init__(
        self, url: str, transport: Transport, *, key: str, timeouts: Timeouts, refuse: Refuse
    ) -> None:
        self._url = url.rstrip("/")
        self._transport = transport
        self._timeouts = timeouts
        self._refuse = refuse
        self._key = key
        self._headers: Mapping[str, str] = {
            "content-type": "application/json",
            # llama.cpp's server has few threads, and each idle connection occupies one.
            "connection": "close",
            **({"authorization": f"Bearer {key}"} if key else {}),
        }

    def __repr__(self) -> str:
        return f"RemoteServer({redact_formats(self._url)!r})"

    async def get(self, path: str) -> bytes:
        """The response to a GET request."""
        sent = self._transport.get(self._url + path, headers=self._headers, timeouts=self._timeouts)
        async with sent as incoming:
            return await self._whole(incoming)

    async def post(self, path: str, body: JsonObject) -> bytes:
        """The response to a POST request."""
        async with self._sent(path, body) as incoming:
            return await self._whole(incoming)

    async def stream(self, path: str, body: JsonObject) -> AsyncGenerator[ServerEvent, None]:
        """The events of a response. Closing the iterator disconnects."""
        async with self._sent(path, body) as incoming:
            if incoming.status != _OK:
                await self._whole(incoming)
            decoder = SseDecoder()
            size = 0
            async for chunk in incoming.chunks:
                size += len(chunk)
                if size > MAX_REPLY_BYTES:
                    raise ProtocolError(
                        f"a reply of {self._url} is longer than {MAX_REPLY_BYTES:,} bytes"
                    )
                for event in decoder.feed(chunk):
                    yield event
            for event in decoder.finish():
                yield event

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    def _sent(self, path: str, body: JsonObject) -> AbstractAsyncContextManager[StreamedResponse]:
        return self._transport.post(
            self._url + path,
            headers=self._headers,
            body=msgspec.json.encode(body),
            timeouts=self._timeouts,
        )

    async def _whole(self, incoming: StreamedResponse) -> bytes:
        pieces = []
        held = 0
        async for chunk in incoming.chunks:
            held += len(chunk)
            if held > MAX_BODY:
                raise ProtocolError(
                    f"an answer of {redact_formats(self._url)} is longer than {MAX_BODY:,} bytes"
                )
            pieces.append(chunk)
        body = b"".join(pieces)
        if incoming.status != _OK:
            error = self._refuse(incoming.status, body)
            # Servers quote the key that they reject.
            error.args = tuple(self._without_secrets(str(part)) for part in error.args)
            error.body = self._without_secrets(body.decode(errors="replace"))[:_LONGEST_EXCERPT]
            raise error
        return body

    def _without_secrets(self, text: str) -> str:
        return redact_formats(redact_key(text, self._key))
