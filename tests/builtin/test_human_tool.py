"""A person as a tool."""

import asyncio

import pytest

from agent.kit import told
from rightcall import Agent, Answer, builtin
from rightcall.core.budget import Stop
from rightcall.core.proposal import Proposal
from rightcall.loop.result import RunResult
from rightcall.testing import Break, ScriptedModel, Turn, call, reply

WHICH = call("ask_human", id="a", question="Which one?")


async def test_a_person_who_is_there_is_asked_and_answers():
    asked = []

    async def ask(question: str) -> str:
        asked.append(question)
        await asyncio.sleep(0)
        return "The red one."

    model = ScriptedModel([reply(WHICH), "The red one, then."])
    result = await Agent(model, [builtin.human(ask)]).run("Go.")
    assert asked == ["Which one?"]
    assert told(result.transcript)[2:] == [
        "ask_human returned: The red one.",
        "model: The red one, then.",
    ]


async def test_a_run_waits_for_a_person_who_is_not_there():
    model = ScriptedModel([reply(WHICH), "The red one, then."])
    agent = Agent(model, [builtin.human()])
    paused = await agent.run("Go.")
    assert paused.stop == Stop("pending")
    assert paused.pending == (
        Proposal(call_id="a", name="ask_human", arguments={"question": "Which one?"}),
    )
    result = await agent.resume(RunResult.from_json(paused.to_json()), {"a": Answer("The red one.")})
    assert told(result.transcript)[2:] == [
        "ask_human returned: The red one.",
        "model: The red one, then.",
    ]


async def test_a_question_that_is_allowed_and_not_answered_has_failed():
    agent = Agent(ScriptedModel([reply(WHICH), "Well."]), [builtin.human()])
    result = await agent.resume(await agent.run("Go."), {"a": True})
    assert told(result.transcript)[2] == "ask_human failed: Nobody has answered the question."


async def test_a_question_that_is_denied_is_a_result():
    agent = Agent(ScriptedModel([reply(WHICH), "Well."]), [builtin.human()])
    result = await agent.resume(await agent.run("Go."), {"a": False})
    assert result.calls[0].outcome == "denied"


async def test_nobody_is_asked_for_a_reply_that_breaks():
    asked = []

    async def ask(question: str) -> str:
        asked.append(question)
        return "Yes."

    broken = Turn(reply=reply(WHICH, "and so on"), pause=0.001, breaks=Break(11))
    agent = Agent(ScriptedModel([broken, "Well."]), [builtin.human(ask)])
    result = await agent.run("Go.")
    assert (asked, result.calls[0].outcome) == ([], "truncated")


@pytest.mark.parametrize("arguments", [{}, {"question": 5}, {"question": "Why?", "urgent": True}])
async def test_a_question_is_one_text(arguments):
    agent = Agent(ScriptedModel([reply(call("ask_human", **arguments)), "Well."]), [builtin.human()])
    assert (await agent.run("Go.")).calls[0].outcome == "invalid"


def test_a_person_can_go_by_another_name():
    boss = builtin.human(name="ask_boss", description="Ask the boss.")
    assert (boss.name, boss.description, boss.approval) == ("ask_boss", "Ask the boss.", True)


def test_the_words_of_a_person_are_trusted_and_may_take_a_day():
    async def ask(question: str) -> str:
        return ""

    tool = builtin.human(ask)
    assert (tool.facts.untrusted, tool.approval, tool.limits.timeout) == (False, False, 86400)
