"""Every recorded reply of a vendor passes through the gateway as it is, and is observed on the way."""

import pytest

from rightcall.errors import RightcallError
from rightcall.wire.dialects import load
from serve.gateway.kit import JSON, SSE, Host, gateway, listening, place, post, served
from wire.recorded import rows

DOORS = {
    "openai.chat": ("openai_chat", "/v1/chat/completions", {"model": "m", "messages": []}),
    "openai.responses": ("openai_responses", "/v1/responses", {"model": "m", "input": []}),
    "anthropic.messages": ("anthropic", "/v1/messages", {"model": "m", "messages": []}),
    "gemini.generateContent": ("gemini", "/v1beta/models/m:generateContent", {"contents": []}),
}


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("api", DOORS)
async def test_every_recording_passes_as_it_is(shared_data, api, stream):
    dialect, path, body = DOORS[api]
    if stream:
        path = path.replace(":generateContent", ":streamGenerateContent?alt=sse")
        body = body if dialect == "gemini" else {**body, "stream": True}
    recorded = rows(shared_data, api, stream=stream)
    assert recorded
    now, status, seen = b"", 200, []
    host = Host(lambda *_: (status, SSE if stream else JSON, [now[:1000], now[1000:]]))
    observers = [lambda _, entry: seen.append(getattr(entry, "reply", None))]
    async with listening(host) as up:
        async with gateway({"m": served(place(dialect, up))}, observers=observers) as (_, base):
            for row in recorded:
                now, status = row["path"].read_bytes(), row["status"]
                seen.clear()
                told, _, came = await post(f"{base}{path}", body)
                assert told == status
                assert came.startswith(now.rstrip()), row["body"]
                assert [each for each in seen if each] == _read(dialect, now, status, stream), row[
                    "body"
                ]


def _read(dialect, body, status, stream):
    """What the dialect's own decoder makes of a recording: its reply, or none where it is broken."""
    wire = load(dialect)
    if status != 200:
        return []
    try:
        if not stream:
            return [wire.decode(body)]
        decoder = wire.decoder()
        events = (*decoder.feed(body), *decoder.finish())
    except RightcallError:
        return []
    return [events[-1].reply]
