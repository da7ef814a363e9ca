"""A server's wish for a model's words into a request to the model that the caller named.

It has no tools and no history of ours, and is bounded in number and length: it is the caller's money.
"""

from typing import Any

from mcp.client.context import ClientRequestContext
from mcp_types import (
    INVALID_REQUEST,
    AudioContent,
    CreateMessageRequestParams,
    CreateMessageResult,
    ErrorData,
    ImageContent,
    SamplingMessage,
    TextContent,
)
from msgspec import Struct

from rightcall.core.events import ReplyEnd
from rightcall.core.message import Message, Reply, User
from rightcall.core.parts import Media, Part, Text
from rightcall.core.ports import Model
from rightcall.core.request import Request
from rightcall.core.usage import Usage
from rightcall.mcp.client.content import media_of
from rightcall.mcp.client.notes import Notes

_STOPS = {"end": "endTurn", "length": "maxTokens", "stop_sequence": "stopSequence"}


class Sampling(Struct, frozen=True, kw_only=True, eq=False):
    """A model that a server may use, and how much of it."""

    model: Model
    max_tokens: int = 1024
    """For one request; a server that asks for more gets so many."""
    max_requests: int = 20
    """For one connection, over all its life."""


class Sampler:
    """Asks the model, as often as it may."""

    def __init__(self, sampling: Sampling, notes: Notes) -> None:
        self._sampling = sampling
        self._notes = notes
        self._left = sampling.max_requests
        self.usage = Usage()
        """What the server has spent so far."""

    async def __call__(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the SDK's port
        params: CreateMessageRequestParams,
    ) -> CreateMessageResult | ErrorData:
        """The SDK's port for sampling."""
        if self._left <= 0:
            return _no(f"the {self._sampling.max_requests} requests that this client allows are used up")
        self._left -= 1
        self._notes.add("asked", f"a model is asked, {len(params.messages)} messages")
        request = _request(params, self._sampling.max_tokens)
        if isinstance(request, ErrorData):
            return request
        try:
            reply = await self._ask(request)
        except Exception as error:  # noqa: BLE001 - the SDK would send its words to the server
            self._notes.add("asked", f"the model failed: {type(error).__name__}: {error}")
            return _no("the model could not be asked")
        self.usage = self.usage + reply.usage
        return CreateMessageResult(
            role="assistant",
            content=TextContent(type="text", text=reply.text),
            model=reply.model or "model",
            stop_reason=_STOPS.get(reply.stop, reply.stop),
        )

    async def _ask(self, request: Request) -> Reply:
        async for event in self._sampling.model.stream(request):
            if isinstance(event, ReplyEnd):
                return event.reply
        return Reply((), stop="error")


def _request(params: CreateMessageRequestParams, most: int) -> Request | ErrorData:
    messages = [_message(each) for each in params.messages]
    if not messages or any(each is None for each in messages):
        return _no("only text, images and sounds can be sampled from, in at least one message")
    options: dict[str, Any] = {}
    if params.temperature is not None:
        options["temperature"] = params.temperature
    if params.stop_sequences:
        options["stop"] = list(params.stop_sequences)
    return Request(
        messages=tuple(each for each in messages if each is not None),
        system=params.system_prompt or "",
        max_tokens=min(max(params.max_tokens, 1), most),
        options=options,
    )


def _message(message: SamplingMessage) -> Message | None:
    parts: list[Part] = []
    for block in message.content_as_list:
        part = _part(block)
        if part is None:
            return None
        parts.append(part)
    return User(tuple(parts)) if message.role == "user" else Reply(tuple(parts))


def _part(block: Any) -> Part | None:
    match block:
        case TextContent(text=text):
            return Text(text)
        case ImageContent() | AudioContent():
            piece = media_of(block.data, block.mime_type, None)
            return piece if isinstance(piece, Media) else Text(piece)
        case _:
            return None


def _no(message: str) -> ErrorData:
    return ErrorData(code=INVALID_REQUEST, message=message)
