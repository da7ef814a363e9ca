"""What a server asks of its client."""

import pytest
from mcp_types import (
    CreateMessageRequestParams,
    SamplingMessage,
    TextContent,
)

import rightcall as rc
from mcp import Client
from rightcall.mcp.approval_form import is_approval
from rightcall.mcp.client.callbacks import Elicitation, Sampler, Sampling
from rightcall.mcp.client.note_log import NoteLog
from rightcall.mcp.server import ToolServer
from rightcall.testing import ScriptedModel, reply


async def test_a_model_is_asked_so_often_and_no_more():
    model = ScriptedModel([reply("one"), reply("two")])
    sampler = Sampler(Sampling(model=model, max_tokens=10, max_requests=2), NoteLog("shop", None))
    message = SamplingMessage(role="user", content=TextContent(text="Count."))
    params = CreateMessageRequestParams(messages=[message], max_tokens=500, temperature=0.5)
    answers = [await sampler(None, params) for _ in range(3)]
    assert [each.content.text for each in answers[:2]] == ["one", "two"]
    assert answers[2].message == "the 2 requests that this client allows are used up"
    assert (model.requests[0].max_tokens, model.requests[0].options) == (10, {"temperature": 0.5})


DENIED = "order was not run; permission was denied"
ANSWERS = {
    "true": (True, "ordered tea"),
    "allow": (rc.Allow(), "ordered tea"),
    "filled in": (rc.Rewrite({"allow": True}), "ordered tea"),
    "false": (False, f"{DENIED}."),
    "a reason": (rc.Deny("too dear"), f"{DENIED}: too dear"),
}


@pytest.mark.parametrize("case", ANSWERS)
async def test_an_approval_of_our_own_server_is_a_yes_or_a_no(case):
    answer, said = ANSWERS[case]
    asked = []

    @rc.tool(approval=True)
    def order(item: str) -> str:
        """Order something."""
        return f"ordered {item}"

    async def approve(proposal):
        asked.append(str(proposal))
        return answer

    ask = Elicitation("shop", approve, NoteLog("shop", None))
    async with Client(ToolServer([order]).sdk, elicitation_callback=ask) as client:
        assert (await client.call_tool("order", {"item": "tea"})).content[0].text == said
    lines = (
        "The model wants to run elicit with\n"
        '  | asks[0]: "The model wants to run order with"\n'
        '  | asks[1]: "  | item: \\"tea\\""\n'
        "You are asked because:\n"
        "  | the server shop asks whether it may do this"
    )
    assert asked == [lines]


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"properties": {"allow": {"type": "boolean"}}, "required": ["allow"]},
        {
            "properties": {"allow": {"type": "string"}, "reason": {"type": "string"}},
            "required": ["allow"],
        },
        {"properties": {"allow": {"type": "boolean"}, "reason": {"type": "string"}}},
    ],
)
def test_another_form_is_no_approval(form):
    assert not is_approval(form)
