"""Messages of the older protocols over HTTP, kept for a while: a client whose connection broke resumes.

The SDK keeps one store for all sessions, and its streams have the same names in each of them. So what
is kept is kept by session, known from the request that opened it, and ids of events cannot be guessed.
"""

from collections import OrderedDict
from contextvars import ContextVar
from secrets import token_urlsafe

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SESSION = b"mcp-session-id"
_session: ContextVar[str] = ContextVar("rightcall_mcp_session", default="")
_OVERHEAD = 600
"""Bytes that a kept event takes beside its message."""


class RecentEvents(EventStore):
    """The last events of all sessions, within so many bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._size = 0
        self._events: OrderedDict[str, tuple[str, str, bytes]] = OrderedDict()
        """By id: the session, the stream and the message, oldest first."""
        self._sessions: dict[str, dict[str, None]] = {}
        """By session: the ids of its events."""

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep a message; returns its id."""
        data = b""
        if message is not None:
            data = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        name = token_urlsafe(16)
        session = _session.get()
        self._events[name] = (session, stream_id, data)
        self._sessions.setdefault(session, {})[name] = None
        self._size += len(data) + _OVERHEAD
        while self._size > self._most and self._events:
            self._forget_event(next(iter(self._events)))
        return name

    def forget(self, session: str) -> None:
        """Forget the events of a session that has ended."""
        for name in [*self._sessions.get(session, ())]:
            self._forget_event(name)

    def _forget_event(self, name: str) -> None:
        session, _, data = self._events.pop(name)
        self._size -= len(data) + _OVERHEAD
        del self._sessions[session][name]
        if not self._sessions[session]:
            del self._sessions[session]

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what followed an event in its stream; returns the stream, or None if it is not known."""
        known = self._events.get(last_event_id)
        if known is None or known[0] != _session.get():
            return None
        session, stream, _ = known
        has_come = False
        for name in [*self._sessions[session]]:
            _, which, data = self._events.get(name, ("", "", b""))
            if has_come and which == stream and data:
                message = jsonrpc_message_adapter.validate_json(data, by_name=False)
                await send_callback(EventMessage(message, name))
            has_come = has_come or name == last_event_id
        return stream


class SessionNames:
    """Says to which session a request belongs, for ``RecentEvents``."""

    def __init__(self, app: ASGIApp, events: RecentEvents, most: int) -> None:
        self._app = app
        self._events = events
        self._most = most
        self._names: OrderedDict[bytes, str] = OrderedDict()
        """By session: what its opening request was called, which the session's own task goes by."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(_SESSION, b"")
        name = self._names.get(given) or token_urlsafe(16)

        async def send_and_note(message: Message) -> None:
            if not given and message["type"] == "http.response.start":
                opened = dict(message.get("headers", ())).get(_SESSION)
                if opened is not None:
                    self._names[opened] = name
                    if len(self._names) > self._most:
                        self._names.popitem(last=False)
            await send(message)

        before = _session.set(name)
        try:
            await self._app(scope, receive, send_and_note)
        finally:
            _session.reset(before)
            if scope["method"] == "DELETE" and self._names.pop(given, ""):
                self._events.forget(name)
