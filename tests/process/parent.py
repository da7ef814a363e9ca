"""A program that runs hostile commands, to be killed in the middle. Run by path."""

import asyncio
import os
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

from process.kit import hostile  # noqa: E402
from rightcall.process.runner import keepers, run  # noqa: E402


async def main(mark: str, *kinds: str) -> None:
    tasks = []
    for kind in kinds:
        what, _, pids = kind.partition(":")
        command = hostile(what, mark, timeout=25.0, grace=0.2, pids=pids or "auto")
        tasks.append(asyncio.create_task(run(command)))
    await asyncio.sleep(0)
    sys.stdout.write(f"{keepers()._process}\n")
    sys.stdout.flush()
    await asyncio.wait(tasks)


if __name__ == "__main__":
    if sys.argv[1] == "forking":
        # A child that keeps everything open which this process had, and outlives it.
        keepers().give(keepers().take())
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
    asyncio.run(main(*sys.argv[2:]))
