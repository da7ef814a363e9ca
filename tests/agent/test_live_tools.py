"""Tools that change while a run goes on, and calls that say how far they are."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

import rightcall as rc
from rightcall.core.entry import RunStarted, ToolsChanged
from rightcall.core.request import Request
from rightcall.testing import ScriptedModel, call, reply


def named(name: str) -> rc.Tool:
    async def do() -> str:
        return f"{name} did it"

    return rc.tool(do, name=name, description=f"The tool {name}.", effect="read")


class Server:
    """A source whose tools somebody changes."""

    def __init__(self, *names: str) -> None:
        self.version = 1
        self._names = names

    def __iter__(self) -> Iterator[rc.Tool]:
        return iter([named(name) for name in self._names])

    def change(self, *names: str) -> None:
        self.version += 1
        self._names = names


def watching(server: Server, *changes: tuple[str, ...]) -> tuple[ScriptedModel, list[tuple[str, ...]]]:
    """A model that notes what it is offered, and during whose turns the server changes."""
    offered: list[tuple[str, ...]] = []
    script = iter(changes)

    def answer(request: Request) -> rc.Reply | str:
        offered.append(tuple(spec.name for spec in request.specs))
        if (names := next(script, None)) is None:
            return "Done."
        server.change(*names)
        return reply(call(names[0]))

    return ScriptedModel(answer), offered


async def test_the_model_is_offered_the_tools_that_there_are_now():
    server = Server("first")
    model, offered = watching(server, ("second", "third"))
    await rc.Agent(model, tools=[named("own"), server]).run("Go")
    assert offered == [("own", "first"), ("own", "second", "third")]


async def test_a_call_to_a_tool_that_came_during_the_turn_is_unknown_until_the_next():
    server = Server("first")
    model, _ = watching(server, ("second",), ("second",))
    result = await rc.Agent(model, tools=[server]).run("Go")
    assert [(each.name, each.outcome) for each in result.calls] == [
        ("second", "unknown"),
        ("second", "returned"),
    ]


async def test_the_journal_says_which_tools_there_were_from_when_on():
    server = Server("first")
    model, _ = watching(server, ("second",))
    journal = rc.record.MemoryJournal()
    await rc.Agent(model, tools=server, journal=journal).run("Go", run="r")
    entries = list(journal.entries("r"))
    (started,) = [entry for entry in entries if isinstance(entry, RunStarted)]
    (changed,) = [entry for entry in entries if isinstance(entry, ToolsChanged)]
    assert [spec.name for spec in started.specs] == ["first"]
    assert (changed.key, [spec.name for spec in changed.specs]) == ("t2.tools", ["second"])


async def test_a_new_run_begins_with_the_tools_of_its_time():
    server = Server("first")
    model, offered = watching(server)
    agent = rc.Agent(model, tools=[server])
    server.change("later")
    await agent.run("Go")
    assert offered == [("later",)]


async def test_a_change_that_makes_no_toolbox_does_not_end_the_run(caplog):
    server = Server("first")
    model, offered = watching(server, ("own",))
    result = await rc.Agent(model, tools=[named("own"), server]).run("Go")
    assert result.stop.is_answer
    assert offered == [("own", "first"), ("own", "first")]
    assert "cannot be used" in caplog.text


async def test_an_answer_tool_stays_when_the_others_change():
    server = Server("first")
    offered: list[tuple[str, ...]] = []

    def answer(request: Request) -> rc.Reply:
        offered.append(tuple(spec.name for spec in request.specs))
        if len(offered) == 1:
            server.change("second")
            return reply(call("first"))
        return reply(call(offered[-1][-1], answer=3))

    result = await rc.Agent(ScriptedModel(answer), tools=[server], output=int).run("Go")
    assert result.output == 3
    assert [names[0] for names in offered] == ["first", "second"]


@pytest.mark.parametrize("sync", [False, True], ids=["async", "in a thread"])
async def test_a_call_that_says_how_far_it_is_becomes_events(sync):
    async def walk(context: rc.Context[None]) -> str:
        context.progress(1, 2, "half")
        await asyncio.sleep(0)
        context.progress(2, 2)
        return "there"

    def run(context: rc.Context[None]) -> str:
        assert threading.current_thread() is not threading.main_thread()
        context.progress(1, 2, "half")
        context.progress(2, 2)
        return "there"

    moving = rc.tool(run if sync else walk, name="move", description="Move.")
    model = ScriptedModel([reply(call("move", id="c1")), "Done."])
    events = [event async for event in rc.Agent(model, tools=[moving]).stream("Go")]
    progress = [event for event in events if isinstance(event, rc.events.CallProgress)]
    assert progress == [
        rc.events.CallProgress("c1", 1, 2, "half"),
        rc.events.CallProgress("c1", 2, 2),
    ]
    (ended,) = [at for at, event in enumerate(events) if isinstance(event, rc.events.ResultEnd)]
    assert events.index(progress[-1]) < ended


async def test_without_anybody_to_tell_progress_goes_nowhere():
    async def move(context: rc.Context[None]) -> str:
        context.progress(1)
        return "there"

    (done,) = await rc.run_calls([rc.Call(id="1", name="move")], rc.tool(move, description="Move."))
    assert done.result.text == "there"
