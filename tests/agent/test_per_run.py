"""What a run has in place of its agent's, fixed when it begins, and again when it is gone on with."""

import asyncio

import pytest
from msgspec.structs import replace

from agent.kit import Desk, outcomes, told
from request.server import serving, whole
from rightcall import Agent, Context, Output, RunResult, replay, tool
from rightcall.core.entry import ReplyReceived, RunStarted
from rightcall.core.message import Transcript
from rightcall.core.request import Profile
from rightcall.errors import UsageError
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")


async def later(context: Context[str]) -> str:
    await asyncio.sleep(0)
    return f"You serve {context.dependencies} in {context.run}."


def told_to(model: ScriptedModel) -> list[str]:
    return [request.system for request in model.requests]


@pytest.mark.parametrize(
    ("instructions", "words"),
    [
        ("Be brief.", "Be brief."),
        (lambda context: f"You serve {context.dependencies}.", "You serve Ann."),
        (lambda: "It is Monday.", "It is Monday."),
        (later, "You serve Ann in r."),
    ],
    ids=["text", "function", "function of nothing", "async function"],
)
@pytest.mark.parametrize("whose", ["agent", "run"])
async def test_instructions_are_a_text_or_a_function_of_the_run(instructions, words, whose):
    model, journal = ScriptedModel([reply(call("nope")), "Done."]), MemoryJournal()
    own = {"instructions": instructions}
    agent = Agent(model, journal=journal, **(own if whose == "agent" else {"instructions": "No."}))
    await agent.run("Go.", run="r", dependencies="Ann", **(own if whose == "run" else {}))
    assert told_to(model) == [words] * 2
    start = journal.entries("r")[0]
    assert isinstance(start, RunStarted)
    assert start.system == words


async def test_instructions_are_made_once_for_a_run_and_recovered_from_its_journal():
    made: list[str] = []

    def instructions(context: Context[None]) -> str:
        made.append(context.run)
        return f"Made {len(made)}."

    journal, desk = MemoryJournal(), Desk()
    tools = [desk.tool("find", "read")]
    script = [reply(call("find", id="a", what="x")), "Done."]
    await Agent(ScriptedModel(script), tools, instructions, journal=journal).run("Go.", run="r")
    cut = MemoryJournal()
    for entry in journal.entries("r"):
        cut.append("r", entry)
        if isinstance(entry, ReplyReceived):
            break
    model = ScriptedModel(["Done."])
    await Agent(model, tools, instructions, journal=cut).recover("r")
    assert (told_to(model), made) == (["Made 1."], ["r"])
    assert (await replay(journal, "r")).text == "Done."
    assert made == ["r"]


async def test_a_paused_run_keeps_what_it_was_told_first_without_a_journal():
    desk = Desk()
    send = desk.tool("send", approval=True)
    paused = await Agent(ScriptedModel([reply(call("send", id="a"))]), [send], "At first.").run("Go.")
    model = ScriptedModel(["Done."])
    again = RunResult.from_json(paused.to_json())
    await Agent(model, [send], lambda: "Later.").resume(again, {"a": True})
    assert told_to(model) == ["At first."]
    old = replace(paused, run="old", state=replace(paused.state, system=None))
    model = ScriptedModel(["Done."])
    await Agent(model, [send], "The agent's.").resume(old, {"a": True})
    assert told_to(model) == ["The agent's."]


async def test_an_engine_that_keeps_steps_keeps_the_instructions():
    kept: dict = {}

    class Engine:
        async def step(self, key, body):
            if key not in kept:
                kept[key] = await body()
            return kept[key]

        async def note(self, key, entry):
            return kept.setdefault(key, entry) is entry

        def was_started(self, key):
            return f"{key}.started" in kept

    count = iter(range(9))
    for _ in range(2):
        model = ScriptedModel(["Done."])
        agent = Agent(model, instructions=lambda: f"Made {next(count)}.")
        await agent.run("Go.", run="r", steps=Engine())
        kept.pop("t1.model")
        assert told_to(model) == ["Made 0."]


@pytest.mark.parametrize("bad", [lambda: None, lambda: 5])
async def test_instructions_that_are_no_text_are_refused(bad):
    with pytest.raises(UsageError, match="instructions are a text"):
        await Agent(ScriptedModel([]), instructions=bad).run("Go.")


async def test_what_instructions_raise_reaches_the_caller():
    def broken() -> str:
        raise LookupError("no such user")

    with pytest.raises(LookupError, match="no such user"):
        await Agent(ScriptedModel([]), instructions=broken).run("Go.")


async def test_a_run_may_have_a_model_tools_and_options_of_its_own():
    desk, agents, own = Desk(), ScriptedModel([]), ScriptedModel([reply(call("own", what="x")), "Done."])
    agent = Agent(agents, [desk.tool("find")], options={"temperature": 0.5, "seed": 1}, max_tokens=100)
    result = await agent.run(
        "Go.",
        model=own,
        tools=[desk.tool("own")],
        options={"seed": 2, "strict": True},
        max_tokens=None,
    )
    request = own.requests[0]
    assert (outcomes(result), agents.requests) == ([("own", "returned")], [])
    assert [spec.name for spec in request.specs] == ["own"]
    assert (request.options, request.max_tokens) == (
        {"temperature": 0.5, "seed": 2, "strict": True},
        None,
    )


async def test_a_model_of_the_runs_own_has_its_own_way_to_be_held_to_an_output():
    agent = Agent(ScriptedModel([reply(call("final_answer", answer=1))]), output=Output(type=int))
    words = ScriptedModel(['{"answer": 2}'], profile=Profile(structured="text"))
    native = ScriptedModel(['{"answer": 3}'], profile=Profile(structured="native"))
    assert [(await agent.run("?", model=model)).output for model in (words, native)] == [2, 3]
    assert (await agent.run("?")).output == 1
    assert "JSON that fits" in words.requests[0].system
    assert (words.requests[0].output, native.requests[0].output is None) == (None, False)


async def test_a_models_context_says_how_much_is_sent_of_the_run_that_has_it():
    history: Transcript = tuple(RunResult.from_json(b).transcript[0] for b in [await _long()] * 20)
    small = ScriptedModel(["Done."], profile=Profile(context_window=2_000))
    await Agent(ScriptedModel([])).run("Go.", history=history, model=small)
    assert len(small.requests[0].messages) < 12


async def _long() -> bytes:
    return (await Agent(ScriptedModel(["x"])).run("word " * 300)).to_json()


async def test_a_model_named_for_a_run_is_connected_once_and_closed_with_the_agent():
    body = b'{"model":"m","choices":[{"index":0,"message":{"content":"Hi."},"finish_reason":"stop"}]}'
    async with serving(whole(body)) as server:
        async with Agent(ScriptedModel([])) as agent:
            for _ in range(2):
                assert (await agent.run("Go.", model=f"{server.url}|m")).text == "Hi."
            assert server.connections == 1
        await asyncio.sleep(0.01)
        assert server.open == 0


async def test_run_sync_and_stream_take_them_too():
    agent = Agent(ScriptedModel([]), instructions="No.")
    model = ScriptedModel(["One.", "Two."])
    assert (await asyncio.to_thread(agent.run_sync, "Go.", model=model, instructions="Yes.")).text
    events = [event async for event in agent.stream("Go.", model=model, instructions=later)]
    assert events[-1].result.text == "Two."
    assert told_to(model)[0] == "Yes."


async def _begun(desk: Desk) -> tuple[MemoryJournal, RunResult]:
    journal = MemoryJournal()
    agent = Agent(ScriptedModel([]), journal=journal)
    model = ScriptedModel([reply(call("send", id="a", what="x"))])
    tools = [desk.tool("send", approval=True)]
    return journal, await agent.run("Go.", run="r", model=model, tools=tools)


async def test_what_a_run_was_given_is_given_again_when_it_is_gone_on_with():
    desk = Desk()
    journal, paused = await _begun(desk)
    model, tools = ScriptedModel(["Done."]), [desk.tool("send", approval=True)]
    agent = Agent(ScriptedModel([]), journal=journal)
    result = await agent.resume(paused, {"a": True}, model=model, tools=tools, options={"seed": 3})
    assert (result.text, desk.done, model.requests[0].options) == ("Done.", ["send x"], {"seed": 3})
    again = await agent.recover("r")
    assert told(again.transcript) == told(result.transcript)


async def test_tools_that_a_run_had_and_the_agent_has_not_are_named():
    journal, paused = await _begun(Desk())
    agent = Agent(ScriptedModel([]), journal=journal)
    words = "run 'r' was begun with the tools send, which the agent does not have"
    with pytest.raises(UsageError, match=words):
        await agent.recover("r")
    with pytest.raises(UsageError, match=words):
        await agent.resume(paused, {"a": True})
    with pytest.raises(UsageError, match=words):
        await Agent(ScriptedModel([])).resume(paused, {"a": True})


@pytest.mark.parametrize("way", ["resume", "recover"])
async def test_what_cannot_be_said_again_is_refused(way):
    _, paused = await _begun(Desk())
    agent = Agent(ScriptedModel([]), journal=MemoryJournal())
    going = (
        agent.resume(paused, {"a": True}, instructions="x")
        if way == "resume"
        else agent.recover("r", instructions="x")
    )
    with pytest.raises(UsageError, match=f'agent.{way} takes no "instructions"'):
        await going


async def test_tools_know_the_run_that_they_are_part_of():
    @tool
    def look(context: Context[None]) -> str:
        """Look."""
        return context.run

    result = await Agent(ScriptedModel([reply(call("look")), "Done."]), [look]).run("Go.", run="r7")
    assert result.calls[0].result.text == "r7"
