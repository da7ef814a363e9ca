"""None for an option: the same as not given where it can mean nothing else, refused where it can."""

from typing import Any

import pytest

import rightcall as rc
from rightcall.testing import ScriptedModel, reply

NOT_GIVEN = ("history", "budget", "model", "tools", "options", "instructions", "run", "intents", "steps")
OF_AN_AGENT = ("tools", "instructions", "options", "hooks", "observers", "count", "budget")


@rc.tool
def look(city: str) -> str:
    """The weather."""
    return city


def agent() -> tuple[rc.Agent[Any, None], ScriptedModel]:
    model = ScriptedModel([reply("Hi.")])
    options: dict[str, Any] = {"temperature": 0.5}
    return rc.Agent(model, [look], "Be brief.", budget=rc.Budget(turns=3), options=options), model


@pytest.mark.parametrize("name", NOT_GIVEN)
async def test_none_of_a_run_leaves_the_agents_own(name):
    plain, expected = agent()
    await plain.run("Hello.")
    asked, model = agent()
    options: dict[str, Any] = {name: None}
    result = await asked.run("Hello.", **options)
    (sent,), (same,) = model.requests, expected.requests
    assert (sent.system, sent.specs, sent.options) == (same.system, same.specs, same.options)
    assert (result.text, sent.messages, result.state.budget) == (
        "Hi.",
        same.messages,
        rc.Budget(turns=3),
    )


async def test_what_is_empty_is_not_none():
    asked, model = agent()
    await asked.run("Hello.", tools=(), instructions="")
    assert (model.requests[0].specs, model.requests[0].system) == ((), "")


async def test_no_limit_in_place_of_the_agents():
    model = ScriptedModel([reply("Hi.")])
    await rc.Agent(model, max_tokens=10).run("Hello.", max_tokens=None)
    assert model.requests[0].max_tokens is None


@pytest.mark.parametrize("name", OF_AN_AGENT)
async def test_none_of_an_agent_is_its_default(name):
    model = ScriptedModel([reply("Hi.")])
    options: dict[str, Any] = {name: None}
    result = await rc.Agent(model, **options).run("Hello.")
    assert (result.text, model.requests[0].specs, model.requests[0].system) == ("Hi.", (), "")


@pytest.mark.parametrize("name", ["choice", "sticky_choice", "dry_run"])
async def test_none_that_could_pass_for_a_no_is_refused(name):
    asked, model = agent()
    options: dict[str, Any] = {name: None}
    with pytest.raises(rc.errors.UsageError, match=f"{name} must be"):
        await asked.run("Hello.", **options)
    assert not model.requests


def test_an_agent_needs_a_model():
    with pytest.raises(rc.errors.UsageError):
        rc.Agent(None)  # type: ignore[arg-type]
