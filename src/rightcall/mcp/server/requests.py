"""A client's ``tools/call`` into its response: accepted, refused, held for answers, or returned."""

import json
import traceback
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import partial
from os import urandom
from time import monotonic
from typing import Any
from urllib.parse import quote

import msgspec
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    AudioContent,
    BlobResourceContents,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    InputResponse,
    InputResponses,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from msgspec import Struct
from msgspec.structs import replace
from pydantic import TypeAdapter

from rightcall.core.call import Call
from rightcall.core.decision import busy
from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.outcome import Denied, Failed, Returned, TimedOut
from rightcall.core.parts import Media, Result, Text
from rightcall.core.tool import Tool
from rightcall.declare.returns import Misfit, Returns, TooLong
from rightcall.declare.toolbox import Toolbox
from rightcall.gate.deadline import DeadlinePassed, within
from rightcall.gate.execution import Execution, not_run
from rightcall.gate.render import render
from rightcall.gate.size import is_small
from rightcall.gate.threads import Job, current
from rightcall.log import logger
from rightcall.mcp.server.client_questions import QUESTION, request_for
from rightcall.mcp.server.remote_client import Caller, LogLevels, calling
from rightcall.mcp.server.serve_options import Bounds
from rightcall.mcp.server.served_calls import AwaitsClient, Record, ServedCall, Setup
from rightcall.mcp.server.tools_list import ToolsList

_RESPONSES: TypeAdapter[InputResponses] = TypeAdapter(InputResponses)


class _State(Struct, frozen=True):
    """The state that a client carries for us between the rounds of a call. The SDK seals it."""

    run: str
    given: str
    """The answers of earlier rounds, as JSON."""


_to_state = msgspec.json.Decoder(_State).decode


class CallRequests:
    """Handles the calls of all clients."""

    def __init__(self, setup: Setup, bounds: Bounds, levels: LogLevels) -> None:
        self._setup = setup
        self._bounds = bounds
        self._levels = levels
        self._under_way = 0
        self._held: OrderedDict[str, float] = OrderedDict()
        """Runs that wait for their client to call again, and until when."""

    async def call(
        self,
        context: ServerRequestContext[Any, Any],
        params: CallToolRequestParams,
        offered: ToolsList,
    ) -> CallToolResult | InputRequiredResult:
        """The response to one ``tools/call``."""
        tools, returns = offered.tools, offered.returns
        run, given = self._resume(params)
        is_new = run is None
        run = run or urandom(16).hex()
        call = Call(id=run, name=params.name, arguments=_text_of(params.arguments))
        who = Caller(context, given, levels=self._levels, patience=self._bounds.patience)
        record = Record(self._setup.journal, run, call)
        try:
            if is_new:
                await record.began(tools.get(call.name), who)
            else:
                await record.resumed()
            if self._under_way >= self._bounds.calls:
                refused = not_run(call, Denied(busy(self._under_way)))
                return await _respond(record, refused, None)
            with calling(who):
                return await self._pass(call, tools, who, record, given, returns.get(call.name))
        except MCPError:
            raise
        except Exception as error:
            # An error in a policy, an approver or the journal: the developer's, not the client's.
            logger.exception("a call to %s could not be taken to its end", call.name)
            raise MCPError(INTERNAL_ERROR, "the server could not take the call to its end") from error

    async def _pass(
        self,
        call: Call,
        tools: Toolbox,
        who: Caller,
        record: Record,
        given: Mapping[str, InputResponse],
        returns: Returns | None,
    ) -> CallToolResult | InputRequiredResult:
        served = ServedCall(setup=self._setup, tools=tools, call=call, who=who, record=record)
        self._under_way += 1
        try:
            execution = await served.run()
        except AwaitsClient:
            return await self._hold(call.id, who, record, given)
        finally:
            self._under_way -= 1
        structured = await _structured(execution, tools.get(call.name), returns)
        response = await _respond(record, *structured)
        if execution.outcome.kind == "unknown":
            raise MCPError(INVALID_PARAMS, execution.result.text)
        if isinstance(execution.outcome, Failed) and who.lacking and who.is_modern:
            raise who.missing()
        return response

    async def _hold(
        self, run: str, who: Caller, record: Record, given: Mapping[str, InputResponse]
    ) -> InputRequiredResult:
        """End the call with its questions, and prepare for the client to make it again."""
        await record.paused()
        self._held[run] = monotonic() + self._bounds.patience
        while len(self._held) > self._bounds.calls:
            self._held.popitem(last=False)
        state = _State(run, _RESPONSES.dump_json(dict(given), by_alias=True).decode())
        return InputRequiredResult(
            input_requests={name: request_for(question) for name, question in who.open.items()},
            request_state=dump(state),
        )

    def _resume(self, params: CallToolRequestParams) -> tuple[str | None, dict[str, InputResponse]]:
        """The run that a client resumes, and all its answers so far.

        A run can be resumed once. An approval for a call that was not held is ignored.
        """
        answers = dict(params.input_responses or {})
        if params.request_state is not None:
            state = _to_state(params.request_state)
            if self._held.pop(state.run, 0.0) > monotonic():
                return state.run, {**_RESPONSES.validate_json(state.given), **answers}
        answers.pop(QUESTION, None)
        return None, answers


def _text_of(arguments: Mapping[str, Any] | None) -> str:
    """The arguments as the text that the gate parses."""
    try:
        return dump(arguments or {})
    except UnicodeEncodeError:
        # Half a surrogate pair, for which the gate has an error of its own.
        return json.dumps(arguments)


async def _respond(
    record: Record, execution: Execution, structured: JsonObject | None
) -> CallToolResult:
    await record.finished(execution)
    return to_mcp(execution.result, structured)


async def _structured(
    execution: Execution, tool: Tool | None, returns: Returns | None
) -> tuple[Execution, JsonObject | None]:
    """The tool's return value as an object that fits its schema; or a failure that says why not."""
    outcome = execution.outcome
    if returns is None or tool is None or not isinstance(outcome, Returned):
        return execution, None
    limit = tool.limits.max_output_bytes
    encode = partial(returns.encode, outcome.value, limit)
    try:
        if returns.is_plain and is_small(outcome.value):
            return execution, encode()
        # The serializer may be the tool's own code, and may use what is left of the tool's time.
        left = max(tool.limits.timeout - execution.seconds, 0.0)
        return execution, await within(left, current().run(encode, Job()))
    except TooLong:
        return _failed(execution, f"is longer than {limit:,} bytes"), None
    except Misfit as misfit:
        if not execution.attempts:
            # A hook or a person answered in its place, with a text.
            words = f"{execution.call.name} was not run; the answer given in its place: {outcome.value}"
            return _told(execution, Failed(words)), None
        return _failed(execution, "does not fit what it promises", str(misfit)), None
    except DeadlinePassed:
        late = TimedOut(tool.limits.timeout, abandoned=True)
        return replace(execution, outcome=late, result=render(execution.call, late)), None
    except Exception:  # noqa: BLE001 - serializers are the developer's code
        return _failed(execution, "cannot be shown", traceback.format_exc()), None


def _failed(execution: Execution, why: str, error: str = "") -> Execution:
    return _told(
        execution, Failed(f"{execution.call.name} ran, but what it returned {why}.", error=error)
    )


def _told(execution: Execution, outcome: Failed) -> Execution:
    return replace(execution, outcome=outcome, result=render(execution.call, outcome))


_TEXTUAL = ("text/", "application/json", "application/xml", "application/yaml")


def to_mcp(result: Result, structured: JsonObject | None = None) -> CallToolResult:
    """The result for the client. Any outcome but ``returned`` is an error, with our own message."""
    return CallToolResult(
        content=list(_content(result)),
        structured_content=structured,
        is_error=result.is_error,
    )


def _content(result: Result) -> Iterator[ContentBlock]:
    for number, part in enumerate(result.content, 1):
        match part:
            case Text(text):
                yield TextContent(text=text)
            case Media(url=str(url)):
                name = part.name or url.rpartition("/")[2] or url
                yield ResourceLink(uri=url, name=name, mime_type=part.media_type)
            case Media(id=str()):
                # A client cannot fetch anything by a vendor's id.
                yield TextContent(text=f"[{part.about}]")
            case Media(data, media_type) if media_type.startswith("image/"):
                yield ImageContent(data=b64encode(data).decode(), mime_type=media_type)
            case Media(data, media_type) if media_type.startswith("audio/"):
                yield AudioContent(data=b64encode(data).decode(), mime_type=media_type)
            case Media():
                yield _resource(part, f"{result.call_id}/{number}")


def _resource(media: Media, place: str) -> EmbeddedResource:
    """A file: as text if it is text, otherwise as bytes. A name that is a URI is kept."""
    name = media.name or ""
    uri = name if "://" in name else f"result://{place}" + (f"/{quote(name)}" if name else "")
    if media.media_type.startswith(_TEXTUAL):
        try:
            text = media.data.decode()
        except UnicodeDecodeError:
            pass
        else:
            contents = TextResourceContents(uri=uri, mime_type=media.media_type, text=text)
            return EmbeddedResource(resource=contents)
    blob = b64encode(media.data).decode()
    return EmbeddedResource(
        resource=BlobResourceContents(uri=uri, mime_type=media.media_type, blob=blob)
    )
