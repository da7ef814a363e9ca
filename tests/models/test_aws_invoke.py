"""Claude on Bedrock by InvokeModel: Anthropic's own form in AWS's envelope."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import rightcall as rc
from conformance.scenarios_anthropic import WIRES, begin, text
from models.test_aws import KEY_ID, SECRET, _nowhere, accepts  # noqa: F401 (a fixture for all here)
from request.server import Answer, serving, whole
from rightcall.core.message import Message, Reply, user_text
from rightcall.core.request import Request
from rightcall.core.transport import StreamedResponse, Timeouts
from rightcall.errors import ProtocolError, TruncatedStream, VendorError
from rightcall.models.aws import InvokeTransport
from rightcall.request.endpoint import Address
from rightcall.request.retry import Retry
from rightcall.request.wire_model import WireModel
from rightcall.wire import anthropic
from wire.bedrock.frames import exception, frame, of_kind
from wire.recorded import fed, reply_of

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
KIND = "application/vnd.amazon.eventstream"
KEY = f"{KEY_ID}:{SECRET}"


def events_in(sse: bytes) -> list[bytes]:
    lines = sse.split(b"\n")
    return [line.removeprefix(b"data: ") for line in lines if line.startswith(b"data: ")]


def framed(*events: bytes) -> bytes:
    return b"".join(frame("chunk", {"bytes": b64encode(event).decode(), "p": "abc"}) for event in events)


class Recorder:
    """A transport that keeps what it was sent, and answers in chunks."""

    def __init__(self, *chunks: bytes) -> None:
        self.sent: list[tuple[str, Mapping[str, str], bytes]] = []
        self._answer = chunks

    @asynccontextmanager
    async def post(
        self, url: str, /, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[StreamedResponse]:
        self.sent.append((url, headers, body))
        yield StreamedResponse(200, {"content-type": KIND}, self._chunks())

    get: Any = None

    async def _chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._answer:
            yield chunk

    async def close(self) -> None:
        pass


def model_of(*chunks: bytes) -> tuple[WireModel, Recorder]:
    recorder = Recorder(*chunks)
    address = Address(url="http://x", model=MODEL, key="ABSKkey")
    once = Retry(attempts=1)
    return WireModel(anthropic, InvokeTransport(recorder), address, retry=once), recorder


async def reply_from(model: WireModel, *messages: Message, **how: Any) -> Reply:
    asked = Request(messages=messages or (user_text("Hi"),), **how)
    reply = reply_of([event async for event in model.stream(asked)])
    assert reply.written_by == "x"
    return replace(reply, written_by="")


@pytest.mark.parametrize("scenario", [name for name in WIRES if name != "error-mid-stream"])
async def test_a_stream_says_what_it_says_at_anthropic(scenario):
    sse = WIRES[scenario][0]
    body = framed(*events_in(sse))
    for size in (len(body), 7):
        chunks = [body[at : at + size] for at in range(0, len(body), size)]
        model, _ = model_of(*chunks)
        assert await reply_from(model) == reply_of(fed(anthropic.Decoder(), sse))


async def test_a_request_is_anthropics_in_bedrocks_envelope():
    model, recorder = model_of(framed(*events_in(WIRES["single-call"][0])))
    how: dict[str, Any] = {"max_tokens": 9, "options": {"extra": {"betas": ["b-1", "b-2"]}}}
    await reply_from(model, **how)
    ((url, headers, body),) = recorder.sent
    assert url == (
        "http://x/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream"
    )
    assert headers["authorization"] == "Bearer ABSKkey"
    assert not {"x-api-key", "anthropic-version", "anthropic-beta"} & set(headers)
    plain = anthropic.encode(Request(messages=(user_text("Hi"),), **how), model=MODEL, stream=True)
    expected = json.loads(plain.body)
    del expected["model"], expected["stream"]
    ours = json.loads(body)
    assert ours.pop("anthropic_version") == "bedrock-2023-05-31"
    assert ours.pop("anthropic_beta") == ["b-1", "b-2"]
    assert ours == expected


def answering(body: bytes) -> Answer:
    return whole(body, kind=KIND)


async def test_it_is_connected_to_by_name_and_signed():
    sse = WIRES["stop-sequence"][0]
    async with (
        serving(answering(framed(*events_in(sse))), check=accepts) as server,
        rc.connect(f"bedrock-anthropic:{MODEL}", base_url=server.url, api_key=KEY) as model,
    ):
        result = await rc.Agent(model).run("Count.")
    assert result.text == "One, two"
    assert result.usage.cost is not None
    assert server.requests[0][0].endswith("/invoke-with-response-stream")


async def test_a_whole_reply_is_asked_for_at_another_address():
    body = WIRES["stop-sequence"][1]
    async with (
        serving(whole(body), check=accepts) as server,
        rc.connect(
            f"bedrock-anthropic:{MODEL}", base_url=server.url, api_key=KEY, streaming=False
        ) as model,
    ):
        assert (await rc.Agent(model).run("Count.")).text == "One, two"
    assert server.requests[0][0].endswith("/invoke")


async def test_exceptions_are_refusals_and_tried_again_before_anything_came():
    good = framed(*events_in(WIRES["stop-sequence"][0]))
    busy = exception("throttlingException", {"message": "Too many tokens"})
    async with (
        serving(answering(busy), answering(good)) as server,
        rc.connect(
            f"bedrock-anthropic:{MODEL}", base_url=server.url, api_key=KEY, retry=Retry(base=0.001)
        ) as model,
    ):
        assert (await rc.Agent(model).run("Count.")).text == "One, two"
        assert len(server.requests) == 2
    model_late, _ = model_of(busy)
    with pytest.raises(VendorError, match="Too many tokens") as caught:
        await reply_from(model_late)
    assert (caught.value.status, caught.value.vendor_code) == (429, "ThrottlingException")


async def test_a_stream_that_breaks_off_is_truncated():
    begun = [json.dumps(event).encode() for event in [*begin(), *text(0, "Hi")]]
    body = framed(*begun)
    for end in (len(body), len(body) - 3):
        model, _ = model_of(body[:end])
        with pytest.raises(TruncatedStream):
            await reply_from(model)


@pytest.mark.parametrize("payload", [b"", b"{}", b'{"bytes": 5}', b'{"bytes": "%%%"}', b"[" * 9999])
async def test_a_chunk_that_holds_nothing_is_the_vendors_fault(payload):
    model, _ = model_of(of_kind("event", "chunk", payload))
    with pytest.raises(ProtocolError, match="cannot be read"):
        await reply_from(model)


async def test_line_breaks_between_members_do_no_harm():
    events = [json.dumps(json.loads(event), indent=1).encode() for event in
              events_in(WIRES["unicode"][0])]  # fmt: skip
    model, _ = model_of(framed(*events))
    assert await reply_from(model) == reply_of(fed(anthropic.Decoder(), WIRES["unicode"][0]))


def test_a_recorded_reply_and_its_request_are_anthropics(shared_data: Path):
    folder = shared_data / "wire-bedrock"
    if not folder.is_dir():
        pytest.skip(f"the recorded replies of Bedrock are not here: {folder}")
    recorded = json.loads((folder / "4daa51a9ac8312c5.request.json").read_text())
    reply = anthropic.decode((folder / "4daa51a9ac8312c5.json").read_bytes())
    assert (reply.usage.input_tokens, reply.usage.cached_tokens) == (3 + 9511 + 1956, 9511)
    model, recorder = model_of(framed(*events_in(WIRES["single-call"][0])))
    asyncio.run(reply_from(model, user_text("Hi"), max_tokens=4096, options={"cache": False}))
    ours = json.loads(recorder.sent[0][2])
    assert set(ours) == set(recorded) - {"system"}
    assert ours["anthropic_version"] == recorded["anthropic_version"]
