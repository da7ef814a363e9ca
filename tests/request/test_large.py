"""Large files are written for the vendor in steps, and not on the event loop."""

import sys
from base64 import b64encode
from contextlib import asynccontextmanager

import pytest

import rightcall as rc
from rightcall.core.message import Results, holds_much
from rightcall.core.parts import Result
from rightcall.core.transport import StreamedResponse
from rightcall.declare.attachment import reads_files
from rightcall.wire.payload import base64_raw
from watchdog import LONGEST, stall_of

LARGE = rc.models.Media(bytes(range(256)) * 4099, "application/pdf")
SMALL = rc.models.Media(b"%PDF", "application/pdf")


def shown(media: rc.models.Media) -> Results:
    return Results((Result(call_id="c", name="f", outcome="returned", content=(media,)),))


@pytest.mark.parametrize(("media", "much"), [(LARGE, True), (SMALL, False)])
def test_a_large_file_is_known_wherever_it_stands(media, much):
    assert holds_much((rc.User((rc.models.Text("Look."), media)),)) is much
    assert holds_much((shown(media),)) is much
    assert holds_much((rc.Reply((media,)),)) is much
    history = (rc.User((media,)), rc.Reply(()), rc.User((rc.models.Text("And now?"),)))
    assert holds_much(history) is much
    assert not holds_much(history, begun=True)
    assert reads_files([media.data, "Look."]) is much


def test_base64_in_steps_is_base64():
    assert bytes(base64_raw(LARGE)) == b'"' + b64encode(LARGE.data) + b'"'
    assert bytes(base64_raw(SMALL)) == b'"' + b64encode(SMALL.data) + b'"'


class Refusing:
    """A transport that has been given a body, and says no."""

    def __init__(self) -> None:
        self.largest = 0

    @asynccontextmanager
    async def post(self, url: str, *, headers: object, body: bytes, timeouts: object):
        self.largest = max(self.largest, len(body))

        async def words():
            yield b'{"error": {"message": "no"}}'

        yield StreamedResponse(401, {"content-type": "application/json"}, words())

    @asynccontextmanager
    async def get(self, url: str, *, headers: object, timeouts: object):
        raise AssertionError(url)
        yield

    async def close(self) -> None:
        """There is nothing to let go of."""


async def test_thirty_megabytes_are_written_and_the_loop_turns():
    transport = Refusing()
    agent = rc.Agent(rc.connect("openai:m", api_key="k", transport=transport))
    media = rc.models.Media(bytes(30 * 1024 * 1024), "application/pdf")

    async def scenario() -> None:
        with pytest.raises(rc.errors.VendorError):
            await agent.run(["Look.", media])

    assert await stall_of(scenario) < LONGEST
    assert transport.largest > 40 * 1024 * 1024


class Answering(Refusing):
    """A transport that lets go of what it sent and what it gave, and counts who else still has it."""

    async def close(self) -> None:
        """Nothing is open."""

    def post(self, url: str, *, headers: object, body: bytes, timeouts: object):
        self.sent = body
        return self._answered()

    @asynccontextmanager
    async def _answered(self):
        async def words():
            self.holders = sys.getrefcount(self.sent)
            chunk = b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n' % b"Hi."
            yield chunk
            self.chunk_holders = sys.getrefcount(chunk)
            yield b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

        yield StreamedResponse(200, {"content-type": "text/event-stream"}, words())


async def test_neither_a_request_nor_what_was_read_is_kept_while_the_reply_streams():
    transport = Answering()
    result = await rc.Agent(rc.connect("http://localhost:1/v1|m", transport=transport)).run("Hi?")
    assert result.text == "Hi."
    here_and_counting = 2
    assert transport.holders == here_and_counting
    assert transport.chunk_holders == here_and_counting
