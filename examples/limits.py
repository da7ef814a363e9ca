"""Bounds for a run, in time, turns and money, and what a run says that reached one.

python examples/limits.py
"""

import asyncio

import rightcall as rc

MODEL = "anthropic:claude-opus-4-8"


@rc.tool(effect="read", timeout=5, retries=2, retry_on=(ConnectionError,), rate=(10, 60))
async def search_archive(words: str) -> list[str]:
    """Search the archive."""
    return [f"nothing about {words}"]


async def main() -> None:
    # One user's share. A run that reaches a bound ends in order: every call has its result, and what
    # there is can be shown or gone on with.
    budget = rc.Budget(turns=6, calls=20, seconds=30, cost=0.02)
    async with rc.Agent(MODEL, [search_archive], budget=budget) as agent:
        result = await agent.run("Find the treaty of 1482 in the archive.")
    print(f"ended by {result.stop.limit or result.stop.reason} after {len(result.turns)} turns")
    for number, usage in enumerate(result.turns, 1):
        print(f"turn {number}: {usage.input_tokens} in, {usage.output_tokens} out, ${usage.cost:.4f}")
    print(f"together ${result.usage.cost:.4f}")


if __name__ == "__main__":
    asyncio.run(main())
