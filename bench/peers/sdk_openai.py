"""OpenAI's SDK and a loop by hand, on chat completions.

Streamed replies come by ``create(stream=True)`` and are put together here, which is faster than the
SDK's ``stream()`` helper. The SDK's own limits stay, 1,000 connections of which 100 are kept when idle:
without them 1,000 runs at once take longer, as the pool looks through every connection that it keeps.
"""

import asyncio
import json
from typing import Any

from client import KEY, PROMPT, TOOL, Job, Run, get_weather, main
from openai import AsyncOpenAI

Message = dict[str, Any]
TOOLS: list[Any] = [{"type": "function", "function": TOOL}]
CLIENTS: list[AsyncOpenAI] = []


async def connect(job: Job, http: Any = None) -> AsyncOpenAI:
    """The client, which the frameworks on this SDK are given too; the last job's is closed."""
    for old in CLIENTS:
        await old.close()
    CLIENTS[:] = [AsyncOpenAI(base_url=job.base, api_key=KEY, timeout=600, http_client=http)]
    return CLIENTS[0]


async def streamed(client: AsyncOpenAI, messages: list[Any]) -> Message:
    """The next reply, from its chunks."""
    stream: Any = await client.chat.completions.create(
        model="m", messages=messages, tools=TOOLS, stream=True, stream_options={"include_usage": True}
    )
    texts: list[str] = []
    calls: list[tuple[str, str, list[str]]] = []
    async for chunk in stream:
        if not chunk.choices:
            continue
        delta = chunk.choices[0].delta
        if delta.content:
            texts.append(delta.content)
        for part in delta.tool_calls or ():
            if part.id:
                calls.append((part.id, part.function.name, []))
            calls[part.index][2].append(part.function.arguments)
    reply: Message = {"role": "assistant", "content": "".join(texts) or None}
    if calls:
        reply["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": "".join(parts)}}
            for call_id, name, parts in calls
        ]
    return reply


async def whole(client: AsyncOpenAI, messages: list[Any]) -> Message:
    """The next reply, at once."""
    completion = await client.chat.completions.create(model="m", messages=messages, tools=TOOLS)
    reply: Message = completion.choices[0].message.model_dump(exclude_none=True)
    return reply


async def result(call: Message) -> Message:
    """What one call came to."""
    arguments = json.loads(call["function"]["arguments"])
    return {"role": "tool", "tool_call_id": call["id"], "content": await get_weather(**arguments)}


async def prepare(job: Job, http: Any = None) -> Run:
    client = await connect(job, http)
    ask = streamed if job.streamed else whole

    async def run() -> str:
        messages: list[Message] = [{"role": "user", "content": PROMPT}]
        while True:
            reply = await ask(client, messages)
            if not reply.get("tool_calls"):
                return str(reply["content"])
            messages.append(reply)
            messages += await asyncio.gather(*[result(call) for call in reply["tool_calls"]])

    return run


if __name__ == "__main__":
    main(prepare)
