"""Anthropic's SDK and a loop by hand, on messages.

Streamed replies come by ``create(stream=True)``, as raw events, and are put together here. The SDK's own
limits stay, for the reason that ``sdk_openai`` gives.
"""

import asyncio
import json
from typing import Any

from anthropic import AsyncAnthropic
from client import KEY, PROMPT, TOOL, Job, Run, get_weather, main

Block = dict[str, Any]
TOOLS: list[Any] = [
    {"name": TOOL["name"], "description": TOOL["description"], "input_schema": TOOL["parameters"]}
]
TOKENS = 4096
CLIENTS: list[AsyncAnthropic] = []


async def connect(job: Job, http: Any = None) -> AsyncAnthropic:
    """The client, without its tracing; the last job's is closed."""
    for old in CLIENTS:
        await old.close()
    base = f"{job.url}/{job.work}"
    CLIENTS[:] = [
        AsyncAnthropic(base_url=base, api_key=KEY, timeout=600, open_telemetry=False, http_client=http)
    ]
    return CLIENTS[0]


async def streamed(client: AsyncAnthropic, messages: list[Any]) -> list[Block]:
    """The blocks of the next reply, from its events."""
    stream: Any = await client.messages.create(
        model="m", max_tokens=TOKENS, messages=messages, tools=TOOLS, stream=True
    )
    blocks: list[Block] = []
    parts: list[str] = []
    async for event in stream:
        if event.type == "content_block_delta":
            delta = event.delta
            if delta.type == "input_json_delta":
                parts.append(delta.partial_json)
            elif delta.type == "text_delta":
                parts.append(delta.text)
        elif event.type == "content_block_start":
            parts = []
            blocks.append(event.content_block.model_dump(exclude_none=True))
        elif event.type == "content_block_stop":
            block = blocks[-1]
            if block["type"] == "tool_use":
                block["input"] = json.loads("".join(parts))
            else:
                block["text"] = "".join(parts)
    return blocks


async def whole(client: AsyncAnthropic, messages: list[Any]) -> list[Block]:
    """The blocks of the next reply, at once."""
    reply = await client.messages.create(model="m", max_tokens=TOKENS, messages=messages, tools=TOOLS)
    return [block.model_dump(exclude_none=True) for block in reply.content]


async def result(call: Block) -> Block:
    """What one call came to."""
    return {
        "type": "tool_result",
        "tool_use_id": call["id"],
        "content": await get_weather(**call["input"]),
    }


async def prepare(job: Job, http: Any = None) -> Run:
    client = await connect(job, http)
    ask = streamed if job.streamed else whole

    async def run() -> str:
        messages: list[Block] = [{"role": "user", "content": PROMPT}]
        while True:
            blocks = await ask(client, messages)
            calls = [block for block in blocks if block["type"] == "tool_use"]
            if not calls:
                return "".join(block["text"] for block in blocks)
            messages.append({"role": "assistant", "content": blocks})
            results = await asyncio.gather(*[result(call) for call in calls])
            messages.append({"role": "user", "content": results})

    return run


if __name__ == "__main__":
    main(prepare)
