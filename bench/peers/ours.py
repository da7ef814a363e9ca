"""toolwright, as its README has one use it."""

from client import KEY, PROMPT, Job, Run, get_weather, main

import toolwright as tw

BUDGET = tw.Budget(turns=None, calls=None)


async def prepare(job: Job) -> Run:
    model = tw.connect("openai:m", base_url=job.base, api_key=KEY, streaming=job.streamed)
    agent = tw.Agent(model, [tw.tool(get_weather, effect="read")], budget=BUDGET)

    async def run() -> str:
        return (await agent.run(PROMPT)).text

    return run


if __name__ == "__main__":
    main(prepare)
