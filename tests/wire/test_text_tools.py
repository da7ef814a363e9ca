"""Tools whose input is text: declared, sent, called and answered."""

import json
from importlib import import_module

import pytest
from pydantic import TypeAdapter

import rightcall as rc
from rightcall.core.message import Reply, Results, user_text
from rightcall.core.parts import Call, Result, Text
from rightcall.core.request import Named, Request
from rightcall.gate.call_check import check
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, reply
from rightcall.wire import anthropic, bedrock, gemini, openai_chat, openai_responses
from rightcall.wire.openai_chat import dialect_at

LARK = 'start: "SELECT" /.+/'
SQL = Call(id="c1", name="query", arguments='SELECT "a" FROM b', form="text")


@rc.tool(input="text", grammar={"lark": LARK}, effect="read")
def query(sql: str) -> str:
    """Ask the database."""
    return f"asked {sql}"


def sent(dialect, *messages, **more) -> dict:
    request = Request(messages=messages or (user_text("Hi"),), specs=(query.spec,), **more)
    return json.loads(dialect.encode(request, model="m", stream=False).body)


def test_openai_gets_the_grammar():
    (tool,) = sent(openai_responses)["tools"]
    form = {"type": "grammar", "syntax": "lark", "definition": LARK}
    assert tool == {
        "type": "custom",
        "name": "query",
        "description": "Ask the database.",
        "format": form,
    }
    types = import_module("openai.types.responses.custom_tool_param")
    TypeAdapter(types.CustomToolParam).validate_python(tool)
    (tool,) = sent(openai_chat, options={"strict": True})["tools"]
    inner = {"syntax": "lark", "definition": LARK}
    assert tool == {
        "type": "custom",
        "custom": {
            "name": "query",
            "description": "Ask the database.",
            "format": {"type": "grammar", "grammar": inner},
        },
    }
    types = import_module("openai.types.chat.chat_completion_custom_tool_param")
    TypeAdapter(types.ChatCompletionCustomToolParam).validate_python(tool)


def test_text_without_a_grammar_is_said_to_be_text():
    spec = query.replace(grammar={}).spec
    request = Request(messages=(user_text("Hi"),), specs=(spec,), options={"strict": True})
    (tool,) = json.loads(openai_responses.encode(request, model="m", stream=True).body)["tools"]
    assert tool["format"] == {"type": "text"}


def test_a_tool_that_takes_text_can_be_demanded():
    choice = Named("query")
    assert sent(openai_responses, choice=choice)["tool_choice"] == {"type": "custom", "name": "query"}
    custom = {"type": "custom", "custom": {"name": "query"}}
    assert sent(openai_chat, choice=choice)["tool_choice"] == custom


@pytest.mark.parametrize(
    ("dialect", "way"),
    [
        (anthropic, lambda tool: (tool["input_schema"], tool["description"])),
        (gemini, lambda tool: _of_gemini(tool["functionDeclarations"][0])),
        (
            bedrock,
            lambda tool: (tool["toolSpec"]["inputSchema"]["json"], tool["toolSpec"]["description"]),
        ),
        (dialect_at("https://api.groq.com/openai/v1"), lambda tool: _of_chat(tool["function"])),
    ],
    ids=["anthropic", "gemini", "bedrock", "groq"],
)
def test_elsewhere_it_is_a_function_of_one_string_that_is_told_the_grammar(dialect, way):
    body = sent(dialect, options={"cache": False})
    schema, description = way((body.get("tools") or body["toolConfig"]["tools"])[0])
    assert schema["properties"] == {"sql": {"type": "string"}}
    assert description == f"Ask the database.\n\nThe text must match this lark grammar:\n{LARK}"


def _of_gemini(function: dict) -> tuple:
    return function["parametersJsonSchema"], function["description"]


def _of_chat(function: dict) -> tuple:
    return function["parameters"], function["description"]


def test_the_gate_takes_the_text_as_it_is():
    box = rc.Toolbox([query])
    for text in ('SELECT "a"', '{"sql": "x"}', "{", ""):
        checked = check(Call(id="c", name="query", arguments=text, form="text"), box)
        assert (checked.arguments, checked.bound) == ({"sql": text}, {"sql": text})
    checked = check(Call(id="c", name="query", arguments='{"sql": "x"}'), box)
    assert checked.arguments == {"sql": "x"}


async def test_a_run_calls_it_asks_about_it_and_goes_on():
    model = ScriptedModel([reply(SQL), "Done."])
    agent = rc.Agent(model, [query], policy=lambda _: rc.Ask("really?"))
    result = await agent.run("Go.")
    (proposal,) = result.pending
    assert proposal.arguments == {"sql": 'SELECT "a" FROM b'}
    result = await agent.resume(result, {proposal.call_id: rc.Rewrite({"sql": "SELECT 2"})})
    assert [call.result.text for call in result.calls] == ["asked SELECT 2"]
    assert result.text == "Done."


async def test_a_run_with_it_is_replayed_from_its_journal():
    journal = MemoryJournal()
    agent = rc.Agent(ScriptedModel([reply(SQL), "Done."]), [query], journal=journal)
    result = await agent.run("Go.", run="r")
    again = await rc.replay(journal, "r")
    assert (again.text, again.transcript) == (result.text, result.transcript)


HISTORY = (
    user_text("Hi"),
    Reply((SQL,), stop="calls"),
    Results((Result(call_id="c1", name="query", outcome="returned", content=(Text("1"),)),)),
)


def test_its_calls_and_results_go_back_as_text_or_as_an_object():
    call, output = sent(openai_responses, *HISTORY)["input"][1:]
    assert call == {
        "type": "custom_tool_call",
        "call_id": "c1",
        "name": "query",
        "input": 'SELECT "a" FROM b',
    }
    assert output == {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"}
    block = sent(anthropic, *HISTORY, options={"cache": False})["messages"][1]["content"][0]
    assert block["input"] == {"input": 'SELECT "a" FROM b'}
    assert sent(gemini, *HISTORY)["contents"][1]["parts"][0]["functionCall"]["args"] == block["input"]
    function = sent(openai_chat, *HISTORY)["messages"][1]["tool_calls"][0]["function"]
    assert json.loads(function["arguments"]) == block["input"]


def test_what_takes_no_text_cannot_say_that_it_does():
    def two(a: str, b: str) -> str:
        return a + b

    for wrong, options in (
        (two, {"input": "text"}),
        (lambda: None, {"input": "text"}),
        (query, {"grammar": {"bnf": "x"}}),
        (query, {"input": "json"}),
        (query, {"input": "words"}),
    ):
        with pytest.raises(rc.errors.DeclarationError):
            rc.tool(wrong, name="wrong", **options)
