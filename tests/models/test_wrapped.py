"""A connected model inside another: what the outer one says is what a run reads."""

import pytest

import rightcall as rc
from request.server import serving, whole
from rightcall.core.events import ReplyEnd, TextDelta
from rightcall.core.message import user_text
from rightcall.core.request import Request
from rightcall.transport.http import HttpTransport

BODY = (
    b'{"id":"c","model":"m","choices":[{"index":0,"message":{"content":"no"},"finish_reason":"stop"}]}'
)


class Loud:
    """Passes everything on to a model, but for its events."""

    def __init__(self, model):
        self._model = model

    def __getattr__(self, name):
        return getattr(self._model, name)

    async def stream(self, request):
        async for event in self._model.stream(request):
            match event:
                case TextDelta(text):
                    yield TextDelta(text.upper())
                case ReplyEnd(reply):
                    yield ReplyEnd(rc.testing.reply(reply.text.upper()))


@pytest.fixture
async def model():
    async with serving(whole(BODY)) as server:
        connected = rc.connect("openai:m", base_url=server.url, api_key="k", transport=HttpTransport())
        yield connected
        await connected.close()


async def test_a_run_reads_what_the_wrapper_gives(model):
    assert (await rc.Agent(Loud(model)).run("Well?")).text == "NO"


async def test_events_come_one_by_one_to_whoever_wants_that(model):
    request = Request(messages=(user_text("Well?"),))
    assert [type(event) async for event in model.stream(request)] == [TextDelta, ReplyEnd]
