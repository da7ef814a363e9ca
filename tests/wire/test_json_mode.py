"""JSON mode, and options that are not there, in every dialect and on local models."""

import json
from types import ModuleType

import pytest

import rightcall as rc
from rightcall.core.message import user_text
from rightcall.core.request import ANY_OBJECT, Request
from rightcall.local.grammar.build import grammar_for_output
from rightcall.testing import ScriptedModel
from rightcall.wire import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    gemini_interactions,
    ollama,
    openai_chat,
    openai_responses,
)

SENT = {
    "openai_chat": (openai_chat, {"response_format": {"type": "json_object"}}),
    "openai_responses": (openai_responses, {"text": {"format": {"type": "json_object"}}}),
    "gemini": (gemini, {"generationConfig": {"responseMimeType": "application/json"}}),
    "gemini_interactions": (
        gemini_interactions,
        {"response_format": {"type": "text", "mime_type": "application/json"}},
    ),
    "ollama": (ollama, {"format": "json"}),
    "anthropic": (anthropic, {}),
    "bedrock": (bedrock, {}),
    "cohere": (cohere, {"response_format": {"type": "json_object"}}),
}
FORMS = ("format", "response_format", "text", "generationConfig", "output_config", "outputConfig")


def sent(dialect: ModuleType, **request: object) -> dict[str, object]:
    """The body of a request, as the vendor reads it."""
    asked = Request(messages=(user_text("Hi"),), **request)  # type: ignore[arg-type]
    body: dict[str, object] = json.loads(dialect.encode(asked, model="m", stream=False).body)
    return body


@pytest.mark.parametrize("strict", [None, True, False])
@pytest.mark.parametrize(("dialect", "form"), SENT.values(), ids=SENT)
def test_any_object_is_asked_for_by_the_vendors_own_switch(dialect, form, strict):
    body = sent(dialect, output=ANY_OBJECT, options={} if strict is None else {"strict": strict})
    assert {name: body[name] for name in FORMS if name in body} == form


def test_the_input_of_responses_has_the_word_that_json_mode_wants():
    body = sent(openai_responses, output=ANY_OBJECT, system="Answer in JSON.")
    note = {"type": "message", "role": "developer", "content": "Answer in JSON."}
    assert body["input"] == [note, *sent(openai_responses)["input"]]  # type: ignore[misc]


@pytest.mark.parametrize("syntax", ["gbnf", "lark"])
def test_a_grammar_holds_a_local_model_to_an_object(syntax):
    assert grammar_for_output(ANY_OBJECT, syntax=syntax).text


@pytest.mark.parametrize("dialect", [each for each, _ in SENT.values()], ids=SENT)
def test_an_option_that_is_not_there_reaches_no_dialect(dialect):
    with pytest.raises(rc.errors.UsageError, match="did you mean 'temperature'"):
        sent(dialect, options={"temprature": 1})


@pytest.mark.parametrize("dialect", [each for each, _ in SENT.values()], ids=SENT)
def test_what_only_the_vendor_knows_is_sent_as_it_is(dialect):
    assert sent(dialect, options={"extra": {"new_switch": True}})["new_switch"] is True


async def test_the_answer_is_the_value_and_the_instructions_ask_for_it():
    model = ScriptedModel(['```json\n{"a": [1, null]}\n```'])
    result = await rc.Agent(model, instructions="Be brief.", output=rc.Output(mode="json")).run("Go.")
    assert result.output == {"a": [1, None]}
    assert result.stop == rc.record.Stop("output")
    (request,) = model.requests
    assert request.output == ANY_OBJECT
    assert request.system == "Be brief.\n\nGive your answer as one JSON object, and nothing else."


@pytest.mark.parametrize("bad", ["It is so.", "[1]", '{"a": 1', '{"a": 1, "a": 2}'])
async def test_what_is_no_object_is_given_back(bad):
    model = ScriptedModel([bad, '{"a": 1}'])
    result = await rc.Agent(model, output=rc.Output(mode="json")).run("Go.")
    assert (result.output, len(model.requests)) == ({"a": 1}, 2)
    returned = rc.Output(mode="json", retries=0, on_no_output="return")
    failed = await rc.Agent(ScriptedModel([bad]), output=returned).run("Go.")
    assert (failed.stop.reason, failed.output, failed.stop.is_answer) == ("no_output", None, False)


async def test_a_type_is_told_and_checked_though_the_model_is_held_to_json_only():
    model = ScriptedModel(['{"answer": "five"}', '{"answer": 5}'])
    result = await rc.Agent(model, output=rc.Output(type=int, mode="json")).run("Go.")
    assert result.output == 5
    assert model.requests[0].output == ANY_OBJECT
    assert '"answer"' in model.requests[0].system
