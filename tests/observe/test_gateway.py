"""The gateway's questions as spans, and ``rightcall serve --otel``."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("aiohttp")

import rightcall as rc
from rightcall.cli.main import main
from serve.gateway.kit import JSON, Host, gateway, listening, place, post, served

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
ANSWER = {
    "id": "c1",
    "model": "up-model-7",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi"}}
    ],
    "usage": {"prompt_tokens": 11, "completion_tokens": 3},
}


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
async def test_a_question_is_a_span_passed_on_or_translated(kept, path):
    host = Host(lambda *_: (200, JSON, [json.dumps(ANSWER).encode()]))
    async with listening(host) as up:
        models = {"m": served(place("openai_chat", up))}
        async with gateway(models, observers=[kept.observer()]) as (_, base):
            assert (await post(f"{base}{path}", CHAT | {"max_tokens": 9}))[0] == 200
    span = kept.span("chat up-model")
    assert span.attributes["gen_ai.usage.input_tokens"] == 11
    assert span.attributes["gen_ai.response.model"] == "up-model-7"
    assert list(kept.metrics()["gen_ai.client.operation.duration"])


PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
@pytest.mark.parametrize("watched", [True, False])
async def test_the_trace_of_a_client_goes_on_here_and_behind(kept, path, watched):
    host = Host(lambda *_: (200, JSON, [json.dumps(ANSWER).encode()]))
    sent = {"traceparent": PARENT, "tracestate": "a=1"}
    async with listening(host) as up:
        models = {"m": served(place("openai_chat", up))}
        async with gateway(models, observers=[kept.observer()] if watched else []) as (_, base):
            assert (await post(f"{base}{path}", CHAT | {"max_tokens": 9}, sent))[0] == 200
            assert (await post(f"{base}{path}", CHAT | {"max_tokens": 9}))[0] == 200
    first, second = (headers for _, headers, _ in host.asked)
    if not watched:
        assert (first["traceparent"], first["tracestate"]) == (PARENT, "a=1")
        assert "traceparent" not in second
        return
    spans = [span for span in kept.spans if span.name == "chat up-model"]
    ours = spans[0].context
    assert f"{spans[0].parent.trace_id:032x}-{spans[0].parent.span_id:016x}" in PARENT
    assert first["traceparent"] == f"00-{ours.trace_id:032x}-{ours.span_id:016x}-01"
    assert first["tracestate"] == "a=1"
    assert spans[1].parent is None
    assert spans[1].context.trace_id != ours.trace_id


async def test_a_stranger_is_told_what_the_client_sent_and_no_more(kept):
    host = Host(lambda *_: (200, JSON, [json.dumps(ANSWER).encode()]))
    async with listening(host) as up:
        models = {"m": served(place("openai_chat", up))}
        observer = kept.observer(propagate_to=["elsewhere.example"])
        async with gateway(models, observers=[observer]) as (_, base):
            for path in ("/v1/chat/completions", "/v1/messages"):
                sent = CHAT | {"max_tokens": 9}
                assert (await post(f"{base}{path}", sent, {"traceparent": PARENT}))[0] == 200
                assert (await post(f"{base}{path}", sent))[0] == 200
    assert [headers.get("traceparent") for _, headers, _ in host.asked] == [PARENT, None] * 2


async def box(_):
    return [rc.tool(effect="pure")(look)]


async def test_the_run_of_an_agent_is_in_the_trace_of_the_client(kept):
    host = Host(lambda *_: (200, JSON, [json.dumps(ANSWER).encode()]))
    more = {"load_tools": box, "observers": [kept.observer()]}
    async with listening(host) as up:
        models = {"m": served(place("openai_chat", up), tools=("box",))}
        async with gateway(models, **more) as (_, base):
            asked = await post(f"{base}/v1/chat/completions", CHAT, {"traceparent": PARENT})
    assert asked[0] == 200
    run = kept.span("invoke_agent gateway")
    assert f"{run.parent.trace_id:032x}-{run.parent.span_id:016x}" in PARENT
    assert kept.span("chat up-model").context.trace_id == run.parent.trace_id


async def test_a_place_that_refuses_has_a_span_with_its_error(kept):
    host = Host(lambda *_: (400, JSON, [b'{"error":{"message":"no","type":"invalid_request_error"}}']))
    async with listening(host) as up:
        models = {"m": served(place("openai_chat", up))}
        async with gateway(models, observers=[kept.observer()]) as (_, base):
            assert (await post(f"{base}/v1/chat/completions", CHAT))[0] == 400
    assert kept.span("chat up-model").attributes["error.type"] == "bad_request"


async def test_an_agent_behind_the_address_has_its_own_spans(kept):
    host = Host(lambda *_: (200, JSON, [json.dumps(ANSWER).encode()]))
    more = {"load_tools": box, "observers": [kept.observer()]}
    async with listening(host) as up:
        models = {"m": served(place("openai_chat", up), tools=("box",))}
        async with gateway(models, **more) as (_, base):
            assert (await post(f"{base}/v1/chat/completions", CHAT))[0] == 200
    assert list(kept.tree().values()) == ["invoke_agent gateway", ""]


def look() -> str:
    """Look."""
    return "seen"


def test_serve_sends_spans_by_the_standard_variables(tmp_path):
    (tmp_path / "models.py").write_text(
        "from rightcall.testing import ScriptedModel\none = ScriptedModel(lambda _: 'Hi')\n"
    )
    said = {
        "OTEL_TRACES_EXPORTER": "console",
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
    }
    command = [sys.executable, "-m", "rightcall.cli.main", "serve", "--otel", "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(
        [*command, "--model", f"m={tmp_path / 'models.py'}:one"],
        env={**os.environ, **said, "XDG_CONFIG_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        base = re.search(r"http://\S+", server.stderr.readline())[0]
        body, headers = json.dumps(CHAT).encode(), {"content-type": "application/json"}
        asked = urllib.request.Request(f"{base}/v1/chat/completions", body, headers)
        urllib.request.urlopen(asked, timeout=10).close()
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=15)
    finally:
        server.kill()
        server.wait()
    assert '"name": "chat scripted"' in out, err


def test_what_otel_cannot_do_is_said(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    assert main(["serve", "--otel", "--model", "x=embedded"]) == 2
    assert "OTEL_TRACES_EXPORTER=zipkin: there is otlp, console, none" in capsys.readouterr().err
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    assert main(["serve", "--otel", "--model", "x=embedded"]) == 2
    assert "pip install 'rightcall[otel]' opentelemetry-sdk" in capsys.readouterr().err
