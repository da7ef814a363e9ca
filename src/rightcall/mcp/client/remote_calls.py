"""A tool's arguments into a server's answer: sent once, and again only if nothing was done."""

from collections.abc import Callable
from typing import Any, TypeAlias

from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    CallToolResult,
)
from pydantic import ValidationError

from rightcall.core.facts import Effect
from rightcall.core.jsontext import JsonObject
from rightcall.errors import ToolFailure
from rightcall.mcp.client.connection import Connection
from rightcall.mcp.client.sdk_client import words_of

Progress: TypeAlias = Callable[[float, float | None, str], None]
_MOST_PROGRESS = 1000
_LONGEST_PROGRESS = 500
_BEYOND = 5.0
"""Seconds beyond a tool's own timeout, so that its executor times out first, with its own message."""


class RemoteCalls:
    """Sends calls to one server."""

    def __init__(self, connection: Connection, server: str, timeout: float) -> None:
        self._connection = connection
        self._server = server
        self._timeout = timeout + _BEYOND

    async def call(
        self, name: str, arguments: JsonObject, effect: Effect, progress: Progress | None = None
    ) -> CallToolResult:
        """The server's answer. Raises ToolFailure for everything else."""
        return await self._connection.bring_home(lambda: self._call(name, arguments, effect, progress))

    async def _call(
        self, name: str, arguments: JsonObject, effect: Effect, progress: Progress | None
    ) -> CallToolResult:
        client = await self._connection.ready()
        try:
            try:
                result = await self._ask(client, name, arguments, progress)
            except MCPError:
                if not self._connection.was_forgotten():
                    raise
                # The server did not know our session, so it has not run this call.
                self._connection.lose(client, "does not know our session any more")
                client = await self._connection.ready()
                result = await self._ask(client, name, arguments, progress)
        except MCPError as error:
            raise await self._failed(error, client, effect) from error
        self._connection.answered()
        await self._connection.settle()
        return result

    async def _ask(
        self, client: Client, name: str, arguments: JsonObject, progress: Progress | None
    ) -> CallToolResult:
        try:
            return await client.call_tool(
                name,
                dict(arguments),
                read_timeout_seconds=self._timeout,
                progress_callback=None if progress is None else _bounded(progress),
            )
        except MCPError:
            raise
        except (ValidationError, ValueError, RuntimeError, OSError) as error:
            raise failure_of(error, self._server, "write") from error

    async def _failed(self, error: MCPError, client: Client, effect: Effect) -> ToolFailure:
        if _is_closed(error):
            self._connection.lose(client, "closed the connection")
        if error.code in {INVALID_PARAMS, METHOD_NOT_FOUND}:
            # The server may no longer have the tool.
            await self._connection.look_again()
        return failure_of(error, self._server, effect)


def _bounded(progress: Progress) -> Any:
    """The SDK's progress callback, which ignores everything after the first thousand."""
    left = _MOST_PROGRESS

    async def report(done: float, total: float | None, message: str | None) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            progress(done, total, (message or "")[:_LONGEST_PROGRESS])

    return report


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
