"""One reply of 50,000 small argument deltas over loopback: rightcall, the SDKs, and bare parsing.

The server is another process that sends precomputed bytes. CPU time of the client is what counts. The
floor is aiohttp and msgspec alone: read chunks, split events, parse each one's JSON, join the fragments.
"""

import asyncio
import multiprocessing
import platform
import socket
import statistics
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

import aiohttp
import anthropic
import msgspec
import openai

import rightcall as rc
from rightcall.core.events import CallEnd, ReplyEnd
from rightcall.core.message import user_text
from rightcall.core.request import Request
from rightcall.core.tool import Spec

DELTAS = 50_000
ROUNDS = 3
KEY = "no-key-is-needed"
PIECE = "abc "


def event(value: object, name: str = "") -> bytes:
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + msgspec.json.encode(value) + b"\n\n"


def chat() -> bytes:
    def chunk(delta: object, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return event(
            {
                "id": "c",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "m",
                "choices": [choice],
            }
        )

    def arguments(text: str) -> object:
        return {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}

    function = {"name": "write", "arguments": ""}
    start = {"index": 0, "id": "call_1", "type": "function", "function": function}
    return b"".join(
        [
            chunk({"role": "assistant", "content": None, "tool_calls": [start]}),
            chunk(arguments('{"text": "')),
            *[chunk(arguments(PIECE))] * DELTAS,
            chunk(arguments('"}')),
            chunk({}, "tool_calls"),
            b"data: [DONE]\n\n",
        ]
    )


def messages() -> bytes:
    def delta(text: str) -> bytes:
        inner = {"type": "input_json_delta", "partial_json": text}
        return event({"type": "content_block_delta", "index": 0, "delta": inner}, "content_block_delta")

    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
    start = {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}
    block = {"type": "tool_use", "id": "toolu_1", "name": "write", "input": {}}
    stop = {"stop_reason": "tool_use", "stop_sequence": None}
    return b"".join(
        [
            event({"type": "message_start", "message": start}, "message_start"),
            event(
                {"type": "content_block_start", "index": 0, "content_block": block},
                "content_block_start",
            ),
            delta('{"text": "'),
            *[delta(PIECE)] * DELTAS,
            delta('"}'),
            event({"type": "content_block_stop", "index": 0}, "content_block_stop"),
            event(
                {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 9}}, "message_delta"
            ),
            event({"type": "message_stop"}, "message_stop"),
        ]
    )


def serve(listener: socket.socket) -> None:
    """Answer every request with the bytes that its path asks for, in pieces of 16 KiB."""

    def chunked(body: bytes) -> bytes:
        pieces = [body[at : at + 16384] for at in range(0, len(body), 16384)]
        return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"

    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    answers = {b"chat": head + chunked(chat()), b"messages": head + chunked(messages())}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.split(b":")[1])
                    for line in request.split(b"\r\n")
                    if line.lower().startswith(b"content-length")
                )
                await reader.readexactly(length)
                writer.write(answers[b"messages" if b"/messages" in request else b"chat"])
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        async with await asyncio.start_server(answer, sock=listener):
            await asyncio.Event().wait()

    asyncio.run(main())


SPEC = Spec(name="write", description="Write.", parameters={"type": "object", "properties": {}})
TOOL: Any = {"type": "function", "function": {"name": "write", "parameters": {"type": "object"}}}
SIZE = DELTAS * len(PIECE) + len('{"text": ""}')


async def with_rightcall(name: str, url: str) -> int:
    model = rc.connect(name, base_url=url, api_key=KEY)
    size = 0
    async for each in model.stream(Request(messages=(user_text("Write."),), specs=(SPEC,))):
        if isinstance(each, CallEnd):
            size = len(each.call.arguments)
        elif isinstance(each, ReplyEnd):
            assert each.reply.stop == "calls"
    await model.close()
    return size


async def bare(url: str, path: str, read: Callable[[dict[str, object]], str]) -> int:
    decode = msgspec.json.Decoder().decode
    rest, fragments = b"", []
    async with aiohttp.ClientSession() as session, session.post(url + path, data=b"{}") as response:
        async for chunk in response.content.iter_any():
            *events, rest = (rest + chunk).split(b"\n\n")
            for each in events:
                data = each[each.index(b"data: ") + 6 :]
                if data != b"[DONE]":
                    fragments.append(read(decode(data)))
    return len("".join(fragments))


def chat_fragment(value: dict) -> str:  # type: ignore[type-arg]
    calls = value["choices"][0]["delta"].get("tool_calls")
    return calls[0]["function"]["arguments"] if calls else ""


def messages_fragment(value: dict) -> str:  # type: ignore[type-arg]
    return value["delta"]["partial_json"] if value["type"] == "content_block_delta" else ""


async def with_openai(url: str) -> int:
    client = openai.AsyncOpenAI(api_key=KEY, base_url=url)
    fragments: list[str] = []
    stream: Any = await client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "Write."}], stream=True, tools=[TOOL]
    )
    async for chunk in stream:
        calls = chunk.choices[0].delta.tool_calls or ()
        fragments.extend(part.function.arguments or "" for part in calls)
    await client.close()
    return len("".join(fragments))


async def with_anthropic(url: str) -> int:
    client = anthropic.AsyncAnthropic(api_key=KEY, base_url=url)
    stream = await client.messages.create(
        model="m", max_tokens=9, messages=[{"role": "user", "content": "Write."}], stream=True
    )
    fragments = [
        each.delta.partial_json
        async for each in stream
        if each.type == "content_block_delta" and each.delta.type == "input_json_delta"
    ]
    await client.close()
    return len("".join(fragments))


async def measure(work: Callable[[], Awaitable[int]]) -> float:
    cpu = time.process_time()
    size = await work()
    used = time.process_time() - cpu
    assert size == SIZE, (size, SIZE)
    return used


async def compare(url: str) -> None:
    rows: dict[str, dict[str, Callable[[], Awaitable[int]]]] = {
        "OpenAI Chat": {
            "bare: aiohttp + msgspec": lambda: bare(url, "/chat/completions", chat_fragment),
            "rightcall": lambda: with_rightcall("openai:m", url),
            f"openai SDK {version('openai')}": lambda: with_openai(url),
        },
        "Anthropic Messages": {
            "bare: aiohttp + msgspec": lambda: bare(url, "/v1/messages", messages_fragment),
            "rightcall": lambda: with_rightcall("anthropic:m", url),
            f"anthropic SDK {version('anthropic')}": lambda: with_anthropic(url),
        },
    }
    for dialect, works in rows.items():
        times: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(ROUNDS):
            for name, work in works.items():
                times[name].append(await measure(work))
        floor, ours, theirs = (statistics.median(samples) for samples in times.values())
        print(f"{dialect}: {DELTAS:,} deltas, median of {ROUNDS}")
        for name, samples in times.items():
            median = statistics.median(samples)
            rate = f"{DELTAS / median:12,.0f} events/s"
            print(f"  {name:28} {median:6.2f} s CPU {rate} {median / floor:6.2f} x bare")
        print(
            f"  {theirs / ours:.1f} times the SDK's rate (aim: 10), {ours / floor:.2f} x bare (aim: 2)"
        )


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = multiprocessing.get_context("fork").Process(target=serve, args=(listener,), daemon=True)
    server.start()
    libraries = f"aiohttp {version('aiohttp')}, msgspec {version('msgspec')}"
    print(f"Python {platform.python_version()}, {libraries}")
    asyncio.run(compare(url))
    server.terminate()


if __name__ == "__main__":
    main()
