"""One question, one answer."""

import pytest

from agent.kit import Desk, told
from rightcall import Budget
from rightcall.core.budget import Stop
from rightcall.errors import LimitReached, VendorError
from rightcall.question import ask
from rightcall.testing import Break, ScriptedModel, Turn, call, reply


def test_a_question_has_an_answer():
    desk = Desk()
    model = ScriptedModel([reply(call("find", what="x")), "Here it is."])
    assert ask("Where is x?", model=model, tools=[desk.tool("find")]) == "Here it is."
    assert desk.done == ["find x"]


@pytest.mark.parametrize(
    ("script", "stop", "words"),
    [
        ([reply("No.", stop="refusal")], Stop("refusal"), "refusal"),
        ([reply("So", stop="length")], Stop("length"), "length"),
        ([reply(call("nope"))], Stop("limit", "turns"), "limit turns"),
    ],
)
def test_a_question_that_has_no_answer_raises_with_what_the_run_came_to(script, stop, words):
    with pytest.raises(LimitReached, match=f"the run ended without an answer: {words}") as caught:
        ask("Well?", model=ScriptedModel(script), budget=Budget(turns=1))
    assert caught.value.result.stop == stop
    assert told(caught.value.result.transcript)[0] == "user: Well?"


def test_a_model_that_cannot_be_reached_raises_what_is_wrong():
    broken = Turn(breaks=Break(0, VendorError("overloaded")))
    with pytest.raises(VendorError, match="overloaded"):
        ask("Well?", model=ScriptedModel([broken]))
