"""What a run is made from: an agent's model, tools and instructions, or what the run overrides."""

import inspect
from asyncio import to_thread
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import isawaitable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.budget import Budget
from rightcall.core.decision import PLAN_CALL, VENDOR_CALL, Proposal
from rightcall.core.entry import Entry, RunEnded, RunStarted, StepDone, ToolsChanged
from rightcall.core.handler import Context
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Transcript, User
from rightcall.core.ports import Model, Steps
from rightcall.core.request import Named, OutputMode, ToolChoice, Wanted, check_model_options
from rightcall.core.tokens import spec_tokens
from rightcall.core.tool import ErrorWords
from rightcall.declare.attachment import Prompt, message_of, reads_files
from rightcall.declare.output import Form, asked_in_words
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.declare.verdicts import (
    DEFAULTS,
    Then,
    Thresholds,
    checked_thresholds,
    too_many,
)
from rightcall.errors import UsageError
from rightcall.log import logger
from rightcall.loop.client_run import check_vendor_tools
from rightcall.loop.nested import look_inside
from rightcall.loop.offering import Offered, Telling
from rightcall.loop.result import RunResult, with_output
from rightcall.loop.setup import (
    Following,
    Instructions,
    ModelSource,
    Overrides,
    RunOptions,
    Setup,
    check_choice,
    check_cost_limit,
    is_live,
)
from rightcall.loop.window import UNKNOWN_CONTEXT, Window, default_window
from rightcall.trust.inheriting import held
from rightcall.trust.rules import Rules
from rightcall.wire.history import Said

UNNAMED = "agent"
"""The name of an agent that was given none."""


class Defaults(Struct, frozen=True, eq=False):
    """An agent's defaults for its runs."""

    budget: Budget
    retry_broken: bool | None
    """None: retry only if the model has another to fall back on."""
    agent: str = UNNAMED


class Basis(Struct, frozen=True, kw_only=True, eq=False):
    """The settings that may differ between runs of an agent."""

    model: Model
    tools: ToolSource = ()
    instructions: Instructions = ""
    options: Mapping[str, JsonValue] = {}
    max_tokens: int | None = None
    window: Window | None = None
    """None: what the model's context leaves."""
    form: Form | None = None
    """The form that the answer must have."""
    rules: Rules | None = None
    """The trust rules that apply."""
    errors: ErrorWords = "neutral"
    """What the model reads when a tool raises, for tools that do not set ``errors``."""
    telling: Telling = Telling()
    """How and when the model is told of its tools."""

    @property
    def mode(self) -> OutputMode | None:
        """How the answer's form is enforced; None if there is none."""
        if self.form is None:
            return None
        return self.form.output.mode or self.model.profile.structured

    @property
    def is_fixed(self) -> bool:
        """Whether the tools cannot change during a run."""
        return not is_live(self.tools)

    def toolbox(self, source: ToolSource | None = None, *, is_live: bool = False) -> Toolbox:
        """Returns the tools as a run needs them."""
        tools = self.tools if source is None else source
        whole = tools if isinstance(tools, Toolbox) else Toolbox(tools)
        box = self.telling.toolbox(whole, self.model, is_live=is_live)
        if self.errors == "words":
            # A tool's own setting wins, such as that of a tool whose exceptions may hold untrusted text.
            box = Toolbox([each.replace(errors=each.errors or self.errors) for each in box])
        if self.rules is not None:
            from rightcall.trust.facts import labelled  # noqa: PLC0415 - light until used

            # Text that the rules treat as untrusted must be labelled as such for the model.
            box = Toolbox([labelled(held(each, self.rules)) for each in box])
        return box

    def offered(self, tools: Toolbox, mode: OutputMode | None) -> Offered:
        """Returns the tools that are offered, with the answer tool if there is one."""
        if self.form is None or mode != "tool":
            return self.telling.offered(tools)
        answer = self.form.tool
        return self.telling.offered(Toolbox(tools, answer), answer.name)

    def applied(self, setup: Setup, mode: OutputMode | None) -> Setup:
        """Returns the setup with everything that depends on the model and the tools."""
        follow = None
        if self.is_fixed:
            offered = self.offered(self.toolbox(), mode)
        else:
            following = Following(self.tools, partial(self.toolbox, is_live=True))
            offered = self.offered(following.toolbox, mode)
            follow = partial(self._changed, following, mode)
        tokens = spec_tokens(offered.specs)
        return replace(
            setup,
            model=self.model,
            tools=offered.after({}).tools,
            specs=offered.specs,
            offered=offered if offered.later else None,
            follow=follow,
            options=self.options,
            max_tokens=self.max_tokens,
            window=self.window or self._window(tokens, offered),
            tool_tokens=tokens,
        )

    def _window(self, tokens: int, offered: Offered) -> Window:
        """Returns the window that the model's context leaves, with room for tools that it may find."""
        found = self.telling.settings.tokens if offered.later else 0
        return default_window(self.model.profile.context_window, self.max_tokens, tokens + found)

    def weigh(self, setup: Setup, footprint: Then | Thresholds) -> None:
        """Warn or raise if the tools are too many or too long."""
        if footprint == "off":
            return
        thresholds = DEFAULTS if footprint == "warn" else checked_thresholds(footprint)
        then = thresholds.get("then", "warn")
        context = self.model.profile.context_window or UNKNOWN_CONTEXT
        told = too_many(len(setup.specs), setup.tool_tokens, context, thresholds)
        if told and then == "refuse":
            raise UsageError(f"rc.Agent(…, footprint=…): {told}")
        if told and then == "warn":
            logger.warning('%s; rc.footprint(tools) says more, footprint="off" says no more', told)

    def _changed(self, following: Following, mode: OutputMode | None) -> Offered | None:
        changed = following.changed()
        return None if changed is None else self.offered(changed, mode)

    def with_overrides(
        self, said: RunOptions[Any] | Overrides, connected: Callable[[ModelSource], Model]
    ) -> "Basis":
        """Returns a copy with a run's own settings in place of the agent's."""
        if not said:
            return self
        own = ("tools", "instructions")
        changes: dict[str, Any] = {
            name: given for name, given in said.items() if name in own and given is not None
        }
        if "max_tokens" in said:
            changes["max_tokens"] = said["max_tokens"]
        if (model := said.get("model")) is not None:
            changes["model"] = connected(model)
        if (options := said.get("options")) is not None:
            check_model_options(options)
            changes["options"] = {**self.options, **options}
        return replace(self, **changes) if changes else self

    async def started(
        self,
        setup: Setup,
        messages: Transcript,
        options: RunOptions[Any],
        defaults: Defaults,
        history: Said | None = None,
    ) -> RunStarted:
        """Validate the run's options, and return its first entry."""
        wanted, grant = self.wanted(self.mode), options.get("grant")
        if grant is not None and setup.trust is None:
            raise UsageError("a grant needs trust rules; give the agent some with trust=")
        budget = options.get("budget") or defaults.budget
        check_cost_limit(budget, setup.model, setup.tools)
        check_choice(options.get("choice"), setup)
        check_vendor_tools(setup)
        again = defaults.retry_broken
        return RunStarted(
            messages=messages,
            budget=budget,
            system=await self.system(setup, options.get("steps"), history),
            specs=setup.specs,
            choice=options.get("choice") or first_choice(setup, wanted),
            sticky_choice=options.get("sticky_choice", False),
            retry_broken=setup.model.profile.has_another if again is None else again,
            wanted=wanted,
            grant=grant,
            dry_run=options.get("dry_run", False),
            agent="" if defaults.agent == UNNAMED else defaults.agent,
        )

    def wanted(self, mode: OutputMode | None) -> Wanted | None:
        """Returns the output that a run must end with."""
        if self.form is None or mode is None:
            return None
        return self.form.wanted(mode)

    async def system(self, setup: Setup, steps: Steps | None, history: Said | None = None) -> str:
        """Returns the run's instructions; as a recorded step if a function makes them.

        A history in a vendor's format may hold a system text of its own.
        """
        said = self.instructions
        if not isinstance(said, str):
            said = await _said(said, setup, steps)
        if history is not None and history.system:
            said = history.system_under(said)
        if self.form is None or self.mode not in {"text", "json"}:
            return said
        return asked_in_words(said, self.form.tool.parameters)

    def with_output(self, result: RunResult[Any]) -> RunResult[Any]:
        """Returns the result with the run's output, read from its transcript."""
        return result if self.form is None else with_output(result, self.form)


async def _said(instructions: Any, setup: Setup, steps: Steps | None) -> str:
    async def body() -> Entry:
        context: Context[Any] = Context(
            call_id="", tool="", key=setup.run, run=setup.run, dependencies=setup.dependencies
        )
        said = instructions(context) if _takes_one(instructions) else instructions()
        text = await said if isawaitable(said) else said
        if not isinstance(text, str):
            raise UsageError(f"instructions are a text, and not {type(text).__name__}")
        return StepDone(key="run.instructions", value=text)

    entry = await (body() if steps is None else steps.step("run.instructions", body))
    assert isinstance(entry, StepDone)
    return entry.value


def _takes_one(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(p.kind is not p.VAR_KEYWORD and p.kind is not p.KEYWORD_ONLY for p in parameters)


def first_choice(setup: Setup, wanted: Wanted | None) -> ToolChoice:
    """Returns the choice for the first turn: an agent whose only tool is its answer must call it."""
    if wanted is not None and wanted.mode == "tool" and len(setup.specs) == 1:
        return Named(wanted.tool)
    return "auto"


def look_for_tools(entries: Iterable[Entry], pending: Sequence[Proposal], setup: Setup) -> None:
    """Raise UsageError if a run that continues has tools in its record that the agent lacks now.

    For live tools, such as a server's, nothing is raised: the model finds out that they are gone.
    """
    names = {proposal.agent.partition("/")[0] or proposal.name for proposal in pending}
    for entry in entries:
        match entry:
            case RunStarted(specs=specs) | ToolsChanged(specs=specs):
                names = {spec.name for spec in specs}
            case RunEnded():
                return
            case _:
                pass
    names -= {VENDOR_CALL, PLAN_CALL}
    missing = sorted(name for name in names if setup.tools.get(name) is None)
    if missing and setup.follow is None:
        raise UsageError(
            f"the run {setup.run!r} was begun with the tools {', '.join(missing)}, which the agent does "
            "not have; say tools=[…] with the ones that the run was given"
        )
    look_inside(pending, setup.tools)


async def user_message(prompt: Prompt) -> User:
    """Returns the prompt as a message; files are read in a thread."""
    return await to_thread(message_of, prompt) if reads_files(prompt) else message_of(prompt)
