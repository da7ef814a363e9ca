"""A transport for Anthropic's requests to Claude on Vertex AI.

Vertex takes Anthropic's body without the model and with its own version, and the model in the URL;
replies are in Anthropic's format. https://docs.claude.com/en/api/claude-on-vertex-ai
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from urllib.parse import quote

import msgspec

from rightcall.core.transport import Incoming, Timeouts, Transport

VERSION = "vertex-2023-10-16"
_ASKED = "/v1/messages"
_LEFT_OUT = frozenset(["anthropic-version", "x-api-key"])
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_text = msgspec.json.Decoder(str).decode


class RawPredictTransport:
    """Wraps each request for Vertex; closes the transport that it wraps."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    @asynccontextmanager
    async def post(
        self, url: str, /, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[Incoming]:
        """Send a request in Anthropic's format, and stream the reply."""
        # The members are not parsed, as the history may be long.
        members = _members(body)
        model = _text(members.pop("model"))
        streams = bytes(members.get("stream", msgspec.Raw(b"false"))) == b"true"
        path = f"/{quote(model, safe='')}:{'streamRawPredict' if streams else 'rawPredict'}"
        kept = {name: text for name, text in headers.items() if name.lower() not in _LEFT_OUT}
        named = {name.lower(): text for name, text in headers.items()}
        if key := named.get("x-api-key"):
            kept["authorization"] = f"Bearer {key}"
        enclosed = msgspec.json.encode({"anthropic_version": VERSION, **members})
        async with self._inner.post(
            url.removesuffix(_ASKED) + path, headers=kept, body=enclosed, timeouts=timeouts
        ) as incoming:
            yield incoming

    def get(
        self, url: str, /, *, headers: Mapping[str, str], timeouts: Timeouts
    ) -> AbstractAsyncContextManager[Incoming]:
        """Pass the request on unchanged: GET is not used to call a model."""
        return self._inner.get(url, headers=headers, timeouts=timeouts)

    async def close(self) -> None:
        """Close all connections."""
        await self._inner.close()
