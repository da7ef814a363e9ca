"""Tools into one tool that runs a program which may call them.

The program's calls are steps of the run around it, under the key of its call, as those of an agent that
was handed a task: one gate, one journal, one budget. Nothing is decided or recorded anywhere else.
"""

from collections.abc import Iterator
from contextlib import aclosing
from time import time
from typing import Annotated, Any, get_args

from msgspec import Struct
from msgspec.structs import replace
from pydantic import Field

from rightcall.core.budget import Budget, Stop
from rightcall.core.decision import NOBODY_TO_ASK, Deny, Proposal
from rightcall.core.entry import Entry, RunStarted, StepDone
from rightcall.core.extras import require
from rightcall.core.facts import Effect, Facts
from rightcall.core.handler import Context
from rightcall.core.message import Results, Transcript
from rightcall.core.offer import Offer
from rightcall.core.options import checked
from rightcall.core.parts import Result
from rightcall.core.tool import Tool
from rightcall.declare.function import tool
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import DeclarationError, ToolFailure, UsageError
from rightcall.gate.executor import Executor
from rightcall.gate.gate import guard_above
from rightcall.loop.nested import Nesting, nesting_of
from rightcall.loop.result import RunResult
from rightcall.loop.run import Run
from rightcall.loop.setup import Setup
from rightcall.loop.state import State, started
from rightcall.programs.interpreter import ProgramLimits
from rightcall.programs.program_model import FAILED, ProgramModel, line_of, notes_in, opening
from rightcall.programs.stubs import Stubs, stubs_of
from rightcall.record.steps import LiveSteps
from rightcall.trust.facts import facts_together, labelled

_WORDS = """\
Run a Python program that calls the functions below, and read what it prints and the value of its last \
expression: nothing else of what it does comes back. Use it for many calls, for loops, and to join, \
count or filter what they return.

Each function is async: await it, or several at once with asyncio.gather. A call that fails raises \
RuntimeError. Types are checked before anything runs. Of the standard library there are asyncio, \
collections, datetime, itertools, json, math and re; there are no files, no network, no environment and \
no other packages.

```python
{stubs}
```"""
_RESULT_BYTES = 1024 * 1024
"""Bytes that a tool's result may have for a program: code reads it, and it enters no context."""
_GRACE = 5.0
"""Seconds added to the call's own timeout, so that the program's comes first and names the line."""


@checked("rc.code", say="rc.code(…, {}=…)")
def code(
    tools: ToolSource,
    *,
    name: str = "run_program",
    calls: int = 100,
    seconds: float = 5.0,
    memory: int = 64 * 1024 * 1024,
    timeout: float = 600.0,
) -> Tool[Any]:
    """One tool that runs a Python program, which may call ``tools``; only its output is read.

    ``calls`` limits its calls, ``seconds`` its own CPU time, ``memory`` its bytes, and ``timeout`` the
    total seconds, including its calls. It has no files, no network and no environment. Needs
    ``rightcall[code]``.
    """
    require("pydantic_monty")
    box = Toolbox([_wide(each) for each in Toolbox(tools)])
    if not len(box):
        raise DeclarationError(name, "a program needs tools to call.", where="tools")
    if calls < 1 or memory < 1 or not (seconds > 0 and timeout > 0):
        raise UsageError(
            f"rc.code: no program can do anything with calls={calls}, seconds={seconds:g}, "
            f"memory={memory}, timeout={timeout:g}; each is more than nothing"
        )
    limits = ProgramLimits(calls=calls, seconds=seconds, memory=memory)
    programs = _Programs(box, stubs_of(box), limits, timeout)

    async def run_program(
        program: Annotated[str, Field(description="The program, as plain Python.")],
        context: Context[Any],
    ) -> Any:
        return await programs.run(program, context)

    return tool(
        run_program,
        name=name,
        description=_WORDS.format(stubs=programs.stubs.shown.rstrip()),
        short="Run a Python program that calls other tools.",
        timeout=timeout + _GRACE,
        dry_run=True,
        input="text",
        effect=max((each.effect for each in box), key=get_args(Effect).index),
        facts=_facts(box),
    ).replace(
        delegates=True,
        origin=", ".join(dict.fromkeys(each.origin for each in box if each.origin)),
    )


def _wide(each: Tool) -> Tool:
    limit = max(each.limits.max_output_bytes, _RESULT_BYTES)
    return each.replace(max_output_bytes=limit)


def _facts(box: Toolbox) -> Facts:
    """The facts of a program: each of its calls is judged, and its result labelled, separately."""
    return replace(facts_together(box, is_guarded=True), untrusted=False)


async def _nobody(_: Proposal) -> Deny:
    return Deny(NOBODY_TO_ASK)


class _Programs(Struct, frozen=True, eq=False):
    """Runs programs that call some tools."""

    box: Toolbox
    stubs: Stubs
    limits: ProgramLimits
    timeout: float

    async def run(self, program: str, context: Context[Any]) -> Any:
        """The program's result; None where it must wait for a person."""
        nesting, model = nesting_of(context.key), ProgramModel(self.stubs, self.limits)
        setup = self._setup(nesting, model, context)
        async with aclosing(model):
            if nesting is not None and nesting.paused is not None:
                state, start = nesting.paused.state, None
            else:
                start = await self._started(program, setup, nesting, dry_run=context.dry_run)
                state = started(start)
                if nesting is not None:
                    state = replace(state, approvals=tuple(nesting.approvals))
            decisions, emit = (nesting.decisions, nesting.emit) if nesting else ({}, None)
            going = Run(setup, state, emit=emit, decisions=decisions)
            try:
                result = await going.go(start)
            finally:
                if nesting is not None:
                    # Also for a program that is cancelled: the calls it made count.
                    nesting.calls = going.result(Stop("error")).state.progress.calls
        if result.stop.reason == "pending":
            assert nesting is not None
            nesting.waits = result
            return None
        context.spend(result.usage)
        return self._given(result, nesting)

    def _setup(self, nesting: Nesting | None, model: ProgramModel, context: Context[Any]) -> Setup:
        if nesting is None:
            return Setup(
                run=context.key,
                model=model,
                tools=self.box,
                steps=LiveSteps(),
                executor=Executor(),
                approve=_nobody,
                above=guard_above(),
                speculate=False,
                dependencies=context.dependencies,
            )
        around = nesting.setup
        return Setup(
            run=nesting.run,
            model=model,
            tools=self._box(around, context.tool),
            steps=nesting.steps or LiveSteps(),
            executor=around.executor,
            policy=around.policy,
            trust=around.trust,
            above=guard_above(),
            approve=nesting.approve,
            hooks=around.hooks.around_tools(),
            speculate=False,
            dependencies=context.dependencies,
            clock=around.clock,
        )

    def _box(self, around: Setup, name: str) -> Toolbox:
        """The tools, with the error handling and the labels that the outer run uses."""
        own, tools = around.tools.get(name), list(self.box)
        if own is not None and own.errors is not None:
            tools = [each.replace(errors=each.errors or own.errors) for each in tools]
        if around.trust is not None:
            # Rules for untrusted text work only on results that are labelled as such.
            tools = [labelled(each) for each in tools]
        return Toolbox(tools)

    async def _started(
        self, program: str, setup: Setup, nesting: Nesting | None, *, dry_run: bool
    ) -> RunStarted:
        async def body() -> Entry:
            return StepDone(key="program.began", value=repr(time()))

        began = await setup.steps.step("program.began", body)
        assert isinstance(began, StepDone)
        room = Budget(calls=None, tokens=None, cost=None) if nesting is None else nesting.room
        most = self.limits.calls if room.calls is None else min(room.calls, self.limits.calls)
        budget = replace(room, turns=None, calls=most, seconds=self.timeout, repeats=None)
        grant = None if setup.above is None or setup.trust is None else setup.above.grant
        return RunStarted(
            messages=opening(program, float(began.value)),
            budget=budget,
            system="",
            specs=(),
            grant=grant,
            dry_run=dry_run,
        )

    def _given(self, result: RunResult[Any], nesting: Nesting | None) -> Any:
        """The program's output as the model reads it, labelled with the sources of its text."""
        results = tuple(_results(result.transcript))
        sources = tuple(dict.fromkeys(each.source for each in results if each.source is not None))
        source = ", ".join(sources) or None
        if nesting is not None:
            nesting.source = source
            nesting.suspected = any(each.suspected for each in results)
            nesting.notes = notes_in(result.transcript)
            known = nesting.approvals
            known += [each for each in result.state.approvals if each not in known]
        words = _told(result.stop, result.state, result.text) + _not_done(results)
        if nesting is None and source is not None:
            return Offer(words, source=source)
        if not result.stop.is_answer:
            raise ToolFailure(words)
        return words


def _results(messages: Transcript) -> Iterator[Result]:
    for message in messages:
        if isinstance(message, Results):
            yield from message.results


def _told(stop: Stop, state: State, text: str) -> str:
    """The text that tells the model how a program ended."""
    if stop.is_answer or (stop.reason == "error" and stop.detail == FAILED):
        return text
    line = line_of(state.messages)
    where = f"at line {line}" if line else "before its first call"
    budget = state.budget
    match stop.limit:
        case "calls":
            why = f"it may make no more than {budget.calls} calls"
        case "tokens" | "cost":
            why = f"the {stop.limit} of the run are used up"
        case _:
            why = f"it took longer than {budget.seconds:g} s"
    return f"The program was stopped {where}: {why}. What it had called stays called."


def _not_done(results: tuple[Result, ...]) -> str:
    """The text that lists the calls that a dry run left out."""
    names = [each.name for each in results if each.outcome == "dry_run"]
    if not names:
        return ""
    told = ", ".join(f"{name} ({names.count(name)})" for name in dict.fromkeys(names))
    return f"\nThis is a dry run, in which nothing is changed. Not done: {told}."
