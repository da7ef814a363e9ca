"""Anthropic's SDK on its own aiohttp client, an extra that has to be asked for."""

from anthropic import DefaultAioHttpClient
from client import Job, Run, main
from sdk_anthropic import prepare as prepare_on


async def prepare(job: Job) -> Run:
    return await prepare_on(job, DefaultAioHttpClient(timeout=600))


if __name__ == "__main__":
    main(prepare)
