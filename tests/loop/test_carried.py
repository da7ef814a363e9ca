"""The next run of a conversation uses what the last one encoded and counted."""

import asyncio
from contextlib import asynccontextmanager

import pytest

import rightcall as rc
from rightcall.core.message import user_text
from rightcall.core.transport import StreamedResponse
from rightcall.testing import ScriptedModel
from rightcall.wire.payload import EncodeCache

LONG = tuple(
    user_text(f"line {n}") if n % 2 == 0 else rc.Reply((rc.Text(f"yes, {n}"),), "end") for n in range(80)
)
LARGE = rc.models.Media(bytes(2**20 + 1), "application/pdf")


class Asked(ScriptedModel):
    """Notes which conversation each request belongs to."""

    def __init__(self) -> None:
        super().__init__(self.noted)
        self.conversations = []

    def noted(self, request):
        self.conversations.append(request.conversation)
        return "Fine."

    @property
    def is_one(self) -> bool:
        return len({id(each) for each in self.conversations}) == 1


async def continued(history, *, change=lambda transcript: transcript, **settings) -> Asked:
    model = Asked()
    agent = rc.Agent(model, **settings)
    first = await agent.run("And now?", history=history)
    await agent.run("And then?", history=change(first.transcript))
    return model


async def test_the_next_run_belongs_to_the_same_conversation():
    assert (await continued(LONG)).is_one
    assert (await continued(LONG, change=list)).is_one


@pytest.mark.parametrize(
    ("history", "change"),
    [
        (LONG[:20], tuple),
        (LONG, lambda transcript: transcript[:-2]),
        (LONG, lambda transcript: (user_text("line 0"), *transcript[1:])),
        ((rc.User((LARGE,)), *LONG[1:]), tuple),
        ((*LONG[:-1], rc.Reply((LARGE,), "end")), tuple),
    ],
    ids=["short", "an earlier point", "an equal message", "a large file", "a large file of the model's"],
)
async def test_what_is_short_or_large_or_another_conversation_begins_anew(history, change):
    assert not (await continued(history, change=change)).is_one


async def test_two_runs_at_once_do_not_share_what_they_continue():
    model = Asked()
    agent = rc.Agent(model)
    first = await agent.run("And now?", history=LONG)
    await asyncio.gather(*(agent.run(word, history=first.transcript) for word in ("Then?", "Or?")))
    assert len({id(each) for each in model.conversations}) == 2


async def test_only_the_last_conversations_are_kept():
    model = Asked()
    agent = rc.Agent(model)
    oldest = await agent.run("And now?", history=LONG)
    newest = [await agent.run(str(n), history=LONG) for n in range(32)][-1]
    for result in (newest, oldest):
        await agent.run("And then?", history=result.transcript)
    *kept, again, anew = model.conversations
    assert again is kept[-1]
    assert anew is not kept[0]


class Echo:
    """A vendor that says yes, and notes what it was sent."""

    def __init__(self) -> None:
        self.bodies = []

    @asynccontextmanager
    async def post(self, url, *, headers, body, timeouts):
        self.bodies.append(bytes(body))

        async def words():
            yield b'{"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}]}'

        yield StreamedResponse(200, {"content-type": "application/json"}, words())

    @asynccontextmanager
    async def get(self, url, *, headers, timeouts):
        raise AssertionError(url)
        yield

    async def close(self):
        """There is nothing to let go of."""


@pytest.mark.parametrize("tokens", [100_000, 600])
async def test_what_is_sent_is_the_same_and_only_what_is_new_is_written(monkeypatch, tokens):
    counts = []
    written = EncodeCache.write_messages

    def counting(self, key, messages, begin, write):
        def noted(writer, message, at):
            counts[-1] += 1
            write(writer, message, at)

        counts.append(0)
        return written(self, key, messages, begin, noted)

    monkeypatch.setattr(EncodeCache, "write_messages", counting)
    echo = Echo()
    window = rc.conversation.Window(tokens=tokens)
    agents = [rc.Agent(rc.connect("ollama:m", transport=echo), window=window) for _ in range(2)]
    first = await agents[0].run("And now?", history=LONG)
    for agent in agents:
        await agent.run("And then?", history=first.transcript)
    assert counts[2] == counts[0] + counts[1]
    assert counts[1] == 2
    assert echo.bodies[1] == echo.bodies[2]


async def test_a_run_with_another_models_window_is_not_bound_to_the_last_ones_cut():
    echo = Echo()
    agent = rc.Agent(
        rc.connect("ollama:m", transport=echo, profile=rc.models.Profile(context_window=1000))
    )
    first = await agent.run("And now?", history=LONG)
    for model in (rc.connect("ollama:m", transport=echo), None):
        await agent.run("And then?", history=first.transcript, model=model)
    small, large, again = (body.count(b'"role"') for body in echo.bodies)
    assert large == len(LONG) + 3 > small
    assert again < large
