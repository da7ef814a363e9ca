"""A vendor on loopback that says what a script says, in Anthropic's or OpenAI's own form, streamed.

Which line of the script comes next is told by the request itself: one for each reply that the
conversation holds already. So any number of programs, or of users at once, can follow one script.

It is plain sockets, so that it also runs where rightcall is installed alone.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

Said: TypeAlias = str | list[tuple[str, dict[str, Any]]]
"""A reply: words, or calls by name and arguments."""
Script: TypeAlias = Sequence[Said] | Callable[[dict[str, Any]], Said]

_ERRORS = {401: "authentication_error", 529: "overloaded_error"}


class Vendor:
    """What was asked, and where."""

    def __init__(self, script: Script, status: int = 200) -> None:
        self._script = script
        self.status = status
        self.url = ""
        self.requests: list[dict[str, Any]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One exchange; the connection ends with it."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
            assert length, "the vendor reads bodies of a length that is told"
            body = json.loads(await reader.readexactly(int(length[1])))
            self.requests.append(body)
            writer.write(self._answer(head.split()[1].decode(), body))
            await writer.drain()
        finally:
            writer.close()

    def _answer(self, path: str, body: dict[str, Any]) -> bytes:
        if self.status != 200:
            kind = _ERRORS[self.status]
            error = {"type": "error", "error": {"type": kind, "message": kind}}
            return _head(self.status, "application/json") + json.dumps(error).encode()
        said = self._next(body)
        if path.endswith("/messages"):
            lines = [f"event: {name}\ndata: {json.dumps(event)}\n\n" for name, event in _anthropic(said)]
        else:
            lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in _chat(said)] + ["data: [DONE]\n\n"]
        return _head(200, "text/event-stream") + "".join(lines).encode()

    def _next(self, body: dict[str, Any]) -> Said:
        if callable(self._script):
            return self._script(body)
        at = sum(message["role"] == "assistant" for message in body["messages"])
        return self._script[min(at, len(self._script) - 1)]


@asynccontextmanager
async def vendor(script: Script, status: int = 200) -> AsyncIterator[Vendor]:
    """A vendor that answers as long as this lasts."""
    found = Vendor(script, status)
    async with await asyncio.start_server(found.serve, "127.0.0.1", 0) as listening:
        host, port = listening.sockets[0].getsockname()[:2]
        found.url = f"http://{host}:{port}"
        yield found


def _head(status: int, kind: str) -> bytes:
    return f"HTTP/1.1 {status} Said\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n".encode()


def _anthropic(said: Said) -> list[tuple[str, dict[str, Any]]]:
    usage = {"input_tokens": 1000, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if isinstance(said, str):
        pieces = [said[at : at + 12] for at in range(0, len(said), 12)]
        texts = [{"type": "text_delta", "text": piece} for piece in pieces]
        blocks.append(({"type": "text", "text": ""}, texts))
    else:
        for at, (name, arguments) in enumerate(said):
            start = {"type": "tool_use", "id": f"toolu_{name}_{at}", "name": name, "input": {}}
            blocks.append((start, [{"type": "input_json_delta", "partial_json": json.dumps(arguments)}]))
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**message, "usage": usage}}]
    for index, (start, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": each} for each in deltas]
        events.append({"type": "content_block_stop", "index": index})
    stop = "end_turn" if isinstance(said, str) else "tool_use"
    end = {"stop_reason": stop, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": 50}})
    events.append({"type": "message_stop"})
    return [(event["type"], event) for event in events]


def _chat(said: Said) -> list[dict[str, Any]]:
    delta: dict[str, Any] = {"role": "assistant", "content": said if isinstance(said, str) else None}
    if not isinstance(said, str):
        delta["tool_calls"] = [
            {
                "index": at,
                "id": f"call_{name}_{at}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for at, (name, arguments) in enumerate(said)
        ]
    stop = "stop" if isinstance(said, str) else "tool_calls"
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    usage = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
    return [
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]},
        {**chunk, "choices": [], "usage": usage},
    ]
