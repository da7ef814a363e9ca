"""Conversations that the vendor keeps: only what is new is sent, or all of it where it must be."""

import json

import pytest

import rightcall as rc
from request.server import serving, whole
from rightcall.core.message import Reasoning
from rightcall.errors import UsageError

FORGOTTEN = {
    "message": "Previous response with id 'resp_2' not found.",
    "type": "invalid_request_error",
    "param": "previous_response_id",
    "code": "previous_response_not_found",
}


def said(number: int, text: str, *calls: str):
    part = {"type": "output_text", "text": text, "annotations": []}
    output = [{"type": "message", "role": "assistant", "status": "completed", "content": [part]}]
    output += [
        {"type": "function_call", "call_id": call, "name": "look", "arguments": "{}", "id": f"fc_{call}"}
        for call in calls
    ]
    usage = {"input_tokens": 100 * number, "output_tokens": 5}
    body = {"id": f"resp_{number}", "status": "completed", "output": output, "usage": usage}
    return whole(json.dumps(body).encode())


def forgotten():
    return whole(json.dumps({"error": FORGOTTEN}).encode(), 400)


@rc.tool
def look() -> str:
    """Look."""
    return "seen"


def model_at(url: str, **options) -> rc.models.Model:
    given = {"state": "vendor", **options}
    return rc.connect("openai-responses:gpt-5.2", base_url=url, api_key="k", streaming=False, **given)


def bodies(server) -> list[dict]:
    return [json.loads(body) for _, _, body in server.requests]


def kinds(body: dict) -> list[str]:
    return [item["type"] for item in body["input"]]


async def test_only_what_is_new_is_sent_within_a_run_and_to_the_next():
    async with serving(said(1, "", "a"), said(2, "Seen."), said(3, "Bye.")) as server:
        agent = rc.Agent(model_at(server.url), [look], "Be brief.")
        first = await agent.run("Look!")
        again = rc.RunResult.from_json(first.to_json())
        second = await agent.run("Thanks.", history=again.transcript)
        one, two, three = bodies(server)
        assert all(body["store"] for body in (one, two, three))
        assert [body["instructions"] for body in (one, two, three)] == ["Be brief."] * 3
        assert "previous_response_id" not in one
        assert (two["previous_response_id"], kinds(two)) == ("resp_1", ["function_call_output"])
        assert (three["previous_response_id"], kinds(three)) == ("resp_2", ["message"])
        assert first.usage.input_tokens == 300
        assert second.text == "Bye."


async def test_a_vendor_that_has_forgotten_is_told_everything():
    async with serving(said(1, "Hi."), forgotten(), said(3, "Yes."), said(4, "No.")) as server:
        agent = rc.Agent(model_at(server.url))
        first = await agent.run("one")
        second = await agent.run("two", history=first.transcript)
        await agent.run("three", history=second.transcript)
        _, short, full, after = bodies(server)
        assert (short["previous_response_id"], kinds(short)) == ("resp_1", ["message"])
        assert "previous_response_id" not in full
        assert kinds(full) == ["message"] * 3
        # What it was told then, it has.
        assert (after["previous_response_id"], kinds(after)) == ("resp_3", ["message"])


async def test_a_history_that_was_trimmed_or_changed_is_sent_anew():
    async with serving(said(1, "Hi."), said(2, "Yes.")) as server:
        agent = rc.Agent(model_at(server.url))
        first = await agent.run("one")
        for history in (
            first.transcript[1:],
            (rc.User((rc.models.Text("other"),)), *first.transcript[1:]),
        ):
            await agent.run("two", history=history)
            assert "previous_response_id" not in bodies(server)[-1]


async def test_no_other_place_is_given_the_id():
    async with serving(said(1, "Hi.")) as server, serving(said(2, "Yes.")) as other:
        first = await rc.Agent(model_at(server.url)).run("one")
        await rc.Agent(model_at(other.url)).run("two", history=first.transcript)
        await rc.Agent(model_at(server.url, state=None)).run("two", history=first.transcript)
        for body in (bodies(other)[0], bodies(server)[1]):
            assert "previous_response_id" not in body
            assert kinds(body) == ["message"] * 3
        assert bodies(server)[1]["store"] is False


async def test_what_another_wrote_before_is_no_reason_to_send_everything_again():
    thought = Reasoning("Hm.", {"anthropic": {"signature": "s"}})
    elsewhere = rc.Reply((thought, rc.models.Text("Hello.")), written_by="claude")
    history = (rc.User((rc.models.Text("Hi"),)), elsewhere)
    async with serving(said(1, "", "a"), said(2, "Seen.")) as server:
        await rc.Agent(model_at(server.url), [look]).run("Look!", history=history)
        one, two = bodies(server)
        assert kinds(one) == ["message"] * 3
        assert (two["previous_response_id"], kinds(two)) == ("resp_1", ["function_call_output"])


async def test_a_recovered_run_goes_on_with_what_the_vendor_has(tmp_path):
    journal = rc.record.JsonLinesJournal(tmp_path / "runs.jsonl")
    broken = whole(b'{"error": {"message": "no"}}', 400)
    async with serving(said(1, "", "a"), broken, said(2, "Seen.")) as server:
        agent = rc.Agent(model_at(server.url), [look], journal=journal)
        with pytest.raises(rc.errors.VendorError):
            await agent.run("Look!", run="r")
        assert (await agent.recover("r")).text == "Seen."
        _, first, again = bodies(server)
        assert first == again
        assert again["previous_response_id"] == "resp_1"


def test_other_dialects_say_that_they_keep_nothing():
    with pytest.raises(UsageError, match="state='vendor' is for vendors that keep conversations"):
        rc.connect("openai:m", api_key="k", state="vendor")


CONV = {"extra": {"conversation": "conv_1"}}
GONE = {"message": "Conversation with id 'conv_1' not found.", "type": "invalid_request_error"}


async def test_a_conversation_is_named_in_place_of_a_reply_and_told_what_is_new():
    async with serving(said(1, "", "a"), said(2, "Seen."), said(3, "Bye.")) as server:
        agent = rc.Agent(model_at(server.url), [look], options=CONV)
        first = await agent.run("Look!")
        # Another model spoke in between: the conversation has not heard it.
        elsewhere = (
            rc.User((rc.models.Text("And?"),)),
            rc.Reply((rc.models.Text("Nothing."),), written_by="claude"),
        )
        await agent.run("Thanks.", history=(*first.transcript, *elsewhere))
        sent = bodies(server)
        assert [body["conversation"] for body in sent] == ["conv_1"] * 3
        assert not any("previous_response_id" in body for body in sent)
        assert [kinds(body) for body in sent] == [["message"], ["function_call_output"], ["message"] * 3]


async def test_a_conversation_that_is_gone_is_left_and_everything_said():
    gone = whole(json.dumps({"error": GONE}).encode(), 404)
    replies = said(1, "Hi."), gone, said(2, "Yes."), said(3, "Good.")
    async with serving(*replies) as server:
        agent = rc.Agent(model_at(server.url), options=CONV)
        first = await agent.run("one")
        second = await agent.run("two", history=first.transcript)
        await agent.run("three", history=second.transcript)
        _, lost, full, after = bodies(server)
        assert (lost["conversation"], kinds(lost)) == ("conv_1", ["message"])
        assert ("conversation" in full, kinds(full)) == (False, ["message"] * 3)
        assert ("conversation" in after, after["previous_response_id"]) == (False, "resp_2")


async def test_a_conversation_cannot_be_rewritten():
    async with serving(said(1, "Hi.")) as server:
        agent = rc.Agent(model_at(server.url), options=CONV)
        first = await agent.run("one")
        with pytest.raises(rc.errors.EncodeError, match="cut or changed"):
            await agent.run("two", history=first.transcript[1:])
        with pytest.raises(rc.errors.EncodeError, match='connect with state="vendor"'):
            await rc.Agent(model_at(server.url, state=None), options=CONV).run("one")
        assert len(bodies(server)) == 1
