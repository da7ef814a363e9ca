"""The embedded model, for real: loaded once, asked through an agent."""

import json
from typing import Literal

import pytest

import rightcall as rc
from rightcall.core.message import Reply


@pytest.fixture(scope="module")
def model():
    return rc.connect("embedded")


async def test_a_question_that_needs_a_tool_gets_the_right_answer(model):
    result = await rc.Agent(model, rc.builtin.default_tools()).run("What is 17 times 23?")
    assert [(call.name, call.outcome, call.result.text) for call in result.calls] == [
        ("calculate", "returned", "391")
    ]
    assert "391" in result.text
    assert result.stop.is_answer


async def test_a_question_that_needs_two_tools_calls_both_at_once(model):
    agent = rc.Agent(model, rc.builtin.default_tools())
    result = await agent.run("What is 17 * 23, and what day is it today?")
    assert [call.name for call in result.calls] == ["calculate", "datetime"]
    today = json.loads(result.calls[1].result.text)["weekday"]
    assert result.text == f"For 17 * 23, calculate says 391. datetime says weekday {today}."
    assert len(result.turns) == 2


async def test_small_talk_calls_nothing(model):
    result = await rc.Agent(model, rc.builtin.default_tools()).run("Good evening!")
    assert result.calls == ()
    assert result.text.strip()


async def test_a_formula_is_worked_out_without_a_word_of_the_model(model):
    result = await rc.Agent(model, rc.builtin.default_tools()).run("sqrt(2)?")
    assert result.text == "For sqrt(2), calculate says 1.4142135623731 (rounded)."
    assert result.usage.output_tokens == 0


@pytest.mark.parametrize(
    "question", ["Which day is tomorrow?", "Will it rain tomorrow?", "How many lived in Spain in 2020?"]
)
async def test_a_question_that_no_tool_is_for_gets_an_honest_line(model, question):
    result = await rc.Agent(model, rc.builtin.default_tools()).run(question)
    assert (result.calls, result.text) == (
        (),
        "None of the tools here can answer that (calculate, datetime).",
    )


async def test_what_was_read_before_is_not_read_again(model):
    agent = rc.Agent(model, rc.builtin.default_tools())
    await agent.run("What is 3 times 4?")
    again = await agent.run("What is 5 times 6?")
    assert again.usage.cached_tokens > again.usage.input_tokens / 2


async def test_an_answer_of_a_type_is_of_that_type(model):
    agent = rc.Agent(model, output=Literal["red", "green", "blue"])
    result = await agent.run("What colour is grass?")
    assert result.output in {"red", "green", "blue"}


async def test_a_named_tool_is_called_whatever_was_said(model):
    agent = rc.Agent(model, rc.builtin.default_tools())
    result = await agent.run("Hello", choice=rc.models.Named("datetime"))
    assert [call.name for call in result.calls] == ["datetime"]


def test_one_line_is_enough():
    assert "391" in rc.ask("What is 17 * 23?")


async def test_a_run_is_recorded_and_replayed(model, tmp_path):
    with rc.record.JsonLinesJournal(tmp_path / "runs.jsonl") as journal:
        agent = rc.Agent(model, rc.builtin.default_tools(), journal=journal)
        result = await agent.run("What is 6 * 7?", run="one")
        again = await rc.replay(journal, "one")
    assert again.transcript == result.transcript
    assert isinstance(result.transcript[-1], Reply)
