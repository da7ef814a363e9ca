"""Two hundred turns with tools, in a window of 8,000 tokens."""

import asyncio

import pytest

import rightcall as rc
from conversation.talk import FACTS, QUESTION, TURNS, WINDOW, Summariser, Talk, characters, encoded
from loop.sound import assert_sound
from rightcall.core.message import Reply, User, estimate_tokens


@pytest.fixture(scope="module")
def talk() -> Talk:
    talk = Talk()
    asyncio.run(talk.hold())
    return talk


async def test_what_was_planted_early_is_known_at_the_end(talk):
    assert talk.results[-1].text == "; ".join(FACTS.values())
    assert len(talk.results) == TURNS


async def test_the_summariser_reads_little_more_than_what_was_left_out(talk):
    assert talk.summariser.asked == len(talk.marks) > 5
    assert talk.summariser.read <= 1.3 * talk.summariser.dropped
    # And nothing twice.
    assert talk.summariser.dropped < characters(talk.transcript)


async def test_requests_begin_with_the_bytes_of_the_one_before(talk):
    assert len(talk.model.requests) == 2 * TURNS - 1
    assert talk.same_beginnings() >= 0.95


async def test_every_call_has_its_result_and_every_request_fits(talk):
    assert_sound(talk.transcript)
    for request in talk.model.requests:
        assert_sound(request.messages)
        assert sum(map(estimate_tokens, request.messages)) <= WINDOW.tokens


async def test_nothing_is_lost_from_the_transcript(talk):
    said = [m.text for m in talk.transcript if isinstance(m, User) and m.author == "user"]
    assert len(said) == TURNS
    assert sum(isinstance(message, Reply) for message in talk.transcript) == 2 * TURNS - 1


async def test_another_process_goes_on_as_this_one_would(talk):
    """From its JSON alone: the same bytes are sent, and nothing is summarised again."""
    stored = rc.RunResult.from_json(talk.results[-2].to_json())
    again = Talk(Summariser())
    again.transcript = stored.transcript
    await again.say(QUESTION)
    assert again.summariser.asked == 0
    assert encoded(again.model.requests[0]) == encoded(talk.model.requests[-1])


async def test_without_a_model_it_fits_too():
    talk = Talk(compact=rc.Compaction(by="excerpts"))
    await talk.hold(60)
    assert_sound(talk.model.requests[-1].messages)
    assert talk.same_beginnings() >= 0.9
    assert FACTS[3] in talk.marks[-1].compaction.summary
