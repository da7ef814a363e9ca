"""Makes several tools one tool that runs a program which may call them.

The program's calls are steps of the run around it, under the key of its call, as those of an agent that
was handed a task: one gate, one journal, one budget. Nothing is decided or recorded anywhere else.
"""

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from time import time
from typing import Annotated, Any, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace
from pydantic import Field

from rightcall.core.budget import Budget, Stop
from rightcall.core.decision import NOBODY_TO_ASK, Deny
from rightcall.core.entry import Entry, RunStarted, StepDone
from rightcall.core.events import ModelEvent, reply_events
from rightcall.core.facts import Effect
from rightcall.core.handler import Context, FoundTools
from rightcall.core.message import Reply, Results, Transcript, User, user_text
from rightcall.core.optional_libraries import require
from rightcall.core.options import check_keywords
from rightcall.core.parts import Call, Result, Text
from rightcall.core.proposal import Proposal
from rightcall.core.request import Profile, Request
from rightcall.core.secret_formats import REDACTED
from rightcall.core.tool import Tool
from rightcall.declare.function import tool
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import DeclarationError, ToolFailure, UsageError
from rightcall.gate.executor import Executor
from rightcall.gate.gate import guard_above
from rightcall.loop.inner_runs import Nesting, nesting_of
from rightcall.loop.result import RunResult
from rightcall.loop.run import Run
from rightcall.loop.settings import Setup
from rightcall.loop.state import State, initial_state
from rightcall.programs.interpreter import (
    Answer,
    CallException,
    CallReturn,
    CallRound,
    Interpreter,
    ProgramLimits,
    Step,
)
from rightcall.programs.stubs import Stubs, result_text, stubs_of
from rightcall.record.steps import UnrecordedSteps
from rightcall.trust.facts import facts_together, label_untrusted

FAILED = "failed"
"""The stop reason of a reply that tells how the program failed."""
ANOTHER_WAY = (
    "The program was run again to go on where it was, and took another way than before: it may hang on "
    "something besides its tools' results. What it had called stays called."
)
_BAG = "program"
_LINE = "line"

Slot: TypeAlias = Call | CallException
"""What a program asked for: a call, or the error of one that cannot be made."""


class ProgramModel:
    """A program as the model of a run: it asks for calls, reads their results, replies with its value.

    So an ordinary run records, validates, decides and pauses a program's calls. Its next reply follows
    from the program and the results so far: in another process the program is rerun over them. It holds
    the program's process until it is closed.
    """

    profile = Profile(priced=True)

    def __init__(self, stubs: Stubs, limits: ProgramLimits) -> None:
        self._stubs = stubs
        self._limits = limits
        self._interpreter: Interpreter | None = None
        self._slots: tuple[Slot, ...] = ()
        self._said: Reply | None = None
        self._seen = 0
        """How many messages the program has received."""
        self._calls = 0

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The program's next reply."""
        for event in reply_events(await self._next(request.messages)):
            yield event

    async def aclose(self) -> None:
        """End the program."""
        if self._interpreter is not None:
            await self._interpreter.close()

    async def _next(self, messages: Transcript) -> Reply:
        # Each turn passes on the new messages; in another process those are all messages.
        new = messages[self._seen :]
        left = sum(isinstance(message, Reply) for message in new)
        interpreter = self._interpreter
        if interpreter is None:
            program, began = messages[:2]
            assert isinstance(program, User)
            assert isinstance(began, User)
            interpreter = self._interpreter = Interpreter(
                program.text,
                stubs=self._stubs.source,
                names=tuple(self._stubs.functions),
                limits=self._limits,
                began=float(began.text),
            )
            interpreter.again = left > 0
            self._said = await self._reply(interpreter, await interpreter.start(check=left == 0))
        for message in new:
            if isinstance(message, Reply):
                left -= 1
                if not _is_same(message, self._said):
                    return Reply((Text(ANOTHER_WAY),), "error", FAILED)
            elif isinstance(message, Results):
                interpreter.again = left > 0
                results = {each.call_id: each for each in message.results}
                answers: list[Answer] = []
                for slot in self._slots:
                    if isinstance(slot, Call):
                        answers.append(self._answer(results[slot.id], slot))
                    else:
                        answers.append(slot)
                self._said = await self._reply(interpreter, await interpreter.go_on(answers))
        self._seen = len(messages)
        assert self._said is not None
        return self._said

    async def _reply(self, interpreter: Interpreter, step: Step) -> Reply:
        while isinstance(step, CallRound):
            calls: list[Call] = []
            raised: list[CallException] = []
            slots: list[Slot] = []
            for asked in step.calls:
                function = self._stubs.functions[asked.function]
                try:
                    arguments = function.arguments(asked.args, asked.kwargs)
                except TypeError as error:
                    raised.append(CallException(str(error), "TypeError"))
                    slots.append(raised[-1])
                    continue
                self._calls += 1
                bag = {_BAG: {_LINE: asked.line}}
                name = f"c{self._calls}"
                calls.append(Call(id=name, name=function.tool, arguments=arguments, vendor=bag))
                slots.append(calls[-1])
            self._slots = tuple(slots)
            if calls:
                return Reply(tuple(calls), "calls")
            step = await interpreter.go_on(raised)
        if step.failed:
            return Reply((Text(step.text),), "error", FAILED)
        return Reply((Text(step.text),), "end")

    def _answer(self, result: Result, call: Call) -> Answer:
        if result.outcome == "dry_run":
            return CallReturn(None)
        if result.is_error:
            return CallException(result_text(result))
        function = next(each for each in self._stubs.functions.values() if each.tool == call.name)
        try:
            return CallReturn(function.value(result))
        except ValueError as error:
            return CallException(str(error))


def line_of(messages: Transcript) -> int:
    """The line of the program's latest call; 0 before its first."""
    for message in reversed(messages):
        if isinstance(message, Reply) and message.calls:
            bag = message.calls[0].vendor.get(_BAG)
            if isinstance(bag, Mapping) and isinstance(line := bag.get(_LINE), int):
                return line
            return 0
    return 0


def _is_same(recorded: Reply, now: Reply | None) -> bool:
    """Whether a rerun program makes the recorded calls again, as far as the record shows."""
    if now is None or len(recorded.calls) != len(now.calls):
        return False
    for before, after in zip(recorded.calls, now.calls, strict=True):
        is_redacted = REDACTED in before.arguments
        if before.name != after.name or (before.arguments != after.arguments and not is_redacted):
            return False
    return True


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


@check_keywords("rc.programs.code", say="rc.programs.code(…, {}=…)")
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
    wide = []
    for each in Toolbox(tools):
        most = max(each.limits.max_output_bytes, _RESULT_BYTES)
        wide.append(each.replace(max_output_bytes=most))
    box = Toolbox(wide)
    if not len(box):
        raise DeclarationError(name, "a program needs tools to call.", where="tools")
    if calls < 1 or memory < 1 or not (seconds > 0 and timeout > 0):
        raise UsageError(
            f"rc.programs.code: no program can do anything with calls={calls}, seconds={seconds:g}, "
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
        description=_WORDS.format(stubs=programs.stubs.declarations.rstrip()),
        short="Run a Python program that calls other tools.",
        timeout=timeout + _GRACE,
        dry_run=True,
        input="text",
        effect=max((each.effect for each in box), key=get_args(Effect).index),
        # Each of its calls is judged, and its result labelled, separately.
        facts=replace(facts_together(box, is_guarded=True), untrusted=False),
    ).replace(
        delegates=True,
        inside=box.get,
        origin=", ".join(dict.fromkeys(each.origin for each in box if each.origin)),
    )


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
        nesting = nesting_of(context.key)
        model = ProgramModel(self.stubs, self.limits)
        setup = self._setup(nesting, model, context)
        async with aclosing(model):
            if nesting is not None and nesting.paused is not None:
                state = nesting.paused.state
                start = None
            else:

                async def body() -> Entry:
                    return StepDone(key="program.began", value=repr(time()))

                began = await setup.steps.step("program.began", body)
                assert isinstance(began, StepDone)
                room = Budget(calls=None, tokens=None, cost=None)
                if nesting is not None:
                    room = nesting.room
                most = self.limits.calls
                if room.calls is not None:
                    most = min(room.calls, most)
                start = RunStarted(
                    messages=(user_text(program, "agent"), user_text(began.value, "runtime")),
                    budget=replace(room, turns=None, calls=most, seconds=self.timeout, repeats=None),
                    system="",
                    specs=(),
                    dry_run=context.dry_run,
                )
                state = initial_state(start)
                if nesting is not None:
                    state = replace(state, approvals=tuple(nesting.approvals))
            if nesting is None:
                result = await Run(setup, state, decisions={}).go(start)
            else:
                going = Run(setup, state, emit=nesting.emit, decisions=nesting.decisions)
                try:
                    result = await going.go(start)
                finally:
                    # Also for a program that is cancelled: the calls it made count.
                    nesting.calls = going.result(Stop("error")).state.progress.calls
        if result.stop.reason == "pending":
            assert nesting is not None
            nesting.waits = result
            return None
        context.spend(result.usage)
        return self._program_output(result, nesting)

    def _setup(self, nesting: Nesting | None, model: ProgramModel, context: Context[Any]) -> Setup:
        setup = Setup(
            run=context.key,
            model=model,
            tools=self.box,
            steps=UnrecordedSteps(),
            executor=Executor(),
            approve=_nobody,
            above=guard_above(),
            speculate=False,
            dependencies=context.dependencies,
        )
        if nesting is None:
            return setup
        around = nesting.setup
        # The tools have the error handling and the labels that the outer run uses.
        own = around.tools.get(context.tool)
        tools = list(self.box)
        if own is not None and own.errors is not None:
            tools = [each.replace(errors=each.errors or own.errors) for each in tools]
        if around.trust is not None:
            # Rules for untrusted text work only on results that are labelled as such.
            tools = list(map(label_untrusted, tools))
        return replace(
            setup,
            run=nesting.run,
            tools=Toolbox(tools),
            steps=nesting.steps or setup.steps,
            executor=around.executor,
            policy=around.policy,
            trust=around.trust,
            approve=nesting.approve,
            hooks=around.hooks.around_tools(),
            around=around.around,
            clock=around.clock,
        )

    def _program_output(self, result: RunResult[Any], nesting: Nesting | None) -> Any:
        """The program's output as the model reads it, labelled with the sources of its text."""
        results: list[Result] = []
        for message in result.transcript:
            if isinstance(message, Results):
                results += message.results
        sources: dict[str, None] = {}
        dry_runs: Counter[str] = Counter()
        for result_read in results:
            if result_read.source is not None:
                sources[result_read.source] = None
            if result_read.outcome == "dry_run":
                dry_runs[result_read.name] += 1
        source = ", ".join(sources) or None
        if nesting is not None:
            nesting.source = source
            nesting.suspected = any(each.suspected for each in results)
            # What hooks around its calls sent to the model; a program does not read that.
            notes = result.transcript[2:]
            nesting.notes = tuple([each for each in notes if isinstance(each, User)])
            for approval in result.state.approvals:
                if approval not in nesting.approvals:
                    nesting.approvals.append(approval)
        words = _describe_end(result.stop, result.state, result.text)
        if dry_runs:
            counts = ", ".join(f"{name} ({count})" for name, count in dry_runs.items())
            words += f"\nThis is a dry run, in which nothing is changed. Not done: {counts}."
        if nesting is None and source is not None:
            return FoundTools(words, source=source)
        if not result.stop.is_answer:
            raise ToolFailure(words)
        return words


def _describe_end(stop: Stop, state: State, text: str) -> str:
    if stop.is_answer or (stop.reason == "error" and stop.detail == FAILED):
        return text
    line = line_of(state.messages)
    where = "before its first call"
    if line:
        where = f"at line {line}"
    budget = state.budget
    match stop.limit:
        case "calls":
            why = f"it may make no more than {budget.calls} calls"
        case "tokens" | "cost":
            why = f"the {stop.limit} of the run are used up"
        case _:
            why = f"it took longer than {budget.seconds:g} s"
    return f"The program was stopped {where}: {why}. What it had called stays called."
