"""Conversations by id: a turn in one of ten and of ten thousand messages, and two writers at once.

``python bench/conversation_store.py [PATH or postgresql://…]``; without one, a file in a temporary
folder.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import rightcall as rc
from rightcall.core.message import Message, user_text
from rightcall.testing import ScriptedModel, call, reply

MANY = 10_000
CONVERSATIONS = 1_000
TURNS = 50
"""Turns of each of two writers."""


def exchange(number: int) -> list[Message]:
    """Two messages of a usual length."""
    asked = user_text(f"Question {number}: where is my order, and when will it come? " * 2)
    return [asked, reply(f"Answer {number}: it left on Monday and is with you on Thursday. " * 3)]


async def timed(what: Callable[[], Awaitable[Any]], times: int = 20) -> str:
    """The median of so many tries, in milliseconds."""
    took = []
    for _ in range(times):
        begun = time.perf_counter()
        await what()
        took.append((time.perf_counter() - begun) * 1000)
    return f"{median(took):.2f} ms"


def agent(store: rc.Conversations) -> rc.Agent[Any]:
    """An agent that answers at once."""
    return rc.Agent(ScriptedModel(lambda _: "Yes."), conversations=store)


async def long_conversations(address: str) -> None:
    """One of ten messages, and one of ten thousand."""
    async with rc.Conversations(address) as store:
        for name, count in (("short", 10), ("long", MANY)):
            messages: list[Message] = []
            for number in range(count // 2):
                messages += exchange(number)
            begun = time.perf_counter()
            await store.append(name, messages)
            took = time.perf_counter() - begun
            print(f"append {count:,} messages at once: {took * 1000:.1f} ms")
        for name in ("short", "long"):
            page = await timed(partial(store.messages, name, last=20))
            print(f"the last 20 messages of the {name} one: {page}")
        for name in ("short", "long"):
            whole = await timed(partial(store.messages, name), 5)
            print(f"all messages of the {name} one: {whole}")
    for name in ("short", "long"):
        async with rc.Conversations(address) as store:
            talks = agent(store)
            first = await timed(partial(talks.run, "And?", conversation=name), 1)
            later = await timed(partial(talks.run, "And?", conversation=name), 20)
            print(f"a run in the {name} one: first of a process {first}, then {later}")


async def many_conversations(address: str) -> None:
    """A thousand conversations, each begun by a run."""
    async with rc.Conversations(address) as store:
        talks = agent(store)
        begun = time.perf_counter()
        for number in range(CONVERSATIONS):
            await talks.run("Hello.", conversation=f"user-{number}")
        took = time.perf_counter() - begun
        print(f"{CONVERSATIONS:,} conversations begun: {took:.1f} s, {took:.2f} ms each")
        print(f"listing the latest 50: {await timed(lambda: store.list(limit=50))}")


def write(address: str, turns: int) -> None:
    """One of two writers, a process of its own."""

    async def talk() -> None:
        async with rc.Conversations(address) as store:
            for number in range(turns):
                await agent(store).run(f"{number}", conversation="both")

    asyncio.run(talk())


async def two_writers(address: str) -> None:
    """Two processes that talk in one conversation."""
    context = get_context("spawn")
    begun = time.perf_counter()
    writers = [context.Process(target=write, args=(address, TURNS)) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    took = time.perf_counter() - begun
    async with rc.Conversations(address) as store:
        messages = await store.messages("both")
        runs = await store.runs("both")
    lost = 4 * TURNS - len(messages)
    torn = sum(isinstance(m, rc.Reply) != bool(at % 2) for at, m in enumerate(messages))
    print(
        f"two processes, {TURNS} turns each in one conversation: {len(runs)} runs, {lost} messages "
        f"lost, {torn} out of place, {took:.1f} s with their start"
    )


async def steering() -> None:
    """What an inbox costs a run that has one and gets nothing."""

    @rc.tool(effect="read")
    def look() -> str:
        """Look."""
        return "seen"

    def script(request: rc.models.Request) -> Any:
        return "Done." if len(request.messages) > 20 else reply(call("look"))

    looks = rc.Agent(ScriptedModel(script), [look], budget=rc.Budget(repeats=None))
    plain = await timed(lambda: looks.run("Look."), 200)
    steered = await timed(lambda: looks.run("Look.", inbox=rc.conversation.Inbox()), 200)
    print(f"a run of eleven turns: {plain}; with an inbox: {steered}")


async def main() -> None:
    """Measure all."""
    with tempfile.TemporaryDirectory() as folder:
        address = sys.argv[1] if len(sys.argv) > 1 else str(Path(folder) / "chat.sqlite")
        await long_conversations(address)
        await many_conversations(address)
        await two_writers(address)
    await steering()


if __name__ == "__main__":
    asyncio.run(main())
