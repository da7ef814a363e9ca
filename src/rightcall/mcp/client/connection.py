"""One server behind one task: opened, served, reopened when it is lost, and closed.

The SDK's scopes must be exited by the task that entered them, so one task owns the connection from its
beginning to its end. Calls come from any task, and from any event loop; each is sent to the server by a
task of its own in the owner's loop, so that its waiter can be cancelled at any time.

Once the connection was open, nothing that a server does raises here: a server that dies is noted, and
restarted after a pause.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Literal, TypeVar

import anyio
from mcp.client.client import Client
from mcp.client.subscriptions import ResourceUpdated, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import EmptyResult, SubscribeRequest, SubscribeRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec.structs import replace

from rightcall.errors import RightcallError, ToolFailure, TransportError, UsageError
from rightcall.mcp.client.callbacks import Sampler
from rightcall.mcp.client.endpoints import Endpoint, Http
from rightcall.mcp.client.note_log import NoteLog
from rightcall.mcp.client.oauth import OAuthSession, authorization_for
from rightcall.mcp.client.sdk_client import ClientEvents, client_of, explain, leaves
from rightcall.mcp.client.settings import ConnectionSettings

T = TypeVar("T")

_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 5.0
_REFRESH_PAUSE = 0.05
_REFRESH_SECONDS = 5.0
_LISTEN_PAUSE = 30.0
_HTTP_CLOSE_SECONDS = 3.0
_STDIO_CLOSE_SECONDS = 13.0
_LAST_SECONDS = 2.0
_KNOWS_US_NOT = {401, 403}


class ServerConnection:
    """The life of a connection. ``take_tools`` gets each opened client, and again when tools change."""

    def __init__(
        self,
        settings: ConnectionSettings,
        notes: NoteLog,
        take_tools: Callable[[Client], Awaitable[None]],
    ) -> None:
        self._settings = settings
        self._notes = notes
        self._take_tools = take_tools
        self._sampler = None if settings.sampling is None else Sampler(settings.sampling, notes)
        self._signals = Signals()
        self._tasks: dict[asyncio.Task[Any], asyncio.Future[None] | None] = {}
        """Everything under way, and who waits for its end."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._owner: asyncio.Task[None] | None = None
        self._client: Client | None = None
        self._opened: asyncio.Future[Client] | None = None
        """Resolves to the next client; every caller that needs one waits for it."""
        self._opening = False
        self._was_open = False
        self._lost = asyncio.Event()
        """Set when the client of now is lost."""
        self._watching: dict[Callable[[str | None], None], tuple[str, ...]] = {}
        self._losses = 0
        """How many clients were lost since the last successful answer."""
        self._resting_until: float | None = None
        self._forgotten = False
        self._status = 0
        """The HTTP status of the last answer, for a server over HTTP."""
        self._why = ""
        """Why the transport says that the client was lost: text that follows the server's name."""
        self._last = ""
        """Why the last client was lost, as a sentence."""
        self._login: OAuthSession | None = None
        self._by_handshake = _begins_by_handshake(settings)
        self._deadline: asyncio.Timeout | None = None
        """Of the opening, while it lasts."""

    async def open(self) -> None:
        """Start the server. Raises the error that keeps it from starting."""
        if self._owner is not None:
            raise UsageError(f"the server {self._settings.name} was opened before; connect anew")
        self._loop = asyncio.get_running_loop()
        self._opened = first = self._loop.create_future()
        self._owner = self._loop.create_task(self._own(), name=f"rightcall: mcp {self._settings.name}")
        try:
            await asyncio.shield(first)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the connection and end the server. Takes bounded time, and can be called again."""
        owner = self._owner
        loop = self._loop
        if owner is None or loop is None or loop.is_closed():
            return
        if loop is not asyncio.get_running_loop():
            await self.bring_home(self.close)
            return
        self._signals.close()
        if self._opening:
            # It waits for the server's first answer, up to the whole timeout.
            owner.cancel()
        is_http = isinstance(self._settings.target, Http)
        await asyncio.wait({owner}, timeout=_HTTP_CLOSE_SECONDS if is_http else _STDIO_CLOSE_SECONDS)
        if not owner.done():
            owner.cancel()
            await asyncio.wait({owner}, timeout=_LAST_SECONDS)

    async def bring_home(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run something in the owner's loop, from any loop. Cancelling the wait cancels it."""
        loop = self._loop
        if loop is None or loop.is_closed():
            raise ToolFailure(self._closed_message())
        if loop is not asyncio.get_running_loop():
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), loop))
        ended: asyncio.Future[None] = loop.create_future()
        task = self._start(_run_and_signal(work, ended), ended)
        try:
            # Not the task itself: a cancelled waiter does not wait until the task has ended.
            await ended
        except asyncio.CancelledError:
            task.cancel()
            raise
        return task.result()

    async def ready(self) -> Client:
        """The client, as soon as there is one. Raises ToolFailure if none can be waited for."""
        assert self._opened is not None
        assert self._loop is not None
        if self._signals.closing:
            raise ToolFailure(self._closed_message())
        if self._resting_until is not None:
            if self._loop.time() < self._resting_until:
                raise ToolFailure(self._unreachable())
            self._signals.want()
        return await asyncio.shield(self._opened)

    def lose(self, client: Client, reason: str) -> None:
        """Give up a client that is no longer usable, unless that was noticed already."""
        if self._client is client:
            self._handle_loss(reason)

    def note_answer(self) -> None:
        """Note that the server answered: earlier losses no longer count."""
        self._losses = 0

    @property
    def login_failure(self) -> str:
        """Why there is no valid token, as text that follows the server's name; empty if there is one."""
        if self._login is not None and self._login.failure:
            return f"cannot be logged in at: {self._login.failure}"
        return ""

    async def settle(self) -> None:
        """Wait until announced changes have been applied, so that the next turn has them."""
        await self._signals.wait_settled(_REFRESH_SECONDS)

    def was_forgotten(self) -> bool:
        """Whether the server has said, since this was last called, that our session is unknown."""
        forgotten = self._forgotten
        self._forgotten = False
        return forgotten

    async def look_again(self) -> None:
        """List the tools again, because they may have changed."""
        self._signals.change()
        await self.settle()

    async def follow(self, uris: Sequence[str], tell: Callable[[str | None], None]) -> None:
        """Tell of changes of resources until cancelled; of None each time that we are subscribed.

        Nothing is replayed, so after a lost connection every one of them may have changed.
        """
        is_first = True
        while True:
            client = await self.ready()
            lost = self._lost
            try:
                async with self._subscription(client, uris, tell):
                    tell(None)
                    for uri in () if is_first else uris:
                        tell(uri)
                    is_first = False
                    await lost.wait()
            except (SubscriptionLost, TimeoutError):
                await asyncio.sleep(_REFRESH_SECONDS)
            except MCPError as error:
                raise ToolFailure(f"The server {self._settings.name} refused: {error}") from error

    @asynccontextmanager
    async def _subscription(
        self, client: Client, uris: Sequence[str], tell: Callable[[str | None], None]
    ) -> AsyncIterator[None]:
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS:

            async def listen() -> None:
                async for event in subscription:
                    if isinstance(event, ResourceUpdated):
                        tell(event.uri)

            listening = client.listen(resource_subscriptions=uris)
            async with listening as subscription, anyio.create_task_group() as group:
                group.start_soon(listen)
                yield
                group.cancel_scope.cancel()
            return
        self._watching[tell] = tuple(uris)
        try:
            for uri in uris:
                await client.session.send_request(
                    SubscribeRequest(params=SubscribeRequestParams(uri=uri)), EmptyResult
                )
            yield
        finally:
            del self._watching[tell]

    def _note_update(self, uri: str) -> None:
        for tell, uris in self._watching.items():
            # A server may tell of a part of what is watched.
            if uri.startswith(uris):
                tell(uri)

    # Methods of the owner task.

    def _handle_loss(self, reason: str) -> None:
        """Handle the loss of the client: callers that need one wait for the next."""
        self._why = self._why or reason
        if self._client is not None and self._loop is not None:
            self._client = None
            self._lost.set()
            self._lost = asyncio.Event()
            self._opened = self._loop.create_future()
            self._signals.lose()

    @contextmanager
    def _waiting_for_person(self) -> Iterator[None]:
        """Stop the clock of the opening for as long as a person takes to log in."""
        deadline = self._deadline
        if deadline is not None:
            deadline.reschedule(None)
        try:
            yield
        finally:
            if deadline is not None and deadline is self._deadline:
                deadline.reschedule(asyncio.get_running_loop().time() + self._settings.connect_timeout)

    def _note_status(self, status: int) -> None:
        self._status = status

    def _note_forgotten(self) -> None:
        self._forgotten = True

    async def _own(self) -> None:
        try:
            while not self._signals.closing:
                by_handshake = self._by_handshake
                error = await self._live()
                if by_handshake != self._by_handshake:
                    continue
                self._last = str(error)
                if not self._was_open:
                    self._fail(error)
                    return
                if not self._signals.closing:
                    await self._pause()
        finally:
            self._signals.close()
            self._fail(ToolFailure(self._closed_message()))
            for task in self._tasks:
                task.cancel()

    async def _live(self) -> RightcallError:
        """Run one client until it ends; returns the error that ended it."""
        self._signals.begin()
        self._why = ""
        self._forgotten = False
        self._status = 0
        self._opening = True
        listening: asyncio.Task[None] | None = None
        target = self._settings.target
        auth = None
        self._login = None
        if isinstance(target, Http):
            auth = authorization_for(target, self._waiting_for_person)
        if isinstance(auth, OAuthSession):
            self._login = auth
        self._deadline = deadline = asyncio.timeout(self._settings.connect_timeout)
        try:
            async with (
                deadline,
                client_of(
                    replace(self._settings, protocol="legacy" if self._by_handshake else "newest"),
                    self._notes,
                    self._sampler,
                    auth,
                    ClientEvents(
                        ended=self._handle_loss,
                        forgotten=self._note_forgotten,
                        answered=self._note_status,
                        changed=self._signals.change,
                        updated=self._note_update,
                    ),
                ) as client,
            ):
                if self._settings.wait_for_tools:
                    await self._take_tools(client)
                else:
                    self._signals.change()
                self._deadline = None
                deadline.reschedule(None)
                assert self._opened is not None
                if self._was_open:
                    self._notes.add("reopened", "the server is there again")
                self._client = client
                self._opening = False
                self._was_open = True
                self._resting_until = None
                if not self._opened.done():
                    self._opened.set_result(client)
                if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    listening = self._start(self._listen(client))
                # Serve a client until it is lost or closed.
                while await self._signals.next() == "changed":
                    try:
                        await self._take_tools(client)
                    except (MCPError, RightcallError, ValueError) as error:
                        self._notes.add("changed", f"the tools could not be listed again: {error}")
                    self._signals.tell()
                    # A server that announces changes without end must not keep us busy without end.
                    await asyncio.sleep(_REFRESH_PAUSE)
        except Exception as error:  # noqa: BLE001 - the border: whatever the SDK and servers come up with
            is_first = self._opening and not self._was_open
            if is_first and self._by_handshake and self._settings.protocol == "auto":
                # A server may speak the newest protocol only.
                is_refused = any(isinstance(each, MCPError) for each in leaves(error))
                self._by_handshake = not is_refused or self._status in _KNOWS_US_NOT or is_sse(target)
            return explain(error, self._settings, self._why or self.login_failure, self._status)
        finally:
            self._opening = False
            self._handle_loss("")
            if listening is not None:
                listening.cancel()
        return TransportError(f"the server {self._settings.name} {self._why or 'was let go of'}")

    async def _listen(self, client: Client) -> None:
        """Subscribe to changes of the tools, as servers since 2026-07-28 announce them."""
        tools = client.server_capabilities.tools
        while tools is not None and tools.list_changed:
            try:
                async with client.listen(tools_list_changed=True) as subscription:
                    async for _ in subscription:
                        self._signals.change()
            except SubscriptionLost:
                self._signals.change()
            except (MCPError, TimeoutError) as error:
                self._notes.add("changed", f"the server does not tell of changed tools: {error}")
                return
            await asyncio.sleep(_LISTEN_PAUSE)

    async def _pause(self) -> None:
        """Wait before the next start: longer each time, and in the end until a caller needs it."""
        assert self._loop is not None
        self._losses += 1
        self._notes.add("lost", self._last)
        if self._losses <= self._settings.reconnects:
            await self._signals.pause(min(_FIRST_PAUSE * 4 ** (self._losses - 1), _LONGEST_PAUSE))
            return
        self._fail(ToolFailure(self._unreachable()))
        self._opened = self._loop.create_future()
        self._resting_until = self._loop.time() + self._settings.cool_down
        await self._signals.pause()

    def _fail(self, error: RightcallError) -> None:
        if self._opened is not None and not self._opened.done():
            self._opened.set_exception(error)
            # Mark the exception as retrieved: there may be no waiter.
            self._opened.exception()

    def _start(
        self, work: Coroutine[Any, Any, T], ended: "asyncio.Future[None] | None" = None
    ) -> "asyncio.Task[T]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = ended
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        ended = self._tasks.pop(task)
        if ended is not None and not ended.done():
            # It was cancelled before its first step.
            ended.set_result(None)
        if not task.cancelled():
            task.exception()

    def _closed_message(self) -> str:
        return f"The connection to the server {self._settings.name} is closed."

    def _unreachable(self) -> str:
        return f"The server {self._settings.name} cannot be used now: {self._last}."


def _begins_by_handshake(settings: ConnectionSettings) -> bool:
    """Whether to speak as before 2026: then servers can send requests, as most have to, to ask."""
    # A server of the older transport only knows the handshake of its time.
    if settings.protocol == "legacy" or is_sse(settings.target):
        return True
    return settings.protocol == "auto" and settings.may_be_asked


def is_sse(target: Endpoint) -> bool:
    """Whether a target speaks the older transport."""
    return isinstance(target, Http) and target.transport == "sse"


async def _run_and_signal(
    work: Callable[[], Coroutine[Any, Any, T]], ended: "asyncio.Future[None]"
) -> T:
    """Tell of the end in the last step: a callback of the task would come a turn of the loop later."""
    try:
        return await work()
    finally:
        if not ended.done():
            ended.set_result(None)


class Signals:
    """The signals that a connection's owner waits for: the end, a lost client, or changed tools.

    All in one event loop.
    """

    def __init__(self) -> None:
        self.closing = False
        self._lost = False
        self._changed = False
        self._looking = False
        """Whether a change is being applied, and waiters have not been woken yet."""
        self._looks = 0
        self._wanted = False
        self._bell = asyncio.Event()

    def begin(self) -> None:
        """A new client: reset the signals of the last one."""
        self._lost = self._changed = self._wanted = False
        self.tell()

    def close(self) -> None:
        """The connection is closed for good."""
        self.closing = True
        self._bell.set()

    def lose(self) -> None:
        """The client is no longer usable."""
        self._lost = True
        self._bell.set()

    def change(self) -> None:
        """The tools may have changed."""
        self._changed = True
        self._bell.set()

    def want(self) -> None:
        """A caller needs the server again."""
        self._wanted = True
        self._bell.set()

    def tell(self) -> None:
        """Wake those who wait for a change to be applied."""
        self._looking = False
        self._looks += 1
        self._bell.set()

    async def next(self) -> Literal["changed", "over"]:
        """Wait for the next signal of this client."""
        await self._until(lambda: self.closing or self._lost or self._changed)
        if self.closing or self._lost:
            return "over"
        self._changed = False
        self._looking = True
        return "changed"

    async def pause(self, seconds: float | None = None) -> None:
        """Wait until it is closed, so many seconds, or else until a caller needs the server."""
        await self._until(lambda: self.closing or (seconds is None and self._wanted), seconds)

    async def wait_settled(self, seconds: float) -> None:
        """Wait until an announced change has been applied, for at most so many seconds."""
        looks = self._looks
        if self._changed or self._looking:
            await self._until(lambda: self.closing or self._looks > looks, seconds)

    async def _until(self, has_come: Callable[[], bool], seconds: float | None = None) -> None:
        # Setting the event wakes all waiters, even when another one clears it first.
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not has_come():
                    self._bell.clear()
                    await self._bell.wait()
