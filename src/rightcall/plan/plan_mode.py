"""``rc.Plan``: the settings of planned runs, and the model of such a run.

The plan is the run's model: it asks for calls, reads their results, and replies with its answer. So an
ordinary run records, validates, decides and pauses a plan's calls, as it does a model's.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Literal, cast, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from rightcall.core.decision import PLAN_CALL
from rightcall.core.events import ModelEvent, ReplyEnd, reply_events
from rightcall.core.facts import Level
from rightcall.core.jsontext import dump
from rightcall.core.message import Reply, Transcript, User
from rightcall.core.options import NameCheckedMeta
from rightcall.core.parts import Call, Text, Usage
from rightcall.core.ports import Model
from rightcall.core.request import Profile, Request
from rightcall.core.tool import Tool
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import RightcallError, UsageError
from rightcall.loop.settings import ModelSource, Setup
from rightcall.loop.state import PLAN
from rightcall.loop.window import WindowView, messages_to_send, update_view
from rightcall.plan import model_requests
from rightcall.plan.judge import PlanGuard
from rightcall.plan.parse import PlanProblem
from rightcall.plan.plan_check import Program, checked_program, with_types
from rightcall.plan.progress import (
    NextCall,
    NextReading,
    PlanProgress,
    Said,
    next_of,
    plan_progress,
    step_kind,
)
from rightcall.plan.results import PlannedTool
from rightcall.plan.run import PlanAnswer, PlanFailure
from rightcall.plan.value import LabelledValue, as_json
from rightcall.programs.stubs import Stubs
from rightcall.trust.guard import Guard
from rightcall.trust.rules import Rules
from rightcall.trust.task_intents import TaskIntents

_MOST_REFUSED = 3
"""Invalid plans in a row after which a run gives up."""
_HANDED_ON = "the task was handed on by another model, and is not the user's own word"
_ATTACHED = "an outsider's words are attached to the request, and a plan is made before any are read"


class Plan(Struct, frozen=True, kw_only=True, eq=False, metaclass=NameCheckedMeta):
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

    def level_of(self, tool: PlannedTool) -> Level:
        """The level that a tool's planned calls must meet."""
        facts = tool.facts
        given = self.levels.get(tool.tool.name) or tool.tool.facts.level
        if given is not None:
            return given
        if facts.dangers:
            return "choice"
        if facts.reach == "outside":
            return "named"
        return "data"

    def connect_models(self, model: Callable[[ModelSource], Model], trust: Rules | None) -> "Plan":
        """The plan with its reader connected, as an agent needs it."""
        if trust is None:
            raise UsageError("plan= needs rules to judge calls by: trust=rc.trust.Rules()")
        return replace(self, reader=model(self.reader))

    def plan_setup(self, setup: Setup) -> Setup:
        """The setup of a planned run: the plan takes the model's place."""
        tools = list(filter(None, map(setup.tools.get, setup.tools.names())))
        by_name = {tool.name: tool for tool in tools}
        if setup.answer is not None:
            by_name.pop(setup.answer.name, None)
        for name in sorted(self.levels.keys() - by_name):
            raise UsageError(
                f"rc.Plan(levels=…): there is no tool {name!r}; there is {', '.join(by_name)}"
            )
        planned = list(by_name.values())
        stubs = model_requests.stubs_for(planned)
        model = PlanModel(self, setup, stubs, model_requests.known_tools(planned, stubs))
        shown = Toolbox([*tools, _SHOW]) if self.show else setup.tools
        return replace(setup, model=model, tools=shown, window=None, speculate=False)

    def guard(self, setup: Setup, rules: Rules, intents: TaskIntents | None) -> Guard:
        """The guard of a planned run."""
        model = setup.model
        assert isinstance(model, PlanModel)
        if rules.intents == "model":
            # What the request may do is what its plan does.
            rules = replace(rules, intents=None)
        return PlanGuard(
            self.level_of,
            model.known,
            rules,
            setup.tools,
            system=setup.system,
            intents=intents,
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

    def __init__(self, plan: Plan, setup: Setup, stubs: Stubs, known: dict[str, PlannedTool]) -> None:
        self._plan = plan
        self._setup = setup
        self._stubs = stubs
        self.known = known
        self._view: WindowView | None = None

    @property
    def profile(self) -> Profile:
        """The profile of the model that plans."""
        return self._setup.model.profile

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The next reply of a planned run."""
        story = plan_progress(request.messages)
        if not story.ordinary:
            for event in reply_events(await self._next(request, story)):
                yield event
            return
        # The run goes on as an ordinary one, whose model does not read the plan's own replies.
        setup = self._setup
        ordinary = []
        for message in request.messages:
            if not isinstance(message, Reply) or step_kind(message) is None:
                ordinary.append(message)
        messages = tuple(ordinary)
        if setup.window is not None:
            self._view = update_view(self._view, messages, setup.window, setup.count)
            messages = messages_to_send(self._view, messages)
        async for event in setup.model.stream(replace(request, messages=messages)):
            yield event

    async def _next(self, request: Request, story: PlanProgress) -> Reply:
        if story.asked is None or story.asked.author != "user":
            return self._decline_plan(_HANDED_ON)
        for message in request.messages:
            if isinstance(message, User) and message.without_outsiders() is not message:
                return self._decline_plan(_ATTACHED)
        if not story.attempts:
            return await self._request_plan(request, [])
        programs = []
        for attempt in story.attempts:
            program = checked_program(attempt.source, self.known)
            # A plan that has made calls was checked before them, perhaps in another process.
            if not attempt.calls:
                program = await asyncio.to_thread(with_types, program, self._stubs)
            programs.append(program)
        program = programs[-1]
        if program.looks_first:
            return self._decline_plan(program.looks_first)
        if program.problems:
            return await self._replan(request, story, programs, program.problems[0])
        if self._plan.show and story.shown is None:
            calls = [str(each) for each in program.calls if each.is_consequential]
            arguments = dump({"source": story.source, "calls": calls})
            call = Call(id=f"plan{len(story.attempts)}", name=PLAN_CALL, arguments=arguments)
            return _reply("show", call, stop="calls")
        if story.shown is not None and story.shown.is_error:
            return _failure_reply(PlanProblem(kind="denied", reason="the plan was not approved"))
        match await asyncio.to_thread(next_of, story, self.known):
            case NextCall() as found:
                call = Call(
                    id=f"p{_count(request.messages)}",
                    name=found.tool.tool.name,
                    arguments=found.arguments,
                )
                return _reply("call", call, stop="calls")
            case NextReading() as found:
                reader = cast("Model", self._plan.reader)
                reply = await _whole(reader, model_requests.reading_request(found, reader, {}))
                text = model_requests.found_in(reply, found.extract.wanted.schema)
                step: Said = "misread" if text is None else "read"
                return _reply(step, Text(text or ""), like=reply, key=found.key)
            case PlanAnswer(value):
                return self._reply_answer(value, request)
            case PlanFailure(problem):
                return await self._replan(request, story, programs, problem)

    async def _replan(
        self, request: Request, story: PlanProgress, programs: Sequence[Program], problem: PlanProblem
    ) -> Reply:
        """A new plan after one that failed; or the failure, if no more plans are allowed."""
        refused = sum(bool(program.problems) for program in programs)
        is_final = problem.kind in ("denied", "ReplayError", "cancelled")
        if is_final or len(programs) - refused > self._plan.repairs or refused > _MOST_REFUSED:
            return _failure_reply(problem)
        attempts = []
        for at, program in enumerate(programs):
            if program.problems:
                attempts.append((program.source, program.problems[0], ""))
                continue
            past = replace(story, attempts=story.attempts[: at + 1])
            found = await asyncio.to_thread(next_of, past, self.known)
            why = found.problem if isinstance(found, PlanFailure) else problem
            attempts.append((program.source, why, model_requests.sample_of(past, self.known)))
        return await self._request_plan(request, attempts)

    async def _request_plan(
        self, request: Request, attempts: Sequence[tuple[str, PlanProblem, str]]
    ) -> Reply:
        setup = self._setup
        question = model_requests.planning_request(
            request.messages,
            attempts,
            stubs=self._stubs,
            system=request.system,
            answer=None if setup.answer is None else setup.answer.parameters,
            options=request.options,
        )
        reply = await _whole(setup.model, question)
        return _reply("source", Text(model_requests.source_in(reply.text)), like=reply)

    def _decline_plan(self, why: str) -> Reply:
        if self._plan.otherwise == "stop":
            return _failure_reply(PlanProblem(kind="Unplanned", reason=f"it cannot be planned: {why}"))
        return _reply("ordinary", Text(why))

    def _reply_answer(self, value: LabelledValue, request: Request) -> Reply:
        form = self._setup.answer
        data = value.data
        try:
            text = data if isinstance(data, str) and form is None else dump(as_json(value))
        except TypeError:
            return _failure_reply(PlanProblem(kind="TypeError", reason="its answer is a function"))
        if form is not None and any(spec.name == form.name for spec in request.specs):
            call = Call(id=f"p{_count(request.messages)}", name=form.name, arguments=text)
            return _reply("answer", call, stop="calls")
        return _reply("answer", Text("" if data is None and form is None else text), stop="end")


def _count(messages: Transcript) -> int:
    return sum(isinstance(each, Reply) for each in messages)


def _failure_reply(problem: PlanProblem) -> Reply:
    text = Text(f"The plan could not be carried out. {problem}")
    return Reply((text,), "error", str(problem), vendor={PLAN: {"step": "failed"}})


def _reply(
    step: Said, part: Text | Call, *, stop: Literal["pause", "calls", "end"] = "pause",
    like: Reply | None = None, key: str = "",
) -> Reply:  # fmt: skip
    bag: dict[str, Any] = {"step": step}
    if key:
        bag["key"] = key
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
    async for event in model.stream(request):
        if isinstance(event, ReplyEnd):
            return event.reply
    raise RightcallError("the model's reply to the question for a plan, or of the reader, has no end")
