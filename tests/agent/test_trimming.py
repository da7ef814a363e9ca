"""A history that is too long for the model: what is sent, and what is kept."""

import pytest

from agent.kit import Desk
from loop.sound import assert_sound
from rightcall import Agent
from rightcall.conversation import Window
from rightcall.core.budget import Stop
from rightcall.core.message import Reply, Results, estimate_tokens, spec_tokens
from rightcall.core.request import Profile
from rightcall.core.tool import Tool
from rightcall.declare.function import tool
from rightcall.testing import ScriptedModel, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")

TURNS = 12
SMALL = Window(tokens=600, recent=2, stub_tokens=20)


@tool(effect="read")
def read(page: int) -> str:
    """Read a page."""
    return f"page {page} " + "of a long book " * 10


def reads(request) -> Reply:
    """A model that reads page after page, as far as it remembers, and then answers."""
    pages = [int(c.arguments[8:-1]) for m in request.messages if isinstance(m, Reply) for c in m.calls]
    page = max(pages, default=0) + 1
    return reply(call("read", page=page)) if page <= TURNS else reply("I have read it.")


def tokens(messages) -> int:
    return sum(map(estimate_tokens, messages))


async def test_an_agent_with_a_small_window_sends_a_trimmed_history_and_keeps_it_whole():
    model = ScriptedModel(reads)
    result = await Agent(model, [read], window=SMALL).run("Read the book.")
    assert (result.stop, result.text) == (Stop("end"), "I have read it.")
    assert_sound(result.transcript)
    assert len(result.transcript) == 2 + 2 * TURNS
    assert all(
        one.text.startswith(f"page {page} of a long book")
        for page, one in enumerate(
            [one for m in result.transcript if isinstance(m, Results) for one in m.results], 1
        )
    )
    for request in model.requests:
        assert_sound(request.messages)
        assert tokens(request.messages) <= SMALL.tokens
        assert request.messages[0] == result.transcript[0]
    sent = model.requests[-1].messages
    assert sent != result.transcript[:-1]
    assert sent[-2:] == result.transcript[-3:-1]
    assert tokens(result.transcript) > 2 * SMALL.tokens


async def test_an_agent_with_a_large_window_sends_everything():
    model = ScriptedModel(reads)
    result = await Agent(model, [read], window=Window(tokens=10**6)).run("Read the book.")
    assert model.requests[-1].messages == result.transcript[:-1]


@pytest.mark.parametrize(("context", "whole"), [(None, True), (100_000, True), (900, False)])
async def test_the_models_own_context_is_the_window_unless_another_is_given(context, whole):
    model = ScriptedModel(reads, profile=Profile(context_window=context))
    result = await Agent(model, [read]).run("Read the book.")
    assert (model.requests[-1].messages == result.transcript[:-1]) == whole
    if context is not None:
        assert max(tokens(request.messages) for request in model.requests) <= 0.75 * context


async def test_what_is_sent_fits_after_a_resume_too():
    desk = Desk()

    def script(request):
        answer = reads(request)
        return answer if answer.calls or len(request.messages) < 4 else reply(call("send", id="z"))

    model = ScriptedModel(script)
    agent = Agent(model, [read, desk.tool("send", approval=True)], window=SMALL)
    paused = await agent.run("Read the book.")
    model = ScriptedModel(["Done."])
    again = Agent(model, [read, desk.tool("send", approval=True)], window=SMALL)
    result = await again.resume(paused, {"z": True})
    assert (result.stop, desk.done) == (Stop("end"), ["send"])
    assert_sound(result.transcript)
    assert tokens(model.requests[0].messages) <= SMALL.tokens


def test_tools_take_their_room_from_the_messages():
    words = "Do something that takes many words to say. " * 4
    many = [Tool(f"tool{n}", words, {"type": "object"}) for n in range(30)]
    model = ScriptedModel([], profile=Profile(context_window=8_192))
    window = Agent(model, many)._setup.window
    assert Agent(model)._setup.window == Window(tokens=6_144)
    assert window == Window(tokens=6_144 - spec_tokens(each.spec for each in many))


def test_a_model_whose_context_nobody_knows_has_a_window_too():
    assert Agent(ScriptedModel([]))._setup.window == Window(tokens=96_000)
