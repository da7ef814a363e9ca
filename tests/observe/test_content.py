"""What was said is told on request alone, in the conventions' shape, and without secrets."""

import json

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

import rightcall as rc
from rightcall.core.message import Reasoning
from rightcall.errors import UsageError
from rightcall.observe import content
from rightcall.record.redact import redact_secrets
from rightcall.testing import ScriptedModel, call, reply

KEY = "sk-ant-api03-" + "a" * 90
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@rc.tool(effect="read")
def look(city: str, password: str = "") -> str:
    """The weather in a city."""
    return f"sunny; the key is {KEY}"


async def watched(kept, **options):
    model = ScriptedModel([reply(call("look", city="Paris", password="hunter2")), "Sunny."])
    agent = rc.Agent(model, [look], "Be kind.", observers=[kept.observer(**options)])
    return await agent.run(f"Weather? My key is {KEY}")


def said(span, name):
    return json.loads(span.attributes[name])


async def test_messages_have_the_conventions_shape(kept):
    await watched(kept, content=True)
    _, second = [each for each in kept.spans if each.name == "chat scripted"]
    assert said(second, "gen_ai.system_instructions") == [{"type": "text", "content": "Be kind."}]
    user, assistant, tool = said(second, "gen_ai.input.messages")
    assert user["role"] == "user"
    assert user["parts"] == [{"type": "text", "content": "Weather? My key is [redacted]"}]
    assert assistant == {
        "role": "assistant",
        "parts": [
            {
                "type": "tool_call",
                "id": "call_1_0",
                "name": "look",
                "arguments": {"city": "Paris", "password": "[redacted]"},
            }
        ],
    }
    assert tool == {
        "role": "tool",
        "parts": [
            {
                "type": "tool_call_response",
                "id": "call_1_0",
                "response": "sunny; the key is [redacted]",
            }
        ],
    }
    assert said(second, "gen_ai.output.messages") == [
        {
            "role": "assistant",
            "parts": [{"type": "text", "content": "Sunny."}],
            "finish_reason": "stop",
        }
    ]
    (definition,) = said(second, "gen_ai.tool.definitions")
    assert (definition["type"], definition["name"]) == ("function", "look")
    assert set(definition["parameters"]["properties"]) == {"city", "password"}


async def test_a_tool_s_arguments_and_result_are_told_without_secrets(kept):
    await watched(kept, content=True)
    span = kept.span("execute_tool look")
    assert said(span, "gen_ai.tool.call.arguments") == {"city": "Paris", "password": "[redacted]"}
    assert span.attributes["gen_ai.tool.call.result"] == "sunny; the key is [redacted]"
    agent = kept.span("invoke_agent agent")
    assert said(agent, "gen_ai.output.messages")[0]["parts"][0]["content"] == "Sunny."
    assert KEY not in "".join(each.to_json() for each in kept.spans)


async def test_redaction_is_the_developer_s_to_choose(kept):
    await watched(kept, content=True, redact=None)
    assert KEY in kept.span("execute_tool look").attributes["gen_ai.tool.call.result"]


@pytest.mark.parametrize(
    ("variable", "is_told"),
    [("SPAN_ONLY", True), ("true", True), ("SPAN_AND_EVENT", True), ("NO_CONTENT", False), ("", False)],
)
async def test_the_environment_asks_for_content(kept, monkeypatch, variable, is_told):
    monkeypatch.setenv(CAPTURE, variable)
    await watched(kept)
    assert ("gen_ai.input.messages" in kept.spans[0].attributes) is is_told


async def test_what_was_said_in_code_comes_first_and_nonsense_tells_nothing(kept, monkeypatch, caplog):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    await watched(kept, content=False)
    monkeypatch.setenv(CAPTURE, "everything")
    await watched(kept)
    assert not [each for each in kept.spans if "gen_ai.input.messages" in each.attributes]
    assert f"{CAPTURE}=everything is not known" in caplog.text
    with pytest.raises(UsageError, match="content"):
        rc.observe.OpenTelemetry(content="everywhere")


async def test_events_hold_content_as_it_is_and_spans_then_none(kept):
    exporter = InMemoryLogRecordExporter()
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    await watched(kept, content="event", logger_provider=provider)
    first, _ = [each.log_record for each in exporter.get_finished_logs()]
    assert first.event_name == "gen_ai.client.inference.operation.details"
    assert first.attributes["gen_ai.operation.name"] == "chat"
    (message,) = first.attributes["gen_ai.input.messages"]
    assert message["parts"][0]["content"] == "Weather? My key is [redacted]"
    assert first.span_id == kept.spans[0].context.span_id
    assert "gen_ai.input.messages" not in kept.spans[0].attributes
    provider.shutdown()


def test_parts_of_every_kind_have_a_shape():
    media = [
        rc.models.Media(b"123", "image/png"),
        rc.models.Media(url="https://example.com/cat.png", media_type="image/png"),
        rc.models.Media(url="data:image/png;base64,AAAA", media_type="image/png"),
        rc.models.Media(id="file-1", media_type="application/pdf"),
    ]
    (shaped,) = content.messages((rc.User(tuple(media)),))
    assert [part["type"] for part in shaped["parts"]] == ["media", "uri", "media", "file"]
    assert shaped["parts"][0] == {
        "type": "media",
        "modality": "image",
        "mime_type": "image/png",
        "bytes": 3,
    }
    (answer,) = content.output([rc.Reply((Reasoning("hm"), rc.models.Text("yes")), "length")])
    assert [part["type"] for part in answer["parts"]] == ["reasoning", "text"]
    assert answer["finish_reason"] == "length"


def test_what_is_no_json_is_told_as_it_was_written_and_what_is_long_is_cut():
    assert content.arguments(call("look", '{"city": ')) == '{"city": '
    long = "x" * (content.LONGEST + 1)
    assert content.instructions(long)[0]["content"].endswith("… (32,001 characters)")
    written = content.encode_content({"half": "\ud800"}, redact_secrets)
    assert written.encode()
