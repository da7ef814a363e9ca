"""Agents as tools of agents: what they are told, what they spend, and how they fail."""

import asyncio

import pytest

from agent.kit import Desk, told
from rightcall import Agent, Budget, Context, Output
from rightcall.core.budget import Stop
from rightcall.declare.function import tool
from rightcall.errors import VendorError
from rightcall.models import Usage
from rightcall.testing import Break, ScriptedModel, Turn, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")

ASK = call("helper", task="Find x.")
MUCH = Usage(input_tokens=400, output_tokens=100, cost=2.0)
LITTLE = Usage(input_tokens=5, output_tokens=1, cost=0.5)


async def run(helper: Agent, *, budget: Budget | None = None, calls=(ASK,), **options):
    """A run of an agent that hands its task to a helper and is done."""
    model = ScriptedModel([reply(*calls, usage=LITTLE), reply("Done.", usage=LITTLE)])
    agent = Agent(model, [helper.as_tool(**options)], budget=budget)
    return await agent.run("Go.", dependencies="shared")


async def test_an_agent_gives_another_its_answer():
    helper_model = ScriptedModel(["It is here."])
    result = await run(Agent(helper_model, name="helper"))
    assert told(result.transcript)[2:] == ["helper returned: It is here.", "model: Done."]
    assert told(helper_model.requests[0].messages) == ["user: Find x."]


async def test_an_agent_as_a_tool_can_have_a_name_and_words_of_its_own():
    helper = Agent(ScriptedModel([]), name="helper")
    plain, named = helper.as_tool(), helper.as_tool(name="search", description="Search.", timeout=5)
    assert (plain.name, plain.description) == (
        "helper",
        "Hand a task to helper. Say everything it needs to know.",
    )
    assert (named.name, named.description, named.limits.timeout) == ("search", "Search.", 5)
    assert (plain.effect, list(plain.parameters["properties"])) == ("write", ["task"])


async def test_an_agent_with_an_output_gives_it_as_the_result():
    helper = Agent(ScriptedModel(['{"answer": [1, 2]}']), name="helper", output=_text(list[int]))
    result = await run(helper)
    assert told(result.transcript)[2] == "helper returned: [1,2]"


def _text(kind) -> Output:
    return Output(type=kind, mode="text", retries=0)


async def test_what_a_subagent_spends_counts_in_its_parents_usage():
    inner = [reply(call("nope"), usage=MUCH), reply("Here.", usage=MUCH)]
    result = await run(Agent(ScriptedModel(inner), name="helper"))
    assert result.usage == Usage(input_tokens=810, output_tokens=202, cost=5.0)
    assert result.turns == (LITTLE, LITTLE)


@pytest.mark.parametrize(
    ("budget", "limit"),
    [(Budget(tokens=500), "tokens"), (Budget(cost=2.5), "cost")],
    ids=["tokens", "cost"],
)
async def test_what_a_subagent_spends_counts_against_its_parents_budget(budget, limit):
    helper = Agent(ScriptedModel([reply("Here.", usage=MUCH)]), name="helper")
    result = await run(helper, budget=budget)
    assert (result.stop, told(result.transcript)[-1]) == (Stop("limit", limit), "helper returned: Here.")


def _loops() -> ScriptedModel:
    return ScriptedModel(lambda request: reply(call("nope", at=len(request.messages)), usage=LITTLE))


async def test_a_subagent_has_its_own_budget_and_one_that_hits_a_limit_has_failed():
    helper = Agent(_loops(), name="helper", budget=Budget(turns=2))
    result = await run(helper)
    assert told(result.transcript)[2] == (
        "helper failed: The agent stopped without an answer: limit turns."
    )
    assert (result.stop, result.usage.input_tokens) == (Stop("end"), 4 * LITTLE.input_tokens)


async def test_a_subagent_can_be_given_another_budget_as_a_tool():
    result = await run(Agent(_loops(), name="helper"), budget=None, calls=[ASK])
    assert result.calls[0].outcome == "failed"
    result = await run(Agent(_loops(), name="helper", budget=Budget(turns=9)), calls=[ASK])
    assert result.usage.input_tokens == 11 * LITTLE.input_tokens
    desk = Desk()
    narrow = Agent(_loops(), name="helper", budget=Budget(turns=9)).as_tool(budget=Budget(turns=1))
    parent = Agent(ScriptedModel([reply(ASK, usage=LITTLE), "Done."]), [narrow, desk.tool("find")])
    assert (await parent.run("Go.")).usage.input_tokens == 2 * LITTLE.input_tokens + 10


FAILURES = {
    "refusal": (Agent(ScriptedModel([reply("No.", stop="refusal")]), name="helper"), "refusal"),
    "length": (Agent(ScriptedModel([reply("So", stop="length")]), name="helper"), "length"),
    "no output": (
        Agent(ScriptedModel(["Five."]), name="helper", output=_text(int)),
        "no_output no valid output was given",
    ),
}


@pytest.mark.parametrize("case", FAILURES)
async def test_a_subagent_that_stops_without_an_answer_has_failed(case):
    helper, why = FAILURES[case]
    result = await run(helper)
    assert told(result.transcript)[2:] == [
        f"helper failed: The agent stopped without an answer: {why}.",
        "model: Done.",
    ]


async def test_a_subagent_whose_model_cannot_be_reached_has_failed_and_what_it_spent_counts():
    broken = Turn(breaks=Break(0, VendorError("key sk-123 is wrong", status=401)))
    helper = Agent(ScriptedModel([reply(call("nope"), usage=MUCH), broken]), name="helper")
    result = await run(helper)
    assert told(result.transcript)[2] == "helper failed: helper failed for a reason it did not give."
    assert result.usage == LITTLE + LITTLE + MUCH


async def test_the_tools_of_a_subagent_see_the_dependencies_of_its_parent():
    @tool
    def look(context: Context[str]) -> str:
        """Look."""
        return f"I have {context.dependencies}"

    model = ScriptedModel([reply(call("look")), reply("Found.")])
    await run(Agent(model, [look], name="helper"))
    assert told(model.requests[1].messages)[2] == "look returned: I have shared"


async def test_two_subagents_work_at_the_same_time():
    met = asyncio.Barrier(2)

    @tool
    async def meet() -> str:
        """Wait for the other."""
        async with asyncio.timeout(5):
            await met.wait()
        return "met"

    def script(request):
        return reply(call("meet")) if len(request.messages) == 1 else reply("We met.")

    helper = Agent(ScriptedModel(script), [meet], name="helper")
    result = await run(helper, calls=[ASK, ASK])
    assert [record.result.text for record in result.calls] == ["We met.", "We met."]


async def test_a_subagent_that_hangs_is_ended_by_its_timeout():
    helper = Agent(ScriptedModel([Turn(delay=1000)]), name="helper")
    result = await run(helper, timeout=0.05)
    assert (result.calls[0].outcome, result.stop) == ("timed_out", Stop("end"))
