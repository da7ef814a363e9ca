"""Agents inside agents: who is asked, who hears what, and what a pause, a crash and a restart leave."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from agent.kit import Desk, outcomes, told
from loop.sound import assert_sound
from rightcall import (
    Agent,
    Allow,
    Answer,
    Budget,
    Context,
    Deny,
    Hooks,
    Rewrite,
    RunResult,
    Tool,
    User,
    replay,
    run_calls,
    tool,
)
from rightcall.core.entry import Entry, Nested, RunPaused, RunResumed
from rightcall.core.events import CallEnd, ResultEnd, SubagentEvent, TextDelta, TurnStart
from rightcall.core.handler import CallProgress
from rightcall.core.message import Reply, Results
from rightcall.core.parts import Text
from rightcall.core.request import Request
from rightcall.errors import AlreadyDecided, UsageError
from rightcall.loop.result import RunEnd
from rightcall.models import Usage
from rightcall.programs import code
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply
from rightcall.trust.rules import Rules

pytestmark = pytest.mark.usefixtures("nothing_is_left")

SPENT = Usage(input_tokens=10, output_tokens=5)


def turns(*replies) -> ScriptedModel:
    """A model that says the n-th reply when it has said n before, whoever asks and however often."""

    def script(request: Request):
        return replies[sum(isinstance(message, Reply) for message in request.messages)]

    return ScriptedModel(script)


def helper_of(desk: Desk, *replies, name: str = "helper", **options) -> Agent:
    tools = [desk.tool("find"), desk.tool("send", approval=True)]
    script = replies or (reply(call("find", what="x"), call("send", id="s", what="mail")), "Sent.")
    return Agent(turns(*script), tools, name=name, **options)


def boss_of(*tools: Tool, calls=(), **options) -> Agent:
    asked = calls or [call("helper", id="h", task="Write.")]
    return Agent(turns(reply(*asked), "Done."), tools, name="boss", **options)


def stored(result: RunResult) -> RunResult:
    return RunResult.from_json(result.to_json())


PENDING = "t1.0.helper/s"


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(
    ("decision", "done", "words"),
    [
        (True, ["find x", "send mail"], "send mail: done"),
        (Allow(), ["find x", "send mail"], "send mail: done"),
        (Deny("not now."), ["find x"], "send was not run; permission was denied: not now."),
        (Rewrite({"what": "less"}), ["find x", "send less"], "send less: done"),
        (Answer("sent by hand"), ["find x"], "sent by hand"),
    ],
)
async def test_an_approval_inside_pauses_the_whole_run_and_the_answer_reaches_it(
    decision, done, words, recorded
):
    desk = Desk()
    own = {"journal": MemoryJournal()} if recorded else {}
    helper = helper_of(desk)
    boss = boss_of(helper.as_tool(), **own)
    paused = await boss.run("Go.", run="r")
    assert (paused.stop.reason, desk.done) == ("pending", [])
    (proposal,) = paused.pending
    assert (proposal.call_id, proposal.agent, proposal.name) == (PENDING, "helper", "send")
    assert proposal.arguments == {"what": "mail"}
    result = await boss.resume(stored(paused), {PENDING: decision})
    assert (desk.done, result.stop.reason) == (done, "end")
    inner = helper._config.model.requests[-1].messages[-1]
    assert isinstance(inner, Results)
    assert inner.results[1].text == words
    assert told(result.transcript)[2:] == ["helper returned: Sent.", "model: Done."]
    assert_sound(result.transcript)


async def test_the_outer_agents_approve_is_asked_with_the_agents_name():
    asked = []

    async def approve(proposal):
        asked.append((proposal.agent, proposal.call_id, proposal.name))
        return True

    desk = Desk()
    result = await boss_of(helper_of(desk).as_tool(), approve=approve).run("Go.")
    assert (asked, desk.done) == ([("helper", PENDING, "send")], ["find x", "send mail"])
    assert result.text == "Done."


async def test_an_approve_of_the_agents_own_goes_first():
    async def yes(_):
        return True

    async def no(_):
        return False

    desk = Desk()
    await boss_of(helper_of(desk, approve=yes).as_tool(), approve=no).run("Go.")
    assert desk.done == ["find x", "send mail"]


async def test_several_that_wait_are_listed_together_and_what_is_over_is_not_done_again():
    desk = Desk()
    calls = [
        call("helper", id="a", task="One."),
        call("note", id="n", what="y"),
        call("other", id="b", task="Two."),
        call("last", id="l", what="z"),
    ]
    tools = [
        helper_of(desk).as_tool(),
        desk.tool("note"),
        helper_of(desk, name="other").as_tool(),
        desk.tool("last", serial=True),
    ]
    boss = boss_of(*tools, calls=calls)
    paused = await boss.run("Go.")
    assert desk.done == ["note y"]
    assert [(each.agent, each.call_id) for each in paused.pending] == [
        ("helper", "t1.0.helper/s"),
        ("other", "t1.2.other/s"),
    ]
    result = await boss.resume(stored(paused), {"t1.0.helper/s": True, "t1.2.other/s": Deny("no.")})
    assert sorted(desk.done) == sorted(["note y", "find x", "find x", "send mail", "last z"])
    assert desk.done[-1] == "last z"
    assert [name for name, _ in outcomes(result)] == ["helper", "note", "other", "last"]
    assert_sound(result.transcript)


async def test_agents_below_agents_pause_and_go_on_and_what_they_spend_counts_once():
    desk = Desk()
    deep = helper_of(desk, name="deep")
    middle = Agent(
        turns(reply(call("find", what="m"), call("deep", id="d", task="Deeper.")), "Middle."),
        [deep.as_tool(), desk.tool("find")],
        name="middle",
    )
    boss = boss_of(middle.as_tool(), calls=[call("middle", id="m", task="Down.")])
    paused = await boss.run("Go.")
    (proposal,) = paused.pending
    assert (proposal.agent, proposal.call_id) == ("middle/deep", "t1.0.middle/t1.1.deep/s")
    assert (desk.done, paused.usage) == (["find m"], SPENT + SPENT + SPENT)
    result = await boss.resume(stored(paused), {proposal.call_id: True})
    assert desk.done == ["find m", "find x", "send mail"]
    assert result.usage == sum([SPENT] * 5, SPENT)


@pytest.mark.parametrize("recorded", [False, True])
async def test_a_run_may_pause_again_in_the_same_turn_and_nobody_is_asked_twice(recorded):
    desk = Desk()
    journal = MemoryJournal()
    own = {"journal": journal} if recorded else {}
    script = (
        reply(call("send", id="s", what="1")),
        reply(call("send", id="s2", what="2")),
        "Both.",
    )
    helper = helper_of(desk, *script).as_tool().replace(approval=True)
    boss = boss_of(helper, **own)
    first = await boss.run("Go.", run="r")
    assert [each.call_id for each in first.pending] == ["h"]
    second = await boss.resume(stored(first), {"h": True})
    assert [each.call_id for each in second.pending] == ["t1.0.helper/s"]
    third = await boss.resume(stored(second), {"t1.0.helper/s": True})
    assert [each.call_id for each in third.pending] == ["t1.0.helper/s2"]
    result = await boss.resume(stored(third), {"t1.0.helper/s2": False})
    assert (desk.done, result.text) == (["send 1"], "Done.")
    if recorded:
        pauses = [entry for entry in journal.entries("r") if isinstance(entry, RunPaused)]
        assert [entry.call_ids[0] for entry in pauses] == ["h", "t1.0.helper/s", "t1.0.helper/s2"]
        assert (await boss.recover("r")).transcript == result.transcript
        assert (await replay(journal, "r")).transcript == result.transcript
        assert desk.done == ["send 1"]


async def test_each_of_several_pauses_in_a_turn_is_answered_once_without_a_journal_too():
    desk = Desk()
    script = (reply(call("send", id="s", what="1")), reply(call("send", id="s2", what="2")), "Both.")
    boss = boss_of(helper_of(desk, *script).as_tool().replace(approval=True))
    first = await boss.run("Go.")
    second = await boss.resume(stored(first), {"h": True})
    third = await boss.resume(stored(second), {PENDING: True})
    for paused, given in ((first, "h"), (second, PENDING)):
        with pytest.raises(AlreadyDecided):
            await boss.resume(stored(paused), {given: True})
    assert desk.done == ["send 1"]
    await boss.resume(stored(third), {"t1.0.helper/s2": True})
    assert desk.done == ["send 1", "send 2"]


async def test_a_replay_of_a_run_that_waits_inside_waits_there_too_and_can_be_resumed():
    desk, journal = Desk(), MemoryJournal()
    below = helper_of(desk, name="below")
    between = Agent(
        turns(reply(call("below", id="b", task="Write."), call("find", what="y")), "Written."),
        [below.as_tool(), desk.tool("find")],
        name="helper",
    )
    boss = boss_of(between.as_tool(), journal=journal)
    paused = await boss.run("Write.", run="r")
    again = await replay(journal, "r")
    assert (again.stop, again.pending) == (paused.stop, paused.pending)
    result = await boss.resume(again, {each.call_id: True for each in again.pending})
    assert (result.text, desk.done.count("send mail"), len(desk.done)) == ("Done.", 1, 3)
    assert (await replay(journal, "r")).transcript == result.transcript


async def test_the_inner_agents_events_reach_the_outer_stream_marked_with_their_agent():
    @tool
    async def dig(context: Context[None]) -> str:
        """Dig."""
        context.progress(1, 2)
        return "dug"

    deep = Agent(turns(reply(call("dig", id="d")), "Deep."), [dig], name="deep")
    middle = Agent(turns(reply(call("deep", id="e", task="Dig.")), "Middle."), deep.as_tool())
    boss = boss_of(middle.as_tool(name="middle"), calls=[call("middle", id="m", task="Down.")])
    events = [event async for event in boss.stream("Go.")]
    inner = [event for event in events if isinstance(event, SubagentEvent)]
    by_agent: dict[tuple[str, str], list] = {}
    for event in inner:
        by_agent.setdefault((event.agent, event.call_id), []).append(event.event)
    assert set(by_agent) == {("middle", "m"), ("middle/deep", "t1.0.middle/e")}
    below = by_agent["middle/deep", "t1.0.middle/e"]
    assert [type(event) for event in below if not isinstance(event, TextDelta)][:2] == [
        TurnStart,
        type(below[1]),
    ]
    assert [event for event in below if isinstance(event, CallProgress)] == [CallProgress("d", 1, 2)]
    assert [event.call.name for event in below if isinstance(event, CallEnd)] == ["dig"]
    assert "".join(event.text for event in below if isinstance(event, TextDelta)) == "Deep."
    outer = "".join(event.text for event in events if isinstance(event, TextDelta))
    results = [event.result.name for event in events if isinstance(event, ResultEnd)]
    assert (outer, results, type(events[-1])) == ("Done.", ["middle"], RunEnd)


def entries_before(journal: MemoryJournal, count: int) -> MemoryJournal:
    found = MemoryJournal()
    for entry in journal.entries("r")[:count]:
        found.append("r", entry)
    return found


async def test_a_process_that_dies_anywhere_does_nothing_twice_inside_either():
    def agents(desk: Desk, journal) -> Agent:
        script = (reply(call("find", id="f", what="x")), reply(call("find", id="g", what="y")), "Ok.")
        return boss_of(helper_of(desk, *script).as_tool(), journal=journal)

    journal = MemoryJournal()
    whole = await agents(Desk(), journal).run("Go.", run="r")
    entries = journal.entries("r")
    assert sum(isinstance(entry, Nested) for entry in entries) > 10
    for count in range(1, len(entries) + 1):
        before, after = Desk(), Desk()
        found = entries_before(journal, count)
        started = [_inside(entry) for entry in found.entries("r")]
        result = await agents(after, found).recover("r")
        done_before = [key for kind, key in started if kind == "CallStarted"]
        assert len(after.done) + sum("find" in key for key in done_before) == 2, count
        assert told(result.transcript)[-1] == told(whole.transcript)[-1]
        # What was interrupted inside was said to the agent that called it, and not to the one above.
        assert outcomes(result) == [("helper", "returned")]
        assert before.done == []
        again = await agents(after, found).recover("r")
        assert again.transcript == result.transcript


def _inside(entry: Entry) -> tuple[str, str]:
    while isinstance(entry, Nested):
        entry = entry.entry
    return type(entry).__name__, getattr(entry, "key", "")


async def test_a_paused_run_whose_process_died_is_recovered_to_its_pause_and_resumed(tmp_path):
    desk = Desk()
    journal = JsonLinesJournal(tmp_path / "runs.jsonl")
    boss = boss_of(helper_of(desk).as_tool(), journal=journal)
    await boss.run("Go.", run="r")
    again = await boss_of(helper_of(desk).as_tool(), journal=journal).recover("r")
    assert [each.call_id for each in again.pending] == [PENDING]
    result = await boss.resume(again, {PENDING: True})
    assert (desk.done, result.text) == (["find x", "send mail"], "Done.")
    with pytest.raises(AlreadyDecided):
        await boss.resume(again, {PENDING: False})
    await boss.resume(again, {PENDING: True})
    assert desk.done == ["find x", "send mail"]
    journal.close()


async def test_a_process_that_dies_after_a_person_has_answered_asks_nobody_twice():
    journal = MemoryJournal()
    boss = boss_of(helper_of(Desk()).as_tool(), journal=journal)
    await boss.resume(await boss.run("Go.", run="r"), {PENDING: True})
    entries = journal.entries("r")
    answered = next(at for at, entry in enumerate(entries) if isinstance(entry, RunResumed))
    for count in range(1, len(entries) + 1):
        desk, found = Desk(), entries_before(journal, count)
        starts = [kind for kind, key in map(_inside, found.entries("r")) if "send" in key]
        again = boss_of(helper_of(desk).as_tool(), journal=found)
        result = await again.recover("r")
        assert bool(result.pending) == (count <= answered), count
        if result.pending:
            result = await again.resume(result, {PENDING: True})
        assert desk.done.count("send mail") + starts.count("CallStarted") == 1, count
        assert result.text == "Done."


async def test_what_was_not_recorded_whole_is_not_run_inside_either(tmp_path):
    desk = Desk()
    key = "sk-ant-api03-" + "a1B2" * 20
    script = (reply(call("find", id="f", what=key)), "Sent.")

    def boss(journal) -> Agent:
        return boss_of(helper_of(desk, *script).as_tool(), journal=journal)

    journal = JsonLinesJournal(tmp_path / "runs.jsonl")
    await boss(journal).run("Go.", run="r")
    found = MemoryJournal()
    for entry in journal.entries("r"):
        found.append("r", entry)
        if _inside(entry)[0] == "ReplyReceived" and isinstance(entry, Nested):
            break
    desk.done.clear()
    result = await boss(found).recover("r")
    assert (desk.done, result.text) == ([], "Done.")
    journal.close()


SCRIPT = """
import asyncio, sys
from agent.kit import Desk
from agent.test_subagents import PENDING, boss_of, helper_of
from rightcall import RunResult

async def main():
    desk = Desk()
    paused = RunResult.from_json(sys.stdin.buffer.read())
    result = await boss_of(helper_of(desk).as_tool()).resume(paused, {PENDING: True})
    print(desk.done, result.text)

asyncio.run(main())
"""


async def test_resuming_works_in_another_process():
    desk = Desk()
    paused = await boss_of(helper_of(desk).as_tool()).run("Go.")
    answer = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", SCRIPT],
        input=paused.to_json(),
        capture_output=True,
        cwd=Path(__file__).parents[1],
        check=True,
    )
    assert answer.stdout.decode().strip() == "['find x', 'send mail'] Done."
    assert desk.done == []


async def test_the_same_decisions_are_needed_as_anywhere():
    desk = Desk()
    boss = boss_of(helper_of(desk).as_tool())
    paused = await boss.run("Go.")
    with pytest.raises(UsageError, match=r"no decision about t1\.0\.helper/s"):
        await boss.resume(paused, {})
    with pytest.raises(UsageError, match="a decision about s, which is not pending"):
        await boss.resume(paused, {PENDING: True, "s": True})


async def test_an_agent_that_is_gone_when_its_run_is_resumed_is_named():
    desk = Desk()
    paused = await boss_of(helper_of(desk).as_tool()).run("Go.")
    with pytest.raises(UsageError, match="begun with the tools helper, which the agent does not have"):
        await boss_of(desk.tool("find")).resume(stored(paused), {PENDING: True})


async def test_an_inner_decision_decides_about_no_call_of_the_outer_run():
    desk = Desk()
    sneaky = [call("helper", id="h", task="x"), call("wipe", id="w")]
    boss = Agent(
        turns(reply(*sneaky[:1]), reply(call("wipe", id=PENDING)), "Done."),
        [helper_of(desk).as_tool(), desk.tool("wipe", approval=True)],
    )
    paused = await boss.run("Go.")
    again = await boss.resume(paused, {PENDING: True})
    assert (again.stop.reason, [each.name for each in again.pending]) == ("pending", ["wipe"])
    assert "wipe" not in desk.done
    done = await boss.resume(again, {each.call_id: True for each in again.pending})
    assert (done.text, desk.done[-1].split()[0]) == ("Done.", "wipe")


async def test_the_time_and_the_turns_that_an_agent_has_go_on_after_a_pause():
    desk = Desk()
    script = (reply(call("send", id="s")), reply(call("find")), reply(call("find", what="2")), "End.")
    helper = helper_of(desk, *script, budget=Budget(turns=3))
    boss = boss_of(helper.as_tool())
    paused = await boss.run("Go.")
    result = await boss.resume(stored(paused), {PENDING: True})
    assert "limit turns" in result.calls[0].result.text
    assert result.state.progress.calls == 1


async def test_an_agent_with_a_journal_of_its_own_keeps_it_where_the_caller_has_none():
    desk, journal = Desk(), MemoryJournal()
    boss = boss_of(helper_of(desk, journal=journal).as_tool())
    paused = await boss.run("Go.", run="r")
    assert list(journal.runs()) == ["r.t1.0.helper"]
    await boss.resume(stored(paused), {PENDING: True})
    assert desk.done == ["find x", "send mail"]
    assert (await replay(journal, "r.t1.0.helper")).text == "Sent."


async def test_hooks_and_instructions_of_an_agent_inside_are_asked_once():
    asked = []

    def told_first() -> str:
        asked.append("instructions")
        return "Be kind."

    def change(checked):
        asked.append(checked.tool.name)
        return Rewrite({"what": f"{checked.arguments['what']}!"})

    desk = Desk()
    helper = helper_of(desk, instructions=told_first, hooks=Hooks(before_tool=change))
    boss = boss_of(helper.as_tool())
    paused = await boss.run("Go.")
    assert paused.pending[0].arguments == {"what": "mail!"}
    await boss.resume(stored(paused), {PENDING: True})
    assert (desk.done, asked) == (["find x!", "send mail!"], ["instructions", "find", "send"])
    assert {request.system for request in helper._config.model.requests} == {"Be kind."}


async def test_what_hooks_have_a_model_told_of_calls_inside_a_program_is_told_outside():
    desk = Desk()
    note = User((Text("It is late."),))
    hooks = Hooks(after_tool=lambda done: note if done.call.name == "find" else None)
    program = code([desk.tool("find")])
    run_it = call(program.name, program="await find(what='x')")
    boss = boss_of(program, calls=[run_it], hooks=hooks)
    result = await boss.run("Go.")
    assert told(result.transcript)[2:] == [
        f"{program.name} returned: find x: done",
        "developer: It is late.",
        "model: Done.",
    ]


async def test_an_agent_with_an_output_gives_it_after_a_pause():
    desk = Desk()
    answer = reply(call("final_answer", answer=7))
    helper = helper_of(desk, reply(call("send", id="s")), answer, output=int)
    boss = boss_of(helper.as_tool())
    result = await boss.resume(stored(await boss.run("Go.")), {PENDING: True})
    assert result.calls[0].result.text == "7"


async def test_rules_of_trust_hold_inside_after_a_pause():
    desk = Desk()
    script = (reply(call("send", id="s", what="eve@evil.example")), "Sent.")
    helper = helper_of(desk, *script, trust=Rules())
    boss = boss_of(helper.as_tool(), trust=Rules())
    paused = await boss.run("Go.")
    assert [each.agent for each in paused.pending] == ["helper"]
    result = await boss.resume(stored(paused), {PENDING: Rewrite({"what": "bob"})})
    assert (desk.done, result.stop.reason) == (["send bob"], "end")
    task = helper._config.model.requests[0].messages[0]
    assert isinstance(task, User)
    assert task.author == "agent"


async def test_an_agent_called_outside_of_a_run_has_nobody_to_wait_for():
    desk = Desk()
    (done,) = await run_calls([call("helper", id="h", task="x")], helper_of(desk).as_tool())
    assert "stopped without an answer: pending" in done.result.text


class Engine:
    """Keeps what it is told of steps, and nothing else."""

    def __init__(self) -> None:
        self.kept: dict[str, Entry] = {}

    async def step(self, key, body):
        if key not in self.kept:
            self.kept[key] = await body()
        return self.kept[key]

    async def note(self, key, entry):
        return self.kept.setdefault(key, entry) is entry

    def was_started(self, key):
        return f"{key}.started" in self.kept and key not in self.kept


async def test_an_engine_keeps_the_steps_inside_under_the_calls_key():
    desk, engine = Desk(), Engine()
    boss = boss_of(helper_of(desk, reply(call("find", what="x")), "Ok.").as_tool())
    await boss.run("Go.", run="r", steps=engine)
    assert "t1.0.helper/t1.0.find" in engine.kept
    for key in ("t1.0.helper", "t2.model", "t1.0.helper/t2.model"):
        del engine.kept[key]
    result = await boss.run("Go.", run="r", steps=engine)
    assert (desk.done, result.text) == (["find x"], "Done.")


async def test_an_observer_of_the_outer_agent_sees_what_happens_inside():
    seen = []
    desk = Desk()
    helper = helper_of(desk, reply(call("find", what="x")), "Ok.")
    boss = boss_of(helper.as_tool(), observers=[lambda run, happened: seen.append((run, happened))])
    await boss.run("Go.", run="r")
    inside = [happened for _, happened in seen if isinstance(happened, Nested)]
    assert {entry.agent for entry in inside} == {"helper"}
    assert "CallFinished" in [type(entry.entry).__name__ for entry in inside]
    assert any(isinstance(happened, SubagentEvent) for _, happened in seen)


@pytest.mark.parametrize("recorded", [False, True])
async def test_an_inner_tool_that_is_gone_does_not_take_the_approval_with_it(recorded):
    desk, own = Desk(), {"journal": MemoryJournal()} if recorded else {}
    note = call("note", id="n", what="begun")
    calls = [note, call("helper", id="h", task="Write.")]

    def boss(helper: Agent) -> Agent:
        return boss_of(desk.tool("note"), helper.as_tool(), calls=calls, **own)

    paused = await boss(helper_of(desk)).run("Go.", run="r")
    (pending,) = paused.pending
    poorer = Agent(turns("Never mind."), [desk.tool("find")], name="helper")
    with pytest.raises(UsageError, match="'helper' waits with a call of send, which it does not have"):
        await boss(poorer).resume(stored(paused), {pending.call_id: True})
    assert "send mail" not in desk.done
    result = await boss(helper_of(desk)).resume(stored(paused), {pending.call_id: True})
    assert (result.stop.reason, sorted(desk.done)) == ("end", ["find x", "note begun", "send mail"])


async def test_a_tool_that_is_gone_two_agents_down_is_said_before_anything_runs():
    desk = Desk()
    task = reply(call("below", id="b", task="Write."))

    def boss(inner: Agent) -> Agent:
        return boss_of(Agent(turns(task, "Done."), [inner.as_tool()], name="helper").as_tool())

    paused = await boss(helper_of(desk, name="below")).run("Go.")
    (pending,) = paused.pending
    with pytest.raises(UsageError, match="'below' waits with a call of send"):
        await boss(Agent(turns("No."), [], name="below")).resume(paused, {pending.call_id: True})
    gone = boss_of(Agent(turns("No."), [], name="helper").as_tool())
    with pytest.raises(UsageError, match="'helper' waits with a call of below"):
        await gone.resume(paused, {pending.call_id: True})
    await boss(helper_of(desk, name="below")).resume(paused, {pending.call_id: True})
    assert desk.done == ["find x", "send mail"]
