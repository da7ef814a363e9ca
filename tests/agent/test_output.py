"""An output of a certain form, in the four ways a model can be held to it."""

from enum import Enum
from typing import Literal

import pytest
from pydantic import BaseModel

from agent.kit import Desk, outcomes, told
from loop.sound import assert_sound
from rightcall import Agent, Budget, Output, RunResult
from rightcall.core.budget import Stop
from rightcall.core.jsontext import dump, parse
from rightcall.core.request import Profile
from rightcall.declare import output
from rightcall.errors import DeclarationError, NoOutput
from rightcall.models import Named
from rightcall.testing import ScriptedModel, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")

MODES = ["native", "tool", "text", "json"]
GIVEN = Stop("output")
GIVEN_UP = Stop("no_output", detail="no valid output was given")


class City(BaseModel):
    """A city, as far as it is known."""

    name: str
    people: int


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


PARIS = {"name": "Paris", "people": 2_100_000}


def answer(mode: str, arguments: object):
    """The reply that gives an answer in that mode."""
    return reply(call("final_answer", dump(arguments))) if mode == "tool" else reply(dump(arguments))


def agent(mode: str, answers: list, output=City, **options) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel([answer(mode, each) if isinstance(each, dict) else each for each in answers])
    return Agent(model, output=Output(type=output, mode=mode, **options)), model


async def without_output(asked: Agent) -> RunResult:
    """The result of a run that ends without the output it was asked for, which raises."""
    with pytest.raises(NoOutput, match="the run ended without the output") as caught:
        await asked.run("Go.")
    result = caught.value.result
    assert (result.stop.detail or str(result.stop)) in str(caught.value)
    with pytest.raises(NoOutput):
        _ = result.output
    return result


FORMS = [
    pytest.param(City, PARIS, City(**PARIS), id="a model"),
    pytest.param(list[int], {"answer": [1, 2]}, [1, 2], id="a list"),
    pytest.param(Literal["yes", "no"], {"answer": "yes"}, "yes", id="a literal"),
    pytest.param(int | None, {"answer": None}, None, id="an optional, none"),
    pytest.param(int | None, {"answer": 5}, 5, id="an optional"),
    pytest.param(Size, {"answer": "large"}, Size.LARGE, id="an enumeration"),
    pytest.param(
        dict[str, City], {"answer": {"p": PARIS}}, {"p": City(**PARIS)}, id="a mapping of models"
    ),
    pytest.param(str, {"answer": ""}, "", id="a text"),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("form", "given", "value"), FORMS)
async def test_a_run_ends_with_the_output_in_every_mode(mode, form, given, value):
    asked, model = agent(mode, [given], form)
    result = await asked.run("Go.")
    assert_sound(result.transcript)
    assert (result.stop, result.output, type(result.output)) == (GIVEN, value, type(value))
    model.assert_finished()


async def test_a_native_model_is_given_the_schema_and_no_tool():
    asked, model = agent("native", [PARIS])
    await asked.run("Go.")
    (request,) = model.requests
    assert sorted(request.output["properties"]) == ["name", "people"]
    assert (request.specs, request.system, request.choice) == ((), "", "auto")


async def test_a_text_model_is_told_the_schema_after_the_instructions():
    model = ScriptedModel([dump(PARIS)])
    await Agent(model, instructions="Be brief.", output=Output(type=City, mode="text")).run("Go.")
    (request,) = model.requests
    first, _, schema = request.system.partition("\n\nGive your answer as JSON that fits this schema, ")
    assert (first, request.output, request.specs) == ("Be brief.", None, ())
    assert sorted(parse(schema.partition(":\n")[2])["properties"]) == ["name", "people"]


@pytest.mark.parametrize("others", [True, False], ids=["other tools", "no other tool"])
async def test_a_tool_model_is_given_a_tool_to_answer_with_and_made_to_use_it_if_it_is_the_only_one(
    others,
):
    model = ScriptedModel([answer("tool", PARIS)])
    tools = [Desk().tool("find")] if others else []
    await Agent(model, tools, output=Output(type=City, mode="tool")).run("Go.")
    (request,) = model.requests
    assert [spec.name for spec in request.specs] == [*(["find"] if others else []), "final_answer"]
    assert request.specs[-1].description == "A city, as far as it is known."
    assert request.choice == ("auto" if others else Named("final_answer"))
    assert request.output is None


@pytest.mark.parametrize("mode", MODES)
async def test_the_profile_says_which_mode_a_model_is_for(mode):
    model = ScriptedModel([answer(mode, {"answer": 3})], profile=Profile(structured=mode))
    result = await Agent(model, output=int).run("Go.")
    assert result.output == 3
    assert (model.requests[0].output is not None, bool(model.requests[0].specs)) == (
        mode in ("native", "json"),
        mode == "tool",
    )


@pytest.mark.parametrize("mode", MODES)
async def test_room_to_think_comes_before_the_answer_and_is_not_part_of_it(mode):
    given = {"reasoning": "It is the capital.", "answer": PARIS}
    asked, model = agent(mode, [given], reasoning=True)
    result = await asked.run("Go.")
    assert result.output == City(**PARIS)
    request = model.requests[0]
    schema = request.specs[0].parameters if mode == "tool" else request.output
    if mode in ("text", "json"):
        schema = parse(request.system.partition(":\n")[2])
    assert list(schema["properties"]) == ["reasoning", "answer"]
    assert schema["properties"]["reasoning"]["description"] == "Think here first, step by step."


@pytest.mark.parametrize("mode", ["native", "text", "json"])
async def test_a_bad_text_is_given_back_with_what_is_wrong_with_it(mode):
    asked, model = agent(mode, ["Paris, of course.", {"name": "Paris", "people": "many"}, PARIS])
    result = await asked.run("Go.")
    assert (result.stop, result.output) == (GIVEN, City(**PARIS))
    complaints = [line for line in told(result.transcript) if line.startswith("runtime")]
    assert [line.splitlines()[0] for line in complaints] == [
        "runtime: Your answer does not have the form that is asked for:"
    ] * 2
    assert complaints[0].splitlines()[1].startswith("- $: not valid JSON: ")
    assert complaints[1].splitlines()[1].startswith("- $.people: ")
    assert [line.splitlines()[-1] for line in complaints] == ["Give the whole answer again."] * 2
    assert model.requests[1].messages[-1] == result.transcript[2]


async def test_a_bad_call_of_the_answer_tool_is_given_back_and_the_model_made_to_call_it():
    asked, model = agent("tool", ["Paris, of course.", {"name": "Paris"}, PARIS])
    result = await asked.run("Go.")
    assert told(result.transcript)[1:3] == [
        "model: Paris, of course.",
        "runtime: Give your answer by calling the tool final_answer.",
    ]
    assert told(result.transcript)[4].startswith("final_answer invalid: final_answer was not run; ")
    assert outcomes(result) == [("final_answer", "invalid"), ("final_answer", "returned")]
    assert result.output == City(**PARIS)
    assert [request.choice for request in model.requests[1:]] == [Named("final_answer")] * 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("retries", [0, 1, 2])
@pytest.mark.parametrize("bad", ["Paris.", {"name": 5}], ids=["text", "wrong form"])
async def test_a_model_that_gives_no_valid_output_is_given_up(mode, retries, bad):
    asked, model = agent(mode, [bad] * (retries + 1), retries=retries)
    result = await without_output(asked)
    assert_sound(result.transcript)
    assert result.stop == GIVEN_UP
    assert len(model.requests) == retries + 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stop", ["length", "refusal", "filtered", "error"])
async def test_a_text_that_is_no_answer_is_not_taken_for_one(mode, stop):
    asked, _ = agent(mode, [reply(dump(PARIS), stop=stop)])
    assert (await without_output(asked)).stop == Stop(stop)


async def test_a_call_of_the_answer_tool_that_was_cut_off_is_no_answer():
    cut = reply(call("final_answer", dump(PARIS)), stop="length")
    asked, _ = agent("tool", [cut, PARIS])
    result = await asked.run("Go.")
    assert outcomes(result) == [("final_answer", "truncated"), ("final_answer", "returned")]


@pytest.mark.parametrize("mode", MODES)
async def test_tools_are_called_before_the_output_is_given(mode):
    desk = Desk()
    model = ScriptedModel([reply(call("find", what="x")), answer(mode, PARIS)])
    result = await Agent(model, [desk.tool("find")], output=Output(type=City, mode=mode)).run("Go.")
    assert (desk.done, result.output, result.stop) == (["find x"], City(**PARIS), GIVEN)


async def test_an_output_that_was_given_stands_though_other_calls_did_not_fit_the_budget():
    desk = Desk()
    model = ScriptedModel(
        [reply(call("final_answer", answer=4), call("find"), call("final_answer", answer=5))]
    )
    asked = Agent(
        model, [desk.tool("find")], output=Output(type=int, mode="tool"), budget=Budget(calls=0)
    )
    result = await asked.run("Go.")
    assert (result.output, result.stop, desk.done) == (4, GIVEN, [])
    assert outcomes(result) == [
        ("final_answer", "returned"),
        ("find", "cancelled"),
        ("final_answer", "cancelled"),
    ]


async def test_the_answer_is_none_of_the_calls_that_the_budget_counts():
    desk = Desk()
    model = ScriptedModel([reply(call("find", what="x")), reply(call("final_answer", answer=4))])
    asked = Agent(
        model, [desk.tool("find")], output=Output(type=int, mode="tool"), budget=Budget(calls=1)
    )
    result = await asked.run("Go.")
    assert (result.output, result.stop, desk.done) == (4, GIVEN, ["find x"])


async def test_the_last_of_several_outputs_counts():
    model = ScriptedModel([reply(call("final_answer", answer=1), call("final_answer", answer=2))])
    result = await Agent(model, output=Output(type=int, mode="tool")).run("Go.")
    assert result.output == 2


@pytest.mark.parametrize(
    "text", ['```json\n{"answer": 7}\n```', '\n```\n{"answer": 7}\n```\n', ' {"answer":7} ']
)
async def test_a_code_fence_around_an_answer_does_no_harm(text):
    asked, _ = agent("text", [text], int)
    assert (await asked.run("Go.")).output == 7


async def test_nothing_at_all_is_no_answer_though_every_field_could_be_left_out():
    class Note(BaseModel):
        text: str = ""

    asked, _ = agent("text", ["", "{}"], Note)
    result = await asked.run("Go.")
    assert (result.output, len(result.turns)) == (Note(), 2)


async def test_a_budget_ends_a_run_that_has_no_output_yet():
    model = ScriptedModel(["Paris.", "Paris."])
    asked = Agent(model, output=Output(type=City, mode="text", retries=9), budget=Budget(turns=2))
    assert (await without_output(asked)).stop == Stop("limit", "turns")


def test_an_output_cannot_be_asked_for_less_than_once():
    with pytest.raises(DeclarationError, match="retries must not be negative"):
        Agent(ScriptedModel([]), output=Output(type=int, retries=-1))


def test_a_tool_cannot_have_the_name_of_the_answer():
    with pytest.raises(DeclarationError, match="two tools have this name"):
        Agent(ScriptedModel([]), [Desk().tool("final_answer")], output=Output(type=int, mode="tool"))


SCHEMAS = {
    "an object": ({"type": "object", "properties": {"n": {"type": "integer"}}}, {"n": 5}, {"n": 5}),
    "an array": ({"type": "array", "items": {"type": "integer"}}, {"answer": [1]}, [1]),
    "a reference": (
        {"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}},
        {"answer": 5},
        5,
    ),
}


@pytest.mark.parametrize("case", SCHEMAS)
@pytest.mark.parametrize("mode", ["tool", "text"])
async def test_a_schema_is_a_form_too(case, mode):
    schema, given, output = SCHEMAS[case]
    answer = reply(call("final_answer", **given)) if mode == "tool" else dump(given)
    model = ScriptedModel([answer])
    result = await Agent(model, output=Output(type=schema, mode=mode)).run("?")
    assert (result.stop.is_answer, result.output) == (True, output)


async def test_an_answer_that_does_not_fit_a_schema_is_given_back():
    model = ScriptedModel([reply(call("final_answer", n="x")), reply(call("final_answer", n=5))])
    result = await Agent(model, output=SCHEMAS["an object"][0]).run("?")
    assert result.output == {"n": 5}
    assert "$.n: must be an integer" in result.calls[0].result.text


def test_what_is_no_schema_is_no_form():
    with pytest.raises(DeclarationError, match="nonsense"):
        Agent(ScriptedModel([]), output={"type": "nonsense"})
    with pytest.raises(DeclarationError, match="reasoning"):
        Agent(ScriptedModel([]), output=Output(type={"type": "object"}, reasoning=True))


def test_a_class_is_described_once_and_again_when_it_is_rebuilt(monkeypatch):
    class Found(BaseModel):
        """What was found."""

        count: int

    read = []
    whole = output.describe_model

    def describe_model(tool, model):
        read.append(model)
        return whole(tool, model)

    monkeypatch.setattr(output, "describe_model", describe_model)
    forms = [output.form_of(Found), output.form_of(Output(Found, retries=1)), output.form_of(Found)]
    assert read == [Found]
    assert [form.output.retries for form in forms] == [2, 1, 2]
    Found.model_fields["count"].annotation = str
    Found.model_rebuild(force=True)
    assert output.form_of(Found).tool.parameters["properties"]["count"] == {"type": "string"}
    assert output.form_of(Output(Found, reasoning=True)).wrapped
