"""What a turn did not offer is not run, whoever asks for it: by choice, by name, by a hook."""

import pytest
from msgspec.structs import replace

import rightcall as rc
from agent.kit import Desk, outcomes, told
from loop.sound import assert_sound
from rightcall.core.decision import VENDOR_CALL
from rightcall.core.entry import CallChecked, ReplyReceived, RunStarted
from rightcall.core.outcome import NotOffered, UnknownTool
from rightcall.core.tool import CheckedCall
from rightcall.gate.call_check import check
from rightcall.gate.render import render
from rightcall.models import Named, Request
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, Turn, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")

NOTHING = "pay was not run: this turn offered no tools."
ONLY_FIND = "pay was not run: this turn did not offer it. It offered: find."
PAY = reply(call("pay", id="a", what="Eve"))


def box(desk: Desk) -> list[rc.Tool]:
    return [desk.tool("find", "read"), desk.tool("pay")]


def without_pay(request: Request) -> Request:
    return replace(request, specs=tuple(spec for spec in request.specs if spec.name != "pay"))


@pytest.mark.parametrize(
    ("options", "hooks", "words"),
    [
        ({"choice": "none"}, None, NOTHING),
        ({"choice": Named("find")}, None, ONLY_FIND),
        ({}, rc.Hooks(before_model=without_pay), ONLY_FIND),
        ({}, rc.Hooks(before_model=lambda request: replace(request, choice="none")), NOTHING),
    ],
    ids=["none", "named", "a hook's tools", "a hook's choice"],
)
async def test_a_call_outside_the_offer_is_not_run_and_the_model_reads_what_was_offered(
    options, hooks, words
):
    desk = Desk()
    journal = MemoryJournal()
    agent = rc.Agent(ScriptedModel([PAY, "Oh."]), box(desk), hooks=hooks, journal=journal)
    result = await agent.run("Go.", run="r", **options)
    assert (desk.done, outcomes(result)) == ([], [("pay", "not_offered")])
    assert told(result.transcript)[2] == f"pay not_offered: {words}"
    assert result.calls[0].result.is_error
    assert_sound(result.transcript)
    checked = [each.refused for each in journal.entries("r") if isinstance(each, CallChecked)]
    assert checked == ["not_offered"]
    assert (await rc.replay(journal, "r")).transcript == result.transcript


async def test_a_turn_that_offers_everything_records_nothing_of_it():
    desk = Desk()
    journal = MemoryJournal()
    agent = rc.Agent(ScriptedModel([PAY, "Done."]), box(desk), journal=journal)
    result = await agent.run("Go.", run="r", choice="required")
    assert outcomes(result) == [("pay", "returned")]
    received = [each for each in journal.entries("r") if isinstance(each, ReplyReceived)]
    assert [each.offer for each in received] == [None, None]


async def test_a_choice_for_the_first_turn_binds_no_later_one():
    desk = Desk()
    model = ScriptedModel([reply(call("find")), PAY, "Done."])
    result = await rc.Agent(model, box(desk)).run("Go.", choice=Named("find"))
    assert outcomes(result) == [("find", "returned"), ("pay", "returned")]


async def test_none_binds_every_turn():
    model = ScriptedModel([PAY, reply(call("pay", id="b")), "Oh."])
    result = await rc.Agent(model, box(Desk())).run("Go.", choice="none")
    assert outcomes(result) == [("pay", "not_offered")] * 2


async def test_a_call_outside_the_offer_does_not_start_early():
    desk = Desk()
    turn = Turn(reply=reply(call("find", id="a", what="x"), call("pay", id="b")), pause=0.01)
    agent = rc.Agent(ScriptedModel([turn, "Oh."]), box(desk))
    events = [event async for event in agent.stream("Go.", choice="none")]
    result = events[-1].result
    assert (desk.done, result.dropped) == ([], ())
    assert outcomes(result) == [("find", "not_offered"), ("pay", "not_offered")]
    ends = [each.result.outcome for each in events if isinstance(each, rc.events.ResultEnd)]
    assert ends == ["not_offered"] * 2


async def test_a_run_that_is_recovered_holds_the_offer_of_its_journal():
    desk = Desk()
    journal = MemoryJournal()
    hooks = rc.Hooks(before_model=without_pay)
    model = ScriptedModel([PAY, "Oh."])
    await rc.Agent(model, box(desk), hooks=hooks, journal=journal).run("Go.", run="r")
    cut = MemoryJournal()
    for entry in journal.entries("r"):
        cut.append("r", entry)
        if isinstance(entry, ReplyReceived):
            break
    # The hook is gone; what was offered then stands in the journal.
    result = await rc.Agent(ScriptedModel(["Oh."]), box(desk), journal=cut).recover("r")
    assert (desk.done, outcomes(result)) == ([], [("pay", "not_offered")])


async def test_a_run_that_waits_holds_the_offer_in_its_result():
    desk = Desk()
    tools = [desk.tool("find", approval=True), desk.tool("pay")]
    model = ScriptedModel([reply(call("find", id="a"), call("pay", id="b"))])
    hooks = rc.Hooks(before_model=without_pay)
    paused = await rc.Agent(model, tools, hooks=hooks).run("Go.")
    assert [each.name for each in paused.pending] == ["find"]
    stored = rc.RunResult.from_json(paused.to_json())
    result = await rc.Agent(ScriptedModel(["Done."]), tools).resume(stored, {"a": True})
    assert desk.done == ["find"]
    assert outcomes(result) == [("find", "returned"), ("pay", "not_offered")]


async def test_a_journal_from_before_offers_were_held_replays_as_it_went():
    desk = Desk()
    journal = MemoryJournal()
    agent = rc.Agent(ScriptedModel([PAY, "Done."]), box(desk), journal=journal)
    result = await agent.run("Go.", run="r")
    old = MemoryJournal()
    for entry in journal.entries("r"):
        is_start = isinstance(entry, RunStarted)
        old.append("r", replace(entry, choice="none") if is_start else entry)
    again = await rc.replay(old, "r")
    assert again.transcript == result.transcript
    assert outcomes(again) == [("pay", "returned")]
    assert desk.done == ["pay Eve"]


async def test_a_deferred_tool_may_be_called_by_name_beside_one_that_a_hook_removed():
    desk = Desk()
    later = desk.tool("wire")
    hooks = rc.Hooks(before_model=without_pay)
    model = ScriptedModel([reply(call("wire", id="a"), call("pay", id="b")), "Done."])
    agent = rc.Agent(model, [*box(desk), later], defer=["wire"], hooks=hooks)
    result = await agent.run("Go.")
    assert outcomes(result) == [("wire", "returned"), ("pay", "not_offered")]


def test_a_name_that_nobody_has_is_told_only_what_is_offered():
    tools = rc.Toolbox(box(Desk()))
    assert check(call("fund"), tools, ("find",)) == UnknownTool("fund", ("find",), ("find",))
    assert check(call("pay"), tools, ("find",)) == NotOffered(("find",))


@pytest.mark.parametrize(
    ("offer", "kind"), [((), NotOffered), (("find",), CheckedCall), (None, CheckedCall)]
)
def test_what_the_vendor_runs_is_excluded_only_by_an_offer_of_nothing(offer, kind):
    arguments = '{"server": "s", "tool": "t", "arguments": {}}'
    asked = rc.Call(id="a", name=VENDOR_CALL, arguments=arguments, form="approval")
    assert isinstance(check(asked, rc.Toolbox(box(Desk())), offer), kind)


def test_what_the_vendor_runs_may_reach_anything_as_far_as_anybody_knows():
    arguments = '{"server": "s", "tool": "t", "arguments": {}}'
    checked = check(
        rc.Call(id="a", name=VENDOR_CALL, arguments=arguments, form="approval"), rc.Toolbox()
    )
    assert isinstance(checked, CheckedCall)
    facts = checked.tool.facts
    assert (facts.untrusted, facts.private, facts.reach) == (False, False, "outside")
    assert (facts.dangers, facts.targets) == (("money", "deletes", "credentials"), ("server", "tool"))


def test_many_names_are_counted_and_not_all_listed():
    names = tuple(f"tool_{number}" for number in range(100))
    words = render(call("pay"), NotOffered(names)).text
    assert words.endswith("tool_28, tool_29 and 70 more.")
