"""A program as the model of a run: it asks for calls, reads their results, and replies with its value.

So an ordinary run records, validates, decides and pauses a program's calls. Its next reply follows from
the program and the results so far: in another process the program is rerun over them.
"""

from collections.abc import AsyncIterator
from typing import TypeAlias

from rightcall.core.call import Call
from rightcall.core.events import ModelEvent, unfolded
from rightcall.core.message import Message, Reply, Results, Transcript, User, said
from rightcall.core.parts import Result, Text
from rightcall.core.request import Profile, Request
from rightcall.core.secret import REDACTED
from rightcall.programs.interpreter import (
    Answer,
    Asked,
    Given,
    Interpreter,
    ProgramLimits,
    Raised,
    Round,
    Step,
)
from rightcall.programs.stubs import Stubs
from rightcall.trust.pieces import opened

FAILED = "failed"
"""The stop reason of a reply that tells how the program failed."""
ANOTHER_WAY = (
    "The program was run again to go on where it was, and took another way than before: it may hang on "
    "something besides its tools' results. What it had called stays called."
)
_BAG = "program"
_LINE = "line"

Slot: TypeAlias = Call | Raised
"""What a program asked for: a call, or the error of one that cannot be made."""


class ProgramModel:
    """Replies in a program's place. Holds the program's process until it is closed."""

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
        for event in unfolded(await self._next(request.messages)):
            yield event

    async def aclose(self) -> None:
        """End the program."""
        if self._interpreter is not None:
            await self._interpreter.close()

    async def _next(self, messages: Transcript) -> Reply:
        # Each turn passes on the new messages; in another process those are all messages.
        left = sum(isinstance(message, Reply) for message in messages[self._seen :])
        if self._interpreter is None:
            self._interpreter = self._made(messages)
            self._interpreter.again = left > 0
            self._said = await self._reply(await self._interpreter.start(check=left == 0))
        for message in messages[self._seen :]:
            if isinstance(message, Reply):
                left -= 1
                if not _is_same(message, self._said):
                    return Reply((Text(ANOTHER_WAY),), "error", FAILED)
            elif isinstance(message, Results):
                self._interpreter.again = left > 0
                results = {each.call_id: each for each in message.results}
                self._said = await self._go_on(self._interpreter, results)
        self._seen = len(messages)
        assert self._said is not None
        return self._said

    def _made(self, messages: Transcript) -> Interpreter:
        program, began = beginning(messages)
        return Interpreter(
            program,
            stubs=self._stubs.source,
            names=tuple(self._stubs.functions),
            limits=self._limits,
            began=began,
        )

    async def _go_on(self, interpreter: Interpreter, results: dict[str, Result]) -> Reply:
        answers = [
            each if isinstance(each, Raised) else self._answer(results, each) for each in self._slots
        ]
        return await self._reply(await interpreter.go_on(answers))

    async def _reply(self, step: Step) -> Reply:
        assert self._interpreter is not None
        while isinstance(step, Round):
            self._slots = tuple([self._slot(asked) for asked in step.calls])
            if calls := tuple([each for each in self._slots if isinstance(each, Call)]):
                return Reply(calls, "calls")
            raised = [each for each in self._slots if isinstance(each, Raised)]
            step = await self._interpreter.go_on(raised)
        return Reply(
            (Text(step.text),), "error" if step.failed else "end", FAILED if step.failed else ""
        )

    def _slot(self, asked: Asked) -> Slot:
        function = self._stubs.functions[asked.function]
        try:
            arguments = function.arguments(asked.args, asked.kwargs)
        except TypeError as error:
            return Raised(str(error), "TypeError")
        self._calls += 1
        return Call(
            id=f"c{self._calls}",
            name=function.tool,
            arguments=arguments,
            vendor={_BAG: {_LINE: asked.line}},
        )

    def _answer(self, results: dict[str, Result], call: Call) -> Answer:
        result = results[call.id]
        if result.outcome == "dry_run":
            return Given(None)
        if result.is_error:
            return Raised(result.text if result.source is None else opened(result.text))
        function = next(each for each in self._stubs.functions.values() if each.tool == call.name)
        try:
            return Given(function.value(result))
        except ValueError as error:
            return Raised(str(error))


def opening(program: str, began: float) -> Transcript:
    """The messages that a program's run begins with."""
    return (said(program, "agent"), said(repr(began), "runtime"))


def beginning(messages: Transcript) -> tuple[str, float]:
    """The source of a run's program, and when it began."""
    program, began = messages[:2]
    assert isinstance(program, User)
    assert isinstance(began, User)
    return program.text, float(began.text)


def notes_in(messages: Transcript) -> tuple[User, ...]:
    """Messages that hooks around the program's calls sent to the model; a program does not read them."""
    return tuple([each for each in messages[2:] if isinstance(each, User)])


def line_of(messages: Transcript) -> int:
    """The line of the program's latest call; 0 before its first."""
    replies = [each for each in reversed(messages) if isinstance(each, Reply) and each.calls]
    bag = replies[0].calls[0].vendor.get(_BAG) if replies else None
    line = bag.get(_LINE) if isinstance(bag, dict) else None
    return line if isinstance(line, int) else 0


def _is_same(recorded: Message, now: Reply | None) -> bool:
    """Whether a rerun program makes the recorded calls again, as far as the record shows."""
    if now is None or not isinstance(recorded, Reply) or len(recorded.calls) != len(now.calls):
        return False
    pairs = zip(recorded.calls, now.calls, strict=True)
    return all(
        before.name == after.name
        and (before.arguments == after.arguments or REDACTED in before.arguments)
        for before, after in pairs
    )
