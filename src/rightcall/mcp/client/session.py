"""The settings of a connection into the SDK's client: its transport, and what a server may ask of us."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Protocol

from mcp.client._transport import TransportStreams
from mcp.client.client import Client
from mcp.client.context import ClientRequestContext
from mcp.client.session import IncomingMessage, ListRootsFnT
from mcp_types import (
    Implementation,
    ListRootsResult,
    LoggingMessageNotificationParams,
    Root,
    ToolListChangedNotification,
)
from pydantic import FileUrl

from rightcall.core.jsontext import shorten
from rightcall.mcp.client.elicitation import Elicitation
from rightcall.mcp.client.http import http_streams
from rightcall.mcp.client.notes import Notes
from rightcall.mcp.client.sampling import Sampler
from rightcall.mcp.client.settings import Settings
from rightcall.mcp.client.sieve import sieved
from rightcall.mcp.client.stdio import stdio_streams
from rightcall.mcp.client.target import Http

_LONGEST_LOG = 1000


class Watcher(Protocol):
    """Who is told what becomes of a connection."""

    def ended(self, reason: str) -> None:
        """No more can come from the server."""

    def forgotten(self) -> None:
        """The server does not know our session any more."""

    def changed(self) -> None:
        """The server's tools may not be what they were."""


def client_of(settings: Settings, notes: Notes, sampler: Sampler | None, watcher: Watcher) -> Client:
    """The SDK's client, not opened yet."""

    async def log(params: LoggingMessageNotificationParams) -> None:
        source = f"{params.logger}: " if params.logger else ""
        text = params.data if isinstance(params.data, str) else shorten(params.data, _LONGEST_LOG)
        notes.add("log", f"{params.level}: {source}{text}")

    async def hear(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            watcher.changed()
        elif isinstance(message, Exception):
            notes.add("garbage", str(message))

    elicitation = None
    if settings.approve is not None:
        elicitation = Elicitation(settings.name, settings.approve, notes)
    return Client(
        _streams(settings, notes, watcher),
        mode=settings.protocol,
        read_timeout_seconds=settings.connect_timeout,
        sampling_callback=sampler,
        elicitation_callback=elicitation,
        list_roots_callback=_roots(settings) if settings.roots else None,
        logging_callback=log,
        log_level="info",
        message_handler=hear,
        client_info=Implementation(name="rightcall", version=version("rightcall")),
        # A list is asked for when it may have changed, and must not come from a store then.
        cache=None,
    )


@asynccontextmanager
async def _streams(
    settings: Settings, notes: Notes, watcher: Watcher
) -> AsyncIterator[TransportStreams]:
    target, most = settings.target, settings.max_message_bytes
    if isinstance(target, Http):
        if target.is_exposed:
            notes.add(
                "garbage", f"{target.url} is not encrypted: headers and tokens can be read on the way"
            )
        async with http_streams(target, max_message_bytes=most, forgotten=watcher.forgotten) as streams:
            yield sieved(streams)
        return

    def garbage(line: str) -> None:
        notes.add("garbage", f"a line that is no message: {line}")

    async with stdio_streams(
        target, max_message_bytes=most, ended=watcher.ended, garbage=garbage
    ) as streams:
        yield sieved(streams)


def _roots(settings: Settings) -> ListRootsFnT:
    listed = [Root(uri=FileUrl(path.as_uri()), name=path.name) for path in settings.roots]

    async def roots(context: ClientRequestContext) -> ListRootsResult:  # noqa: ARG001 - the SDK's port
        return ListRootsResult(roots=listed)

    return roots
