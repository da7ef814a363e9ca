"""The SDK's and the network's errors into ours: for the developer who connects, and for the model.

This is the border: no other error of the SDK passes it.
"""

from collections.abc import Iterator

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
)
from pydantic import ValidationError

from rightcall.core.tool import Effect
from rightcall.errors import (
    ProtocolError,
    RightcallError,
    ToolFailure,
    TransportError,
    TransportTimeout,
)
from rightcall.mcp.client.settings import Settings


def explain(error: Exception, settings: Settings, why: str) -> RightcallError:
    """Why a server could not be connected to, or was lost. ``why`` is what the transport knows of it."""
    cause = next(_leaves(error), error)
    name = settings.name
    if isinstance(cause, RightcallError):
        return cause
    if why:
        found: RightcallError = TransportError(f"the server {name} {why}")
    elif isinstance(cause, TimeoutError):
        found = TransportTimeout(
            f"the server {name} was not ready within {settings.connect_timeout:g} s; "
            "connect_timeout= gives it longer"
        )
    elif isinstance(cause, httpx2.HTTPError | OAuthFlowError | OSError):
        found = TransportError(f"the server {name} cannot be reached: {_words(cause)}")
    elif isinstance(cause, MCPError):
        found = ProtocolError(f"the server {name} refused the connection: {_words(cause)}")
    else:
        found = ProtocolError(f"the server {name} does not speak MCP as agreed: {_words(cause)}")
    found.__cause__ = error
    return found


def _leaves(error: BaseException) -> Iterator[Exception]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    elif isinstance(error, Exception):
        yield error


def _words(error: Exception) -> str:
    return str(error)[:500] or type(error).__name__


def is_closed(error: MCPError) -> bool:
    """Whether the connection ended under a request.

    The SDK marks it by code and words alone, and servers send the same code for errors of their own,
    which JSON-RPC leaves to them.
    """
    return error.code == CONNECTION_CLOSED and error.message == "Connection closed"


def is_unknown(error: MCPError) -> bool:
    """Whether the server may not have the tool any more."""
    return error.code in {INVALID_PARAMS, METHOD_NOT_FOUND}


def failure_of(error: Exception, server: str, effect: Effect) -> ToolFailure:
    """What a call failed with, in words for the model."""
    harmless = effect != "write"
    match error:
        case MCPError() if is_closed(error):
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
            return ToolFailure(f"The server's answer cannot be used: {_words(error)}")


def _in_doubt(effect: Effect) -> str:
    if effect != "write":
        return "It can be called again."
    return "It may have done its work. Find out before calling it again."
