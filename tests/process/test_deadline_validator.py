"""Arguments are judged by schemas of any cost, and a deadline ends it."""

import asyncio
import os
import time

import pytest

import rightcall as rc
from rightcall import bounded_child
from rightcall.core.outcome import Failed, Invalid
from rightcall.core.schema import SchemaError
from rightcall.errors import DeclarationError, UsageError
from rightcall.process import DeadlineValidator
from rightcall.process.deadline_validator import close_children
from rightcall.testing import ScriptedModel, call, reply
from watchdog import LONGEST, Watchdog


@pytest.fixture(scope="module", autouse=True)
def _none_left():
    yield
    close_children()


def doubling(levels: int) -> dict:
    """A schema that looks at its value 2 ** levels times when it is wrong."""
    below = {f"l{n}": {"anyOf": [{"$ref": f"#/$defs/l{n - 1}"}] * 2} for n in range(1, levels + 1)}
    defs = {"l0": {"type": "integer"}, **below}
    value = {"$ref": f"#/$defs/l{levels}"}
    return {"type": "object", "properties": {"n": value}, "additionalProperties": False, "$defs": defs}


LOOK_AHEAD = {"type": "object", "properties": {"n": {"type": "string", "pattern": r"(?=x*y)x"}}}


def tool_of(schema: dict, seconds: float = 0.3) -> rc.Tool:
    validator = DeadlineValidator(schema, seconds=seconds)
    return rc.Tool(
        "take", "Take it.", schema, lambda n=None: f"took {n}", effect="pure", validator=validator
    )


async def answered(tool: rc.Tool, arguments: str) -> rc.gate.Execution:
    (done,) = await rc.run_calls([rc.Call(id="1", name="take", arguments=arguments)], [tool])
    return done


LATE = "$: checking it against the schema took longer than 0.3 s"
CASES = {
    "alternatives": (doubling(40), '{"n": "no"}'),
    "a look-ahead": (LOOK_AHEAD, '{"n": "' + "x" * 200_000 + '"}'),
}


@pytest.mark.parametrize("name", CASES)
async def test_what_takes_forever_is_refused_at_the_deadline_and_the_loop_turns(name):
    schema, arguments = CASES[name]
    tool = tool_of(schema)
    await answered(tool, "{}")  # a process that has started
    begun = time.monotonic()
    async with Watchdog() as watchdog:
        done = await answered(tool, arguments)
    assert isinstance(done.outcome, Invalid)
    (problem,) = done.outcome.problems
    assert str(problem).startswith(LATE) or "takes too long to find" in str(problem)
    assert time.monotonic() - begun < 10
    assert watchdog.longest < LONGEST
    # The next call has another process.
    assert (await answered(tool, "{}")).outcome.kind != "invalid"


async def test_an_agent_goes_on_after_it_whatever_may_start_early():
    tool = tool_of(doubling(40))
    model = ScriptedModel([reply(call("take", n="no"), call("take", n=7)), "Done."])
    result = await rc.Agent(model, [tool], options={"strict": True}).run("Go.")
    first, second = model.requests[1].messages[-1].results
    assert "took longer than 0.3 s" in first.text or "too long to find" in first.text
    assert (second.text, result.text) == ("took 7", "Done.")


async def test_what_is_soon_judged_is_judged_as_ever():
    tool = tool_of(doubling(3), seconds=20)
    assert (await answered(tool, '{"n": 1}')).result.text == "took 1"
    (problem,) = (await answered(tool, '{"m": 1}')).outcome.problems
    assert str(problem) == '$.m: is not a parameter; there is "n"'
    assert rc.gate.check(rc.Call(id="1", name="take", arguments='{"n": "x"}'), [tool]).kind == "invalid"
    assert DeadlineValidator(doubling(3)).problems({"n": 1}) == ()


async def test_a_process_that_falls_is_a_failed_call_and_not_the_models_mistake(monkeypatch):
    close_children()
    monkeypatch.setattr(bounded_child, "_START", "raise SystemExit(3)")
    done = await answered(tool_of(doubling(3)), '{"n": 1}')
    assert isinstance(done.outcome, Failed)
    assert "could not start: 3" in done.outcome.error


def test_what_is_no_schema_is_refused_at_once():
    with pytest.raises(SchemaError):
        DeadlineValidator({"type": "nothing"})
    with pytest.raises(UsageError, match="seconds"):
        DeadlineValidator({}, seconds=0)
    with pytest.raises(DeclarationError, match="DeadlineValidator"):
        rc.Tool("take", "Take it.", doubling(40))
    example = [{"n": "no"}]
    validator = DeadlineValidator(doubling(3), seconds=20)
    with pytest.raises(DeclarationError, match="the example does not fit"):
        rc.Tool("take", "Take it.", doubling(3), examples=example, validator=validator)


def test_a_fork_has_processes_of_its_own():
    validator = DeadlineValidator(doubling(3), seconds=20)
    assert validator.problems({"n": 1}) == ()
    child = os.fork()
    if not child:
        os._exit(0 if validator.problems({"n": 1}) == () else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert validator.problems({"n": "x"}) != ()


async def test_many_at_once_take_turns():
    tool = tool_of(doubling(3), seconds=20)
    done = await asyncio.gather(*(answered(tool, f'{{"n": {n}}}') for n in range(12)))
    assert [each.result.text for each in done] == [f"took {n}" for n in range(12)]
