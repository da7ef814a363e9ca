"""``rc.Plan``: the settings of planned runs, and the model of such a run.

The plan is the run's model: it asks for calls, reads their results, and replies with its answer. So an
ordinary run records, validates, decides and pauses a plan's calls, as it does a model's.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Literal, cast, get_args

from msgspec import Struct, field, json
from msgspec.structs import replace

from rightcall.core.call import Call
from rightcall.core.decision import PLAN_CALL, Grant
from rightcall.core.events import ModelEvent, ReplyEnd, unfolded
from rightcall.core.facts import Level
from rightcall.core.message import Message, Reply, Transcript
from rightcall.core.options import Spelt
from rightcall.core.parts import Text, Usage
from rightcall.core.ports import Model
from rightcall.core.request import Profile, Request
from rightcall.core.tool import Tool
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import RightcallError, UsageError
from rightcall.loop.setup import ModelSource, Setup
from rightcall.loop.state import PLAN
from rightcall.loop.window import View, look, sent
from rightcall.plan.checking import Program, checked_program, with_types
from rightcall.plan.judge import PlanGuard
from rightcall.plan.parse import PlanProblem
from rightcall.plan.planner import known_tools, planning_request, source_in, stubs_for
from rightcall.plan.reader import found_in, reading_request
from rightcall.plan.results import Known
from rightcall.plan.run import Answered, Broken
from rightcall.plan.sample import sample_of
from rightcall.plan.story import (
    Attempt,
    NextCall,
    NextReading,
    Said,
    Story,
    next_of,
    said_as,
    story_of,
)
from rightcall.plan.value import Value, as_json
from rightcall.programs.stubs import Stubs
from rightcall.trust.guard import Guard
from rightcall.trust.rules import Rules

_MOST_REFUSED = 3
"""Invalid plans in a row after which a run gives up."""
_HANDED_ON = "the task was handed on by another model, and is not the user's own word"


class Plan(Struct, frozen=True, kw_only=True, eq=False, metaclass=Spelt):
    """Plan mode: the model writes a program before it reads anything.

    Untrusted text can change values, not what is done. For an agent with trust rules: ``Agent(model,
    tools, trust=rules, plan=rc.Plan(reader=small))``.
    """

    reader: ModelSource
    """The model that reads free text for the plan. It has no tools and no history, and its answers stay
    untrusted."""
    repairs: int = 1
    """How often a plan that failed while running may be rewritten, from errors without values."""
    otherwise: Literal["ask", "stop"] = "ask"
    """What happens to a request that cannot be planned: an ordinary run under the rules, or nothing."""
    show: bool = False
    """Show the plan to a person before anything runs. Approval vouches for values in the plan, not for
    untrusted text, which still needs approval."""
    levels: Mapping[str, Level] = field(default_factory=dict)
    """By tool: how much untrusted text may influence its calls; overrides its facts."""

    def __post_init__(self) -> None:
        for name, level in self.levels.items():
            if level not in get_args(Level):
                raise UsageError(
                    f"rc.Plan(levels={{{name!r}: …}}) is data, named or choice, not {level!r}"
                )
        if self.otherwise not in ("ask", "stop"):
            raise UsageError(f"rc.Plan(otherwise=…) is 'ask' or 'stop', not {self.otherwise!r}")
        if self.repairs < 0:
            raise UsageError(f"rc.Plan(repairs=…) is not less than 0, and not {self.repairs}")

    def level_of(self, tool: Known) -> Level:
        """The level that a tool's planned calls must meet."""
        facts = tool.facts
        given = self.levels.get(tool.tool.name) or tool.tool.facts.level
        if given is not None:
            return given
        if facts.dangers:
            return "choice"
        return "named" if facts.reach == "outside" else "data"

    def connected(self, model: Callable[[ModelSource], Model], trust: Rules | None) -> "Plan":
        """The plan with its reader connected, as an agent needs it."""
        if trust is None:
            raise UsageError("plan= needs rules to judge calls by: trust=rc.trust.Rules()")
        return replace(self, reader=model(self.reader))

    def applied(self, setup: Setup) -> Setup:
        """The setup of a planned run: the plan takes the model's place."""
        tools = [tool for name in setup.tools.names() if (tool := setup.tools.get(name)) is not None]
        callable_tools = [
            tool for tool in tools if setup.answer is None or tool.name != setup.answer.name
        ]
        for name in sorted(self.levels.keys() - {tool.name for tool in callable_tools}):
            there = ", ".join(tool.name for tool in callable_tools)
            raise UsageError(f"rc.Plan(levels=…): there is no tool {name!r}; there is {there}")
        stubs = stubs_for(callable_tools)
        model = PlanModel(self, setup, stubs, known_tools(callable_tools, stubs, setup.trust))
        shown = Toolbox([*tools, _SHOW]) if self.show else setup.tools
        return replace(setup, model=model, tools=shown, window=None, speculate=False)

    def guard(self, setup: Setup, rules: Rules, grant: Grant | None) -> Guard:
        """The guard of a planned run."""
        model = setup.model
        assert isinstance(model, PlanModel)
        if rules.grant == "model":
            # The tools that the request needs are those that its plan calls.
            rules = replace(rules, grant=None)
        return PlanGuard(
            self.level_of,
            model.known,
            rules,
            setup.tools,
            system=setup.system,
            grant=grant,
            above=setup.above,
        )


def _carried_out(source: str, calls: list[str]) -> str:  # noqa: ARG001 - what a person was shown
    return "approved"


_SHOW: Tool = Tool(
    PLAN_CALL,
    "Carry out a plan, once a person has seen it.",
    {
        "type": "object",
        "properties": {
            "source": {"type": "string"},
            "calls": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["source", "calls"],
    },
    _carried_out,
    effect="pure",
    approval=True,
)


class PlanModel:
    """The model of a planned run: its replies are the plan's steps."""

    def __init__(self, plan: Plan, setup: Setup, stubs: Stubs, known: dict[str, Known]) -> None:
        self._plan = plan
        self._setup = setup
        self._stubs = stubs
        self.known = known
        self._view: View | None = None

    @property
    def profile(self) -> Profile:
        """The profile of the model that plans."""
        return self._setup.model.profile

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The next reply of a planned run."""
        story = story_of(request.messages)
        if story.ordinary:
            async for event in self._setup.model.stream(self._ordinary(request)):
                yield event
            return
        for event in unfolded(await self._next(request, story)):
            yield event

    def _ordinary(self, request: Request) -> Request:
        """The request, for a run that goes on as an ordinary one."""
        messages = tuple([each for each in request.messages if not _is_plans(each)])
        if self._setup.window is not None:
            self._view = look(self._view, messages, self._setup.window, self._setup.count)
            messages = sent(self._view, messages)
        return replace(request, messages=messages)

    async def _next(self, request: Request, story: Story) -> Reply:
        if story.asked is None or story.asked.author != "user":
            return self._unplanned(_HANDED_ON)
        if not story.attempts:
            return await self._planned(request, [])
        programs = [await self._checked(each) for each in story.attempts]
        program = programs[-1]
        if program.looks_first:
            return self._unplanned(program.looks_first)
        if program.problems:
            return await self._replanned(request, story, programs, program.problems[0])
        if self._plan.show and story.shown is None:
            return self._shown(program, story)
        if story.shown is not None and story.shown.is_error:
            return _failed(PlanProblem(kind="denied", reason="the plan was not approved"))
        match await asyncio.to_thread(next_of, story, self.known):
            case NextCall() as found:
                call = Call(
                    id=f"p{_count(request.messages)}",
                    name=found.tool.tool.name,
                    arguments=found.arguments,
                )
                return _reply("call", call, stop="calls")
            case NextReading() as found:
                return await self._read(found)
            case Answered(value):
                return self._answered(value, request)
            case Broken(problem):
                return await self._replanned(request, story, programs, problem)

    async def _checked(self, attempt: Attempt) -> Program:
        program = checked_program(attempt.source, self.known)
        # A plan that has made calls was checked before them, perhaps in another process.
        return program if attempt.calls else await asyncio.to_thread(with_types, program, self._stubs)

    async def _replanned(
        self, request: Request, story: Story, programs: Sequence[Program], problem: PlanProblem
    ) -> Reply:
        """A new plan after one that failed; or the failure, if no more plans are allowed."""
        ran = [program for program in programs if not program.problems]
        refused = len(programs) - len(ran)
        is_final = problem.kind in ("denied", "ReplayError", "cancelled")
        if is_final or len(ran) > self._plan.repairs or refused > _MOST_REFUSED:
            return _failed(problem)
        attempts = []
        for at, program in enumerate(programs):
            if program.problems:
                attempts.append((program.source, program.problems[0], ""))
                continue
            past = replace(story, attempts=story.attempts[: at + 1])
            found = await asyncio.to_thread(next_of, past, self.known)
            why = found.problem if isinstance(found, Broken) else problem
            attempts.append((program.source, why, sample_of(past, self.known)))
        return await self._planned(request, attempts)

    async def _planned(
        self, request: Request, attempts: Sequence[tuple[str, PlanProblem, str]]
    ) -> Reply:
        setup = self._setup
        question = planning_request(
            request.messages,
            attempts,
            stubs=self._stubs,
            system=request.system,
            answer=None if setup.answer is None else setup.answer.parameters,
            options=request.options,
        )
        reply = await _whole(setup.model, question)
        return _reply("source", Text(source_in(reply.text)), like=reply)

    async def _read(self, reading: NextReading) -> Reply:
        reader = cast("Model", self._plan.reader)
        reply = await _whole(reader, reading_request(reading, reader, {}))
        found = found_in(reply, reading.extract.wanted.schema)
        if found is None:
            return _reply("misread", Text(""), like=reply, key=reading.key)
        return _reply("read", Text(found), like=reply, key=reading.key)

    def _unplanned(self, why: str) -> Reply:
        if self._plan.otherwise == "stop":
            return _failed(PlanProblem(kind="Unplanned", reason=f"it cannot be planned: {why}"))
        return _reply("ordinary", Text(why))

    def _shown(self, program: Program, story: Story) -> Reply:
        calls = [str(each) for each in program.calls if each.is_consequential]
        arguments = json.encode({"source": story.source, "calls": calls}).decode()
        call = Call(id=f"plan{len(story.attempts)}", name=PLAN_CALL, arguments=arguments)
        return _reply("show", call, stop="calls")

    def _answered(self, value: Value, request: Request) -> Reply:
        form, data = self._setup.answer, value.data
        is_text = isinstance(data, str) and form is None
        try:
            text = data if is_text else json.encode(as_json(value)).decode()
        except TypeError:
            return _failed(PlanProblem(kind="TypeError", reason="its answer is a function"))
        if form is not None and any(spec.name == form.name for spec in request.specs):
            call = Call(id=f"p{_count(request.messages)}", name=form.name, arguments=text)
            return _reply("answer", call, stop="calls")
        return _reply("answer", Text("" if data is None and form is None else text), stop="end")


def _is_plans(message: Message) -> bool:
    return isinstance(message, Reply) and said_as(message) is not None


def _count(messages: Transcript) -> int:
    return sum(isinstance(each, Reply) for each in messages)


def _failed(problem: PlanProblem) -> Reply:
    text = Text(f"The plan could not be carried out. {problem}")
    return Reply((text,), "error", str(problem), vendor={PLAN: {"step": "failed"}})


def _reply(
    step: Said, part: Text | Call, *, stop: Literal["pause", "calls", "end"] = "pause",
    like: Reply | None = None, key: str = "",
) -> Reply:  # fmt: skip
    bag: dict[str, Any] = {"step": step, **({"key": key} if key else {})}
    if like is None:
        # No model was asked, so it costs no turn.
        return Reply((part,), stop, vendor={PLAN: {**bag, "unasked": True}}, usage=Usage())
    return Reply(
        (part,),
        stop,
        vendor={PLAN: bag},
        usage=like.usage,
        model=like.model,
        answered_by=like.answered_by,
    )


async def _whole(model: Model, request: Request) -> Reply:
    """The whole reply to a request that is not streamed to anybody."""
    async for event in model.stream(request):
        if isinstance(event, ReplyEnd):
            return event.reply
    raise RightcallError("the model's reply to the question for a plan, or of the reader, has no end")
