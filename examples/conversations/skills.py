"""A skill: a line for the model until it is needed, and then its text and its files."""

import asyncio
from pathlib import Path

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply

FOLDER = Path(__file__).parent / "skills"


async def main() -> None:
    model = ScriptedModel([reply(call("skill", skill="refunds")), "First I ask for the order."])
    agent = rc.Agent(model, skills=FOLDER)
    print(agent.tools["skill"].description.splitlines()[-1])
    result = await agent.run("I want my money back.")
    print(result.calls[0].result.text.splitlines()[0])
    print(result.text)


asyncio.run(main())
