"""A run in a real backend: sent to Arize Phoenix by OTLP, read back by its API, and looked at.

Needs an environment of its own, which ``make test WHAT=otel`` makes; skipped in words elsewhere.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply

exporter = pytest.importorskip(
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    reason="needs Arize Phoenix and an OTLP exporter: make test WHAT=otel installs them",
)
PHOENIX = Path(sys.executable).with_name("phoenix")
PROJECT = "rightcall"
PATIENCE = 300


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def fetched(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read()


def until(url: str, process: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        try:
            fetched(url)
        except OSError:
            time.sleep(0.3)
        else:
            return
    raise AssertionError(f"Phoenix did not start: {log.read_text()}")


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory) -> Iterator[str]:
    if not PHOENIX.exists():
        pytest.skip("needs Arize Phoenix: make test WHAT=otel installs it")
    home = tmp_path_factory.mktemp("phoenix")
    port, log = free_port(), home / "log"
    settings = {
        "PHOENIX_WORKING_DIR": str(home),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
        "DO_NOT_TRACK": "1",
    }
    with log.open("wb") as written:
        process = subprocess.Popen(
            [PHOENIX, "serve"], env={**os.environ, **settings}, stdout=written, stderr=written
        )
    try:
        url = f"http://127.0.0.1:{port}"
        until(f"{url}/healthz", process, log)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@rc.tool(effect="read")
def get_weather(city: str) -> str:
    """Current weather for a city."""
    return f"{city}: sunny, 21 degrees"


@rc.tool(effect="read")
def get_trains(city: str) -> str:
    """Trains to a city."""
    raise TimeoutError("no answer")


async def sent(url: str) -> None:
    """Run an agent with another inside it, and send what happened."""
    provider = TracerProvider(resource=Resource({"openinference.project.name": PROJECT}))
    otlp = exporter.OTLPSpanExporter(endpoint=f"{url}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(otlp))
    writer_model = ScriptedModel(
        [
            reply(
                "Sunny in Paris; take a later train.",
                usage=rc.models.Usage(input_tokens=80, output_tokens=12),
            )
        ],
        name="small-model",
    )
    writer = rc.Agent(writer_model, name="writer", instructions="Write one line.")
    model = ScriptedModel(
        [
            reply(
                call("get_weather", city="Paris"),
                call("get_trains", city="Paris"),
                usage=rc.models.Usage(input_tokens=420, output_tokens=38, cached_tokens=256),
            ),
            reply(
                call("writer", task="Weather and trains, in one line."),
                usage=rc.models.Usage(input_tokens=510, output_tokens=21, cached_tokens=400),
            ),
            reply(
                "It is sunny in Paris; take a later train.",
                usage=rc.models.Usage(input_tokens=560, output_tokens=16),
            ),
        ],
        name="large-model",
    )
    agent = rc.Agent(
        model,
        [get_weather, get_trains, writer.as_tool()],
        "Plan trips.",
        name="travel",
        observers=[rc.observe.OpenTelemetry(content=True, tracer_provider=provider)],
    )
    with rc.observe.conversation("trip-1"):
        await agent.run("Can I go to Paris today?")
    provider.shutdown()


def read_back(url: str) -> dict[str, dict]:
    """The spans that Phoenix has, by their names; the last of those that have the same."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            data = json.loads(fetched(f"{url}/v1/projects/{PROJECT}/spans?limit=100"))["data"]
        except OSError:
            data = []
        if len(data) >= 9:
            return {each["name"]: each for each in data}
        time.sleep(0.5)
    raise AssertionError("the spans did not arrive")


@pytest.mark.timeout(900)
async def test_phoenix_understands_a_run(phoenix, monkeypatch):
    monkeypatch.delenv("OTEL_SEMCONV_STABILITY_OPT_IN", raising=False)
    await sent(phoenix)
    spans = read_back(phoenix)
    assert {name: each["span_kind"] for name, each in spans.items()} == {
        "invoke_agent travel": "AGENT",
        "chat large-model": "LLM",
        "execute_tool get_weather": "TOOL",
        "execute_tool get_trains": "TOOL",
        "execute_tool writer": "TOOL",
        "invoke_agent writer": "AGENT",
        "chat small-model": "LLM",
    }
    parents = {each["context"]["span_id"]: name for name, each in spans.items()}
    assert parents[spans["invoke_agent writer"]["parent_id"]] == "execute_tool writer"
    assert parents[spans["execute_tool get_weather"]["parent_id"]] == "invoke_agent travel"
    chat = spans["chat small-model"]["attributes"]
    assert chat["llm.token_count.prompt"] == 80
    assert chat["llm.token_count.completion"] == 12
    assert chat["llm.model_name"] == "small-model"
    assert "take a later train" in json.dumps(chat)
    assert chat["session.id"] == "trip-1"
    assert spans["execute_tool get_trains"]["status_code"] == "ERROR"
    assert "no answer" not in json.dumps(spans["execute_tool get_trains"])
    await pictured(phoenix, spans["invoke_agent travel"]["context"]["trace_id"])


async def pictured(url: str, trace: str) -> None:
    """The page that an operator sees, kept where RIGHTCALL_SCREENSHOT says."""
    api = pytest.importorskip(
        "playwright.async_api", reason="the spans are right; the page needs playwright"
    )
    found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if found is None:
        pytest.skip("the spans are right; the page needs Debian's chromium-headless-shell")
    async with api.async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=found)
        page = await browser.new_page(viewport={"width": 1280, "height": 640})
        page.set_default_timeout(PATIENCE * 1000)
        await page.goto(f"{url}/redirects/traces/{trace}")
        await page.get_by_text("execute_tool get_weather").first.wait_for()
        await page.get_by_text("chat large-model").last.click()
        await page.wait_for_timeout(4000)
        picture = await page.screenshot(type="png")
        await browser.close()
    assert picture.startswith(b"\x89PNG")
    if place := os.environ.get("RIGHTCALL_SCREENSHOT"):
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).write_bytes(picture)
