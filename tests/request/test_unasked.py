"""What nobody asked for and a vendor refuses: strict tools, summaries. It is asked again without."""

import json
import logging

import pytest

import rightcall as rc
from request.server import serving, whole
from rightcall.errors import VendorError

WORDS = "Schema is too complex for compilation. Reduce the number of strict tools."
TOO_MUCH = whole(
    json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": WORDS}}).encode(),
    400,
)


def said(*content: dict[str, object]):
    stop = "tool_use" if content[-1]["type"] == "tool_use" else "end_turn"
    body = {"type": "message", "role": "assistant", "content": content, "stop_reason": stop, "usage": {}}
    return whole(json.dumps(body).encode())


DONE = said({"type": "text", "text": "Done."})
CALL = said({"type": "tool_use", "id": "t", "name": "free", "input": {"q": "x"}})


@rc.tool
def free(q: str) -> str:
    """Look."""
    return q


@rc.tool(strict=True)
def held(q: str) -> str:
    """Look."""
    return q


def agent_at(url: str, **options) -> rc.Agent:
    model = rc.connect("anthropic:claude-sonnet-4-5", base_url=url, api_key="k", streaming=False)
    return rc.Agent(model, [free, held], options=options)


def strict(server) -> list[list[bool]]:
    bodies = [json.loads(body) for _, _, body in server.requests]
    return [[tool.get("strict", False) for tool in body["tools"]] for body in bodies]


async def test_tools_that_nobody_asked_to_be_strict_are_not_from_there_on(caplog):
    async with serving(TOO_MUCH, CALL, DONE, DONE) as server:
        agent = agent_at(server.url)
        with caplog.at_level(logging.WARNING, logger="rightcall.request"):
            assert (await agent.run("Hi")).text == "Done."
        # The next turn remembers; another conversation tries again.
        assert strict(server) == [[True, True], [False, True], [False, True]]
        await agent.run("Hi")
        assert strict(server)[3] == [True, True]
    assert any("only tools with strict=True" in message for message in caplog.messages)


@pytest.mark.parametrize(("options", "times"), [({}, 2), ({"strict": True}, 1)])
async def test_it_is_tried_once_and_not_where_it_was_asked_for(options, times):
    async with serving(TOO_MUCH) as server:
        with pytest.raises(VendorError, match="too complex"):
            await agent_at(server.url, **options).run("Hi")
        assert len(server.requests) == times


UNVERIFIED = {
    "message": "Your organization must be verified to generate reasoning summaries.",
    "type": "invalid_request_error",
    "param": "reasoning.summary",
    "code": "unsupported_value",
}


def answered() -> bytes:
    part = {"type": "output_text", "text": "Done.", "annotations": []}
    item = {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return whole(json.dumps({"id": "r", "status": "completed", "output": [item]}).encode())


async def test_an_account_without_summaries_is_asked_for_none_from_there_on(caplog):
    refused = whole(json.dumps({"error": UNVERIFIED}).encode(), 400)
    async with serving(refused, answered(), answered()) as server:
        model = rc.connect("openai-responses:gpt-5.2", base_url=server.url, api_key="k", streaming=False)
        agent = rc.Agent(model, options={"reasoning": "high"})
        with caplog.at_level(logging.WARNING, logger="rightcall.request"):
            assert (await agent.run("Hi")).text == "Done."
        await agent.run("Hi")
        sent = [json.loads(body)["reasoning"] for _, _, body in server.requests]
    assert sent == [{"effort": "high", "summary": "auto"}] + [{"effort": "high", "summary": None}] * 2
    assert any("no summary of the reasoning" in message for message in caplog.messages)


async def test_a_summary_that_was_asked_for_and_refused_is_an_error():
    refused = whole(json.dumps({"error": UNVERIFIED}).encode(), 400)
    async with serving(refused) as server:
        model = rc.connect("openai-responses:gpt-5.2", base_url=server.url, api_key="k", streaming=False)
        asked = {"reasoning": "high", "extra": {"reasoning": {"summary": "detailed"}}}
        with pytest.raises(VendorError, match="must be verified"):
            await rc.Agent(model, options=asked).run("Hi")
