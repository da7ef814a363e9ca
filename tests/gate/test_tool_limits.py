"""A tool's own concurrency and rate hold in the whole process: over agents, runs, loops and threads."""

import asyncio
import gc
import multiprocessing
import os
import threading
import time
import weakref
from contextvars import copy_context

import pytest

import rightcall as rc
from rightcall.gate import concurrency
from rightcall.gate.concurrency import CallSlots, wait_for_rate
from rightcall.testing import ScriptedModel, call, reply

SECONDS = 10


class Room:
    """Counts who is inside at once, in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.inside = self.most = self.visits = 0

    def __enter__(self) -> None:
        with self._lock:
            self.inside += 1
            self.visits += 1
            self.most = max(self.most, self.inside)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.inside -= 1


def visiting(room: Room, **limits: object) -> rc.Tool:
    @rc.tool(effect="read", **limits)
    async def visit() -> str:
        """Stay for a moment."""
        with room:
            await asyncio.sleep(0.01)
        return "ok"

    return visit


def asking(tool: rc.Tool, calls: int = 2, **options: object) -> rc.Agent:
    """An agent that calls the tool so many times at once."""

    def answer(request: rc.models.Request) -> rc.Reply:
        if len(request.messages) > 1:
            return reply("Done.")
        return reply(*[call(tool.name, id=f"c{n}") for n in range(calls)])

    return rc.Agent(ScriptedModel(answer), [tool], **options)


async def finish(*runs: object) -> None:
    async with asyncio.timeout(SECONDS):
        await asyncio.gather(*runs)


async def test_agents_share_a_tools_slots():
    room = Room()
    tool = visiting(room, concurrency=2)
    await finish(*(asking(tool).run("Go.") for _ in range(5)))
    assert (room.most, room.visits) == (2, 10)


async def test_so_do_an_agent_and_its_subagent():
    room = Room()
    tool = visiting(room, concurrency=2)
    below = asking(tool, 3, name="below")
    model = ScriptedModel(
        [reply(*[call("visit")] * 3, call("below", task="a"), call("below", task="b")), "Done."]
    )
    await finish(rc.Agent(model, [tool, below.as_tool()]).run("Go."))
    assert (room.most, room.visits) == (2, 9)


async def test_so_do_calls_without_an_agent():
    room = Room()
    tool = visiting(room, concurrency=2)
    asked = [rc.Call(id="c", name="visit")]
    await finish(*(rc.run_calls(asked, tool) for _ in range(6)))
    assert (room.most, room.visits) == (2, 6)


def test_so_do_event_loops_in_threads():
    room = Room()
    agent = asking(visiting(room, concurrency=2), 4)
    threads = [threading.Thread(target=agent.run_sync, args=["Go."]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert (room.most, room.visits) == (2, 16)


async def test_a_rate_holds_over_agents():
    tool = visiting(Room(), rate=(5, 0.3))
    began = time.monotonic()
    await finish(*(asking(tool, 3).run("Go.") for _ in range(4)))
    # Twelve starts: five at once, five after 0.3 s, two after 0.6 s.
    assert time.monotonic() - began >= 0.6


def test_a_rate_is_counted_by_whichever_thread_starts_a_call():
    tool = visiting(Room(), rate=(50, 60.0))
    allowed: list[bool] = []

    def start() -> None:
        allowed.extend(wait_for_rate(tool, 100.0) == 0.0 for _ in range(100))

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert (len(allowed), sum(allowed)) == (400, 50)


class Shop:
    @rc.tool(concurrency=1)
    async def sell(self) -> str:
        """Sell."""
        return "sold"


def declared() -> str:
    """Do nothing."""
    return ""


async def _are_one(first: rc.Tool, second: rc.Tool) -> bool:
    taken = CallSlots(9).of(first)
    # As if by another call, not by one around the second.
    assert copy_context().run(taken.acquire_free)
    other = CallSlots(9).of(second)
    is_free = other.acquire_free()
    taken.release()
    if is_free:
        other.release()
    return not is_free


def _scarce(name: str = "f", handler: object = None) -> rc.Tool:
    return rc.Tool(name, "", handler=handler, limits=rc.Limits(concurrency=1))


@pytest.mark.parametrize(
    ("first", "second", "are_one"),
    [
        pytest.param(t := _scarce(), t, True, id="itself"),
        pytest.param(t := _scarce(), rc.Toolbox(t).prefix("my_")["my_f"], True, id="prefixed"),
        pytest.param(t := _scarce(), rc.Toolbox(t).rename({"f": "g"})["g"], True, id="renamed"),
        pytest.param(t := _scarce(), t.replace(timeout=5).replace(approval=True), True, id="replaced"),
        pytest.param(t.replace(name="a"), t.replace(name="b"), True, id="two-copies"),
        pytest.param(Shop().sell, Shop().sell, True, id="method-of-two-instances"),
        pytest.param(
            rc.tool(declared, concurrency=1), rc.tool(declared, concurrency=1), True, id="declared-twice"
        ),
        pytest.param(
            _scarce("a", declared), _scarce("b", declared), False, id="two-tools-of-a-function"
        ),
        pytest.param(_scarce(), _scarce(), False, id="two-tools-of-a-name"),
        pytest.param(t := _scarce(), t.replace(handler=declared), False, id="another-handler"),
        pytest.param(t := _scarce(), t.replace(concurrency=2), False, id="another-limit"),
    ],
)
async def test_a_limit_goes_with_the_tool_that_it_was_declared_for(first, second, are_one):
    assert await _are_one(first, second) is are_one


async def test_nothing_is_kept_of_a_tool_that_is_gone():
    def made() -> rc.Tool:
        room = Room()
        return visiting(room, concurrency=1, rate=(100, 1.0))

    gc.collect()
    before = len(concurrency._tool_limits._found)
    for _ in range(20):
        tool = made()
        await finish(asking(tool).run("Go."))
    last = weakref.ref(tool)
    del tool
    gc.collect()
    assert last() is None
    assert len(concurrency._tool_limits._found) <= before


async def test_calls_start_in_the_order_in_which_they_came_whatever_agent_they_are_of():
    order: list[str] = []

    @rc.tool(concurrency=1)
    async def step(who: str) -> None:
        """Step."""
        order.append(who)
        await asyncio.sleep(0)

    async def one(who: str) -> None:
        asked = rc.Call(id="c", name="step", arguments=f'{{"who": "{who}"}}')
        await rc.run_calls([asked], step)

    await finish(*(one(who) for who in "abcdef"))
    assert order == list("abcdef")


async def test_a_call_that_is_cancelled_while_it_waits_leaves_its_place_to_others():
    hold, started = asyncio.Event(), []

    @rc.tool(concurrency=1)
    async def step() -> None:
        """Step."""
        started.append(None)
        await hold.wait()

    asked = [rc.Call(id="c", name="step")]
    first, second, third = [asyncio.create_task(rc.run_calls(asked, step)) for _ in range(3)]
    await asyncio.sleep(0.01)
    second.cancel()
    hold.set()
    await finish(first, third)
    with pytest.raises(asyncio.CancelledError):
        await second
    assert len(started) == 2
    await finish(rc.run_calls(asked, step))


def test_a_loop_that_ends_gives_back_what_its_calls_held_and_waited_for():
    @rc.tool(concurrency=1)
    async def hang() -> None:
        """Never end."""
        await asyncio.Event().wait()

    async def broken_off() -> None:
        asked = [rc.Call(id=str(n), name="hang") for n in range(3)]
        left = asyncio.create_task(rc.run_calls(asked, hang))
        await asyncio.sleep(0.01)
        assert not left.done()

    async def is_free() -> bool:
        slot = CallSlots(1).of(hang)
        taken = slot.acquire_free()
        if taken:
            slot.release()
        return taken

    for _ in range(3):
        asyncio.run(broken_off())
        assert asyncio.run(is_free())


async def test_a_call_inside_a_call_of_the_same_tool_runs_in_its_place():
    room = Room()

    @rc.tool(concurrency=1)
    async def dig(depth: int) -> str:
        """Dig."""
        with room:
            if depth:
                asked = [
                    rc.Call(id=str(n), name="dig", arguments=f'{{"depth": {depth - 1}}}') for n in (1, 2)
                ]
                await rc.run_calls(asked, dig)
        return "ok"

    asked = [rc.Call(id=str(n), name="dig", arguments='{"depth": 2}') for n in range(3)]
    await finish(rc.run_calls(asked, dig))
    # One of each depth at a time: siblings take turns.
    assert (room.most, room.visits) == (3, 3 * 7)


def test_a_blocking_tool_may_run_an_agent_that_has_it():
    @rc.tool(concurrency=1)
    def outer(deeper: bool) -> str:
        """Ask below."""
        return below.run_sync("Go.").text if deeper else "bottom"

    below = rc.Agent(ScriptedModel([reply(call("outer", deeper=False)), "Done below."]), [outer])
    above = rc.Agent(ScriptedModel([reply(call("outer", deeper=True)), "Done."]), [outer])
    assert [each.result.text for each in above.run_sync("Go.").calls] == ["Done below."]


async def test_a_task_that_outlives_its_call_has_no_place_of_it():
    tasks = []

    @rc.tool(concurrency=1)
    async def spawn(leave: bool) -> None:
        """Spawn."""
        if leave:
            tasks.append(asyncio.create_task(later()))

    free = asyncio.Event()

    async def later() -> bool:
        await free.wait()
        return not CallSlots(1).of(spawn).acquire_free()

    await rc.run_calls([rc.Call(id="c", name="spawn", arguments='{"leave": true}')], spawn)
    holder = CallSlots(1).of(spawn)
    assert copy_context().run(holder.acquire_free)
    free.set()
    assert await tasks[0]
    holder.release()


async def test_a_call_that_waits_for_its_run_keeps_no_slot_of_the_tool_from_others():
    release = asyncio.Event()

    @rc.tool
    async def wait() -> None:
        """Hold the run's only slot until another run has called the scarce tool."""
        await rc.run_calls([rc.Call(id="c", name="scarce")], scarce)
        release.set()

    @rc.tool(concurrency=1)
    async def scarce() -> None:
        """Do something."""

    executor = rc.gate.Executor(concurrency=1)
    asked = [rc.Call(id="1", name="wait"), rc.Call(id="2", name="scarce")]
    await finish(executor.execute(asked, rc.Toolbox(wait, scarce)))
    assert release.is_set()


def _take_in_child(done: int) -> None:
    async def take() -> bool:
        return CallSlots(1).of(_HELD).acquire_free() and wait_for_rate(_HELD, time.monotonic()) == 0.0

    os.write(done, b"free" if asyncio.run(take()) else b"held")


_HELD = rc.Tool("held", "", limits=rc.Limits(concurrency=1, rate=(1, 600.0)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
async def test_a_forked_child_counts_from_zero():
    slot = CallSlots(1).of(_HELD)
    assert slot.acquire_free()
    assert wait_for_rate(_HELD, time.monotonic()) == 0.0
    read, write = os.pipe()
    child = multiprocessing.get_context("fork").Process(target=_take_in_child, args=[write])
    child.start()
    await asyncio.to_thread(child.join, SECONDS)
    assert os.read(read, 4) == b"free"
    os.close(read)
    os.close(write)
    slot.release()
