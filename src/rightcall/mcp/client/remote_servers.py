"""``connect`` turns targets of servers into sets of tools that may change, and that any agent takes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import PurePath
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar, Unpack
from urllib.parse import urlsplit

from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    CallToolResult,
)
from msgspec.structs import replace
from pydantic import ValidationError

from rightcall.background import BackgroundLoop
from rightcall.core.facts import Effect
from rightcall.core.handler import Context
from rightcall.core.jsontext import JsonObject
from rightcall.core.message import Message
from rightcall.core.options import check_keywords
from rightcall.core.parts import Media
from rightcall.core.ports import LiveTools
from rightcall.core.tool import Tool
from rightcall.declare.findings import Finding
from rightcall.declare.toolbox import Selection, Toolbox
from rightcall.errors import RightcallError, ToolFailure, UsageError
from rightcall.gate.concurrency import AbandonableJob, tool_threads
from rightcall.mcp.client.catalogue import (
    ListedPrompt,
    ListedResource,
    complete,
    get_prompt,
    list_prompts,
    list_resources,
    read_resource,
    resource_tools,
)
from rightcall.mcp.client.connection import ServerConnection
from rightcall.mcp.client.endpoints import Endpoint, Given, Http, endpoint_of
from rightcall.mcp.client.note_log import Note, NoteLog
from rightcall.mcp.client.remote_tool import Judge, fit_name, validator_for, value_of
from rightcall.mcp.client.sdk_client import words_of
from rightcall.mcp.client.settings import ConnectionSettings, ConnectOptions, settings_of
from rightcall.mcp.client.tool_list import AcceptedTools, accept_tools, fetch
from rightcall.mcp.pins import Definition
from rightcall.process.deadline_validator import DeadlineValidator

T = TypeVar("T")
Progress: TypeAlias = Callable[[float, float | None, str], None]
_MOST_PROGRESS = 1000
_MOST_CHANGED = 1000
_LONGEST_PROGRESS = 500
_BEYOND = 5.0
"""Seconds beyond a tool's own timeout, so that its executor times out first, with its own message."""


class RemoteCalls:
    """Sends calls to one server.

    A call is sent once, and again only if nothing was done.
    """

    def __init__(
        self, connection: ServerConnection, settings: ConnectionSettings, notes: NoteLog
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._notes = notes
        self._server = settings.name
        self._timeout = settings.limits.timeout + _BEYOND
        self._newest: ServerConnection | None = None
        self._newest_opened: asyncio.Future[None] | None = None
        self._asking: set[str] = set()
        """Tools that can ask by the newest protocol only."""

    async def call(
        self, name: str, arguments: JsonObject, effect: Effect, progress: Progress | None = None
    ) -> CallToolResult:
        """The server's answer. Raises ToolFailure for everything else."""
        return await self._connection.bring_home(lambda: self._call(name, arguments, effect, progress))

    async def close(self) -> None:
        """Close the connection in the newest protocol, if there is one."""
        if self._newest is not None:
            await self._newest.close()

    async def _call(
        self, name: str, arguments: JsonObject, effect: Effect, progress: Progress | None
    ) -> CallToolResult:
        if name in self._asking:
            return await self._call_over(await self._speak_newest(), name, arguments, effect, progress)
        try:
            return await self._call_over(self._connection, name, arguments, effect, progress)
        except ToolFailure as failure:
            error = failure.__cause__
            if not isinstance(error, MCPError) or not _asks_anew(error, effect):
                raise
            if self._settings.protocol != "auto" or not self._settings.may_be_asked:
                raise
        # What it returned was a question, as the newest protocol has them. By that protocol such a tool
        # is run from its start for each answer, so it may be called again.
        self._asking.add(name)
        return await self._call_over(await self._speak_newest(), name, arguments, effect, progress)

    async def _speak_newest(self) -> ServerConnection:
        """A second connection, in the newest protocol."""
        if self._newest is None or self._newest_opened is None:
            settings = replace(self._settings, protocol="newest", wait_for_tools=False, record=None)
            self._newest = ServerConnection(settings, self._notes, _take_none)
            self._newest_opened = asyncio.ensure_future(self._newest.open())
        try:
            await asyncio.shield(self._newest_opened)
        except RightcallError as error:
            self._newest = None
            raise ToolFailure(f"The server {self._server} cannot ask what it wants to know.") from error
        return self._newest

    async def _call_over(
        self,
        connection: ServerConnection,
        name: str,
        arguments: JsonObject,
        effect: Effect,
        progress: Progress | None,
    ) -> CallToolResult:
        report = None if progress is None else _limit_progress(progress)

        async def ask(client: Client) -> CallToolResult:
            return await client.call_tool(
                name,
                dict(arguments),
                read_timeout_seconds=self._timeout,
                progress_callback=report,
            )

        return await self._exchange(connection, ask, effect, name)

    async def fetch(self, ask: Callable[[Client], Awaitable[T]]) -> T:
        """The answer to anything but a call, which only reads. Raises ToolFailure."""
        return await self._connection.bring_home(
            lambda: self._exchange(self._connection, ask, "read", "the server")
        )

    async def _exchange(
        self,
        connection: ServerConnection,
        ask: Callable[[Client], Awaitable[T]],
        effect: Effect,
        name: str,
    ) -> T:
        client = await connection.ready()
        try:
            try:
                result = await ask(client)
            except MCPError:
                if not connection.was_forgotten():
                    raise
                # The server did not know our session, so it has not run this call.
                connection.lose(client, "does not know our session any more")
                client = await connection.ready()
                result = await ask(client)
        except MCPError as error:
            self._notes.raise_mistake()
            if words := connection.login_failure:
                raise ToolFailure(f"The server {self._server} {words}.") from error
            if _is_closed(error):
                connection.lose(client, "closed the connection")
            if error.code in {INVALID_PARAMS, METHOD_NOT_FOUND}:
                # The server may no longer have the tool.
                await self._connection.look_again()
            if _cannot_ask(error):
                self._notes.add("asked", f"{name} wanted to ask, and could not. {_HOW_TO_ASK}")
            raise failure_of(error, self._server, effect) from error
        except (ValidationError, ValueError, RuntimeError, OSError) as error:
            raise failure_of(error, self._server, "write") from error
        if self._notes.mistake is not None:
            self._notes.raise_mistake()
        connection.note_answer()
        await connection.settle()
        return result


def _limit_progress(progress: Progress) -> Any:
    """The SDK's progress callback, which ignores everything after the first thousand."""
    left = _MOST_PROGRESS

    async def report(done: float, total: float | None, message: str | None) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            progress(done, total, (message or "")[:_LONGEST_PROGRESS])

    return report


async def _take_none(_: Client) -> None:
    """The tools are listed by the first connection."""


def _asks_anew(error: MCPError, effect: Effect) -> bool:
    """Whether a server that is spoken to by the handshake refused to send a question of the newest kind.

    fastmcp says so. The SDK's server only says that a result is invalid, which can be another fault of a
    tool that has done its work, so it is believed only of tools that can be called again.
    """
    if "only exists at MCP 2026-07-28" in error.message:
        return True
    return effect != "write" and error.message == "Handler returned an invalid result"


def _cannot_ask(error: MCPError) -> bool:
    """Whether a server wanted to send a request, which the newest protocol does not have."""
    return error.code == INVALID_REQUEST and "no back-channel" in error.message


_HOW_TO_ASK = (
    "Give connect what it may ask: approve=, sampling= or roots=, with protocol='auto' or 'legacy'"
)


def _is_closed(error: MCPError) -> bool:
    """Whether the connection was closed during a request.

    The SDK marks that only by code and message, and servers use the same code for errors of their own,
    which JSON-RPC allows.
    """
    return error.code == CONNECTION_CLOSED and error.message == "Connection closed"


def failure_of(error: Exception, server: str, effect: Effect) -> ToolFailure:
    """The failure of a call, with a message for the model."""
    harmless = effect != "write"
    match error:
        case MCPError() if _is_closed(error):
            return ToolFailure(
                f"The server {server} was lost before it answered. {_in_doubt(effect)}",
                retryable=harmless,
            )
        case MCPError(code=code) if code == REQUEST_TIMEOUT:
            return ToolFailure(
                f"The server {server} did not answer in time. {_in_doubt(effect)}", retryable=harmless
            )
        case MCPError() if _cannot_ask(error):
            return ToolFailure(
                "It wanted to ask a person, a model, or which folders it may use, and this connection "
                "does not let it. Do without it."
            )
        case MCPError(message="Handler returned an invalid result"):
            return ToolFailure(
                "The server refused its tool's own result. If that was a question, it takes "
                "protocol='newest' to carry it."
            )
        case MCPError(message=message):
            return ToolFailure(f"The server refused: {message}")
        case ValidationError():
            return ToolFailure("The server's answer breaks the protocol and cannot be read.")
        case _:
            return ToolFailure(f"The server's answer cannot be used: {words_of(error)}")


def _in_doubt(effect: Effect) -> str:
    if effect != "write":
        return "It can be called again."
    return "It may have done its work. Find out before calling it again."


_FEW = 20
"""Definitions up to this number are checked in the event loop; more, in a thread."""

_Change: TypeAlias = Callable[[Tool], Tool | None]
"""Maps a tool to its changed version, or to None to leave it out."""


@check_keywords("rc.mcp.connect")
def connect(target: Given, *, name: str | None = None, **options: Unpack[ConnectOptions]) -> "Server":
    """A server, to be opened with ``async with``, or with ``with`` in code that cannot await.

    ``target`` is a URL, a program and its arguments as a list, or an entry of ``load_config``. ``name``
    is the server's name here: in notes, pins and what the model is told.
    """
    found = endpoint_of(target)
    return Server(settings_of(name or name_of(found), found, options))


@check_keywords("rc.mcp.connect_all")
def connect_all(servers: Mapping[str, Given], **options: Unpack[ConnectOptions]) -> "Group":
    """Servers by name, as ``load_config`` returns them, to be opened together with ``async with``.

    Each server's tools have its name and ``_`` in front of their own. The options apply to every
    server, but for ``facts``, which belong to one, and ``auth``, which is for those at a URL.
    """
    if not isinstance(servers, Mapping):
        raise UsageError("rc.mcp.connect_all takes servers by name: rc.mcp.load_config(file) reads them")
    if "facts" in options:
        raise UsageError("facts are one server's: give them to rc.mcp.connect(server, facts=...)")
    opened = {}
    for name, given in servers.items():
        own = options.copy()
        if not isinstance(endpoint_of(given), Http):
            own.pop("auth", None)
        opened[name] = connect(given, name=name, **own)
    return Group(opened)


class LiveView:
    """A filtered or renamed view of tools that change.

    Names that you ask for must exist now; one that disappears later is just missing, and is back when
    it returns.
    """

    @check_keywords("rc.mcp.LiveView")
    def __init__(self, source: LiveTools, change: _Change | None = None) -> None:
        self._source = source
        self._change = change

    @property
    def version(self) -> int:
        """Changes whenever the tools change."""
        return self._source.version

    def __iter__(self) -> Iterator[Tool]:
        for tool in self._source:
            changed = tool if self._change is None else self._change(tool)
            if changed is not None:
                yield changed

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def names(self) -> tuple[str, ...]:
        """The current names, in order."""
        return tuple(tool.name for tool in self)

    def toolbox(self) -> Toolbox:
        """The current tools, fixed: an ordinary toolbox."""
        return Toolbox(list(self))

    def filter(self, keep: Selection) -> "LiveView":
        """Only the tools that are named, or for which ``keep`` returns true."""
        chosen = self._chooser(keep)
        return LiveView(self, lambda tool: tool if chosen(tool) else None)

    def prefix(self, text: str) -> "LiveView":
        """Every name with ``text`` before it; one that becomes too long is cut, and ends in a hash."""
        return LiveView(self, lambda tool: tool.replace(name=fit_name(text + tool.name)))

    def rename(self, names: Mapping[str, str]) -> "LiveView":
        """Some tools under other names."""
        self.toolbox().rename(names)
        return LiveView(self, lambda tool: tool.replace(name=names.get(tool.name, tool.name)))

    def require_approval(self, which: Selection | None = None) -> "LiveView":
        """Require a person's approval for calls of these tools; of all tools unless named."""
        chosen = (lambda _: True) if which is None else self._chooser(which)
        return LiveView(self, lambda tool: tool.replace(approval=True) if chosen(tool) else tool)

    def _chooser(self, selection: Selection) -> Callable[[Tool], bool]:
        # The current toolbox knows which names do not exist.
        self.toolbox().filter(selection)
        if callable(selection):
            return selection
        names = {selection} if isinstance(selection, str) else set(selection)
        return lambda tool: tool.name in names


class Server(LiveView):
    """The current tools of one server. It goes wherever tools go.

    An agent checks them again before each turn. The results of ``filter``, ``prefix``, ``rename`` and
    ``require_approval`` follow the changes; ``toolbox()`` is a fixed copy.
    """

    def __init__(self, settings: ConnectionSettings) -> None:
        super().__init__(self)
        self.name = settings.name
        self._settings = settings
        self._notes = NoteLog(settings.name, settings.record)
        self._connection = ServerConnection(settings, self._notes, self._take_tools)
        self._calls = RemoteCalls(self._connection, settings, self._notes)
        self._background: BackgroundLoop | None = None
        self._accepted = None if settings.wait_for_tools else AcceptedTools()
        self._judges: dict[str, tuple[Definition, Judge]] = {}
        """By the server's names: the validators of what its tools return."""
        self._version = 0
        self.protocol_version = ""
        self.instructions = ""
        """The server's instructions for models. Untrusted, and shown to none."""

    async def open(self) -> Self:
        """Start it and list its tools. Raises TransportError, ProtocolError or UsageError."""
        await self._connection.open()
        return self

    async def close(self) -> None:
        """Close it, and end its process. Takes bounded time, and can be called again."""
        await self._calls.close()
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __enter__(self) -> Self:
        self._background = BackgroundLoop(f"mcp {self.name}")
        try:
            self._background.run(self.open())
        except BaseException:
            self._background.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._background is not None
        try:
            self._background.run(self.close())
        finally:
            self._background.stop()

    @property
    def version(self) -> int:
        """Changes whenever the tools change."""
        return self._version

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools_now().tools)

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The tools as the server lists them, including those that are refused here."""
        return self._tools_now().listing.definitions

    @property
    def refused(self) -> dict[str, str]:
        """The tools that are not offered, by the server's names, and why."""
        return dict(self._tools_now().refused)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Passages in the definitions that give the model instructions instead of describing a tool."""
        return self._tools_now().findings

    @property
    def notes(self) -> tuple[Note, ...]:
        """Recent notes: the server's log, changes, losses."""
        return self._notes.recent_notes()

    async def resources(self) -> tuple[ListedResource, ...]:
        """Its resources, and its templates of resources. Raises ToolFailure, as all of these do."""
        return await list_resources(self._calls.fetch)

    async def read(self, uri: str) -> tuple[Media, ...]:
        """A resource, as attachments for a prompt: ``agent.run(["Sum up", *await server.read(uri)])``.

        They say whose words they are, unless the server's results are trusted.
        """
        source = "" if "results" in self._settings.trust else f"the server {self.name}"
        return await read_resource(self._calls.fetch, uri, source)

    async def resource_tools(self) -> Toolbox:
        """Tools that read its resources as they are now: one for each template, and one for the rest."""
        return Toolbox(resource_tools(await self.resources(), self._calls.fetch, self._settings))

    @asynccontextmanager
    async def watch(self, *uris: str) -> AsyncIterator[AsyncIterator[str]]:
        """Subscribe to resources; the iterator gives the address of each that may have changed."""
        loop = asyncio.get_running_loop()
        changed: asyncio.Queue[str | None] = asyncio.Queue()

        def note(uri: str | None) -> None:
            if changed.qsize() < _MOST_CHANGED:
                changed.put_nowait(uri)

        def tell(uri: str | None) -> None:
            loop.call_soon_threadsafe(note, uri)

        async def iterate() -> AsyncIterator[str]:
            while not following.done():
                uri = await changed.get()
                if uri is not None:
                    yield uri
            following.result()

        home = self._connection.bring_home
        following = asyncio.ensure_future(home(lambda: self._connection.follow(uris, tell)))
        following.add_done_callback(lambda _: note(None))
        try:
            # The first is None: it is subscribed, or has failed.
            await changed.get()
            if following.done():
                following.result()
            yield iterate()
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError, ToolFailure):
                await following

    async def prompts(self) -> tuple[ListedPrompt, ...]:
        """Its prompts."""
        return await list_prompts(self._calls.fetch)

    async def prompt(self, name: str, **arguments: str) -> tuple[Message, ...]:
        """A prompt as messages: the last for ``agent.run``, those before it for its ``history``.

        Unless its descriptions are trusted, it is one message, with the server's words attached.
        """
        trusted = "descriptions" in self._settings.trust
        return await get_prompt(self._calls.fetch, name, arguments, self.name, trusted=trusted)

    async def complete(
        self, subject: ListedPrompt | ListedResource, argument: str, value: str = "", **given: str
    ) -> tuple[str, ...]:
        """What the server suggests for an argument of a prompt or template; ``given`` are the others."""
        return await complete(self._calls.fetch, subject, argument, value, given)

    async def call(self, name: str, arguments: JsonObject | None = None) -> Any:
        """Call a tool by the server's own name for it, without any gate. Raises ToolFailure."""
        known = (each for each in self._tools_now().listing.definitions if each.name == name)
        definition = next(known, None) or Definition(name=name, parameters={"type": "object"})
        return await self._put(definition, arguments or {}, "write", None)

    def _tools_now(self) -> AcceptedTools:
        if self._accepted is None:
            raise UsageError(
                f"the server {self.name} is not open; use it inside async with connect(...)"
            )
        return self._accepted

    async def _take_tools(self, client: Client) -> None:
        """Take the server's current tools. Refuse them if they differ from those that were approved."""
        listing = await fetch(client)
        self.protocol_version = client.protocol_version
        self.instructions = client.instructions or ""
        before = self._accepted
        if before is not None and listing == before.listing:
            return
        refusal = ""
        pins = self._settings.pins
        if pins is not None and (differences := pins.differences(self.name, listing.definitions)):
            listed = "; ".join(map(str, differences[:10]))
            refusal = (
                f"the server {self.name} is not as it was approved: {listed}. See: rightcall mcp verify"
            )
        if refusal and before is None:
            raise UsageError(refusal)
        if refusal:
            self._notes.add("refused", refusal)
            refused = {each.name: refusal for each in listing.definitions}
            self._accepted = AcceptedTools(listing=listing, refused=refused)
        else:
            # Every definition is searched for instructions to the model: a thousand take long.
            work = partial(accept_tools, listing, self._settings, self._put)
            is_long = len(listing.definitions) > _FEW
            self._accepted = await asyncio.to_thread(work) if is_long else work()
        self._judges = {}
        self._version += 1
        # Note what is new: changed tools, new names, and refusals.
        accepted = self._accepted
        if before is not None:
            self._notes.add("changed", f"the server offers {len(accepted.tools)} tools now")
        known = before or AcceptedTools()
        for own, here in accepted.names.items() - known.names.items():
            if own != here:
                self._notes.add("renamed", f"{own} is called {here} here")
        for tool, reason in accepted.refused.items() - known.refused.items():
            self._notes.add("refused", f"{tool}: {reason}")
        stated = {} if self._settings.facts is None else self._settings.facts.tools
        for tool in stated.keys() - accepted.names.keys():
            self._notes.add("refused", f"facts of {tool}: the server has no such tool")

    async def _put(
        self, definition: Definition, arguments: JsonObject, effect: Effect, context: Context[Any] | None
    ) -> Any:
        # The validator of a tool's output, built once: that takes longer than a call.
        output = None
        if definition.output is not None:
            known = self._judges.get(definition.name)
            if known is None or known[0] is not definition:
                known = self._judges[definition.name] = (definition, validator_for(definition.output))
            output = known[1]
        progress = None if context is None else context.progress
        answer = await self._calls.call(definition.name, arguments, effect, progress)
        if isinstance(output, DeadlineValidator):
            return await tool_threads().run(partial(value_of, answer, output), AbandonableJob())
        return value_of(answer, output)


class Group(LiveView):
    """The current tools of several servers."""

    def __init__(self, servers: Mapping[str, Server]) -> None:
        super().__init__(self)
        self.servers: dict[str, Server] = {}
        """The servers that are open."""
        self.failed: dict[str, RightcallError] = {}
        """The servers that could not be opened, and why."""
        self._all = servers
        self._views: tuple[LiveView, ...] = ()

    @property
    def version(self) -> int:
        """Changes whenever the tools change."""
        return sum(view.version for view in self._views)

    def __iter__(self) -> Iterator[Tool]:
        for view in self._views:
            yield from view

    async def __aenter__(self) -> Self:
        tasks = {name: asyncio.ensure_future(server.open()) for name, server in self._all.items()}
        try:
            if tasks:
                await asyncio.wait(tasks.values())
        except asyncio.CancelledError:
            for task in tasks.values():
                task.cancel()
            await asyncio.wait(tasks.values())
            await self._close()
            raise
        for name, task in tasks.items():
            error = task.exception()
            if error is None:
                self.servers[name] = self._all[name]
            elif isinstance(error, RightcallError):
                self.failed[name] = error
            else:
                await self._close()
                raise error
        self._views = tuple(server.prefix(f"{fit_name(name)}_") for name, server in self.servers.items())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        await asyncio.gather(*(server.close() for server in self._all.values()))


def name_of(target: Endpoint) -> str:
    """The name of a server that was given none."""
    if isinstance(target, Http):
        return fit_name(urlsplit(target.url).hostname or "server")
    return fit_name(PurePath(target.command).name)
