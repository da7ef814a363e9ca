"""rightcall, as its README has one use it; a streamed run gives out every event."""

from client import KEY, PROMPT, Job, Run, get_weather, main

import rightcall.wire.openai_chat  # noqa: F401 - loaded by connect, and counted among the imports
from rightcall import Agent, Budget, connect, events, tool

BUDGET = Budget(turns=None, calls=None)


async def prepare(job: Job) -> Run:
    model = connect("openai:m", base_url=job.base, api_key=KEY, streaming=job.streamed)
    agent = Agent(model, [tool(get_weather, effect="read")], budget=BUDGET)

    async def streamed() -> str:
        text = ""
        async for event in agent.stream(PROMPT):
            if isinstance(event, events.RunEnd):
                text = event.result.text
        return text

    async def whole() -> str:
        return (await agent.run(PROMPT)).text

    return streamed if job.streamed else whole


if __name__ == "__main__":
    main(prepare)
