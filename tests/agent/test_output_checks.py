"""Functions that check an output, and what a run without its output or its dependencies comes to."""

import pytest
from pydantic import BaseModel

from agent.kit import outcomes, told
from rightcall import Agent, Call, Context, Output, RunResult, tool
from rightcall.core.jsontext import dump
from rightcall.core.message import Reply
from rightcall.errors import DeclarationError, NoOutput, UsageError
from rightcall.record import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")

MODES = ["native", "tool", "text", "json"]


class Order(BaseModel):
    """An order."""

    number: int
    items: list[str] = []


def given(mode: str, **fields: object) -> Reply:
    text = dump(fields)
    return reply(Call(id="", name="final_answer", arguments=text)) if mode == "tool" else reply(text)


def known(order: Order) -> None:
    if order.number != 17:
        raise ValueError(f"there is no order {order.number}")


async def known_async(order: Order, context: Context[set[int]]) -> Order:
    if order.number not in context.dependencies:
        raise ValueError(f"there is no order {order.number}")
    return order


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("check", [known, known_async], ids=["plain", "async, with dependencies"])
@pytest.mark.parametrize("way", ["option", "decorator"])
async def test_what_a_check_raises_goes_back_to_the_model(mode, check, way):
    model = ScriptedModel([given(mode, number=5), given(mode, number=17)])
    if way == "option":
        agent = Agent(model, output=Output(Order, mode=mode, check=check))
    else:
        agent = Agent(model, output=Output(Order, mode=mode))
        assert agent.validate(check) is check
    result = await agent.run("Which?", dependencies={17})
    assert result.output == Order(number=17)
    (complaint,) = [line for line in told(result.transcript) if "there is no order 5" in line]
    assert complaint.startswith(
        "final_answer failed" if mode == "tool" else "runtime: Your answer was not"
    )


@pytest.mark.parametrize("mode", MODES)
async def test_a_model_that_is_refused_too_often_gives_no_output(mode):
    model = ScriptedModel([given(mode, number=5)] * 2)
    with pytest.raises(NoOutput) as caught:
        await Agent(model, output=Output(Order, mode=mode, retries=1, check=known)).run("Which?")
    assert caught.value.result.stop.reason == "no_output"
    model.assert_finished()


@pytest.mark.parametrize("mode", ["text", "tool"])
async def test_all_checks_are_asked_in_order_and_of_a_wrapped_answer_its_value(mode):
    seen = []

    async def first(value):
        seen.append(("first", value))

    def second(value, context):
        seen.append(("second", value))
        assert value > 3, "too few"

    model = ScriptedModel([given(mode, answer=3), given(mode, answer=4)])
    agent = Agent(model, output=Output(int, mode=mode, check=first))
    agent.validate(second)
    assert (await agent.run("How many?")).output == 4
    assert seen == [("first", 3), ("second", 3), ("first", 4), ("second", 4)]


@pytest.mark.parametrize("mode", ["text", "tool"])
async def test_a_check_that_breaks_is_not_taken_for_a_yes(mode):
    def broken(order):
        raise KeyError("order")

    model = ScriptedModel([given(mode, number=1)])
    with pytest.raises(NoOutput):
        await Agent(model, output=Output(Order, mode=mode, retries=0, check=broken)).run("?")


async def test_a_verdict_is_recorded_and_not_asked_for_again():
    journal = MemoryJournal()
    asked = []

    def check(order):
        asked.append(order.number)
        if order.number != 17:
            raise ValueError("no")

    model = ScriptedModel([given("text", number=5), given("text", number=17)])
    output = Output(Order, mode="text", check=check)
    first = await Agent(model, output=output, journal=journal).run("?", run="r")
    again = await Agent(ScriptedModel([]), output=output, journal=journal).recover("r")
    assert (again.output, again.transcript, asked) == (first.output, first.transcript, [5, 17])


def test_an_agent_without_an_output_has_nothing_to_validate():
    with pytest.raises(UsageError, match="this agent has none: say output="):
        Agent(ScriptedModel([])).validate(known)
    with pytest.raises(UsageError, match="checked by a function, and not by int"):
        Agent(ScriptedModel([]), output=Order).validate(5)


@pytest.mark.parametrize(
    "check",
    [lambda: None, lambda order, context, more: None, lambda order, *, strict: None],
    ids=["none", "three", "a keyword"],
)
def test_a_check_that_cannot_be_called_is_refused_where_it_is_declared(check):
    with pytest.raises(UsageError, match="takes the answer, or the answer and the run's Context"):
        Output(Order, check=check)
    with pytest.raises(UsageError, match="takes the answer"):
        Agent(ScriptedModel([]), output=Order).validate(check)
    with pytest.raises(DeclarationError, match="retries must not be negative"):
        Output(Order, retries=-1)


async def answers_later(order):
    return order.number > 0


@pytest.mark.parametrize("mode", ["text", "tool"])
@pytest.mark.parametrize("check", [lambda order: order.number > 0, answers_later])
async def test_what_a_check_returns_is_its_authors_error_and_not_the_models(mode, check):
    model = ScriptedModel([given(mode, number=1)])
    with pytest.raises(UsageError, match="returned bool: a check raises, or returns nothing"):
        await Agent(model, output=Output(Order, mode=mode, check=check)).run("Which?")
    model.assert_finished()


@pytest.mark.parametrize(
    ("mode", "answer", "wrong"),
    [
        ("text", given("text", number=5), "no valid output was given; .* there is no order 5$"),
        ("tool", given("tool", number=5), "no valid output was given; .*: .*there is no order 5$"),
        ("tool", "Hm.", "the last attempt: the model did not call final_answer$"),
        ("text", given("text", number="x"), "(?s)does not have the form .*number"),
    ],
)
async def test_no_output_says_what_was_wrong_with_the_last_attempt(mode, answer, wrong):
    model = ScriptedModel([answer])
    with pytest.raises(NoOutput, match=wrong) as caught:
        await Agent(model, output=Output(Order, mode=mode, retries=0, check=known)).run("Which?")
    assert "no_output" not in str(caught.value)
    assert "again" not in str(caught.value)


async def test_a_plain_agents_output_is_its_text():
    result = await Agent(ScriptedModel(["Hello."])).run("Hi")
    assert (result.output, RunResult.from_json(result.to_json()).output) == ("Hello.", "Hello.")


async def test_a_run_that_waits_has_no_output_yet_and_raises_only_where_it_is_read():
    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    model = ScriptedModel([reply(call("pay", amount=5)), given("text", number=17)])
    agent = Agent(model, [pay], output=Output(Order, mode="text", on_no_output="return"))
    paused = await agent.run("Pay.")
    with pytest.raises(NoOutput, match="waits for decisions"):
        _ = paused.output
    paused = RunResult.from_json(paused.to_json(), output=Order)
    done = await agent.resume(paused, {paused.pending[0].call_id: True})
    assert (done.output, outcomes(done)) == (Order(number=17), [("pay", "returned")])


async def test_without_raising_the_output_of_such_a_run_is_none():
    output = Output(Order, mode="text", retries=0, on_no_output="return")
    result = await Agent(ScriptedModel(["Hm."]), output=output).run("?")
    assert (result.output, result.stop.reason) == (None, "no_output")
    end = None
    async for event in Agent(
        ScriptedModel(["Hm."]), output=Output(Order, mode="text", retries=0)
    ).stream("?"):
        end = event
    with pytest.raises(NoOutput):
        _ = end.result.output


class Database:
    pass


@tool
def look(query: str, context: Context[Database]) -> str:
    """Look something up."""
    return f"{query}: {type(context.dependencies).__name__}"


@tool
def look_gently(query: str, context: Context[Database | None]) -> str:
    """Look something up, if there is where."""
    return f"{query}: {context.dependencies}"


@tool
def bare_tool(context: Context) -> str:
    """Do something."""
    return context.run


async def test_missing_dependencies_are_an_error_before_the_model_is_asked():
    model = ScriptedModel([reply(call("look", query="x")), "Done."])
    agent = Agent(model, [look])
    with pytest.raises(UsageError, match=r"dependencies=… is missing: the tool look\(context: Context"):
        await agent.run("Look.")
    with pytest.raises(UsageError, match="the tool agent"):
        await Agent(ScriptedModel([]), [agent.as_tool()]).run("Look.")
    assert (model.requests, (await agent.run("Look.", tools=[], model=ScriptedModel(["No."]))).text) == (
        [],
        "No.",
    )
    assert (await agent.run("Look.", dependencies=Database())).calls[0].result.text == "x: Database"


@pytest.mark.parametrize("bare", [look_gently, bare_tool], ids=["optional", "bare"])
async def test_dependencies_that_may_be_none_may_be_left_out(bare):
    assert (await Agent(ScriptedModel(["Done."]), [bare]).run("Look.")).output == "Done."
