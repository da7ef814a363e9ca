"""Turns a client's ``tools/call`` into its response: accepted, refused, held for answers, or returned.

A ``tools/list`` is answered with the tools as they are at that moment: schemas, hints and titles.
"""

import json
import traceback
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from os import urandom
from time import monotonic
from typing import Any, TypeAlias
from urllib.parse import quote

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from msgspec import Struct
from msgspec.structs import replace
from pydantic import TypeAdapter

from rightcall.core.decision import busy
from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.outcome import Denied, Failed, Returned, TimedOut
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.ports import LiveTools
from rightcall.core.tool import Tool
from rightcall.declare.returns import ReturnMisfit, Returns, ReturnTooLong, returns_of
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import DeclarationError
from rightcall.gate.attempt import DeadlinePassed, within
from rightcall.gate.concurrency import AbandonableJob, tool_threads
from rightcall.gate.execution import Execution, not_run
from rightcall.gate.render import render
from rightcall.gate.size import is_small
from rightcall.log import logger
from rightcall.mcp.server.offers import MARKDOWN, Offers, to_prompt, to_resource, to_types
from rightcall.mcp.server.remote_client import QUESTION, Caller, LogLevels, calling, request_for
from rightcall.mcp.server.serve_options import Bounds
from rightcall.mcp.server.served_calls import AwaitsClient, ServedCall, ServedCallRecord, ServedCallSetup


class ServedTool(Struct, frozen=True, eq=False):
    """A tool as a client sees it, and the schema of its values."""

    listed: types.Tool
    returns: Returns | None


def served_tool(tool: Tool) -> ServedTool:
    """The offer of a tool.

    A tool whose results may be untrusted text declares no output schema: its result is a label with text
    inside. Structured fields beside the label would reach the model without it.
    """
    returns = None if tool.facts.untrusted else returns_of(tool)
    title = tool.short
    if not title:
        words = tool.name.replace("_", " ").replace("-", " ").strip()
        title = words[:1].upper() + words[1:]
    listed = types.Tool(
        name=tool.name,
        title=title,
        description=tool.description,
        input_schema=dict(tool.parameters),
        output_schema=None if returns is None else dict(returns.schema),
        annotations=hints(tool),
    )
    return ServedTool(listed, returns)


def hints(tool: Tool) -> types.ToolAnnotations:
    """A tool's effect and facts as MCP's hints.

    Unknown ones are left out, and the protocol then has clients assume the worst.
    """
    reads = tool.effect in {"pure", "read"}
    reach = "nothing" if tool.effect == "pure" else tool.facts.reach
    return types.ToolAnnotations(
        read_only_hint=reads,
        destructive_hint=False if reads else None,
        idempotent_hint=tool.effect != "write",
        open_world_hint=None if reach is None else reach == "outside",
    )


class ToolsList:
    """The offers of a source, updated at each look."""

    def __init__(self, source: ToolSource) -> None:
        self._source = source
        self._live = tuple(_live_in(source))
        self._seen = self._versions()
        self._take(Toolbox(source))

    tools: Toolbox
    listed: types.ListToolsResult
    returns: Mapping[str, Returns | None]
    """By tool: the schema of its values."""

    @property
    def changes(self) -> bool:
        """Whether anything in the source may change."""
        return bool(self._live)

    def look(self) -> "ToolsList":
        """Itself, brought up to date.

        Tools that cannot form a toolbox, such as two of one name, leave the offers unchanged.
        """
        if self._live and (versions := self._versions()) != self._seen:
            self._seen = versions
            try:
                self._take(Toolbox(self._source))
            except DeclarationError as error:
                logger.warning("the tools changed and cannot be served as they are now: %s", error)
        return self

    def _take(self, tools: Toolbox) -> None:
        tools = Toolbox([_for_clients(each) for each in tools])
        offers: dict[str, ServedTool] = {tool.name: served_tool(tool) for tool in tools}
        self.tools = tools
        self.listed = types.ListToolsResult(tools=[each.listed for each in offers.values()])
        self.returns = {name: each.returns for name, each in offers.items()}

    def _versions(self) -> tuple[int, ...]:
        return tuple([each.version for each in self._live])


def _for_clients(tool: Tool) -> Tool:
    """The tool, resource or prompt as clients may use it.

    Whoever calls is not the developer: they read an exception's words where ``errors=`` says so.
    """
    return tool.replace(errors=tool.errors or "neutral")


def _live_in(source: ToolSource) -> Iterator[LiveTools]:
    if isinstance(source, LiveTools):
        yield source
    elif isinstance(source, list | tuple) and not isinstance(source, Tool):
        for each in source:
            yield from _live_in(each)


_RESPONSES: TypeAdapter[types.InputResponses] = TypeAdapter(types.InputResponses)


class _State(Struct, frozen=True):
    """The state that a client carries for us between the rounds of a call. The SDK seals it."""

    run: str
    given: str
    """The answers of earlier rounds, as JSON."""


_to_state = msgspec.json.Decoder(_State).decode


Answering: TypeAlias = Callable[[Execution, ServedCallRecord, Caller], Awaitable[Any]]
"""Makes the response of what became of a call, and records its end."""


class CallRequests:
    """Handles the calls of all clients."""

    def __init__(self, setup: ServedCallSetup, bounds: Bounds, levels: LogLevels) -> None:
        self._setup = setup
        self._bounds = bounds
        self._levels = levels
        self._under_way = 0
        self._held: OrderedDict[str, float] = OrderedDict()
        """Runs that wait for their client to call again, and until when."""

    async def call(
        self,
        context: ServerRequestContext[Any, Any],
        params: types.CallToolRequestParams,
        offered: ToolsList,
    ) -> Any:
        """The response to one ``tools/call``: a result, or the questions that come first."""
        tool = offered.tools.get(params.name)
        returns = offered.returns.get(params.name)

        async def answer(execution: Execution, record: ServedCallRecord, who: Caller) -> Any:
            structured = await _encode_output(execution, tool, returns)
            response = await _respond(record, *structured)
            if execution.outcome.kind == "unknown":
                raise MCPError(types.INVALID_PARAMS, execution.result.text)
            if isinstance(execution.outcome, Failed) and who.lacking and who.is_modern:
                raise who.missing()
            return response

        return await self._answer(context, params, params.name, params.arguments, offered.tools, answer)

    async def read(
        self,
        context: ServerRequestContext[Any, Any],
        params: types.ReadResourceRequestParams,
        offers: Offers,
    ) -> Any:
        """The response to one ``resources/read``."""
        uri = params.uri
        found = await offers.find_resource(uri)
        if isinstance(found, str):
            contents = types.TextResourceContents(uri=uri, mime_type=MARKDOWN, text=found)
            return types.ReadResourceResult(contents=[contents])
        offer, arguments = found

        async def answer(execution: Execution, record: ServedCallRecord, who: Caller) -> Any:
            return to_resource(offer, uri, await _value_of(execution, record, who))

        tools = Toolbox([_for_clients(offer.tool)])
        return await self._answer(context, params, offer.tool.name, arguments, tools, answer)

    async def get_prompt(
        self,
        context: ServerRequestContext[Any, Any],
        params: types.GetPromptRequestParams,
        offers: Offers,
    ) -> Any:
        """The response to one ``prompts/get``."""
        offer = offers.find_prompt(params.name)

        async def answer(execution: Execution, record: ServedCallRecord, who: Caller) -> Any:
            return to_prompt(offer, (await _value_of(execution, record, who)).text)

        tools = Toolbox([_for_clients(offer.tool)])
        arguments = to_types(offer, params.arguments or {})
        return await self._answer(context, params, offer.tool.name, arguments, tools, answer)

    async def _answer(
        self,
        context: ServerRequestContext[Any, Any],
        params: types.InputResponseRequestParams,
        name: str,
        arguments: Mapping[str, Any] | None,
        tools: Toolbox,
        answer: Answering,
    ) -> Any:
        given = dict(params.input_responses or {})
        run = ""
        if params.request_state is not None:
            # The client resumes a run, which it can do once; its earlier answers count as well.
            state = _to_state(params.request_state)
            if self._held.pop(state.run, 0.0) > monotonic():
                run = state.run
                given = {**_RESPONSES.validate_json(state.given), **given}
        is_new = not run
        if is_new:
            # An approval for a call that was not held is ignored.
            given.pop(QUESTION, None)
            run = urandom(16).hex()
        call = Call(id=run, name=name, arguments=_text_of(arguments))
        who = Caller(context, given, levels=self._levels, patience=self._bounds.patience)
        record = ServedCallRecord(self._setup.journal, run, call)
        try:
            if is_new:
                await record.write_start(tools.get(call.name), who)
            else:
                await record.write_resume()
            if self._under_way >= self._bounds.calls:
                return await answer(not_run(call, Denied(busy(self._under_way))), record, who)
            with calling(who):
                return await self._pass(call, tools, who, record, given, answer)
        except MCPError:
            raise
        except Exception as error:
            # An error in a policy, an approver or the journal: the developer's, not the client's.
            logger.exception("a call to %s could not be taken to its end", call.name)
            raise MCPError(
                types.INTERNAL_ERROR, "the server could not take the call to its end"
            ) from error

    async def _pass(
        self,
        call: Call,
        tools: Toolbox,
        who: Caller,
        record: ServedCallRecord,
        given: Mapping[str, types.InputResponse],
        answer: Answering,
    ) -> Any:
        served = ServedCall(setup=self._setup, tools=tools, call=call, who=who, record=record)
        self._under_way += 1
        try:
            execution = await served.run()
        except AwaitsClient:
            # End the call with its questions, and prepare for the client to make it again.
            run = call.id
            await record.write_pause()
            self._held[run] = monotonic() + self._bounds.patience
            while len(self._held) > self._bounds.calls:
                self._held.popitem(last=False)
            state = _State(run, _RESPONSES.dump_json(dict(given), by_alias=True).decode())
            return types.InputRequiredResult(
                input_requests={name: request_for(question) for name, question in who.open.items()},
                request_state=dump(state),
            )
        finally:
            self._under_way -= 1
        return await answer(execution, record, who)


async def _value_of(execution: Execution, record: ServedCallRecord, who: Caller) -> Result:
    """The result of a function that is no tool. Raises MCPError for any other outcome than a value."""
    await record.write_end(execution)
    if execution.outcome.kind == "returned":
        return execution.result
    if isinstance(execution.outcome, Failed) and who.lacking and who.is_modern:
        raise who.missing()
    code = types.INVALID_PARAMS if execution.outcome.kind == "invalid" else types.INTERNAL_ERROR
    raise MCPError(code, execution.result.text)


def _text_of(arguments: Mapping[str, Any] | None) -> str:
    """The arguments as the text that the gate parses."""
    try:
        return dump(arguments or {})
    except UnicodeEncodeError:
        # Half a surrogate pair, for which the gate has an error of its own.
        return json.dumps(arguments)


async def _respond(
    record: ServedCallRecord, execution: Execution, structured: JsonObject | None
) -> types.CallToolResult:
    await record.write_end(execution)
    return to_mcp(execution.result, structured)


async def _encode_output(
    execution: Execution, tool: Tool | None, returns: Returns | None
) -> tuple[Execution, JsonObject | None]:
    """The tool's return value as an object that fits its schema; or a failure that says why not."""
    outcome = execution.outcome
    if returns is None or tool is None or not isinstance(outcome, Returned):
        return execution, None
    limit = tool.limits.max_output_bytes
    encode = partial(returns.encode, outcome.value, limit)
    failed = f"{execution.call.name} ran, but what it returned"
    try:
        if returns.is_plain and is_small(outcome.value):
            return execution, encode()
        # The serializer may be the tool's own code, and may use what is left of the tool's time.
        left = max(tool.limits.timeout - execution.seconds, 0.0)
        return execution, await within(left, tool_threads().run(encode, AbandonableJob()))
    except ReturnTooLong:
        failure: Failed | TimedOut = Failed(f"{failed} is longer than {limit:,} bytes.")
    except ReturnMisfit as misfit:
        failure = Failed(f"{failed} does not fit what it promises.", error=str(misfit))
        if not execution.attempts:
            # A hook or a person answered in its place, with a text.
            name = execution.call.name
            failure = Failed(f"{name} was not run; the answer given in its place: {outcome.value}")
    except DeadlinePassed:
        failure = TimedOut(tool.limits.timeout, abandoned=True)
    except Exception:  # noqa: BLE001 - serializers are the developer's code
        failure = Failed(f"{failed} cannot be shown.", error=traceback.format_exc())
    return replace(execution, outcome=failure, result=render(execution.call, failure)), None


_TEXTUAL = ("text/", "application/json", "application/xml", "application/yaml")


def to_mcp(result: Result, structured: JsonObject | None = None) -> types.CallToolResult:
    """The result for the client. Any outcome but ``returned`` is an error, with our own message."""
    return types.CallToolResult(
        content=list(_content(result)), structured_content=structured, is_error=result.is_error
    )


def _content(result: Result) -> Iterator[types.ContentBlock]:
    for number, part in enumerate(result.content, 1):
        match part:
            case Text(text):
                yield types.TextContent(text=text)
            case Media(url=str(url)):
                name = part.name or url.rpartition("/")[2] or url
                yield types.ResourceLink(uri=url, name=name, mime_type=part.media_type)
            case Media(id=str()):
                # A client cannot fetch anything by a vendor's id.
                yield types.TextContent(text=f"[{part.about}]")
            case Media(data, media_type) if media_type.startswith("image/"):
                yield types.ImageContent(data=b64encode(data).decode(), mime_type=media_type)
            case Media(data, media_type) if media_type.startswith("audio/"):
                yield types.AudioContent(data=b64encode(data).decode(), mime_type=media_type)
            case Media():
                yield _resource(part, f"{result.call_id}/{number}")


def _resource(media: Media, place: str) -> types.EmbeddedResource:
    """A file: as text if it is text, otherwise as bytes. A name that is a URI is kept."""
    name = media.name or ""
    uri = name
    if not name:
        uri = f"result://{place}"
    elif "://" not in name:
        uri = f"result://{place}/{quote(name)}"
    if media.media_type.startswith(_TEXTUAL):
        try:
            text = media.data.decode()
        except UnicodeDecodeError:
            pass
        else:
            contents = types.TextResourceContents(uri=uri, mime_type=media.media_type, text=text)
            return types.EmbeddedResource(resource=contents)
    blob = b64encode(media.data).decode()
    return types.EmbeddedResource(
        resource=types.BlobResourceContents(uri=uri, mime_type=media.media_type, blob=blob)
    )
