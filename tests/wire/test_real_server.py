"""A real OpenAI-compatible server, with a real model, answers our client over loopback."""

import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel

import rightcall as rc
from rightcall.core.events import ReplyEnd, TextDelta
from rightcall.core.message import user_text
from rightcall.core.request import Request
from rightcall.transport.http import HttpTransport

SERVER = Path(__file__).with_name("llama_server.py")
QUESTION = Request(
    messages=(user_text("Say hello."),), max_tokens=12, options={"temperature": 0, "seed": 1}
)


@pytest.fixture(scope="module")
def url():
    pipe = subprocess.PIPE
    command = [sys.executable, str(SERVER)]
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
    ) as process:
        for line in process.stdout:
            if line.startswith("http"):
                yield line.strip()
                break
        process.kill()


@pytest.fixture
async def transport():
    carrier = HttpTransport()
    yield carrier
    await carrier.close()


async def test_a_streamed_reply_and_a_whole_one_say_the_same(url, transport):
    replies = {}
    for streaming in (True, False):
        model = rc.connect(f"{url}/v1|smollm2", transport=transport, streaming=streaming)
        events = [event async for event in model.stream(QUESTION)]
        assert isinstance(events[-1], ReplyEnd)
        replies[streaming] = events[-1].reply
        assert "".join(e.text for e in events if isinstance(e, TextDelta)) == events[-1].reply.text
    whole = replies[False]
    assert whole.text
    assert replies[True].text == whole.text
    assert replies[True].stop == whole.stop
    assert replies[True].usage.output_tokens == whole.usage.output_tokens > 0
    assert whole.usage.input_tokens > 0


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])
async def test_a_real_model_is_held_to_the_output_that_is_asked_for(url, transport, streaming):
    class Verdict(BaseModel):
        sky: Literal["blue", "green"]

    model = rc.connect(f"{url}/v1|smollm2", transport=transport, streaming=streaming)
    agent = rc.Agent(model, output=Verdict, max_tokens=24, options={"temperature": 0, "seed": 1})
    result = await agent.run("What colour is the sky?")
    assert isinstance(result.output, Verdict)
    assert result.stop.reason == "output"
