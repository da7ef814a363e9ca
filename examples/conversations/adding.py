"""Add to a run while it works: the model reads it before it is asked next."""

import asyncio

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply


@rc.tool(effect="read")
async def search(order: int) -> str:
    """Search the archive."""
    await asyncio.sleep(60)
    return f"nothing about {order}"


async def main() -> None:
    model = ScriptedModel([reply(call("search", order=17)), "Order 17 and its invoice: sent."])
    run = rc.Agent(model, [search]).start("Where is order 17?")
    async for event in run.events():
        if isinstance(event, rc.events.ReplyEnd) and event.reply.calls:
            await run.say("And its invoice?")
            await run.say("Do not search the archive.", now=True)
        if isinstance(event, rc.events.MessageEnd):
            print("read:", event.message.text)
    print((await run).text)


asyncio.run(main())
