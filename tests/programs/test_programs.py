"""Programs over tools, run by Monty: what comes back, what is refused, and what ends them."""

import asyncio
from pathlib import Path

import pytest

from agent.kit import Desk
from programs.kit import NAME, agent_of, came_to, read
from rightcall import Agent, Budget, Deny, Hooks, ToolFailure, User, run_calls, tool
from rightcall.core.events import CallEnd, ResultEnd, SubagentEvent
from rightcall.core.jsontext import dump
from rightcall.core.parts import Call
from rightcall.errors import DeclarationError, MissingExtra, UsageError
from rightcall.models import Text
from rightcall.programs import code
from rightcall.testing import ScriptedModel, call, reply


@tool(effect="read")
async def price(item: str) -> float:
    """The price of an item."""
    if item == "gold":
        raise ToolFailure("Nobody knows.")
    return len(item) * 1.5


@pytest.mark.parametrize(
    ("program", "came"),
    [
        ('await price("ab")', "returned: 3.0"),
        ('print(await price("ab"))\nprint("x")', "returned: 3.0\nx\n"),
        ('print("so:")\n[await price("a"), None]', "returned: so:\n[1.5,null]"),
        (
            "import asyncio\nsum(await asyncio.gather(*[price(i) for i in ['a', 'bb']]))",
            "returned: 4.5",
        ),
        ("f = price\nawait f(item='a')", "returned: 1.5"),
        (
            "try:\n    await price('gold')\nexcept RuntimeError as error:\n    said = str(error)\nsaid",
            "returned: Nobody knows.",
        ),
        ("x = 1", "returned: The program ended without a value. End it with an expression"),
        ("lambda: 1", "returned: <function"),
        # What is wrong with it, before anything is called, and where.
        (
            'x = await price("a")\nawait price(3)',
            (
                "failed: The program was not run, and no tool was called:\n"
                "- line 2: Argument to function `price` is incorrect: Expected `str`, found"
            ),
        ),
        ("await prize('a')", "failed: The program was not run, and no tool was called:\n- line 1: Name"),
        ("def f(:", "failed: The program was not run, and no tool was called:\n- line 1: Expected"),
        ("import numpy", "failed: The program was not run, and no tool was called:\n- line 1: Cannot"),
        # What went wrong in it, and where.
        (
            'async def ü():\n    return 1 / 0\nawait price("ü")\nawait ü()',
            "failed: The program failed at line 2 in ü: ZeroDivisionError: division by zero",
        ),
        ("\nawait price('gold')", "failed: The program failed at line 2: RuntimeError: Nobody knows."),
        (
            "import os\nos.environ['HOME']",
            "failed: The program failed at line 2: RuntimeError: 'os.environ' is not supported",
        ),
    ],
)
async def test_a_program_comes_to(program, came):
    found = await came_to([price], program)
    assert found.startswith(came), found


async def test_a_wrong_argument_is_found_before_any_call():
    desk = Desk()
    found = await came_to([desk.tool("do")], "await do(what='a')\nawait do(what=1)")
    assert "- line 2: Argument to function `do` is incorrect: Expected `str`" in found
    assert desk.done == []


async def test_what_types_cannot_say_is_refused_by_the_gate_and_raised_where_it_was_called():
    desk = Desk()
    program = "import json\nawait do(json.loads('1'))"
    found = await came_to([desk.tool("do")], program)
    assert "failed at line 2: RuntimeError: do was not run; its arguments do not fit:" in found
    assert desk.done == []


@pytest.mark.parametrize(
    ("program", "limits", "came"),
    [
        (
            "await price('a')\nwhile True:\n    pass",
            {"seconds": 0.2},
            "The program was stopped after line 1, its last call: it computed for more than 0.2 s.",
        ),
        (
            "x = []\nwhile True:\n    x.append('a' * 1000)",
            {"memory": 1_000_000},
            "The program was stopped before its first call: it used more than 1,000,000 bytes",
        ),
        (
            "\nwhile True:\n    await price('a')",
            {"calls": 3},
            "The program was stopped at line 3: it may make no more than 3 calls.",
        ),
        (
            "import asyncio\nawait price('a')\nawait asyncio.sleep(60)",
            {"timeout": 1.0},
            "The program was stopped at line 2: it took longer than 1 s.",
        ),
        (
            "import time\nwhile time.time() > 0:\n    pass",
            {},
            "The program failed at line 2: RuntimeError: suspension limit",
        ),
    ],
)
async def test_a_limit_is_a_result_that_says_where_it_was(program, limits, came):
    found = await came_to([price], program, options=limits)
    assert found.startswith(f"failed: {came}"), found


async def test_calls_that_are_made_at_once_run_at_once():
    met = asyncio.Barrier(3)

    @tool
    async def meet() -> int:
        """Wait for the others."""
        return await met.wait()

    program = "import asyncio\nsorted(await asyncio.gather(meet(), meet(), meet()))"
    async with asyncio.timeout(10):
        assert await came_to([meet], program) == "returned: [0,1,2]"


async def test_one_slot_is_enough_for_a_program_and_its_calls():
    async with asyncio.timeout(10):
        assert await came_to([price], "await price('a')", concurrency=1) == "returned: 1.5"


async def test_the_clock_stands_at_the_beginning_and_moves_while_the_program_sleeps():
    program = (
        "import asyncio, time, datetime\nbegan = time.time()\nawait asyncio.sleep(0.25)\n"
        "(time.time() - began, datetime.date.today() == datetime.datetime.now().date(), "
        "time.time() == began + 0.25)"
    )
    assert await came_to([price], program) == "returned: [0.25,true,true]"


async def test_policy_approval_and_hooks_see_every_call_inside():
    desk, asked, hooked, models = Desk(), [], [], []

    def policy(checked):
        return Deny("not that.") if checked.arguments.get("what") == "bad" else None

    async def approve(proposal):
        asked.append((proposal.agent, proposal.call_id, proposal.name, proposal.arguments))
        return True

    hooks = Hooks(
        before_tool=lambda checked: hooked.append(checked.tool.name),
        before_model=lambda request: models.append(len(request.messages)),
    )
    program = (
        "try:\n    await find(what='bad')\nexcept RuntimeError as error:\n    print(error)\n"
        "await send(what='mail')"
    )
    tools = [desk.tool("find"), desk.tool("send", approval=True)]
    found = await came_to(tools, program, policy=policy, approve=approve, hooks=hooks)
    assert found == "returned: find was not run; permission was denied: not that.\nsend mail: done"
    assert (asked, desk.done) == (
        [(NAME, f"t1.0.{NAME}/c2", "send", {"what": "mail"})],
        ["send mail"],
    )
    assert (hooked, len(models)) == ([NAME, "send"], 2)


async def test_what_a_hook_inside_has_the_model_told_is_told_to_the_model_outside():
    note = User((Text("Prices are old."),))
    hooks = Hooks(after_tool=lambda done: note if done.call.name == "price" else None)
    result = await agent_of([price], "await price('a')", hooks=hooks).run("Go.")
    told_so = [m.text for m in result.transcript if isinstance(m, User)]
    assert (read(result), told_so) == ("returned: 1.5", ["Go.", "Prices are old."])


@pytest.mark.parametrize(("errors", "words"), [("words", "no ink"), ("neutral", "did not give")])
async def test_what_is_read_of_an_exception_inside_is_what_the_agent_says(errors, words):
    @tool
    def write() -> None:
        """Write."""
        raise OSError("no ink")

    found = await came_to([write], "await write()", errors=errors)
    assert found.startswith("failed: The program failed at line 1: RuntimeError: ")
    assert words in found


async def test_what_runs_inside_counts_for_the_budget_and_is_held_to_it():
    desk = Desk()
    program = "for i in range(10):\n    await do(what=str(i))"
    agent = agent_of([desk.tool("do")], program, program, budget=Budget(calls=6))
    result = await agent.run("Go.")
    assert "stopped at line 2: it may make no more than 5 calls" in read(result)
    assert (len(desk.done), result.state.progress.calls, str(result.stop)) == (5, 6, "limit calls")


async def test_what_a_program_called_that_was_given_up_counts_too():
    desk, never = Desk(), asyncio.Event()

    @tool
    async def wait() -> None:
        """Wait."""
        await never.wait()

    program = "await do(what='x')\nawait do(what='y')\nawait wait()"
    asked = reply(call(NAME, program=program))
    box = code([desk.tool("do"), wait]).replace(timeout=1.5)
    result = await Agent(ScriptedModel([asked, "Done."]), box).run("Go.")
    assert (result.calls[0].outcome, result.state.progress.calls) == ("timed_out", 3)


async def test_a_dry_run_looks_and_says_what_it_did_not_do():
    desk = Desk()
    tools = [desk.tool("find", effect="read"), desk.tool("send")]
    program = "print(await find(what='x'))\nfor i in range(2):\n    await send(what=str(i))"
    result = await agent_of(tools, program).run("Go.", dry_run=True)
    assert read(result) == (
        "returned: find x: done\n\nThis is a dry run, in which nothing is changed. Not done: send (2)."
    )
    assert desk.done == ["find x"]


async def test_the_calls_inside_are_events_of_the_stream():
    events = [e async for e in agent_of([price], "await price('a')").stream("Go.")]
    inner = [event for event in events if isinstance(event, SubagentEvent)]
    assert {(event.agent, event.call_id) for event in inner} == {(NAME, "p0")}
    assert [e.event.call.name for e in inner if isinstance(e.event, CallEnd)] == ["price"]
    assert [e.event.result.text for e in inner if isinstance(e.event, ResultEnd)] == ["1.5"]


async def test_a_program_is_not_started_before_its_reply_is_whole():
    desk = Desk()
    asked = reply(
        call(NAME, program="await look(what='x')"), call("look", what="y"), call("look", what="z")
    )
    look = desk.tool("look", effect="read")
    result = await Agent(ScriptedModel([asked, "Done."]), [code([look]), look]).run("Go.")
    assert [each.outcome for each in result.calls] == ["returned"] * 3
    assert sorted(desk.done) == ["look x", "look y", "look z"]


async def test_agents_and_programs_may_be_tools_of_a_program():
    helper = Agent(ScriptedModel(["Helped."]), name="helper").as_tool()
    inner = code([price], name="sums")
    program = 'print(await helper("Help."))\nawait sums("await price(\'ab\')")'
    assert await came_to([helper, inner], program) == "returned: Helped.\n3.0"


async def test_without_an_agent_a_program_runs_and_nobody_says_yes():
    desk = Desk()
    box = [code([price, desk.tool("send", approval=True)])]
    programs = ["await price('a')", "await send(what='x')"]
    calls = [Call(id=str(n), name=NAME, arguments=dump({"program": p})) for n, p in enumerate(programs)]
    first, second = await run_calls(calls, box)
    assert first.result.text == "1.5"
    assert "line 1: RuntimeError: send was not run; permission was denied" in second.result.text
    assert desk.done == []


@pytest.mark.parametrize("program", ["await wait()", "while True:\n    pass"])
async def test_a_program_that_is_given_up_leaves_no_process(program):
    never = asyncio.Event()

    @tool
    async def wait() -> None:
        """Wait."""
        await never.wait()

    agent = agent_of([wait], program, options={"seconds": 60}, budget=Budget(seconds=0.1))
    async with asyncio.timeout(10):
        result = await agent.run("Go.")
    assert result.calls[0].outcome == "timed_out"
    assert not any("monty" in name for name in _children())


def _children() -> list[str]:
    """The names of the processes that this one has started and that still are."""
    found = [each.read_text().split() for each in Path("/proc/self/task").glob("*/children")]
    return [Path(f"/proc/{pid}/comm").read_text() for pids in found for pid in pids]


def test_a_program_needs_tools_and_the_extra(monkeypatch):
    with pytest.raises(DeclarationError, match="a program needs tools to call"):
        code([])
    monkeypatch.setattr("rightcall.core.optional_libraries.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"programs need pydantic-monty.*rightcall\[code\]"):
        code([price])


@pytest.mark.parametrize("limit", ["calls", "seconds", "memory", "timeout"])
def test_a_program_that_may_use_nothing_is_refused(limit):
    with pytest.raises(UsageError, match=f"no program can do anything with .*{limit}=0"):
        code([Desk().tool("do")], **{limit: 0})
