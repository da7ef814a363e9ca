"""A vendor on loopback that says what a script says, in Anthropic's or OpenAI's own form, streamed.

Which line of the script comes next is told by the request itself: one for each reply that the
conversation holds already. So any number of programs, or of users at once, can follow one script.
"""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from aiohttp import web

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

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """One exchange."""
        body = await request.json()
        self.requests.append(body)
        if self.status != 200:
            kind = _ERRORS[self.status]
            error = {"type": "error", "error": {"type": kind, "message": kind}}
            return web.json_response(error, status=self.status)
        said = self._next(body)
        anthropic = request.path.endswith("/messages")
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for name, event in _anthropic(said) if anthropic else _chat(said):
            line = f"event: {name}\n" if name else ""
            await response.write(f"{line}data: {json.dumps(event)}\n\n".encode())
        if not anthropic:
            await response.write(b"data: [DONE]\n\n")
        return response

    def _next(self, body: dict[str, Any]) -> Said:
        if callable(self._script):
            return self._script(body)
        at = sum(message["role"] == "assistant" for message in body["messages"])
        return self._script[min(at, len(self._script) - 1)]


@asynccontextmanager
async def vendor(script: Script, status: int = 200) -> AsyncIterator[Vendor]:
    """A vendor that answers as long as this lasts."""
    found = Vendor(script, status)
    app = web.Application()
    app.router.add_post("/{path:.*}", found.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    found.url = f"http://{host}:{port}"
    try:
        yield found
    finally:
        await runner.cleanup()


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


def _chat(said: Said) -> list[tuple[str, dict[str, Any]]]:
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
        ("", {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
        ("", {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]}),
        ("", {**chunk, "choices": [], "usage": usage}),
    ]
