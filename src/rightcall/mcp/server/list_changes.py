"""Lists of a server page by page, and word to clients that one of them, or a resource, has changed.

Since 2026-07-28 a client listens by a request that stays open, which the SDK serves from a bus. Before,
a server tells every session that asked; which those are is remembered here, up to a number of them.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import event_to_notification
from mcp_types import (
    INVALID_PARAMS,
    EmptyResult,
    PaginatedRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from rightcall.mcp.server.remote_client import session_of

T = TypeVar("T")
_MOST_URIS = 1000
_EVENTS: Mapping[str, type[ToolsListChanged | ResourcesListChanged | PromptsListChanged]] = {
    "tools": ToolsListChanged,
    "resources": ResourcesListChanged,
    "prompts": PromptsListChanged,
}


class NotifyingServer(Server[Any]):
    """The SDK's server, which tells older clients, too, that it announces changes."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """What a client is told at first."""
        every = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().create_initialization_options(
            notification_options or every, experimental_capabilities, extensions
        )


class Changes:
    """Tells clients what has changed."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self._bus, max_subscriptions=most)
        self._sessions: OrderedDict[str, tuple[Any, set[str]]] = OrderedDict()
        """Of the older protocols: by id, and the resources that each subscribed to."""

    def note(self, context: ServerRequestContext[Any, Any]) -> set[str]:
        """Remember the client of a request, if it is told in the older way; returns its resources."""
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return set()
        name = session_of(context)
        _, uris = self._sessions.get(name, (None, set()))
        self._sessions[name] = (context.session, uris)
        self._sessions.move_to_end(name)
        if len(self._sessions) > self._most:
            self._sessions.popitem(last=False)
        return uris

    async def subscribe(
        self, context: ServerRequestContext[Any, Any], params: SubscribeRequestParams
    ) -> EmptyResult:
        """Handle ``resources/subscribe``."""
        uris = self.note(context)
        if len(uris) >= _MOST_URIS:
            raise MCPError(INVALID_PARAMS, f"more than {_MOST_URIS} subscriptions of one client")
        uris.add(str(params.uri))
        return EmptyResult()

    async def unsubscribe(
        self, context: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams
    ) -> EmptyResult:
        """Handle ``resources/unsubscribe``."""
        self.note(context).discard(str(params.uri))
        return EmptyResult()

    async def announce(self, what: Literal["tools", "resources", "prompts"]) -> None:
        """Tell every client that a list has changed."""
        await self._tell(_EVENTS[what](), [*self._sessions])

    async def update(self, uri: str) -> None:
        """Tell who subscribed to a resource that it has changed."""
        subscribed = [name for name, (_, uris) in self._sessions.items() if uri in uris]
        await self._tell(ResourceUpdated(uri=uri), subscribed)

    async def _tell(self, event: ServerEvent, names: list[str]) -> None:
        await self._bus.publish(event)
        for name in names:
            try:
                await self._sessions[name][0].send_notification(event_to_notification(event, {}))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                self._sessions.pop(name, None)


def page_of(
    entries: list[T], params: PaginatedRequestParams | None, size: int
) -> tuple[list[T], str | None]:
    """The entries that a client's cursor points to, and the cursor of the next."""
    start = 0
    if params is not None and params.cursor is not None:
        cursor = params.cursor
        if not cursor.isdecimal() or not 0 < int(cursor) < len(entries):
            raise MCPError(INVALID_PARAMS, "there is no such page; list from the beginning")
        start = int(cursor)
    end = start + size
    if end < len(entries):
        return entries[start:end], str(end)
    return entries[start:], None
