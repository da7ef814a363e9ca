"""toolwright, as its README has one use it."""

from client import KEY, PROMPT, Job, Run, get_weather, main

import toolwright as tw

BUDGET = tw.Budget(turns=None, calls=None)


async def prepare(job: Job) -> Run:
    # Only where a mark ends each call can one start before the reply has ended, and Chat has none.
    name, base = ("anthropic", f"{job.url}/slow") if job.work == "slow" else ("openai", job.base)
    model = tw.connect(f"{name}:m", base_url=base, api_key=KEY, streaming=job.streamed)
    agent = tw.Agent(model, [tw.tool(get_weather, effect="read")], budget=BUDGET)

    async def run() -> str:
        return (await agent.run(PROMPT)).text

    return run


if __name__ == "__main__":
    main(prepare)
