"""Live events: a few together, with their numbers, without those that were passed over."""

import asyncio

from rightcall.core.events import (
    CallDelta,
    ReasoningDelta,
    SubagentEvent,
    TextDelta,
    TurnStart,
)
from rightcall.core.partial import PartialJson
from rightcall.durable.engine import SegmentJob
from rightcall.durable.live import Latest, Publisher

JOB = SegmentJob(run="r", segment=1, agent="a", input="")


class Heard:
    def __init__(self, error: Exception | None = None) -> None:
        self.batches: list[list[str]] = []
        self._error = error

    async def publish(self, run, texts):
        if self._error is not None:
            raise self._error
        self.batches.append(list(texts))


def read(heard: Heard):
    seen = Latest("r")
    return [seen.read(text) for batch in heard.batches for text in batch]


async def test_pieces_that_come_together_are_sent_as_one():
    heard = Heard()
    async with Publisher(heard, JOB, 2) as publisher:
        for event in (
            TurnStart(1),
            ReasoningDelta("a"),
            ReasoningDelta("b"),
            TextDelta("c"),
            TextDelta("d"),
            CallDelta(0, "{", PartialJson()),
            CallDelta(0, "}", PartialJson()),
            CallDelta(1, "{}"),
            SubagentEvent("helper", "c1", CallDelta(0, "x", PartialJson())),
        ):
            publisher.show(event)
    found = read(heard)
    assert [(each.segment, each.attempt, each.seq) for each in found] == [(1, 2, n) for n in range(1, 7)]
    events = [each.event for each in found]
    assert events[:3] == [TurnStart(1), ReasoningDelta("ab"), TextDelta("cd")]
    assert [(each.index, each.text) for each in events[3:5]] == [(0, "{}"), (1, "{}")]
    assert events[5].event.text == "x"


async def test_what_gathers_meanwhile_waits_for_the_next_batch():
    heard = Heard()
    async with Publisher(heard, JOB, 1) as publisher:
        publisher.show(TextDelta("a"))
        while not heard.batches:
            await asyncio.sleep(0)
        publisher.show(TextDelta("b"))
        publisher.show(TextDelta("c"))
    assert [each.event.text for each in read(heard)] == ["a", "bc"]


async def test_a_channel_that_fails_harms_no_run():
    async with Publisher(Heard(OSError("full")), JOB, 1) as publisher:
        publisher.show(TextDelta("a"))


async def test_attempts_that_were_passed_over_are_dropped():
    heard = Heard()
    for attempt, texts in ((1, "ab"), (2, "c"), (1, "d"), (2, "ef")):
        async with Publisher(heard, JOB, attempt) as publisher:
            for text in texts:
                publisher.show(TextDelta(text))
                publisher.show(TurnStart(1))
    texts = [each.event for each in read(heard) if each is not None]
    assert TextDelta("d") not in texts
    assert texts[:3] == [TextDelta("a"), TurnStart(1), TextDelta("b")]
