"""A worker in a process of its own: ``python -m durable.program``, ended by whoever started it."""

import asyncio
import os

import rightcall as rc
from durable import cast


async def main() -> None:
    """Work on whatever there is, until somebody ends this process."""
    async with rc.durable.App(os.environ[cast.ADDRESS], agents=cast.agents()):
        cast.log(f"worker {os.getpid()}")
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
