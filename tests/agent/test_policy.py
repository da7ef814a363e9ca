"""Policies, and a person who is there to be asked: what may become of a call before it runs."""

import asyncio
import functools
import threading
from collections.abc import Awaitable, Sequence

import pytest

import rightcall as rc
from agent.kit import Desk, outcomes, told
from loop.sound import assert_sound
from rightcall import Agent, Allow, Answer, Ask, Deny, Rewrite
from rightcall.core.budget import Stop
from rightcall.core.entry import CallDecided
from rightcall.core.proposal import Proposal
from rightcall.errors import UsageError
from rightcall.gate import CheckedCall
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply
from rightcall.trust.rules import Rules

pytestmark = pytest.mark.usefixtures("nothing_is_left")

SEND = call("send", id="a", what="x")


async def run(
    decision=None, *, approval=False, approve=None, calls=(SEND,), journal=None, effect="write"
):
    """A run in which a policy says that of every call of a tool that may want approval."""
    desk = Desk()
    seen: list[CheckedCall] = []

    def policy(checked: CheckedCall):
        seen.append(checked)
        return decision(checked) if callable(decision) else decision

    model = ScriptedModel([reply(*calls), "I see."])
    agent = Agent(
        model,
        [desk.tool("send", effect, approval=approval), desk.tool("find", "read")],
        policy=policy,
        approve=approve,
        journal=journal,
    )
    result = await agent.run("Go.")
    assert_sound(result.transcript, waits=bool(result.pending))
    return desk, result, seen


DECISIONS = [
    pytest.param(None, ["send x"], "send returned: send x: done", id="nothing"),
    pytest.param(Allow(), ["send x"], "send returned: send x: done", id="allow"),
    pytest.param(
        Deny("not on Sundays."),
        [],
        "send denied: send was not run; permission was denied: not on Sundays.",
        id="deny",
    ),
    pytest.param(
        Deny(), [], "send denied: send was not run; permission was denied.", id="deny, wordless"
    ),
    pytest.param(Rewrite({"what": "y"}), ["send y"], "send returned: send y: done", id="rewrite"),
    pytest.param(Rewrite({}), ["send"], "send returned: send : done", id="rewrite to nothing"),
    pytest.param(Answer("It is sent already."), [], "send returned: It is sent already.", id="answer"),
]


@pytest.mark.parametrize(("decision", "done", "line"), DECISIONS)
async def test_a_policy_decides_what_becomes_of_a_call(decision, done, line):
    desk, result, seen = await run(decision)
    assert (desk.done, told(result.transcript)[2:]) == (done, [line, "model: I see."])
    assert [(checked.tool.name, checked.arguments) for checked in seen] == [("send", {"what": "x"})]


async def test_a_denial_may_tell_the_model_what_to_do_instead_once_for_all_calls():
    journal = MemoryJournal()
    _, result, _ = await run(
        Deny("not on Sundays.", then="Ask again on Monday."),
        calls=[SEND, call("send", id="b", what="y")],
        journal=journal,
    )
    assert told(result.transcript)[2:] == [
        *["send denied: send was not run; permission was denied: not on Sundays."] * 2,
        "runtime: Ask again on Monday.",
        "model: I see.",
    ]
    assert (await rc.replay(journal, result.run)).transcript == result.transcript


async def test_a_rewrite_that_does_not_pass_the_gate_is_refused():
    desk, result, _ = await run(Rewrite({"what": 5, "to": "me"}))
    assert (desk.done, outcomes(result)) == ([], [("send", "invalid")])
    line = told(result.transcript)[2]
    assert ("$.what" in line, "to" in line) == (True, True)


async def test_the_transcript_keeps_what_the_model_wrote_though_it_was_rewritten():
    _, result, _ = await run(Rewrite({"what": "y"}))
    assert result.transcript[1].calls == (SEND,)
    assert result.calls[0].call == SEND


async def test_a_policy_never_sees_a_call_that_does_not_pass_the_gate():
    _, result, seen = await run(Allow(), calls=[call("nope"), call("send", what=5), call("send", "{")])
    assert (seen, [kind for _, kind in outcomes(result)]) == ([], ["unknown", "invalid", "invalid"])


@pytest.mark.parametrize(
    ("approval", "decision", "asked"),
    [
        pytest.param(False, None, False, id="neither asks"),
        pytest.param(False, Allow(), False, id="allowed"),
        pytest.param(False, Ask("odd"), True, id="the policy asks"),
        pytest.param(True, None, True, id="the tool asks"),
        pytest.param(True, Allow(), True, id="the tool asks, whatever the policy allows"),
        pytest.param(True, Ask("odd"), True, id="both ask"),
        pytest.param(True, Rewrite({"what": "y"}), True, id="the tool asks about what was rewritten"),
        pytest.param(True, Deny(), False, id="denied before anyone is asked"),
        pytest.param(True, Answer("so"), False, id="answered before anyone is asked"),
    ],
)
async def test_a_policy_can_be_stricter_than_a_tool_and_not_laxer(approval, decision, asked):
    desk, result, _ = await run(decision, approval=approval)
    assert (result.stop == Stop("pending")) == asked
    if asked:
        assert (desk.done, len(result.pending)) == ([], 1)


async def test_a_proposal_says_what_would_be_run_and_why_it_is_asked():
    _, result, _ = await run(Ask("It is a lot."))
    assert result.pending == (
        Proposal(call_id="a", name="send", arguments={"what": "x"}, reason="It is a lot."),
    )
    _, result, _ = await run(Rewrite({"what": "y"}), approval=True)
    assert result.pending == (Proposal(call_id="a", name="send", arguments={"what": "y"}),)


async def test_a_rewrite_that_a_person_allows_is_what_runs():
    async def approve(proposal):
        return proposal.arguments == {"what": "y"}

    desk, _, _ = await run(Rewrite({"what": "y"}), approval=True, approve=approve)
    assert desk.done == ["send y"]


async def test_a_bad_rewrite_is_refused_before_anyone_is_asked():
    async def approve(proposal):
        raise AssertionError(f"asked about {proposal}")

    desk, result, _ = await run(Rewrite({"what": 5}), approval=True, approve=approve)
    assert (desk.done, outcomes(result)) == ([], [("send", "invalid")])


ANSWERS = [
    pytest.param(True, ["send x"], "send returned: send x: done", id="yes"),
    pytest.param(False, [], "send denied: send was not run; permission was denied.", id="no"),
    *DECISIONS[1:],
]


@pytest.mark.parametrize(("answer", "done", "line"), ANSWERS)
async def test_a_person_who_is_there_decides_in_place(answer, done, line):
    asked: list[Proposal] = []

    async def approve(proposal: Proposal):
        asked.append(proposal)
        return answer

    desk, result, _ = await run(approval=True, approve=approve)
    assert asked == [Proposal(call_id="a", name="send", arguments={"what": "x"})]
    assert (desk.done, told(result.transcript)[2:]) == (done, [line, "model: I see."])


async def test_a_person_who_is_there_can_rewrite_only_to_what_passes_the_gate():
    async def approve(_):
        return Rewrite({"what": 5})

    desk, result, _ = await run(approval=True, approve=approve)
    assert (desk.done, outcomes(result)) == ([], [("send", "invalid")])


@pytest.mark.parametrize("answer", [None, "yes", 1, Ask()])
async def test_an_answer_that_is_no_decision_is_a_mistake_of_the_developers(answer):
    async def approve(_):
        return answer

    with pytest.raises(UsageError, match=f"not of the type {type(answer).__name__}"):
        await run(approval=True, approve=approve)


async def test_everyone_is_asked_before_anything_of_the_reply_runs():
    calls = [call("send", id=one, what=one) for one in "abc"]
    running: list[list[str]] = []

    async def approve(proposal: Proposal):
        running.append([proposal.call_id])
        return proposal.call_id != "b"

    desk, result, _ = await run(approval=True, approve=approve, calls=[calls[0], *calls[1:]])
    assert (running, sorted(desk.done)) == ([["a"], ["b"], ["c"]], ["send a", "send c"])
    assert [kind for _, kind in outcomes(result)] == ["returned", "denied", "returned"]


@pytest.mark.parametrize("many", [1, 2])
async def test_an_approver_that_shows_is_shown_what_waits_if_that_is_more_than_one(many):
    happened: list[str] = []

    class Desktop:
        def show(self, proposals: Sequence[Proposal]) -> None:
            happened.append(f"shown {[each.call_id for each in proposals]}")

        async def __call__(self, proposal: Proposal) -> bool:
            happened.append(f"asked {proposal.call_id}")
            return True

    calls = [call("send", id=one, what=one) for one in "ab"[:many]]
    await run(approval=True, approve=Desktop(), calls=calls)
    asked = [f"asked {each.id}" for each in calls]
    assert happened == (["shown ['a', 'b']", *asked] if many == 2 else asked)


async def test_decisions_are_recorded_with_who_made_them():
    async def approve(_):
        return False

    journal = MemoryJournal()

    def policy(checked):
        return Deny("no") if checked.tool.name == "find" else None

    _, result, _ = await run(
        policy, approval=True, approve=approve, calls=[SEND, call("find", id="b")], journal=journal
    )
    decided = [entry for entry in journal.entries(result.run) if isinstance(entry, CallDecided)]
    assert decided == [
        CallDecided(key="t1.1.find", call_id="b", decision=Deny("no"), by="policy"),
        CallDecided(key="t1.0.send", call_id="a", decision=Deny(), by="person"),
    ]


async def _refuses(_):
    return Deny()


@pytest.mark.parametrize("effect", ["write", "read"])
@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (_refuses, "not with a coroutine: it is a plain function"),
        (lambda _: False, "not of the type bool"),
        (lambda _: True, "not of the type bool"),
        (lambda _: "deny", "not of the type str"),
        (lambda _: Deny, "not of the type NameCheckedMeta"),
    ],
    ids=["async", "no", "yes", "a word", "a class"],
)
@pytest.mark.parametrize("rules", [None, Rules()], ids=["alone", "with rules"])
async def test_a_policy_whose_answer_is_no_decision_lets_nothing_run(policy, words, rules, effect):
    desk = Desk()
    # Something follows the call, so that it would start early.
    model = ScriptedModel([reply(SEND, "And then?"), "Done."])
    agent = Agent(model, [desk.tool("send", effect)], policy=policy, trust=rules)
    with pytest.raises(UsageError, match=words):
        await agent.run("Go.")
    assert desk.done == []


@pytest.mark.parametrize("approves", [True, False])
async def test_an_approver_that_is_not_async_may_wait_without_stalling_the_event_loop(approves):
    desk = Desk()
    asked = asyncio.Event()
    answered = threading.Event()
    loop = asyncio.get_running_loop()

    def approve(proposal: Proposal) -> bool:
        loop.call_soon_threadsafe(asked.set)
        return answered.wait(10) and approves

    agent = Agent(
        ScriptedModel([reply(SEND), "Done."]), [desk.tool("send", approval=True)], approve=approve
    )
    run = asyncio.create_task(agent.run("Go."))
    await asyncio.wait_for(asked.wait(), 10)
    answered.set()
    assert [each.outcome for each in (await run).calls] == ["returned" if approves else "denied"]
    assert len(desk.done) == approves


@pytest.mark.parametrize("approve", [lambda: True, lambda proposal, more: True])
def test_an_approver_that_takes_no_proposal_is_refused_before_anybody_waits(approve):
    with pytest.raises(UsageError, match=r"approve= is called with one proposal, approve\(proposal\)"):
        Agent(ScriptedModel(["Done."]), approve=approve)


def test_a_journals_class_is_no_journal():
    with pytest.raises(UsageError, match=r"journal must be .* not of the type type"):
        Agent(ScriptedModel(["Done."]), journal=MemoryJournal)


@pytest.mark.parametrize("calls", [SEND, [{"name": "send"}], "send"])
async def test_calls_that_are_none_are_refused(calls):
    with pytest.raises(UsageError, match="calls are a list"):
        await rc.run_calls(calls, [Desk().tool("send")])


async def test_an_approver_of_a_library_may_answer_later_or_now():
    async def later(proposal: Proposal) -> bool:
        return True

    class Asking:
        def __call__(self, proposal: Proposal) -> Awaitable[bool]:
            return later(proposal)

    for approve in (Asking(), functools.partial(later), lambda _: rc.Allow()):
        desk = Desk()
        tools = [desk.tool("send", approval=True)]
        await Agent(ScriptedModel([reply(SEND), "Done."]), tools, approve=approve).run("Go.")
        assert len(desk.done) == 1


async def test_half_a_surrogate_pair_in_an_answer_costs_no_more_than_itself():
    @rc.tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    async def answer(_):
        return rc.Answer("by hand \ud83d")

    model = ScriptedModel([reply(call("pay", amount=1)), "Done."])
    result = await rc.Agent(model, [pay], approve=answer).run("Go.")
    assert result.calls[0].result.text == "by hand ?"
