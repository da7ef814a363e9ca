"""Tools into an MCP server, and that into a program that runs until it is stopped."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from types import ModuleType
from typing import Any, Literal, TypedDict, Unpack

from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from starlette.types import ASGIApp

from rightcall.core.handler import ignore
from rightcall.core.lazy import own_version
from rightcall.core.options import check_keywords
from rightcall.core.ports import AsyncJournal, Journal
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.gate.executor import Executor
from rightcall.gate.gate import Approve, Policy
from rightcall.gate.hooks import Hooks, chain_hooks
from rightcall.log import logger
from rightcall.mcp.server.list_changes import Changes, NotifyingServer, page_of
from rightcall.mcp.server.offers import OfferedPrompt, OfferedResource, Offers, ResourceList
from rightcall.mcp.server.remote_client import LogLevels, loop_named
from rightcall.mcp.server.request_handlers import CallRequests, ToolsList
from rightcall.mcp.server.serve_options import Bounds, Listen
from rightcall.mcp.server.served_calls import SerialLock, ServedCallSetup
from rightcall.mcp.server.stdio_server import serve_stdio
from rightcall.mcp.server.tasks import EXTENSION, TaskParams, Tasks, TaskSupport, TaskUpdateParams

_A_WHILE = 5 * 60 * 1000
"""Milliseconds for which a client may cache a list of tools that do not change."""
_LOOK_AGAIN = 1.0
"""Seconds between two looks at tools that change by themselves."""


class ServerSettings(TypedDict, total=False):
    """Settings of a server; all are optional."""

    name: str
    """The server's name, for clients."""
    instructions: str
    """What the tools are for, and how to use them together, for clients."""
    policy: Policy | None
    """Returns allow, deny, ask, rewrite or answer for each checked call, as an agent's does."""
    approve: Approve | None
    """Asks a person, in place of the client. Without it the client is asked, if it supports that."""
    hooks: Hooks | Sequence[Hooks] | None
    """Functions around every tool, which may change or veto a call; an agent's ``Hooks``."""
    journal: Journal | AsyncJournal | None
    """Where every call is recorded."""
    dependencies: Any
    """What tools share; it reaches them through ``Context``."""
    bounds: Bounds
    resources: Sequence[OfferedResource | ResourceList] | None
    """What clients may read, made by ``rc.mcp.resource``; or objects that list theirs."""
    tasks: Mapping[str, TaskSupport] | None
    """By name: tools that go on as tasks, for clients that know these."""
    prompts: Sequence[OfferedPrompt] | None
    """What clients' users may begin with, made by ``rc.mcp.prompt``."""


class ToolServer:
    """Tools behind MCP: the same gate, limits, policy, approval and record as inside an agent.

    ``sdk`` is the official SDK's server. ``stdio`` and ``http`` run it; an application that has its own
    web server mounts the result of ``app``.
    """

    @check_keywords("ToolServer")
    def __init__(self, tools: ToolSource, **settings: Unpack[ServerSettings]) -> None:
        self.bounds = settings.get("bounds") or Bounds()
        self.name = settings.get("name") or "rightcall"
        self._offered = ToolsList(tools)
        self._levels = LogLevels()
        self._setup = ServedCallSetup(
            executor=Executor(concurrency=self.bounds.concurrency),
            lock=SerialLock(),
            policy=settings.get("policy"),
            approve=settings.get("approve"),
            hooks=chain_hooks(settings.get("hooks")),
            journal=settings.get("journal"),
            dependencies=settings.get("dependencies"),
            grace=self.bounds.grace,
            running=set(),
        )
        self._requests = CallRequests(self._setup, self.bounds, self._levels)
        self.offers = Offers(settings.get("resources") or (), settings.get("prompts") or ())
        """Its resources and prompts. Who changes these lists tells clients by ``announce``."""
        self._changes = Changes(self.bounds.sessions)
        support = settings.get("tasks")
        self._tasks = None if support is None else Tasks(support, self.bounds.calls)
        self.sdk = self._make_sdk(settings.get("instructions") or None, settings)

    def _make_sdk(self, instructions: str | None, settings: ServerSettings) -> Server[Any]:
        """The SDK's server, with the requests that there is something to answer with."""
        hint = CacheHint(ttl_ms=0 if self._offered.changes else _A_WHILE)
        lists: tuple[CacheableMethod, ...] = (
            "prompts/list",
            "resources/list",
            "resources/templates/list",
        )
        sdk: Server[Any] = NotifyingServer(
            self.name,
            version=own_version(),
            instructions=instructions,
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=self._changes.listen,
            get_tool_input_schema=self._schema_of,
            cache_hints={"tools/list": hint, **dict.fromkeys(lists, CacheHint(ttl_ms=0))},
        )
        add = sdk.add_request_handler
        has_resources = settings.get("resources") is not None
        has_prompts = settings.get("prompts") is not None
        if has_resources:
            add("resources/list", PaginatedRequestParams, self._list_resources)
            add("resources/templates/list", PaginatedRequestParams, self._list_templates)
            add("resources/read", ReadResourceRequestParams, self._read)
            add("resources/subscribe", SubscribeRequestParams, self._changes.subscribe)
            add("resources/unsubscribe", UnsubscribeRequestParams, self._changes.unsubscribe)
        if has_prompts:
            add("prompts/list", PaginatedRequestParams, self._list_prompts)
            add("prompts/get", GetPromptRequestParams, self._get_prompt)
        if has_resources or has_prompts:
            add("completion/complete", CompleteRequestParams, self._complete)
        if self._tasks is not None:
            sdk.extensions[EXTENSION] = {}
            add("tasks/get", TaskParams, self._tasks.get)
            add("tasks/update", TaskUpdateParams, self._tasks.update)
            add("tasks/cancel", TaskParams, self._tasks.cancel)
        add("logging/setLevel", SetLevelRequestParams, self._set_level)
        security = RequestStateSecurity.ephemeral(ttl=self.bounds.patience)
        sdk.middleware.append(RequestStateBoundary(security, default_audience=self.name))
        return sdk

    @property
    def tools(self) -> Toolbox:
        """The current tools."""
        return self._offered.look().tools

    @property
    def running(self) -> int:
        """How many calls run. After the server has ended, those that did not stop."""
        return len(self._setup.running)

    async def stdio(self) -> None:
        """Serve the program at the other end of standard input and output, until it closes the input."""
        with loop_named():
            async with self._service():
                await serve_stdio(self.sdk, self.bounds)

    async def http(self, listen: Listen, *, started: Callable[[str], None] | None = None) -> None:
        """Serve over HTTP until cancelled; ``started`` is called with the address."""
        try:
            with loop_named():
                async with self._service():
                    await _http_server().serve_http(self.sdk, listen, self.bounds, started or ignore)
        finally:
            # Give cancelled calls time to stop.
            if self._setup.running:
                await asyncio.wait(set(self._setup.running), timeout=self.bounds.grace)

    def app(self, listen: Listen) -> ASGIApp:
        """The web application, for an ASGI server of your own, which then decides where it listens."""
        served: ASGIApp = _http_server().application(self.sdk, listen, self.bounds)
        return served

    async def announce(self, what: Literal["tools", "resources", "prompts"]) -> None:
        """Tell clients that a list has changed."""
        await self._changes.announce(what)

    async def announce_update(self, uri: str) -> None:
        """Tell the clients that subscribed to a resource that it has changed."""
        await self._changes.update(uri)

    @asynccontextmanager
    async def _service(self) -> AsyncIterator[None]:
        """Announce the changes of tools that change by themselves, and end tasks with the server."""

        async def watch() -> None:
            seen = self._offered.look().listed
            while True:
                await asyncio.sleep(_LOOK_AGAIN)
                if seen is not (seen := self._offered.look().listed):
                    await self.announce("tools")

        watching = asyncio.ensure_future(watch()) if self._offered.changes else None
        try:
            yield
        finally:
            if watching is not None:
                watching.cancel()
            if self._tasks is not None:
                await self._tasks.close()

    async def _list(
        self, context: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        self._changes.note(context)
        listed = self._offered.look().listed
        if params is None and len(listed.tools) <= self.bounds.page:
            return listed
        tools, following = page_of(listed.tools, params, self.bounds.page)
        return ListToolsResult(tools=tools, next_cursor=following)

    async def _list_resources(
        self, context: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        self._changes.note(context)
        found, following = page_of(await self.offers.list_resources(), params, self.bounds.page)
        return ListResourcesResult(resources=found, next_cursor=following)

    async def _list_templates(
        self, _: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        found, following = page_of(self.offers.list_templates(), params, self.bounds.page)
        return ListResourceTemplatesResult(resource_templates=found, next_cursor=following)

    async def _list_prompts(
        self, context: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        self._changes.note(context)
        found, following = page_of(self.offers.list_prompts(), params, self.bounds.page)
        return ListPromptsResult(prompts=found, next_cursor=following)

    async def _read(
        self, context: ServerRequestContext[Any, Any], params: ReadResourceRequestParams
    ) -> ReadResourceResult | InputRequiredResult:
        answer: ReadResourceResult | InputRequiredResult = await self._requests.read(
            context, params, self.offers
        )
        return answer

    async def _get_prompt(
        self, context: ServerRequestContext[Any, Any], params: GetPromptRequestParams
    ) -> GetPromptResult | InputRequiredResult:
        answer: GetPromptResult | InputRequiredResult = await self._requests.get_prompt(
            context, params, self.offers
        )
        return answer

    async def _complete(
        self, _: ServerRequestContext[Any, Any], params: CompleteRequestParams
    ) -> CompleteResult:
        return CompleteResult(completion=await self.offers.complete(params))

    async def _call(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        offered = self._offered.look()

        async def run(params: CallToolRequestParams) -> Any:
            return await self._requests.call(context, params, offered)

        answer: CallToolResult | InputRequiredResult
        if self._tasks is None:
            answer = await run(params)
        else:
            answer = await self._tasks.call(context, params, run)
        return answer

    async def _set_level(
        self, context: ServerRequestContext[Any, Any], params: SetLevelRequestParams
    ) -> EmptyResult:
        self._levels.choose(context, params.level)
        return EmptyResult()

    def _schema_of(self, name: str) -> Mapping[str, Any] | None:
        tool = self.tools.get(name)
        if tool is None:
            return None
        return tool.parameters


def _http_server() -> ModuleType:
    """What serves over HTTP; a server on standard input and output needs no web server."""
    from rightcall.mcp.server import http_server  # noqa: PLC0415 - on Starlette and uvicorn

    return http_server


@check_keywords("rc.mcp.serve")
def serve(
    tools: ToolSource,
    *,
    listen: Listen | None = None,
    started: Callable[[str], None] | None = None,
    **settings: Unpack[ServerSettings],
) -> None:
    """Serve tools over MCP: to the program that started this one, or, with ``listen``, over HTTP.

    Returns when the client disconnects, or at SIGINT or SIGTERM. Over HTTP, ``started`` is called with
    the address; without it, the address is logged.
    """
    server = ToolServer(tools, **settings)
    if listen is None:
        run_server(server, server.stdio())
    else:
        log = partial(logger.info, "serving at %s")
        run_server(server, server.http(listen, started=started or log))


def run_server(server: ToolServer, serving: Coroutine[Any, Any, None]) -> None:
    """Run one of a server's coroutines to its end, in an event loop of its own."""
    runner = asyncio.Runner()
    try:
        runner.run(_run_until_signalled(serving))
    finally:
        if server.running:
            # Closing the loop would wait for them, and they do not stop.
            logger.warning("%d calls could not be stopped; left behind", server.running)
        else:
            runner.close()


async def _run_until_signalled(serving: Coroutine[Any, Any, None]) -> None:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(serving)
    told = False

    def stop() -> None:
        nonlocal told
        told = True
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        # Windows' event loop has no signal handlers, nor does a thread that is not the main one.
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not told:
            raise
