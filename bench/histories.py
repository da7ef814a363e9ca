"""What a long history costs the first request of a run, plain, with a journal and under rules of trust.

Answers come from memory, so that this is all that is done with a history: mended, labelled, written to
the journal, encoded. *First* is a history that the agent has not seen; *next* goes on with the result of
that run, as a server does at every turn of a conversation. ``make bench WHAT=peers`` measures it.
"""

import asyncio
import gc
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from one_turn import Canned, get_weather
from shown import show

import rightcall as rc
from rightcall.core.message import Message, Reply, user_text
from rightcall.core.parts import Text

LENGTHS = (1000, 4000)
WAYS = ("plain", "journal", "trust", "both")
WORDS = "The northern branch was late again, and somebody must look into {} and what it says of {}. "


def history(messages: int, way: str) -> list[Message]:
    """A conversation of some 200 characters a message, of whose words this process has read none."""
    words = [WORDS.format(f"{way}-{messages}-{n}", n) * 2 for n in range(messages)]
    return [
        user_text(each) if n % 2 == 0 else Reply((Text(each),), "end") for n, each in enumerate(words)
    ]


async def taken(agent: rc.Agent, earlier: Sequence[Message]) -> tuple[float, Sequence[Message]]:
    """Seconds of the processor for one run, and what there is to go on with."""
    gc.collect()
    began = time.process_time()
    result = await agent.run("And now?", history=earlier)
    return time.process_time() - began, result.transcript


class Answers(Canned):
    """Says no call, only the answer."""

    first = 1


async def measured(messages: int, way: str, folder: str) -> dict[str, float]:
    with rc.record.SqliteJournal(Path(folder, f"{way}{messages}.db")) as journal:
        agent = rc.Agent(
            rc.connect("ollama:m", transport=Answers()),
            [rc.tool(get_weather, effect="read")],
            journal=journal if way in ("journal", "both") else None,
            trust=rc.trust.Rules() if way in ("trust", "both") else None,
        )
        await agent.run("Hello?")  # all is loaded by then
        first, grown = await taken(agent, history(messages, way))
        later, _ = await taken(agent, grown)
    return {f"{messages} {way} first": first, f"{messages} {way} next": later}


async def every() -> dict[str, float]:
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for messages in LENGTHS:
            for way in WAYS:
                found |= await measured(messages, way, folder)
    return found


def figures() -> dict[str, float]:
    """Seconds of CPU of one run, by the messages of its history, the way, and whether it is known."""
    return asyncio.run(every())


if __name__ == "__main__":
    show(figures(), "ms of CPU", factor=1000)
