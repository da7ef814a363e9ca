"""The upstream of ``bench/gateway.py``: the same words in every dialect, written beforehand.

``python gateway_upstream.py PORT PAUSE``, the pause in seconds between two events of a stream.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from functools import lru_cache
from typing import Any

import uvicorn

WORDS = 60
Json = dict[str, Any]


def data(event: Json, name: str = "") -> bytes:
    """One event of a stream."""
    return (
        (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(event).encode() + b"\n\n"
    )


def chat(said: list[str]) -> Iterator[bytes]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "up"}

    def chunk(delta: Json, finish: str | None = None) -> bytes:
        return data({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": ""})
    yield from (chunk({"content": each}) for each in said)
    yield chunk({}, "stop")
    yield b"data: [DONE]\n\n"


def chat_whole(said: str) -> Json:
    choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 20, "completion_tokens": WORDS, "total_tokens": 20 + WORDS}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "up"}
    return {**head, "choices": [choice], "usage": usage}


def message(content: list[Json], stop: str | None) -> Json:
    usage = {"input_tokens": 20, "output_tokens": WORDS if stop else 1}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "up"}
    return {**head, "content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage}


def messages(said: list[str]) -> Iterator[bytes]:
    def event(kind: str, **rest: Any) -> bytes:
        return data({"type": kind, **rest}, kind)

    yield event("message_start", message=message([], None))
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for each in said:
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": each})
    yield event("content_block_stop", index=0)
    delta = {"stop_reason": "end_turn", "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": WORDS})
    yield event("message_stop")


def response(output: list[Json], status: str) -> Json:
    head = {"id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "up"}
    usage = {"input_tokens": 20, "output_tokens": WORDS, "total_tokens": 20 + WORDS}
    return {**head, "output": output, "usage": usage if output else None}


def item(text: str) -> Json:
    part = {"type": "output_text", "text": text, "annotations": []}
    head = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return {**head, "content": [part]}


def responses(said: list[str]) -> Iterator[bytes]:
    at = 0

    def event(kind: str, **rest: Any) -> bytes:
        nonlocal at
        at += 1
        return data({"type": kind, "sequence_number": at - 1, **rest}, kind)

    of, text = {"item_id": "msg_1", "output_index": 0, "content_index": 0}, "".join(said)
    whole = item(text)
    yield event("response.created", response=response([], "in_progress"))
    begun = {**whole, "status": "in_progress", "content": []}
    yield event("response.output_item.added", output_index=0, item=begun)
    empty = {"type": "output_text", "text": "", "annotations": []}
    yield event("response.content_part.added", **of, part=empty)
    for each in said:
        yield event("response.output_text.delta", **of, delta=each)
    yield event("response.output_text.done", **of, text=text)
    yield event("response.content_part.done", **of, part=whole["content"][0])
    yield event("response.output_item.done", output_index=0, item=whole)
    yield event("response.completed", response=response([whole], "completed"))


def content(text: str, finish: str | None) -> Json:
    candidate: Json = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    usage = {"promptTokenCount": 20, "candidatesTokenCount": WORDS, "totalTokenCount": 20 + WORDS}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "up", "responseId": "r"}


def gemini(said: list[str]) -> Iterator[bytes]:
    yield from (data(content(each, None)) for each in said)
    yield data(content("", "STOP"))


STREAMS = {"chat": chat, "messages": messages, "responses": responses, "gemini": gemini}
TEXT = "word " * WORDS
WHOLES = {
    "chat": chat_whole(TEXT),
    "messages": message([{"type": "text", "text": TEXT}], "end_turn"),
    "responses": response([item(TEXT)], "completed"),
    "gemini": content(TEXT, "STOP"),
}
WRITTEN = {dialect: json.dumps(whole).encode() for dialect, whole in WHOLES.items()}


@lru_cache
def streamed(dialect: str, words: int) -> tuple[bytes, ...]:
    return tuple(STREAMS[dialect]([f"word{at} " for at in range(words)]))


def asked_in(path: str) -> str:
    if "enerateContent" in path:
        return "gemini"
    return "chat" if path.endswith("completions") else path.rpartition("/")[2]


async def app(scope: Json, receive: Callable[[], Awaitable[Json]], send: Callable[[Json], Any]) -> None:
    body, more = b"", True
    while more:
        received = await receive()
        body += received.get("body", b"")
        more = received.get("more_body", False)
    asked, dialect = json.loads(body), asked_in(scope["path"])
    kind = b"application/json"
    is_stream = asked.get("stream") or ":stream" in scope["path"]
    pieces = [WRITTEN[dialect]]
    if is_stream:
        kind, pieces = b"text/event-stream", list(streamed(dialect, words_of(asked)))
    head = [(b"content-type", kind)]
    if not is_stream:
        head.append((b"content-length", str(len(pieces[0])).encode()))
    await send({"type": "http.response.start", "status": 200, "headers": head})
    for piece in pieces[:-1]:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        await asyncio.sleep(PAUSE)
    await send({"type": "http.response.body", "body": pieces[-1]})


def words_of(asked: Json) -> int:
    """How many words a stream is to have: the members say it that pass through any server."""
    config = asked.get("generationConfig") or {}
    most = asked.get("max_tokens") or asked.get("max_output_tokens") or config.get("maxOutputTokens")
    return int(most or WORDS)


if __name__ == "__main__":
    PAUSE = float(sys.argv[2])
    options: Json = {"log_level": "error", "access_log": False, "lifespan": "off", "backlog": 4096}
    # On a busy machine, the turns of the servers are further apart than uvicorn keeps connections.
    options["timeout_keep_alive"] = 600
    uvicorn.run(app, port=int(sys.argv[1]), **options)
