"""What an agent does with each way a model can behave, from the question to the stop."""

import pytest

from agent.kit import TRUNCATED, Desk, outcomes, told
from loop.sound import assert_sound
from rightcall import Agent, Budget, User
from rightcall.core.budget import Stop
from rightcall.core.message import Reply, user_text
from rightcall.core.parts import Call, Usage
from rightcall.core.request import Profile
from rightcall.errors import UsageError
from rightcall.loop.decide import ANNOUNCED
from rightcall.models import Media, Named, Text
from rightcall.testing import ScriptedModel, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")


async def test_a_run_goes_from_the_question_through_calls_to_the_answer():
    desk = Desk()
    model = ScriptedModel([reply("On it.", call("find", what="x"), call("send", what="y")), "All done."])
    result = await Agent(model, [desk.tool("find"), desk.tool("send")]).run("Find x and send y.")
    assert told(result.transcript) == [
        "user: Find x and send y.",
        'model: On it. find({"what":"x"}) send({"what":"y"})',
        "find returned: find x: done",
        "send returned: send y: done",
        "model: All done.",
    ]
    assert (result.stop, result.text) == (Stop("end"), "All done.")
    model.assert_finished()


async def test_the_model_is_told_of_the_instructions_the_tools_and_the_options():
    desk = Desk()
    model = ScriptedModel(["Hi."])
    agent = Agent(model, [desk.tool("find")], "Be brief.", options={"temperature": 0}, max_tokens=99)
    await agent.run("Hello")
    (request,) = model.requests
    assert request.messages == (user_text("Hello"),)
    assert (request.system, request.options, request.max_tokens) == ("Be brief.", {"temperature": 0}, 99)
    assert request.specs == (agent.tools["find"].spec,)
    assert (request.choice, request.output) == ("auto", None)


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("Hello", user_text("Hello")),
        (User((Text("Hello"),), "developer"), User((Text("Hello"),), "developer")),
        (
            ["What is it?", Media(b"png", "image/png")],
            User((Text("What is it?"), Media(b"png", "image/png"))),
        ),
    ],
)
async def test_a_prompt_is_a_text_a_message_or_parts(prompt, message):
    model = ScriptedModel(["A cat."])
    result = await Agent(model).run(prompt)
    assert result.transcript[0] == message


async def test_a_call_that_ran_into_the_token_limit_is_not_run_and_the_model_told_so():
    desk = Desk()
    cut = reply(call("find", what="x"), call("wipe", what="/"), stop="length")
    model = ScriptedModel([cut, "I see."])
    result = await Agent(model, [desk.tool("find"), desk.tool("wipe")]).run("Go.")
    assert desk.done == ["find x"]
    assert told(result.transcript)[2:] == [
        "find returned: find x: done",
        "wipe truncated: " + TRUNCATED.format(name="wipe"),
        "model: I see.",
    ]


async def test_no_call_of_a_reply_that_broke_is_run_and_the_model_told_so():
    desk = Desk()
    broken = reply(call("find", what="x"), call("send", what="y"), stop="error")
    model = ScriptedModel([broken, reply(call("find", what="x")), "Done."])
    result = await Agent(model, [desk.tool("find"), desk.tool("send")]).run("Go.")
    assert desk.done == ["find x"]
    assert told(result.transcript)[2:4] == [
        "find truncated: " + TRUNCATED.format(name="find"),
        "send truncated: " + TRUNCATED.format(name="send"),
    ]
    assert result.stop == Stop("end")


async def test_a_model_whose_replies_keep_breaking_is_given_up():
    desk = Desk()
    model = ScriptedModel([reply(call("find", what=str(turn)), stop="error") for turn in range(3)])
    result = await Agent(model, [desk.tool("find")]).run("Go.")
    assert result.stop == Stop("error", detail="the model's replies keep breaking off")
    assert (desk.done, outcomes(result)) == ([], [("find", "truncated")] * 3)


async def test_a_reply_that_holds_makes_up_for_those_that_broke():
    desk = Desk()
    finds = [call("find", what=str(n)) for n in range(4)]
    turns = [reply(find, stop=stop) for find in finds for stop in ("error", "calls")]
    result = await Agent(ScriptedModel([*turns, "Done."]), [desk.tool("find")]).run("Go.")
    assert (desk.done, result.stop) == ([f"find {n}" for n in range(4)], Stop("end"))


@pytest.mark.parametrize("stop", ["end", "stop_sequence", "pause"])
async def test_calls_are_run_though_the_model_says_that_it_stopped_for_something_else(stop):
    desk = Desk()
    model = ScriptedModel([reply(call("find", what="x"), stop=stop), "Done."])
    result = await Agent(model, [desk.tool("find")]).run("Go.")
    assert (desk.done, result.stop) == (["find x"], Stop("end"))


@pytest.mark.parametrize("stop", ["refusal", "filtered"])
async def test_a_refusal_runs_no_call_and_every_call_has_a_result(stop):
    desk = Desk()
    model = ScriptedModel([reply("No.", call("find", what="x"), call("send"), stop=stop)])
    result = await Agent(model, [desk.tool("find"), desk.tool("send")]).run("Go.")
    assert_sound(result.transcript)
    assert (desk.done, result.stop) == ([], Stop(stop))
    assert outcomes(result) == [("find", "cancelled"), ("send", "cancelled")]


async def test_a_model_that_announces_calls_and_makes_none_is_told_and_then_given_up():
    model = ScriptedModel([reply("I will look.", stop="calls")] * 3)
    result = await Agent(model).run("Go.")
    assert told(result.transcript) == [
        "user: Go.",
        "model: I will look.",
        f"runtime: {ANNOUNCED}",
        "model: I will look.",
        f"runtime: {ANNOUNCED}",
        "model: I will look.",
    ]
    assert result.stop == Stop("error", detail="the model keeps announcing calls and making none")


async def test_a_model_that_pauses_is_asked_to_go_on():
    model = ScriptedModel([reply("First", stop="pause"), "and last."])
    result = await Agent(model).run("Go.")
    assert model.requests[1].messages == (user_text("Go."), result.transcript[1])
    assert (result.stop, result.text) == (Stop("end"), "and last.")


@pytest.mark.parametrize(
    ("arguments", "name", "outcome"),
    [
        ('{"what": ', "find", "invalid"),
        ('{"what": 1}', "find", "invalid"),
        ('{"what": "x"}', "fnid", "unknown"),
        ('{"what": "x"}', "", "unknown"),
    ],
)
async def test_a_call_that_does_not_pass_is_a_result_and_the_run_goes_on(arguments, name, outcome):
    desk = Desk()
    model = ScriptedModel([reply(Call(id="a", name=name, arguments=arguments)), "I see."])
    result = await Agent(model, [desk.tool("find")]).run("Go.")
    assert_sound(result.transcript)
    assert (outcomes(result), desk.done, result.stop) == ([(name, outcome)], [], Stop("end"))


@pytest.mark.parametrize("given", [["", ""], ["a", "a"], ["a", ""], ["call_1_1", ""], ["", "call_1_0"]])
async def test_ids_are_made_up_where_a_model_gives_none_or_one_twice(given):
    desk = Desk()
    first = reply(*[call("find", id=one, what="x") for one in given])
    model = ScriptedModel([first, reply(call("find", id="a", what="y")), "Done."])
    result = await Agent(model, [desk.tool("find")]).run("Go.")
    assert_sound(result.transcript)
    assert [each.result.call_id for each in result.calls] == [each.call.id for each in result.calls]
    assert sorted(desk.done) == ["find x", "find x", "find y"]


SPENDING = Usage(input_tokens=60, output_tokens=40, cost=0.5)
LIMITS = [
    pytest.param(Budget(turns=2), "turns", 2, id="turns"),
    pytest.param(Budget(calls=1), "calls", 1, id="calls"),
    pytest.param(Budget(tokens=150), "tokens", 1, id="tokens"),
    pytest.param(Budget(cost=0.75), "cost", 1, id="cost"),
    pytest.param(Budget(repeats=2), "repeats", 2, id="repeats"),
    pytest.param(Budget(seconds=0), "seconds", 0, id="seconds"),
]


@pytest.mark.parametrize(("budget", "limit", "ran"), LIMITS)
@pytest.mark.parametrize("at", ["agent", "run"])
async def test_a_run_over_its_budget_stops_and_names_the_limit(budget, limit, ran, at):
    desk = Desk()
    model = ScriptedModel(lambda _: reply(call("find", what="x"), usage=SPENDING))
    tools = [desk.tool("find")]
    if at == "agent":
        result = await Agent(model, tools, budget=budget).run("Go.")
    else:
        result = await Agent(model, tools, budget=Budget(turns=1)).run("Go.", budget=budget)
    assert_sound(result.transcript)
    assert (result.stop, len(desk.done)) == (Stop("limit", limit), ran)


async def test_only_the_calls_that_fit_the_budget_are_run():
    desk = Desk()
    model = ScriptedModel([reply(*[call("find", what=str(n)) for n in range(4)])])
    result = await Agent(model, [desk.tool("find", "read")], budget=Budget(calls=3)).run("Go.")
    assert sorted(desk.done) == ["find 0", "find 1", "find 2"]
    assert [outcome for _, outcome in outcomes(result)] == ["returned"] * 3 + ["cancelled"]
    assert result.stop == Stop("limit", "calls")


async def test_calls_that_did_not_run_take_no_room_in_the_budget():
    desk = Desk()
    bad, good = [call("nope"), call("find", what=5)], [call("find", what="x"), call("find", what="y")]
    model = ScriptedModel([reply(*bad), reply(*good), "Done."])
    result = await Agent(model, [desk.tool("find")], budget=Budget(calls=2)).run("Go.")
    assert (sorted(desk.done), result.stop) == (["find x", "find y"], Stop("end"))


async def test_a_forced_choice_holds_for_the_first_turn_so_that_the_run_ends():
    desk = Desk()
    script = [reply(call("find")), reply(call("find", what="y")), "Done."]
    for sticky, asked in [(False, ["auto", "auto"]), (True, [Named("find"), Named("find")])]:
        model = ScriptedModel(script)
        agent = Agent(model, [desk.tool("find")])
        await agent.run("Go.", choice=Named("find"), sticky_choice=sticky)
        assert [request.choice for request in model.requests] == [Named("find"), *asked]


@pytest.mark.parametrize(
    ("profile", "tools", "choice", "asked"),
    [
        pytest.param(Profile(forced_choice=False), True, "required", "auto", id="cannot be forced"),
        pytest.param(Profile(forced_choice=False), True, "none", "none", id="can be held back"),
        pytest.param(Profile(), False, "required", "auto", id="no tools"),
        pytest.param(Profile(), True, "required", "required", id="can be forced"),
    ],
)
async def test_a_model_is_not_made_to_do_what_it_cannot(profile, tools, choice, asked):
    model = ScriptedModel(["Done."], profile=profile)
    await Agent(model, [Desk().tool("find")] if tools else []).run("Go.", choice=choice)
    assert model.requests[0].choice == asked


async def test_history_continues_a_conversation():
    desk = Desk()
    model = ScriptedModel(
        [reply(call("find", what="x")), "Found.", reply(call("find", what="y")), "Too."]
    )
    agent = Agent(model, [desk.tool("find")])
    first = await agent.run("Find x.")
    second = await agent.run("And y?", history=first.transcript)
    assert_sound(second.transcript)
    assert told(second.transcript) == [
        *told(first.transcript),
        "user: And y?",
        'model: find({"what":"y"})',
        "find returned: find y: done",
        "model: Too.",
    ]
    assert [call.arguments for call in second.calls] == ['{"what":"y"}']
    assert (second.text, len(second.turns), second.begins) == ("Too.", 2, 4)
    assert model.requests[2].messages == (*first.transcript, user_text("And y?"))


async def test_a_history_that_is_not_sound_is_mended():
    open_ended = (user_text("Find x."), Reply((call("find", id="", what="x"),), "calls"))
    model = ScriptedModel(["I do not know."])
    result = await Agent(model).run("Well?", history=open_ended)
    assert_sound(result.transcript)
    assert told(result.transcript)[2].startswith("find interrupted: No result was recorded")


async def test_messages_may_be_the_prompt():
    model = ScriptedModel(["Ann.", "Ann."])
    agent = Agent(model)
    earlier = [User((Text("I am Ann."),)), Reply((Text("Hello!"),)), User((Text("Who am I?"),))]
    result = await agent.run(earlier)
    assert (result.text, result.transcript[:3], result.begins) == ("Ann.", tuple(earlier), 2)
    theirs = [{"role": "user", "content": "I am Ann."}, {"role": "assistant", "content": "Hello!"}]
    result = await agent.run([*theirs, {"role": "user", "content": "Who am I?"}])
    assert told(result.transcript)[2] == "user: Who am I?"


@pytest.mark.parametrize("messages", [[Reply((Text("Hello!"),))], [User((Text("Hi"),)), Reply(())]])
async def test_messages_that_are_the_prompt_end_with_the_users(messages):
    with pytest.raises(UsageError, match="must be the user's"):
        await Agent(ScriptedModel([])).run(messages)
    with pytest.raises(UsageError, match="and not both"):
        await Agent(ScriptedModel([])).run([User((Text("Hi"),))], history=messages)
