"""Deferred tools that the vendor loads where they were found: the tools before never change."""

import json

import pytest

import rightcall as rc
from request.server import serving, whole
from rightcall.errors import UsageError
from rightcall.testing import ScriptedModel


@rc.tool(effect="read")
def get_forecast(city: str) -> str:
    """Get the weather forecast of a city."""
    return f"Rain in {city}."


@rc.tool
def send_email(to: str, body: str) -> str:
    """Send an email to one person."""
    return f"sent to {to}"


QUERIES = {"queries": ["weather forecast"]}


def claude(*blocks):
    body = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": blocks}
    stop = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    return whole(json.dumps({**body, "stop_reason": stop, "usage": usage}).encode())


def used(identity: str, name: str, given: dict):
    return {"type": "tool_use", "id": identity, "name": name, "input": given}


def openai(*items):
    body = {"id": "r", "status": "completed", "output": items, "usage": {}}
    return whole(json.dumps(body).encode())


def message(text: str):
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}


def model_at(url: str, name: str) -> rc.models.Model:
    return rc.connect(name, base_url=url, api_key="k", streaming=False)


def bodies(server) -> list[dict]:
    return [json.loads(body) for _, _, body in server.requests]


def agent_of(model: rc.models.Model, **options) -> rc.Agent:
    return rc.Agent(
        model, [get_forecast, send_email], defer=rc.tools.Defer(vendor=True, limit=1), **options
    )


async def test_anthropic_is_given_references_and_the_definitions_it_need_not_show():
    replies = (
        claude(used("a", "search_tools", QUERIES)),
        claude(used("b", "get_forecast", {"city": "Oslo"})),
        claude({"type": "text", "text": "Rain."}),
    )
    async with serving(*replies) as server:
        result = await agent_of(model_at(server.url, "anthropic:claude-opus-4-8")).run("Umbrella?")
        first, second, third = bodies(server)
    assert result.text == "Rain."
    assert [call.call.name for call in result.calls] == ["search_tools", "get_forecast"]
    assert [tool["name"] for tool in first["tools"]] == ["search_tools"]
    # What stood there before stands there still, and what is deferred enters no prompt by itself.
    assert second["tools"][:-1] == first["tools"]
    assert [tool.get("defer_loading") for tool in second["tools"]] == [None, True]
    (answer,) = second["messages"][-1]["content"]
    assert answer["content"] == [{"type": "tool_reference", "tool_name": "get_forecast"}]
    assert third["tools"] == second["tools"]


async def test_openai_is_given_the_definitions_in_the_output_of_its_own_search():
    search = {"type": "tool_search_call", "id": "ts", "call_id": "a", "execution": "client"}
    forecast = {"type": "function_call", "call_id": "b", "name": "get_forecast", "id": "fc_b"}
    replies = (
        openai({**search, "status": "completed", "arguments": QUERIES}),
        openai({**forecast, "arguments": '{"city": "Oslo"}'}),
        openai(message("Rain.")),
    )
    async with serving(*replies) as server:
        result = await agent_of(model_at(server.url, "openai-responses:gpt-5.5")).run("Umbrella?")
        first, second, third = bodies(server)
    assert result.text == "Rain."
    assert [call.result.text for call in result.calls][1] == "Rain in Oslo."
    (offered,) = first["tools"]
    assert (offered["type"], offered["execution"]) == ("tool_search", "client")
    assert second["tools"] == third["tools"] == first["tools"]
    output = next(item for item in second["input"] if item["type"] == "tool_search_output")
    (found,) = output["tools"]
    assert (found["type"], found["name"]) == ("function", "get_forecast")
    assert found["parameters"]["properties"]["city"]["type"] == "string"


async def test_a_run_that_is_recovered_has_found_the_same(tmp_path):
    journal = rc.record.JsonLinesJournal(tmp_path / "runs.jsonl")
    broken = whole(b'{"error": {"message": "no", "type": "invalid_request_error"}}', 400)
    replies = (
        claude(used("a", "search_tools", QUERIES)),
        broken,
        claude({"type": "text", "text": "Yes."}),
    )
    async with serving(*replies) as server:
        agent = agent_of(model_at(server.url, "anthropic:claude-opus-4-8"), journal=journal)
        with pytest.raises(rc.errors.VendorError):
            await agent.run("Umbrella?", run="r")
        assert (await agent.recover("r")).text == "Yes."
        _, before, after = bodies(server)
    assert before == after


class Live:
    """Tools that change while they are used."""

    def __init__(self, *tools) -> None:
        self.tools, self.version = tools, 0

    def __iter__(self):
        return iter(self.tools)


async def test_a_tool_that_goes_is_told_of_while_the_conversation_names_it():
    @rc.tool(name="get_forecast")
    def last(city: str) -> str:
        """Get the weather forecast of a city."""
        live.tools, live.version = (send_email,), 1
        return city

    live = Live(last, send_email)
    replies = (
        claude(used("a", "search_tools", QUERIES)),
        claude(used("b", "get_forecast", {"city": "Oslo"})),
        claude(used("c", "get_forecast", {"city": "Rome"})),
        claude({"type": "text", "text": "Sorry."}),
    )
    async with serving(*replies) as server:
        model = model_at(server.url, "anthropic:claude-opus-4-8")
        agent = rc.Agent(model, [live], defer=rc.tools.Defer(vendor=True, limit=1))
        result = await agent.run("Umbrella?")
        sent = bodies(server)[1:]
    assert [call.result.outcome for call in result.calls[1:]] == ["returned", "unknown"]
    # The reference stands in the conversation, and the vendor refuses one that names nothing.
    assert [body["tools"][-1]["name"] for body in sent] == ["get_forecast"] * 3


def test_a_model_without_such_a_vendor_is_refused_before_anything_is_sent():
    with pytest.raises(
        UsageError, match=r"rc\.tools\.Defer\(vendor=True\) is for models that are asked by"
    ):
        agent_of(ScriptedModel(["x"]))
