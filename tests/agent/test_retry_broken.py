"""An answer that broke off on its way: the end of the run, or asked for again."""

import rightcall as rc
from rightcall.loop.decide import BROKE_OFF, MOST_BREAKS
from rightcall.testing import Break, ScriptedModel, Turn, reply

BROKEN = Turn(reply=reply("The answer is forty-two."), breaks=Break(after=3))


async def test_an_answer_that_broke_off_ends_the_run_and_is_not_lost():
    result = await rc.Agent(ScriptedModel([BROKEN])).run("?")
    assert (result.stop.reason, result.text) == ("error", "The answer i")


async def test_an_answer_that_broke_off_is_asked_for_again_where_that_is_wanted():
    model = ScriptedModel([BROKEN, "Forty-two."])
    result = await rc.Agent(model, retry_broken=True).run("?")
    assert (result.stop.reason, result.text) == ("end", "Forty-two.")
    assert [message.text for message in model.requests[1].messages] == ["?", "The answer i", BROKE_OFF]


async def test_answers_that_keep_breaking_off_are_given_up():
    model = ScriptedModel(lambda _: BROKEN)
    result = await rc.Agent(model, retry_broken=True).run("?")
    assert (result.stop.reason, len(model.requests)) == ("error", MOST_BREAKS)
