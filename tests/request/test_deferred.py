"""Replies that are made in the background: asked for once, looked at, and cancelled when given up."""

import asyncio
import json

import pytest

import rightcall as rc
from request.server import serving, whole
from request.test_kept import FORGOTTEN, said
from rightcall.errors import TransportError, UsageError, VendorError
from rightcall.request.background_model import BackgroundModel


def standing(status: str, **more: object):
    return whole(json.dumps({"id": "resp_1", "status": status, "output": [], **more}).encode())


def model_at(url: str, **options) -> BackgroundModel:
    model = rc.connect(
        "openai-responses:gpt-5.2",
        base_url=url,
        api_key="k",
        retry=rc.models.Retry(attempts=1),
        **options,
    )
    return BackgroundModel(model, 0.001)


async def test_a_reply_is_asked_for_once_and_looked_at_until_it_is_done():
    looks = standing("queued"), standing("queued"), standing("in_progress"), said(1, "Done.")
    async with serving(*looks) as server:
        result = await rc.Agent(model_at(server.url), options={"extra": {"x": 1}}).run("Think!")
        assert (result.text, result.usage.input_tokens) == ("Done.", 100)
        assert [target for target, _, _ in server.requests] == ["/responses", *["/responses/resp_1"] * 3]
        sent = json.loads(server.requests[0][2])
        assert (sent["background"], sent["store"], sent["stream"], sent["x"]) == (True, True, False, 1)


@pytest.mark.parametrize(
    ("last", "stop"),
    [
        (standing("incomplete", incomplete_details={"reason": "max_output_tokens"}), "length"),
        (standing("cancelled"), "error"),
    ],
)
async def test_every_end_is_an_end(last, stop):
    async with serving(standing("queued"), last) as server:
        assert (await rc.Agent(model_at(server.url)).run("Think!")).stop.reason == stop


async def test_a_failure_is_a_refusal_that_names_who_refused():
    failed = standing("failed", error={"code": "server_error", "message": "no"})
    async with serving(standing("queued"), failed) as server:
        with pytest.raises(VendorError, match="openai-responses: server_error: no"):
            await rc.Agent(model_at(server.url)).run("Think!")


async def test_what_is_given_up_is_cancelled_at_the_vendor():
    async with serving(standing("in_progress")) as server:
        agent = rc.Agent(model_at(server.url))
        task = asyncio.create_task(agent.run("Think!"))
        while len(server.requests) < 3:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert server.requests[-1][0] == "/responses/resp_1/cancel"
        late = await agent.run("Think!", budget=rc.Budget(seconds=0.05))
        assert late.stop.limit == "seconds"
        assert server.requests[-1][0] == "/responses/resp_1/cancel"


async def test_what_may_have_arrived_is_not_asked_for_again():
    async def dropped(writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with serving(dropped, said(1, "Done.")) as server:
        model = rc.connect("openai-responses:m", base_url=server.url, api_key="k")
        with pytest.raises(TransportError):
            await rc.Agent(BackgroundModel(model, 0.001)).run("Think!")
        assert len(server.requests) == 1


async def test_a_kept_conversation_goes_on_in_the_background():
    forgotten = whole(json.dumps({"error": FORGOTTEN}).encode(), 400)
    async with serving(said(1, "Hi."), forgotten, said(2, "Yes."), said(3, "No.")) as server:
        agent = rc.Agent(model_at(server.url, state="vendor"))
        first = await agent.run("one")
        second = await agent.run("two", history=first.transcript)
        await agent.run("three", history=second.transcript)
        sent = [json.loads(body).get("previous_response_id") for _, _, body in server.requests]
        assert sent == [None, "resp_1", None, "resp_2"]


def test_other_dialects_say_that_they_have_no_background():
    with pytest.raises(UsageError, match="background=True is for vendors that keep conversations"):
        rc.connect("anthropic:m", api_key="k", background=True)
    assert "BackgroundModel" in repr(rc.connect("openai-responses:m", api_key="k", background=True))


async def killed_while_waiting(server, journal: rc.record.MemoryJournal) -> None:
    """A run up to its second look, and what a process that ends there leaves behind."""
    lasting = rc.record.MemoryJournal()
    task = asyncio.create_task(rc.Agent(model_at(server.url), journal=lasting).run("Think!", run="r"))
    while len(server.requests) < 2:
        await asyncio.sleep(0.001)
    for entry in lasting.entries("r"):
        journal.append("r", entry)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    server.requests.clear()


@pytest.mark.parametrize(
    ("found", "targets"),
    [
        (said(1, "Done."), ["/responses/resp_1"]),
        (standing("cancelled"), ["/responses/resp_1", "/responses"]),
        (whole(b"{}", 404), ["/responses/resp_1", "/responses"]),
    ],
)
async def test_a_recovered_run_goes_on_with_what_was_begun_and_asks_again_if_it_is_gone(found, targets):
    journal = rc.record.MemoryJournal()
    async with serving(standing("queued")) as server:
        await killed_while_waiting(server, journal)
    async with serving(found, said(2, "Done.")) as server:
        agent = rc.Agent(model_at(server.url), journal=journal)
        assert (await agent.recover("r")).text == "Done."
        assert [target for target, _, _ in server.requests] == targets
        # A replay that asks a model asks it anew.
        await rc.replay(journal, "r", model=model_at(server.url))
        assert server.requests[len(targets)][0] == "/responses"
