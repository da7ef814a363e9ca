"""``run_sync``: the same run, for code that cannot await."""

import asyncio
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from agent.kit import told
from rightcall import Agent, RunResult
from rightcall.core.budget import Stop
from rightcall.core.entry import CallFinished
from rightcall.declare.function import tool
from rightcall.errors import VendorError
from rightcall.record import MemoryJournal
from rightcall.testing import Break, ScriptedModel, Turn, call, reply

who: ContextVar[str] = ContextVar("who", default="nobody")


@tool(effect="read")
async def think() -> str:
    """Think."""
    await asyncio.sleep(0)
    return f"thought by {who.get()}"


@tool(effect="read")
def work() -> str:
    """Work."""
    return f"worked in {threading.current_thread().name}"


def agent() -> Agent:
    return Agent(ScriptedModel([reply(call("think"), call("work")), "Done."]), [think, work])


EXPECTED = [
    "user: Go.",
    "model: think({}) work({})",
    "think returned: thought by nobody",
    "work returned: worked in rightcall: tool",
    "model: Done.",
]


def test_a_run_is_waited_for_where_no_event_loop_runs():
    assert told(agent().run_sync("Go.").transcript) == EXPECTED


async def test_a_run_is_waited_for_inside_a_running_event_loop():
    assert told(agent().run_sync("Go.").transcript) == EXPECTED


async def test_what_the_two_ways_come_to_is_the_same():
    one, other = await agent().run("Go."), await asyncio.to_thread(agent().run_sync, "Go.")
    assert (one.transcript, one.stop) == (other.transcript, other.stop)


def test_several_threads_wait_for_runs_of_one_agent_at_once():
    together = threading.Barrier(8, timeout=5)
    shared = Agent(ScriptedModel(lambda request: f"You said {request.messages[-1].text}"))

    def ask(number: int) -> str:
        together.wait()
        return shared.run_sync(str(number)).text

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [f"You said {number}" for number in range(8)]


def test_runs_that_wait_for_each_other_do_not_wait_for_ever():
    met = threading.Barrier(3, timeout=5)

    @tool
    def meet() -> str:
        """Wait until all are there."""
        met.wait()
        return "met"

    def run(_: int) -> str:
        return Agent(ScriptedModel([reply(call("meet")), "Hello all."]), [meet]).run_sync("Go.").text

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(run, range(3))) == ["Hello all."] * 3


def test_a_tool_in_a_thread_may_wait_for_a_run_of_its_own():
    @tool
    def delegate() -> str:
        """Ask somebody else."""
        return Agent(ScriptedModel(["From within."])).run_sync("Well?").text

    result = Agent(ScriptedModel([reply(call("delegate")), "Done."]), [delegate]).run_sync("Go.")
    assert result.calls[0].result.text == "From within."


def test_a_tool_that_would_wait_for_itself_fails_and_the_run_goes_on():
    @tool
    async def delegate() -> str:
        """Ask somebody else, in the event loop that waits."""
        return Agent(ScriptedModel(["From within."])).run_sync("Well?").text

    result = Agent(ScriptedModel([reply(call("delegate")), "Done."]), [delegate]).run_sync("Go.")
    assert (result.calls[0].outcome, result.stop) == ("failed", Stop("end"))


def test_tools_see_the_context_variables_of_the_caller():
    token = who.set("Ada")
    try:
        result = agent().run_sync("Go.")
    finally:
        who.reset(token)
    assert result.calls[0].result.text == "thought by Ada"


def test_what_a_run_raises_reaches_the_caller():
    broken = Turn(breaks=Break(0, VendorError("overloaded", status=529)))
    with pytest.raises(VendorError, match="overloaded") as caught:
        Agent(ScriptedModel([broken])).run_sync("Go.")
    assert told(caught.value.result.transcript) == ["user: Go."]


def in_a_thread(agent: Agent) -> RunResult:
    """What its run comes to; one that hangs fails its test and holds up nothing."""
    done: Future[RunResult] = Future()

    def work() -> None:
        try:
            done.set_result(agent.run_sync("Go."))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return done.result(5)


def test_an_exit_that_a_run_raises_reaches_the_caller_and_the_next_run_is_as_good_as_any():
    with pytest.raises(SystemExit):
        in_a_thread(Agent(ScriptedModel(lambda _: sys.exit(3))))
    assert told(in_a_thread(agent()).transcript) == EXPECTED


def test_a_tool_that_stops_the_event_loop_stops_nothing():
    @tool
    async def stop() -> str:
        """Stop the loop."""
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        return "stopped"

    result = in_a_thread(Agent(ScriptedModel([reply(call("stop")), "Done."]), [stop]))
    assert (result.calls[0].result.text, result.text) == ("stopped", "Done.")


def exits() -> str:
    """Exit."""
    sys.exit("no such option")


async def exits_in_the_loop() -> str:
    """Exit."""
    sys.exit("no such option")


def interrupts() -> str:
    """Exit as Ctrl-C does."""
    raise KeyboardInterrupt("no such option")


async def interrupts_in_the_loop() -> str:
    """Exit as Ctrl-C does."""
    raise KeyboardInterrupt("no such option")


@pytest.mark.parametrize(
    "function", [exits, exits_in_the_loop, interrupts, interrupts_in_the_loop], ids=lambda f: f.__name__
)
def test_a_tool_that_exits_has_failed_and_its_exit_is_on_record(function):
    journal = MemoryJournal()
    leaving = Agent(
        ScriptedModel([reply(call("leave")), "Done."]), [tool(function, name="leave")], journal=journal
    )
    result = in_a_thread(leaving)
    assert (result.calls[0].outcome, result.text) == ("failed", "Done.")
    (finished,) = (e for e in journal.entries(result.run) if isinstance(e, CallFinished))
    assert finished.error.startswith("Traceback")
    assert "no such option" in finished.error
