"""A conversation by its id: what was said is there the next time, also in another process."""

import asyncio

import rightcall as rc
from rightcall.testing import ScriptedModel


async def main() -> None:
    model = ScriptedModel(lambda request: f"You have said {len(request.messages) // 2 + 1} things.")
    async with rc.Conversations("chat.sqlite") as conversations:
        agent = rc.Agent(model, conversations=conversations)
        await agent.run("Hello.", conversation="user-7")
        result = await agent.run("Do you remember me?", conversation="user-7")
        print(result.text)
        for each in await conversations.list():
            print(each.id, each.length, "messages")


asyncio.run(main())
