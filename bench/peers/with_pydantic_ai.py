"""Pydantic AI.

A streamed run is ``run`` with an ``event_stream_handler``, which streams every reply and goes on to the
end; ``run_stream_events`` is the same with a queue and a task on top.
"""

from collections.abc import AsyncIterable

import pydantic_ai
from client import PROMPT, Job, Run, get_weather, main
from pydantic_ai import Agent, AgentStreamEvent, RunContext, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from sdk_openai import connect

LIMITS = UsageLimits(request_limit=None)
pydantic_ai.BANNER_ENABLED = False


async def watch(context: RunContext, events: AsyncIterable[AgentStreamEvent]) -> None:
    """Take every event as it comes."""
    async for _ in events:
        pass


async def prepare(job: Job) -> Run:
    model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=await connect(job)))
    agent = Agent(model, tools=[get_weather], name="weather")
    handler = watch if job.streamed else None

    async def run() -> str:
        done = await agent.run(PROMPT, usage_limits=LIMITS, event_stream_handler=handler)
        return str(done.output)

    return run


if __name__ == "__main__":
    main(prepare)
