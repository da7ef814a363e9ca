"""Worlds at random: models that misbehave in every known way, and tools of every kind."""

import asyncio
from collections import Counter
from typing import Any, get_args

from hypothesis import strategies as st
from msgspec import Struct

from rightcall.agent import Agent
from rightcall.core.budget import Budget, Stop
from rightcall.core.handler import Context
from rightcall.core.limits import Limits
from rightcall.core.message import Reply, StopReason, Transcript
from rightcall.core.parts import Call
from rightcall.core.ports import Journal
from rightcall.core.proposal import Proposal
from rightcall.core.request import Request
from rightcall.core.tool import Effect, Tool
from rightcall.declare.function import tool
from rightcall.errors import ToolFailure, TransportError
from rightcall.loop.events import CallStart, RunEnd
from rightcall.loop.result import RunResult
from rightcall.testing import Break, ScriptedModel, Turn, reply

RUN = "r"
NAMES = ("t0", "t1", "t2")
TURNS = 8


class ToolPlan(Struct, frozen=True):
    """What one tool is and does."""

    effect: Effect
    does: str
    is_async: bool
    serial: bool = False
    approval: bool = False


class TurnPlan(Struct, frozen=True):
    """One reply, and how it goes wrong: by hanging at first, or after so many events."""

    reply: Reply
    hangs: bool = False
    breaks: int | None = None
    fails: bool = False
    """It breaks with an error, and does not just end."""


class Plan(Struct, frozen=True):
    """A whole world."""

    tools: tuple[ToolPlan, ...]
    turns: tuple[TurnPlan, ...]
    budget: Budget
    speculate: bool
    retry_broken: bool
    fragment: int


class World:
    """A plan come to life once: its tools count how often each call of a run was carried out."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.runs: Counter[str] = Counter()
        self.tools = [self._tool(name, each) for name, each in zip(NAMES, plan.tools, strict=True)]

    def agent(self, journal: Journal | None = None) -> Agent:
        plan = self.plan
        model = ScriptedModel(self._answer, fragment=plan.fragment)
        return Agent(
            model,
            self.tools,
            budget=plan.budget,
            speculate=plan.speculate,
            retry_broken=plan.retry_broken,
            approve=_approve,
            journal=journal,
        )

    def _answer(self, request: Request) -> Turn | str:
        """What the model says, which hangs on nothing but how often it has spoken."""
        spoken = sum(isinstance(message, Reply) for message in request.messages)
        if spoken >= len(self.plan.turns):
            return "Done."
        turn = self.plan.turns[spoken]
        error = TransportError("lost") if turn.fails else None
        breaks = None if turn.breaks is None else Break(turn.breaks, error)
        return Turn(reply=turn.reply, delay=1e9 if turn.hangs else 0.0, breaks=breaks)

    def _tool(self, name: str, plan: ToolPlan) -> Tool:
        def begin(at: int, context: Context[None]) -> str:
            self.runs[context.key] += 1
            if plan.does == "fail":
                raise ToolFailure(f"{name} cannot {at}")
            if plan.does == "raise":
                raise ValueError(name)
            return f"{name} did {at}"

        async def work(at: int = 0, *, context: Context[None]) -> str:
            did = begin(at, context)
            if plan.does == "hang":
                await asyncio.Event().wait()
            await asyncio.sleep(at if plan.does == "slow" else 0)
            return did

        def work_in_thread(at: int = 0, *, context: Context[None]) -> str:
            return begin(at, context)

        return tool(
            work if plan.is_async else work_in_thread,
            name=name,
            description="Works.",
            effect=plan.effect,
            serial=plan.serial,
            approval=plan.approval,
            limits=Limits(timeout=30),
        )


async def _approve(proposal: Proposal) -> bool:
    await asyncio.sleep(0)
    return proposal.arguments.get("at") != 2


class End(Struct, frozen=True):
    """What a run came to, as far as it must be the same each time."""

    transcript: Transcript
    stop: Stop


async def ended(run: Any) -> End:
    """The end of a run, also of one that its model broke."""
    try:
        result: RunResult = await run
    except TransportError as error:
        result = error.result
    return End(result.transcript, result.stop)


async def streamed(agent: Agent) -> RunResult:
    """A run, read as a stream; the calls are shown under the ids that they end up with."""
    shown = []
    async for event in agent.stream("Go.", run=RUN):
        if isinstance(event, CallStart):
            shown.append(event.id)
    assert isinstance(event, RunEnd)
    replies = [m for m in event.result.transcript if isinstance(m, Reply)]
    assert shown == [call.id for each in replies for call in each.calls]
    return event.result


good_calls = st.builds(
    Call,
    id=st.sampled_from(["", "a", "b", "call_1_0"]),
    name=st.sampled_from(NAMES),
    arguments=st.sampled_from(['{"at":1}', '{"at":2}', '{ "at": 3 }', ""]),
)
bad_calls = st.builds(
    Call,
    id=st.sampled_from(["", "a"]),
    name=st.sampled_from([*NAMES, "nope", ""]),
    arguments=st.sampled_from(['{"at":', '{"at":"x"}', "[]", "{}"]),
    truncated=st.booleans(),
)
calls = st.one_of(good_calls, good_calls, good_calls, good_calls, bad_calls)
words = st.sampled_from(["So", "and so on"])


def _replies(stops: st.SearchStrategy[StopReason | None]) -> st.SearchStrategy[Reply]:
    parts = st.lists(st.one_of(calls, calls, words), min_size=1, max_size=4)
    return st.builds(lambda parts, stop: reply(*parts, stop=stop), parts, stops)


replies = _replies(st.none())
turns = st.one_of(
    *[st.builds(TurnPlan, replies)] * 5,
    st.builds(TurnPlan, _replies(st.sampled_from(get_args(StopReason)))),
    st.builds(TurnPlan, replies, breaks=st.integers(0, 15), fails=st.booleans()),
    st.builds(TurnPlan, replies, hangs=st.booleans()),
)
async_tools = st.builds(
    ToolPlan,
    st.sampled_from(["pure", "read", "idempotent", "write"]),
    st.sampled_from(["return", "return", "fail", "raise", "slow", "hang"]),
    st.just(True),
    serial=st.sampled_from([False, False, True]),
    approval=st.sampled_from([False, False, True]),
)
thread_tools = st.builds(
    ToolPlan,
    st.sampled_from(["pure", "read", "idempotent", "write"]),
    st.sampled_from(["return", "return", "fail", "raise"]),
    st.just(False),
    serial=st.sampled_from([False, False, True]),
)
plans = st.builds(
    Plan,
    tools=st.tuples(async_tools, async_tools, thread_tools),
    turns=st.lists(turns, min_size=1, max_size=6).map(tuple),
    budget=st.builds(
        Budget,
        turns=st.sampled_from([2, TURNS]),
        calls=st.sampled_from([None, None, 1, 4]),
        repeats=st.sampled_from([None, 2, 3]),
    ),
    speculate=st.booleans(),
    retry_broken=st.booleans(),
    fragment=st.integers(1, 6),
)
