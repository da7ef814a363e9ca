"""What a server asks of its client."""

from mcp_types import (
    CreateMessageRequestParams,
    SamplingMessage,
    TextContent,
)

from rightcall.mcp.client.callbacks import Sampler, Sampling
from rightcall.mcp.client.note_log import NoteLog
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
