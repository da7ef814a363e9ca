"""Who is told of a trace: hosts that are ours, and nobody else unless it was said."""

import logging
from contextlib import asynccontextmanager

import pytest
from opentelemetry import propagate
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import TraceFlags

import rightcall as rc
from rightcall.core.ports import HEADERS
from rightcall.core.transport import StreamedResponse

CHUNK = (
    b'{"id":"r-1","model":"m-2026","choices":[{"delta":{"content":"Hi."},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":3,"completion_tokens":2}}'
)
REPLY = b"data: " + CHUNK + b"\n\ndata: [DONE]\n\n"


class Listening:
    """A transport that notes the headers of what it carries."""

    def __init__(self):
        self.headers = []

    @asynccontextmanager
    async def post(self, url, *, headers, body, timeouts):
        self.headers.append(dict(headers))

        async def chunks():
            yield REPLY

        yield StreamedResponse(200, {"content-type": "text/event-stream"}, chunks())

    def get(self, url, *, headers, timeouts):
        raise AssertionError("nothing is fetched")

    async def close(self):
        """Nothing is open."""


async def asked(kept, url, **options):
    transport = Listening()
    model = rc.connect(f"{url}|m", transport=transport, api_key="k")
    await rc.Agent(model, observers=[kept.observer(**options)]).run("Hi?")
    (headers,) = transport.headers
    return headers


async def test_a_model_on_this_machine_is_told_of_the_trace(kept):
    headers = await asked(kept, "http://localhost:8080/v1")
    span = kept.span("chat m")
    seen = span.context
    assert headers["traceparent"].startswith(f"00-{seen.trace_id:032x}-{seen.span_id:016x}-")


@pytest.mark.parametrize(
    "meters", [{}, {"meter_provider": NoOpMeterProvider()}], ids=["metrics", "none"]
)
async def test_a_model_is_told_that_the_trace_is_not_kept(kept, meters):
    dropping = {"tracer_provider": TracerProvider(sampler=ALWAYS_OFF), **meters}
    headers = await asked(kept, "http://localhost:8080/v1", **dropping)
    version, trace_id, span_id, flags = headers["traceparent"].split("-")
    assert version == "00"
    assert int(trace_id, 16)
    assert int(span_id, 16)
    assert not int(flags, 16) & TraceFlags.SAMPLED
    assert "traceparent" not in await asked(kept, "https://api.example.com/v1", **dropping)
    assert HEADERS.get() is None


async def test_a_span_over_the_wire_says_where(kept):
    await asked(kept, "http://localhost:8080/v1")
    span = kept.span("chat m")
    told = span.attributes
    assert span.kind.name == "CLIENT"
    assert (told["server.address"], told["server.port"]) == ("localhost", 8080)
    assert (told["gen_ai.response.model"], told["gen_ai.provider.name"]) == ("m-2026", "localhost")
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (3, 2)


async def test_a_stranger_is_told_nothing_unless_it_was_said(kept):
    assert "traceparent" not in await asked(kept, "https://api.example.com/v1")
    said = await asked(kept, "https://api.example.com/v1", propagate_to=["*.example.com"])
    assert "traceparent" in said
    assert "traceparent" not in await asked(kept, "http://localhost:8080/v1", propagate_to=())


async def test_what_is_carried_is_what_the_program_s_propagator_sets(kept, request):
    class Own(TextMapPropagator):
        fields = frozenset({"x-trace"})

        def extract(self, carrier, context=None, getter=None):
            return context

        def inject(self, carrier, context=None, setter=None):
            carrier["x-trace"] = "mine"
            carrier["authorization"] = "not mine"

    before = propagate.get_global_textmap()
    propagate.set_global_textmap(Own())
    request.addfinalizer(lambda: propagate.set_global_textmap(before))
    headers = await asked(kept, "http://localhost:8080/v1")
    assert headers["x-trace"] == "mine"
    assert "traceparent" not in headers
    assert headers["authorization"] == "Bearer k"


async def test_a_propagator_that_fails_costs_the_trace_and_not_the_request(kept, monkeypatch, caplog):
    def fail(*_, **__):
        raise RuntimeError("no")

    monkeypatch.setattr(propagate, "inject", fail)
    with caplog.at_level(logging.ERROR):
        assert "traceparent" not in await asked(kept, "http://localhost:8080/v1")
    assert "a propagator failed" in caplog.text


async def test_without_an_observer_nothing_is_carried():
    transport = Listening()
    model = rc.connect("http://localhost:8080/v1|m", transport=transport)
    await rc.Agent(model).run("Hi?")
    assert set(transport.headers[0]) == {"content-type", "user-agent"}


@pytest.mark.parametrize(
    ("name", "provider"),
    [("anthropic:c", "anthropic"), ("gemini:g", "gcp.gemini"), ("mistral:m", "mistral_ai")],
)
def test_providers_have_the_conventions_names(name, provider):
    from rightcall.observe.facts import facts_of  # noqa: PLC0415

    facts = facts_of(rc.connect(name, api_key="k"))
    assert (facts.provider, facts.name) == (provider, name.partition(":")[2])
    assert facts.attributes["server.port"] == 443
