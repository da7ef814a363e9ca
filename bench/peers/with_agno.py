"""Agno; without a database, so every run is a fresh conversation."""

from agno.agent import Agent, RunContentEvent
from agno.models.openai import OpenAIChat
from client import PROMPT, Job, Run, get_weather, main
from sdk_openai import connect


async def prepare(job: Job) -> Run:
    model = OpenAIChat(id="m", async_client=await connect(job))
    agent = Agent(model=model, tools=[get_weather], telemetry=False)

    async def streamed() -> str:
        events = agent.arun(PROMPT, stream=True)
        return "".join(
            [
                event.content
                async for event in events
                if isinstance(event, RunContentEvent) and event.content
            ]
        )

    async def whole() -> str:
        return str((await agent.arun(PROMPT)).content)

    return streamed if job.streamed else whole


if __name__ == "__main__":
    main(prepare)
