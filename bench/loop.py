"""What a run costs beside its model and its tools, and how that grows with its length.

The model is scripted and the tools do nothing, so what is measured is the loop, the gate, the executor
and the bookkeeping. The floor is the least any loop must do: iterate the same events and await the same
tools.
"""

import asyncio
import gc
import platform
import statistics
import time
import tracemalloc
from collections.abc import Awaitable, Callable

import rightcall as rc
from rightcall.core.events import CallEnd, reply_events
from rightcall.core.request import Request
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, Turn, call, reply

ROUNDS = 7
BUDGET = rc.Budget(turns=None, calls=None, tokens=None, cost=None, repeats=3)
ANSWER = reply("That is all of it.")


@rc.tool(effect="read")
async def look(place: str) -> str:
    """What is there."""
    return f"nothing in {place}"


def script(turns: int, parallel: int) -> list[rc.Reply]:
    asked = [
        reply(*[call("look", id=f"c{turn}_{n}", place=f"room {turn} {n}") for n in range(parallel)])
        for turn in range(turns)
    ]
    return [*asked, ANSWER]


async def one_run(replies: list[rc.Reply], *, journal: bool = False) -> None:
    model = ScriptedModel(replies, fragment=None)
    kept = MemoryJournal() if journal else None
    agent = rc.Agent(model, [look], budget=BUDGET, journal=kept, speculate=False)
    result = await agent.run("Look everywhere.")
    assert result.stop.reason == "end"


async def floor(replies: list[rc.Reply]) -> None:
    for each in replies:
        for event in reply_events(each, None):
            if isinstance(event, CallEnd):
                await look(event.call.arguments)


async def median(work: Callable[[], Awaitable[None]], repeat: int) -> float:
    """Milliseconds of one go."""
    samples = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(repeat):
            await work()
        samples.append((time.perf_counter() - start) / repeat * 1e3)
    return statistics.median(samples)


async def cost_per_turn() -> None:
    heads = ("turns x calls", "ms per run", "us per turn", "floor, us", "with journal")
    print(" ".join(f"{head:>{width}}" for head, width in zip(heads, (15, 11, 12, 10, 13), strict=True)))
    per_turn = {}
    for turns, parallel in ((1, 1), (10, 1), (100, 1), (400, 1), (1, 8), (10, 8), (100, 8)):
        replies, repeat = script(turns, parallel), max(200 // turns, 1)
        cost = await median(lambda r=replies: one_run(r), repeat)  # type: ignore[misc]
        least = await median(lambda r=replies: floor(r), repeat)  # type: ignore[misc]
        kept = await median(lambda r=replies: one_run(r, journal=True), repeat)  # type: ignore[misc]
        per_turn[turns, parallel] = cost / (turns + 1) * 1e3
        print(
            f"{f'{turns} x {parallel}':>15} {cost:11.3f} {per_turn[turns, parallel]:12.1f}"
            f" {least / (turns + 1) * 1e3:10.1f} {kept / (turns + 1) * 1e3:13.1f}"
        )
    growth = per_turn[400, 1] / per_turn[10, 1]
    print(f"a turn of a 400-turn run costs {growth:.2f} times one of a 10-turn run")


async def many_at_once(count: int) -> None:
    replies = script(3, 1)

    async def run() -> None:
        model = ScriptedModel([Turn(reply=each, delay=0.01) for each in replies], fragment=None)
        await rc.Agent(model, [look], budget=BUDGET).run("Look.")

    start, cpu = time.perf_counter(), time.process_time()
    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(run())
    wall, used = time.perf_counter() - start, time.process_time() - cpu
    print(f"{count:,} runs of 4 turns at once: {wall:.2f} s, {used / count * 1e6:,.0f} us of CPU each")


async def memory_per_idle_run(count: int) -> None:
    waiting = asyncio.Event()

    async def hold(_: Request) -> None:
        await waiting.wait()

    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    agent = rc.Agent(ScriptedModel(lambda _: ANSWER), [look], hooks=rc.Hooks(before_model=hold))
    tasks = [asyncio.create_task(agent.run("Look.")) for _ in range(count)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    waiting.set()
    await asyncio.gather(*tasks)
    print(f"an idle run holds {(held - before) / count / 1024:.1f} KiB")


async def speculation() -> None:
    @rc.tool(effect="read")
    async def slow(n: int) -> int:
        """Takes as long as the stream."""
        await asyncio.sleep(0.5)
        return n

    asked = reply(*[call("slow", n=n) for n in range(4)], "and some more words" * 100)
    events = len(list(reply_events(asked, 20)))
    walls = {}
    for speculate in (True, False):
        model = ScriptedModel([Turn(reply=asked, pause=0.5 / events), ANSWER], fragment=20)
        start = time.perf_counter()
        await rc.Agent(model, [slow], speculate=speculate).run("Go.")
        walls[speculate] = time.perf_counter() - start
    print(
        f"a stream of 0.5 s that begins with four read calls of 0.5 s each: {walls[True]:.2f} s, "
        f"and {walls[False]:.2f} s when they wait for its end"
    )


async def main() -> None:
    print(f"Python {platform.python_version()}, medians of {ROUNDS} rounds")
    await cost_per_turn()
    await many_at_once(1_000)
    await memory_per_idle_run(1_000)
    await speculation()


if __name__ == "__main__":
    asyncio.run(main())
