"""What every engine promises of messages to a run: from any process, in order, once."""

import pytest

import rightcall as rc
from durable import cast
from durable.conftest import until
from loop.sound import assert_sound
from rightcall.errors import RunStopped


def said(result):
    return [each.text for each in result.transcript if isinstance(each, rc.User)][1:]


async def test_what_another_process_says_is_delivered_in_order_and_once(working, asking, run):
    async with working() as app, asking() as other:
        handle = await app.submit("worker", "wait look", run=run)
        await until(lambda: "wait" in cast.logged())
        await other.say(run, "one", id="sms 1")
        await other.say(run, "one", id="sms 1")
        assert [each.text for each in await other.unread(run)] == ["one"]
        await other.say(run, "two", now=True)
        result = await handle.result()
        assert said(result) == ["one", "two"]
        assert [each.outcome for each in result.calls] == ["cancelled", "returned"]
        assert await other.unread(run) == []
        with pytest.raises(RunStopped, match="no more messages"):
            await other.say(run, "too late")
    assert_sound(result.transcript)
    assert cast.logged() == ["wait", "wait cancelled", "look"]


async def test_what_is_said_to_a_run_that_waits_is_delivered_when_it_goes_on(working, run):
    async with working() as app:
        waiting = await (await app.submit("worker", "refund", run=run)).result()
        await app.say(run, "x" * 100_000)
        assert len(await app.unread(run)) == 1
        await app.decide(run, {each.call_id: True for each in waiting.pending})
        result = await app.result(run)
        assert [len(each) for each in said(result)] == [100_000]


async def test_a_run_that_is_stopped_ends_with_what_there_is(working, run):
    async with working() as app:
        handle = await app.submit("worker", "look wait look", run=run)
        await until(lambda: "wait" in cast.logged())
        await handle.stop()
        result = await handle.result()
        assert (result.stop.reason, (await app.list(limit=1))[0].status) == ("stopped", "done")
        assert [each.outcome for each in result.calls] == ["returned", "cancelled"]


async def test_a_fork_has_the_messages_that_were_said_and_takes_those_again_that_came_later(
    working, run
):
    async with working() as app:
        handle = await app.submit("worker", "look refund look", run=run)
        waiting = await handle.result()
        await handle.say("slowly")
        await app.decide(run, {each.call_id: True for each in waiting.pending})
        assert said(await handle.result()) == ["slowly"]
        fork = await app.fork(run, at="t2.model", new=f"{run} again")
        again = await fork.result()
        assert [each.text for each in again.transcript if isinstance(each, rc.User)][1:] == ["slowly"]
