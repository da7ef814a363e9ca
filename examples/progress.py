"""Show how far a long tool has come, while it runs.

python examples/progress.py
"""

import asyncio

import rightcall as rc

MODEL = "anthropic:claude-opus-4-8"


@rc.tool(effect="read", limits=rc.Limits(timeout=300))
async def count_words(folder: str, context: rc.Context[None]) -> int:
    """Count the words in all files of a folder."""
    files = [f"{folder}/{number}.txt" for number in range(1, 5)]
    for done, name in enumerate(files):
        context.progress(done, len(files), name)
        await asyncio.sleep(0.01)
    context.progress(len(files), len(files), "done")
    return 4_000


async def main() -> None:
    async with rc.Agent(MODEL, [count_words]) as agent:
        async for event in agent.stream("How many words are in the folder notes?"):
            match event:
                case rc.events.CallProgress(done=done, total=total, text=text):
                    print(f"[{'#' * int(done)}{'.' * int((total or 0) - done)}] {text}")
                case rc.events.RunEnd(result):
                    print(result.text)
                case _:
                    pass


if __name__ == "__main__":
    asyncio.run(main())
