"""The floor on aiohttp: what one would write by hand for this one conversation, and no more."""

import aiohttp
from client import Job, Run, main
from floor import Conversation

SESSIONS: list[aiohttp.ClientSession] = []


async def prepare(job: Job) -> Run:
    for old in SESSIONS:
        await old.close()
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    SESSIONS[:] = [session]
    url, headers = f"{job.base}/chat/completions", {"content-type": "application/json"}

    async def run() -> str:
        talk = Conversation(streamed=job.streamed)
        while not talk.answer:
            async with session.post(url, data=talk.request(), headers=headers) as response:
                if job.streamed:
                    async for chunk in response.content.iter_any():
                        talk.feed(chunk)
                else:
                    talk.whole(await response.read())
            await talk.step()
        return talk.answer

    return run


if __name__ == "__main__":
    main(prepare)
