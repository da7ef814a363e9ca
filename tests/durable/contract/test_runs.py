"""What every engine promises of a run: once, to its end, seen from anywhere."""

import asyncio

import pytest

import rightcall as rc
from durable import cast
from durable.conftest import long, until
from rightcall.durable.engine import Queue, SegmentJob, engine_at


async def test_a_run_is_submitted_once_and_read_by_others(working, asking, run):
    async with working() as app, asking() as other:
        handle = await app.submit("worker", "look pay", run=run)
        result = await handle.result()
        assert (result.text, result.stop.reason) == ("done after 2 turns", "end")
        assert [each.result.text for each in result.calls] == ["seen", "paid"]
        await other.submit("worker", "look pay", run=run)
        assert (await other.result(run)).transcript == result.transcript
        with pytest.raises(rc.errors.UsageError, match="another input"):
            await other.submit("worker", "pay pay", run=run)
    assert cast.logged() == ["look", "pay"]


async def test_a_run_waits_without_a_process_and_goes_on_in_another(working, asking, run):
    async with working() as app:
        waiting = await (await app.submit("worker", "pay refund", run=run)).result()
    assert waiting.stop.reason == "pending"
    decisions = {each.call_id: True for each in waiting.pending}
    async with asking() as other:
        assert (await _info(other, run)).status == "waiting"
        with pytest.raises(rc.errors.UsageError, match="no decision about"):
            await other.decide(run, {})
        await other.decide(run, decisions)
        await other.decide(run, decisions)
        with pytest.raises(rc.errors.AlreadyDecided) as told:
            await other.decide(run, dict.fromkeys(decisions, False))
        assert told.value.decisions == dict.fromkeys(decisions, rc.Allow())
    async with working() as app:
        result = await app.result(run)
        assert result.text == "done after 2 turns"
        await app.decide(run, decisions)
    assert cast.logged() == ["pay", "refund"]


async def test_a_call_is_answered_later_from_any_process(working, asking, run):
    async with working() as app:
        waiting = await (await app.submit("worker", "pay+ship look", run=run)).result()
    (parcel,) = [each.later for each in waiting.pending]
    async with asking() as other:
        assert [each.later for each in (await _info(other, run)).pending] == [parcel]
        with pytest.raises(rc.errors.UsageError, match=f"waits for {parcel}"):
            await other.answer(run, "parcel of somebody else", "lost")
        await other.answer(run, parcel, {"arrived": True})
        await other.answer(run, parcel, {"arrived": True})
        with pytest.raises(rc.errors.AlreadyDecided):
            await other.answer(run, parcel, "lost")
    async with working() as app:
        result = await app.result(run)
    assert result.text == "done after 2 turns"
    assert '{"arrived":true}' in [each.result.text for each in result.calls]
    # The first two are of one reply, and run at once.
    assert sorted(cast.logged()[:2]) == ["pay", "ship"]
    assert cast.logged()[2:] == ["look"]


async def test_of_two_who_decide_at_once_one_wins(working, run):
    async with working() as app:
        waiting = await (await app.submit("worker", "refund", run=run)).result()
        yes = {each.call_id: True for each in waiting.pending}
        no = dict.fromkeys(yes, False)
        said = await asyncio.gather(app.decide(run, yes), app.decide(run, no), return_exceptions=True)
        assert [isinstance(each, rc.errors.AlreadyDecided) for each in said].count(True) == 1
        result = await app.result(run)
    assert (cast.logged() == ["refund"]) is (result.calls[-1].outcome == "returned")


async def test_a_waiting_run_that_is_cancelled_cannot_be_answered(working, asking, run):
    async with working() as app:
        waiting = await (await app.submit("worker", "refund", run=run)).result()
    async with asking() as other:
        assert await other.cancel(run)
        with pytest.raises(rc.errors.UsageError, match="cancelled"):
            await other.decide(run, {each.call_id: True for each in waiting.pending})
        with pytest.raises(rc.errors.RunStopped, match="cancelled") as stopped:
            await other.result(run)
        assert stopped.value.status == (await other.show(run)).info.status == "cancelled"
    assert cast.logged() == []


async def test_cancelling_reaches_into_an_async_tool(working, asking, run):
    async with working() as app, asking() as other:
        await app.submit("worker", "look+wait", run=run)
        await until(lambda: "wait" in cast.logged())
        assert await other.cancel(run)
        await until(lambda: "wait cancelled" in cast.logged(), 20)
        with pytest.raises(rc.errors.RunStopped) as stopped:
            await app.result(run)
        assert stopped.value.status == "cancelled"
        assert not await other.cancel(run)


@long
async def test_cancelling_reaches_agents_that_were_handed_a_task(working, run):
    async with working() as app:
        await app.submit("chief", "wait", run=run)
        await until(lambda: "wait" in cast.logged())
        await app.cancel(run)
        await until(lambda: "wait cancelled" in cast.logged(), 20)


async def test_an_agent_that_was_handed_a_task_waits_and_goes_on(working, asking, run):
    async with working() as app:
        waiting = await (await app.submit("chief", "look refund", run=run)).result()
    assert [each.agent for each in waiting.pending] == ["helper"]
    async with asking() as other:
        await other.decide(run, {each.call_id: True for each in waiting.pending})
    async with working() as app:
        assert (await app.result(run)).text == "the helper is done"
    assert cast.logged() == ["look", "refund"]


async def test_a_fork_keeps_what_came_before_its_step(working, run):
    async with working() as app:
        await (await app.submit("worker", "pay look put", run=run)).result()
        fork = await app.fork(run, at="t2.0.look", new=f"{run} again")
        assert (await fork.result()).text == "done after 3 turns"
        assert (await _info(app, fork.run)).forked_from
        with pytest.raises(rc.errors.UsageError, match="has no step"):
            await app.fork(run, at="t9.model")
        with pytest.raises(rc.errors.UsageError, match="name the fork otherwise"):
            await app.fork(run, at="t2.0.look", new=fork.run)
    keys = [line for line in cast.logged() if line.startswith("put")]
    assert [line for line in cast.logged() if line not in keys] == ["pay", "look", "look"]
    assert len(set(keys)) == 2, "a fork is another run, so its keys are others"


@long
async def test_a_fork_of_what_went_on_after_a_pause_has_no_deadline(working, run):
    async with working() as app:
        waiting = await (await app.submit("worker", "refund pay", run=run, deadline=3)).result()
        await app.decide(run, {each.call_id: True for each in waiting.pending})
        await app.result(run)
        await asyncio.sleep(3)
        fork = await app.fork(run, at="t2.0.pay.started")
        assert (await fork.result()).text == "done after 2 turns"
        info = (await app.show(fork.run)).info
    assert (info.segment, info.forked_from) == (0, f"{run}/1")
    assert cast.logged() == ["refund", "pay", "pay"]


async def test_a_budget_holds_across_segments(working, run):
    async with working() as app:
        budget = rc.Budget(turns=2)
        waiting = await (await app.submit("worker", "refund pay pay", run=run, budget=budget)).result()
        await app.decide(run, {each.call_id: True for each in waiting.pending})
        result = await app.result(run)
    assert (result.stop.reason, result.stop.limit) == ("limit", "turns")


async def test_a_deadline_holds_across_segments(working, run):
    async with working() as app:
        waiting = await (await app.submit("worker", "refund", run=run, deadline=1.5)).result()
        await asyncio.sleep(1.5)
        await app.decide(run, {each.call_id: True for each in waiting.pending})
        with pytest.raises(rc.errors.RunStopped, match="deadline"):
            await app.result(run)
        with pytest.raises(rc.errors.RunStopped, match="deadline"):
            await (await app.submit("worker", "wait", run=f"{run} b", deadline=0.3)).result()
    assert "refund" not in cast.logged()


async def test_very_long_results_go_by_reference(working, asking, run):
    async with working() as app, asking() as other:
        result = await (await app.submit("worker", "fetch", run=run)).result()
        assert len(result.calls[0].result.text) >= cast.LONG
        again = await other.result(run)
        assert again.transcript == result.transcript
        shown = await other.show(run)
    assert [step.key for step in shown.steps[0]] == ["t1.model", "t1.0.fetch", "t2.model"]
    assert max(len(step.value) for step in shown.steps[0]) < 1000
    assert len(shown.segments[0].outcome) < 1000


async def test_pure_calls_leave_nothing_in_the_journal(working, run):
    async with working() as app:
        await (await app.submit("worker", "add+look", run=run)).result()
        keys = [step.key for step in (await app.show(run)).steps[0]]
    assert keys == ["t1.model", "t1.1.look", "t2.model"]


@long
async def test_an_agent_that_nobody_has_is_told(working, asking, run):
    async with asking() as other, working() as app:
        with pytest.raises(rc.errors.UsageError, match="there is no agent 'nobody' here"):
            await app.submit("nobody", "x")
        handle = await other.submit("nobody", "x", run=run)
        with pytest.raises(rc.errors.RunStopped, match="no agent 'nobody'"):
            await handle.result()


async def test_runs_are_listed_and_forgotten(working, run):
    async with working() as app:
        await (await app.submit("worker", "fetch", run=run)).result()
        await (await app.submit("worker", "refund", run=f"{run} w")).result()
        listed = {each.run: each.status for each in await app.list() if each.run.startswith(run)}
        assert listed == {run: "done", f"{run} w": "waiting"}
        assert await app.gc(older=3600) == 0
        await until(lambda: app.gc(older=0.0), 20)
        left = [each.run for each in await app.list() if each.run.startswith(run)]
        assert left == [f"{run} w"], "what waits for a person is kept"
        with pytest.raises(rc.errors.UsageError, match="there is no run"):
            await app.result(run)


async def test_a_run_whose_outcome_cannot_be_read_hides_no_other(working, address, run):
    async def execute(job, journal):
        return "no outcome"

    engine = engine_at(address)
    await engine.open(execute, [Queue()])
    try:
        await engine.submit(SegmentJob(run=run, segment=0, agent="worker", input="x"))
        await engine.wait(run, 0)
    finally:
        await engine.close()
    async with working() as app:
        await (await app.submit("worker", "fetch", run=f"{run} w")).result()
        listed = {each.run: each for each in await app.list() if each.run.startswith(run)}
    assert (listed[run].status, listed[f"{run} w"].status) == ("failed", "done")
    assert "no outcome" in listed[run].reason


async def _info(app: rc.durable.App, run: str) -> rc.durable.RunInfo:
    return (await app.show(run)).info
