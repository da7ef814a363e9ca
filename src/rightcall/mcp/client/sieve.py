"""What a server answers into what the SDK's session is shown of it.

The session takes a list of tools whole or not at all, and checks results with the schemas in it. So
here, before it looks, each entry is judged by itself: one that is broken or hostile is taken out, with
the reason, and the schema of its results is put aside for our own validator, which is not led astray.
"""

from types import TracebackType
from typing import Any, Self

from mcp.client._transport import ReadStream, TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse, Tool
from pydantic import ValidationError

from rightcall.mcp.client.schemas import refuse

OUTPUT = "rightcall/output-schema"
"""Where in a tool's ``_meta`` the schema of its results is put."""
REFUSED = "rightcall/refused"
"""Where in a list's ``_meta`` the refused tools are, as pairs of name and reason."""
MOST_TOOLS = 2000
_MOST_REFUSED = 100
_LONGEST_NAME = 128
_LONGEST_DESCRIPTION = 16 * 1024


def sieved(streams: TransportStreams) -> TransportStreams:
    """The streams, with every list of tools sieved."""
    incoming, outgoing = streams
    return Sieve(incoming), outgoing


class Sieve:
    """A stream of messages, in which lists of tools hold only what can be used."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception]) -> None:
        self._stream = stream

    @property
    def last_context(self) -> Any:
        """The sender's context variables, where the stream below carries them."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        return _sieve(await self._stream.receive())

    async def aclose(self) -> None:
        """Close the stream below."""
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return _sieve(await self._stream.__anext__())

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._stream.__aexit__(kind, error, trace)


def _sieve(item: SessionMessage | Exception) -> SessionMessage | Exception:
    if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
        result = item.message.result
        # Of all results only a list of tools has this member.
        if isinstance(result.get("tools"), list):
            _sieve_list(result)
    return item


def _sieve_list(result: dict[str, Any]) -> None:
    kept: list[dict[str, Any]] = []
    refused: list[tuple[str, str]] = []
    for entry in result["tools"]:
        reason = _judge(entry) if len(kept) < MOST_TOOLS else "one too many"
        if reason is None:
            kept.append(_put_aside(entry))
        elif len(refused) < _MOST_REFUSED:
            refused.append((_name(entry), reason))
    result["tools"] = kept
    if refused:
        meta = result.get("_meta")
        result["_meta"] = (meta if isinstance(meta, dict) else {}) | {REFUSED: refused}


def _name(entry: object) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    return name[:_LONGEST_NAME] if isinstance(name, str) else "(without a name)"


def _judge(entry: object) -> str | None:
    """Why an entry of a list of tools cannot be used."""
    if not isinstance(entry, dict):
        return "it is no object"
    name, description, schema = (entry.get(key) for key in ("name", "description", "inputSchema"))
    if not isinstance(name, str) or not name or len(name) > _LONGEST_NAME:
        return f"its name is no text of 1 to {_LONGEST_NAME} characters"
    if isinstance(description, str) and len(description) > _LONGEST_DESCRIPTION:
        return f"its description has more than {_LONGEST_DESCRIPTION:,} characters"
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "its inputSchema is no schema of an object"
    if reason := refuse(schema):
        return f"its inputSchema {reason}"
    output = entry.get("outputSchema")
    if output is not None and (reason := refuse(output) if isinstance(output, dict) else "is no object"):
        return f"its outputSchema {reason}"
    try:
        Tool.model_validate(entry, by_name=False)
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return None


def _put_aside(entry: dict[str, Any]) -> dict[str, Any]:
    if "outputSchema" not in entry:
        return entry
    meta = entry.get("_meta")
    rest = {key: value for key, value in entry.items() if key != "outputSchema"}
    rest["_meta"] = (meta if isinstance(meta, dict) else {}) | {OUTPUT: entry["outputSchema"]}
    return rest
