"""Requests of a server to its client: a person's answer, a model's reply, the folders it may use.

A person is asked as about any call that needs approval, by the agent's approval function. The answer is
validated against the server's form before it is sent. A URL is only shown: nothing here opens one. The
model is the one that the caller named; it has none of our tools and history, and the number and length
of its replies are limited: the caller pays for them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, assert_never

import mcp_types as types
from mcp.client.context import ClientRequestContext
from mcp.client.session import ListRootsFnT
from msgspec import Struct
from pydantic import FileUrl

from rightcall.core.decision import Allow, Answer, Deny, FinalDecision, Rewrite
from rightcall.core.events import ReplyEnd
from rightcall.core.jsontext import JsonError, JsonObject, parse
from rightcall.core.message import Message, Reply, User
from rightcall.core.options import NameCheckedMeta
from rightcall.core.parts import Media, Part, Text
from rightcall.core.ports import Model
from rightcall.core.proposal import Proposal
from rightcall.core.request import Request
from rightcall.core.schema import Schema, SchemaError
from rightcall.errors import UsageError
from rightcall.gate.attempt import WrongDecision
from rightcall.gate.gate import Approve, ask_person, final_decision
from rightcall.mcp.approval_form import approval_content, is_approval
from rightcall.mcp.client.note_log import NoteLog
from rightcall.mcp.client.remote_tool import media_of

_LONGEST = 4000


class Elicitation:
    """Asks a person for what a server wants to know."""

    def __init__(self, server: str, approve: Approve, notes: NoteLog) -> None:
        self._server = server
        self._approve = approve
        self._notes = notes

    async def __call__(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """The SDK's elicitation callback."""
        self._notes.add("asked", f"a person is asked: {params.message}")
        call_id = f"{self._server}:{context.request_id}"
        reason = f"the server {self._server} asks: {params.message[:_LONGEST]}"
        if isinstance(params, types.ElicitRequestURLParams):
            proposal = Proposal(
                call_id=call_id,
                name="elicit_url",
                arguments={"url": params.url},
                reason=reason,
                first=("url",),
            )
            return types.ElicitResult(
                action="accept" if isinstance(await self._decision(proposal), Allow) else "decline"
            )
        form: JsonObject = dict(params.requested_schema)
        try:
            schema = Schema(form)
        except SchemaError as error:
            return types.ErrorData(code=types.INVALID_REQUEST, message=f"the form is no schema: {error}")
        arguments: JsonObject = {"form": form, "defaults": defaults(form)}
        asks_approval = is_approval(form)
        if asks_approval:
            # The server's words are the call, so they stand where a call does: first, and line by line.
            arguments = {"asks": list(params.message[:_LONGEST].splitlines())}
            reason = f"the server {self._server} asks whether it may do this"
        proposal = Proposal(call_id=call_id, name="elicit", arguments=arguments, reason=reason)
        decision = await self._decision(proposal)
        content = approval_content(decision) if asks_approval else None
        if content is None:
            content = _content(decision, form)
        # A form that is not filled in correctly is not sent: the person has not answered.
        if content is None:
            return types.ElicitResult(action="decline")
        if schema.problems(content):
            return types.ElicitResult(action="cancel")
        return types.ElicitResult(action="accept", content=content)

    async def _decision(self, proposal: Proposal) -> FinalDecision:
        try:
            decision = await ask_person(self._approve, proposal)
        except Exception as error:  # noqa: BLE001 - the SDK would send its words to the server
            self._notes.add("asked", f"nobody could be asked: {type(error).__name__}: {error}")
            return Deny()
        try:
            # Only True approves: another truthy answer may well mean no.
            return final_decision(decision)
        except UsageError as error:
            self._notes.mistake = WrongDecision(f"approve= of the server {self._server}: {error}")
            return Deny()


def defaults(form: JsonObject) -> dict[str, Any]:
    """The defaults that the server suggests for the fields of its form."""
    fields = form.get("properties")
    if not isinstance(fields, Mapping):
        return {}
    values = {}
    for name, field in fields.items():
        if isinstance(field, Mapping) and "default" in field:
            values[name] = field["default"]
    return values


def _content(decision: FinalDecision, form: JsonObject) -> dict[str, Any] | None:
    match decision:
        case Allow():
            return defaults(form)
        case Rewrite(arguments):
            return {**defaults(form), **arguments}
        case Answer(text):
            return {**defaults(form), **_parse_answer(text, form)}
        case Deny():
            return None
        case _:
            assert_never(decision)


def _parse_answer(text: str, form: JsonObject) -> JsonObject:
    """A person's text as the content of a form: as JSON, or as its only required or only field."""
    try:
        value = parse(text)
    except JsonError:
        value = None
    if isinstance(value, dict):
        return value
    for names in (form.get("required"), form.get("properties")):
        if isinstance(names, list | Mapping) and len(names) == 1:
            (name,) = names
            return {str(name): text}
    return {}


_STOPS = {"end": "endTurn", "length": "maxTokens", "stop_sequence": "stopSequence"}


class Sampling(Struct, frozen=True, kw_only=True, eq=False, metaclass=NameCheckedMeta):
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
        params: types.CreateMessageRequestParams,
    ) -> types.CreateMessageResult | types.ErrorData:
        """The SDK's sampling callback."""
        if self._left <= 0:
            return _invalid_request(
                f"the {self._sampling.max_requests} requests that this client allows are used up"
            )
        self._left -= 1
        self._notes.add("asked", f"a model is asked, {len(params.messages)} messages")
        messages = [_message(each) for each in params.messages]
        usable = tuple([each for each in messages if each is not None])
        if not messages or len(usable) < len(messages):
            return _invalid_request(
                "only text, images and sounds can be sampled from, in at least one message"
            )
        options: dict[str, Any] = {}
        if params.temperature is not None:
            options["temperature"] = params.temperature
        if params.stop_sequences:
            options["stop"] = list(params.stop_sequences)
        request = Request(
            messages=usable,
            system=params.system_prompt or "",
            max_tokens=min(max(params.max_tokens, 1), self._sampling.max_tokens),
            options=options,
        )
        reply = Reply((), stop="error")
        try:
            async for event in self._sampling.model.stream(request):
                if isinstance(event, ReplyEnd):
                    reply = event.reply
                    break
        except Exception as error:  # noqa: BLE001 - the SDK would send its words to the server
            self._notes.add("asked", f"the model failed: {type(error).__name__}: {error}")
            return _invalid_request("the model could not be asked")
        return types.CreateMessageResult(
            role="assistant",
            content=types.TextContent(type="text", text=reply.text),
            model=reply.model or "model",
            stop_reason=_STOPS.get(reply.stop, reply.stop),
        )


def _message(message: types.SamplingMessage) -> Message | None:
    """None if it holds anything but text, images and sounds."""
    parts: list[Part] = []
    for block in message.content_as_list:
        match block:
            case types.TextContent(text=text):
                parts.append(Text(text))
            case types.ImageContent() | types.AudioContent():
                piece = media_of(block.data, block.mime_type, None)
                parts.append(piece if isinstance(piece, Media) else Text(piece))
            case _:
                return None
    if message.role == "user":
        return User(tuple(parts))
    return Reply(tuple(parts))


def _invalid_request(message: str) -> types.ErrorData:
    return types.ErrorData(code=types.INVALID_REQUEST, message=message)


def list_roots(paths: Sequence[Path]) -> ListRootsFnT:
    """The SDK's callback for roots: the folders that the server may work in."""
    listed = [types.Root(uri=FileUrl(path.as_uri()), name=path.name) for path in paths]

    async def roots(context: ClientRequestContext) -> types.ListRootsResult:  # noqa: ARG001 - the SDK's port
        return types.ListRootsResult(roots=listed)

    return roots
