"""Requests of a server to its client: a person's answer, a model's reply, the folders it may use.

A person is asked as about any call that needs approval, by the agent's approval function. The answer is
validated against the server's form before it is sent. A URL is only shown: nothing here opens one. The
model is the one that the caller named; it has none of our tools and history, and the number and length
of its replies are limited: the caller pays for them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, assert_never

from mcp.client.context import ClientRequestContext
from mcp.client.session import ListRootsFnT
from mcp_types import (
    INVALID_REQUEST,
    AudioContent,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    ImageContent,
    ListRootsResult,
    Root,
    SamplingMessage,
    TextContent,
)
from msgspec import Struct
from pydantic import FileUrl

from rightcall.core.decision import Allow, Answer, Deny, FinalDecision, Proposal, Rewrite
from rightcall.core.events import ReplyEnd
from rightcall.core.jsontext import JsonError, JsonObject, parse
from rightcall.core.message import Message, Reply, User
from rightcall.core.options import Spelt
from rightcall.core.parts import Media, Part, Text
from rightcall.core.ports import Model
from rightcall.core.request import Request
from rightcall.core.schema import Schema, SchemaError
from rightcall.gate.gate import Approve
from rightcall.mcp.client.content import media_of
from rightcall.mcp.client.note_log import NoteLog

_LONGEST = 4000


class Elicitation:
    """Asks a person for what a server wants to know."""

    def __init__(self, server: str, approve: Approve, notes: NoteLog) -> None:
        self._server = server
        self._approve = approve
        self._notes = notes

    async def __call__(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        """The SDK's elicitation callback."""
        self._notes.add("asked", f"a person is asked: {params.message}")
        call_id = f"{self._server}:{context.request_id}"
        reason = f"the server {self._server} asks: {params.message[:_LONGEST]}"
        if isinstance(params, ElicitRequestURLParams):
            proposal = Proposal(
                call_id=call_id, name="elicit_url", arguments={"url": params.url}, reason=reason
            )
            return _agreed(await self._decision(proposal))
        form: JsonObject = dict(params.requested_schema)
        try:
            schema = Schema(form)
        except SchemaError as error:
            return ErrorData(code=INVALID_REQUEST, message=f"the form is no schema: {error}")
        proposal = Proposal(
            call_id=call_id,
            name="elicit",
            arguments={"form": form, "defaults": defaults(form)},
            reason=reason,
        )
        return _filled(await self._decision(proposal), form, schema)

    async def _decision(self, proposal: Proposal) -> FinalDecision:
        try:
            decision = await self._approve(proposal)
        except Exception as error:  # noqa: BLE001 - the SDK would send its words to the server
            self._notes.add("asked", f"nobody could be asked: {type(error).__name__}: {error}")
            return Deny()
        # Only True approves: another truthy answer may well mean no.
        if isinstance(decision, Allow | Deny | Rewrite | Answer):
            return decision
        return Allow() if decision is True else Deny()


def defaults(form: JsonObject) -> dict[str, Any]:
    """The defaults that the server suggests for the fields of its form."""
    fields = form.get("properties")
    if not isinstance(fields, Mapping):
        return {}
    return {
        name: field["default"]
        for name, field in fields.items()
        if isinstance(field, Mapping) and "default" in field
    }


def _agreed(decision: FinalDecision) -> ElicitResult:
    return ElicitResult(action="accept" if isinstance(decision, Allow) else "decline")


def _filled(decision: FinalDecision, form: JsonObject, schema: Schema) -> ElicitResult:
    content = _content(decision, form)
    # A form that is not filled in correctly is not sent: the person has not answered.
    if content is None:
        return ElicitResult(action="decline")
    if schema.problems(content):
        return ElicitResult(action="cancel")
    return ElicitResult(action="accept", content=content)


def _content(decision: FinalDecision, form: JsonObject) -> dict[str, Any] | None:
    match decision:
        case Allow():
            return defaults(form)
        case Rewrite(arguments):
            return {**defaults(form), **arguments}
        case Answer(text):
            return {**defaults(form), **_answered(text, form)}
        case Deny():
            return None
        case _:
            assert_never(decision)


def _answered(text: str, form: JsonObject) -> JsonObject:
    """A person's text as the content of a form: as JSON, or as its only required or only field."""
    try:
        value = parse(text)
    except JsonError:
        value = None
    if isinstance(value, dict):
        return value
    fields, required = form.get("properties"), form.get("required")
    for names in (required, list(fields) if isinstance(fields, Mapping) else ()):
        if isinstance(names, list) and len(names) == 1:
            return {str(names[0]): text}
    return {}


_STOPS = {"end": "endTurn", "length": "maxTokens", "stop_sequence": "stopSequence"}


class Sampling(Struct, frozen=True, kw_only=True, eq=False, metaclass=Spelt):
    """A model that a server may use, with limits."""

    model: Model
    max_tokens: int = 1024
    """For one request; a server that asks for more gets this many."""
    max_requests: int = 20
    """For one connection, over its whole life."""


class Sampler:
    """Asks the model, up to its limit of requests."""

    def __init__(self, sampling: Sampling, notes: NoteLog) -> None:
        self._sampling = sampling
        self._notes = notes
        self._left = sampling.max_requests

    async def __call__(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the SDK's port
        params: CreateMessageRequestParams,
    ) -> CreateMessageResult | ErrorData:
        """The SDK's sampling callback."""
        if self._left <= 0:
            return _refused(
                f"the {self._sampling.max_requests} requests that this client allows are used up"
            )
        self._left -= 1
        self._notes.add("asked", f"a model is asked, {len(params.messages)} messages")
        request = _request(params, self._sampling.max_tokens)
        if isinstance(request, ErrorData):
            return request
        try:
            reply = await self._ask(request)
        except Exception as error:  # noqa: BLE001 - the SDK would send its words to the server
            self._notes.add("asked", f"the model failed: {type(error).__name__}: {error}")
            return _refused("the model could not be asked")
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
        return _refused("only text, images and sounds can be sampled from, in at least one message")
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
    blocks = message.content_as_list
    parts = tuple([part for part in map(_part, blocks) if part is not None])
    if len(parts) < len(blocks):
        return None
    return User(parts) if message.role == "user" else Reply(parts)


def _part(block: Any) -> Part | None:
    match block:
        case TextContent(text=text):
            return Text(text)
        case ImageContent() | AudioContent():
            piece = media_of(block.data, block.mime_type, None)
            return piece if isinstance(piece, Media) else Text(piece)
        case _:
            return None


def _refused(message: str) -> ErrorData:
    return ErrorData(code=INVALID_REQUEST, message=message)


def list_roots(paths: Sequence[Path]) -> ListRootsFnT:
    """The SDK's callback for roots: the folders that the server may work in."""
    listed = [Root(uri=FileUrl(path.as_uri()), name=path.name) for path in paths]

    async def roots(context: ClientRequestContext) -> ListRootsResult:  # noqa: ARG001 - the SDK's port
        return ListRootsResult(roots=listed)

    return roots
