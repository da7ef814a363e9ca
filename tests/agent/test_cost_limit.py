"""A limit in dollars that cannot be enforced is said at once; what a vendor says it charged counts."""

import json
import logging
from itertools import count

import pytest

import rightcall as rc
from request.server import serving, whole
from rightcall.record import MemoryJournal
from rightcall.testing import ScriptedModel, reply

_cents = count(1)


def unheard() -> float:
    """A limit that nobody has been warned of yet."""
    return next(_cents) / 100


def scripted(*, priced: bool = False) -> ScriptedModel:
    return ScriptedModel(["Hi."] * 3, profile=rc.models.Profile(priced=priced))


async def test_it_is_logged_once_and_the_run_goes_on(caplog):
    agent, budget = rc.Agent(scripted()), rc.Budget(cost=unheard())
    with caplog.at_level(logging.WARNING, logger="rightcall"):
        await agent.run("Hi", budget=budget)
        await agent.run("Hi", budget=budget)
    (record,) = caplog.records
    assert record.name.startswith("rightcall")
    assert "cannot be enforced" in record.getMessage()


async def test_strict_refuses_to_begin():
    model = scripted()
    with pytest.raises(rc.errors.UsageError, match="cannot be enforced"):
        await rc.Agent(model, budget=rc.Budget(cost=unheard(), strict=True)).run("Hi")
    assert model.requests == []


@pytest.mark.parametrize("budget", [None, rc.Budget(turns=3), rc.Budget(cost=None)])
async def test_nothing_is_said_where_nobody_set_a_limit(caplog, budget):
    await rc.Agent(scripted(), budget=budget).run("Hi")
    assert caplog.records == []


async def test_who_writes_down_the_usual_limit_means_it(caplog):
    await rc.Agent(scripted(), budget=rc.Budget(cost=float("10"))).run("Hi")
    assert "Budget(cost=10) cannot be enforced" in caplog.text


async def test_nothing_is_said_of_a_model_whose_costs_are_known(caplog):
    budget = rc.Budget(cost=unheard(), strict=True)
    await rc.Agent(scripted(priced=True), budget=budget).run("Hi")
    assert caplog.records == []


@pytest.mark.parametrize(
    ("name", "priced"),
    [
        ("openai:gpt-4o", True),
        ("openai:gpt-of-tomorrow", False),
        ("openrouter:somebody/something-new", True),
        ("ollama:qwen3", True),
        ("https://models.example/v1|qwen3", False),
    ],
)
def test_whose_costs_are_known(name, priced):
    model = rc.connect(name, api_key="k", profile=rc.models.Profile(context_window=8000))
    assert model.profile == rc.models.Profile(context_window=8000, priced=priced)


def chat(**usage: object) -> bytes:
    message = {"role": "assistant", "content": "Hi."}
    tokens = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"id": "r", "choices": [choice], "usage": {**tokens, **usage}}).encode()


CHARGED = {
    "as it says": ({"cost": 0.25}, 0.25),
    "nothing": ({"cost": 0}, 0.0),
    "with a key of one's own": (
        {"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}},
        0.21,
    ),
    "with the gateway's key": (
        {"cost": 0.25, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.2}},
        0.25,
    ),
}


@pytest.mark.parametrize(("usage", "cost"), CHARGED.values(), ids=CHARGED)
async def test_what_the_vendor_charged_goes_before_the_table(usage, cost):
    journal = MemoryJournal()
    async with serving(whole(chat(**usage))) as server:
        url = f"{server.url}/v1"
        async with rc.connect("openai:gpt-4o", base_url=url, api_key="k", streaming=False) as model:
            result = await rc.Agent(model, journal=journal).run("Hi", run="r")
    assert result.usage.cost == pytest.approx(cost)
    assert (await rc.replay(journal, "r")).usage.cost == pytest.approx(cost)


@pytest.mark.parametrize("cost", [None, "0.1", True, -1])
async def test_what_can_only_be_a_mistake_leaves_it_to_the_table(cost):
    async with serving(whole(chat(cost=cost))) as server:
        url = f"{server.url}/v1"
        async with rc.connect("openai:gpt-4o", base_url=url, api_key="k", streaming=False) as model:
            result = await rc.Agent(model).run("Hi")
    assert result.usage.cost == pytest.approx(0.0035)


async def test_the_costs_of_the_turns_add_up_and_end_the_run():
    @rc.tool
    def go() -> str:
        """Go."""
        return "gone"

    usage = rc.models.Usage(input_tokens=1, cost=0.4)
    model = ScriptedModel(
        lambda request: reply(rc.Call(id="", name="go", arguments="{}"), usage=usage),
        profile=rc.models.Profile(priced=True),
    )
    result = await rc.Agent(model, [go]).run("Hi", budget=rc.Budget(cost=1.0, repeats=None))
    assert (result.stop.limit, len(result.turns)) == ("cost", 3)
    assert result.usage.cost == pytest.approx(1.2)


async def test_an_agent_inside_and_a_model_to_fall_back_on_are_seen_too():
    inner = scripted()
    helper = rc.Agent(inner, name="helper")
    middle = rc.Agent(scripted(priced=True), [helper.as_tool()], name="middle")
    budget = rc.Budget(cost=unheard(), strict=True)
    outer = scripted(priced=True)
    with pytest.raises(rc.errors.UsageError, match=r"helper\) \(asked by middle\) is not known"):
        await rc.Agent(outer, [middle.as_tool()], budget=budget).run("Hi")
    with pytest.raises(rc.errors.UsageError, match="cannot be enforced"):
        await rc.Agent([outer, inner], budget=budget).run("Hi")
    assert (outer.requests, inner.requests) == ([], [])
