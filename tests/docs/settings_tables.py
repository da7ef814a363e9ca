"""The tables of what can be set: of agents, runs, models, tools, limits and budgets."""

import inspect
from collections.abc import Callable
from functools import partial

import rightcall as rc
from docs.declared import MISSING, Field, code, fields, plain
from docs.marked import table
from rightcall.core.limits import Limits
from rightcall.core.tool import ToolSettings
from rightcall.declare.function import ToolOptions, parse_docstring
from rightcall.gate.concurrency import RUN_CONCURRENCY
from rightcall.loop.agent_config import AgentConfig
from rightcall.loop.settings import (
    AgentOptions,
    QuestionOptions,
    RecoverOptions,
    ResumeOptions,
    RunOptions,
    Setup,
)

HEAD = ("name", "type", "default", "what it is")


def agent_settings() -> str:
    """Every parameter of rc.Agent."""
    declared = fields(AgentOptions)
    first = parse_docstring(rc.Agent.__doc__).parameters
    unset = {**fields(Setup), **fields(AgentConfig)}
    rows = []
    for name, parameter in inspect.signature(rc.Agent).parameters.items():
        field = declared.get(name) or Field(name, SOURCES[name], MISSING, first[name])
        default = parameter.default
        if name in DEFAULTS:
            default = DEFAULTS[name]
        elif repr(default) == "...":
            default = unset[name].default
        rows.append(_row(field._replace(default=default)))
    return table(HEAD, rows)


DEFAULTS = {
    "budget": None,
    "conversations": None,
    "concurrency": RUN_CONCURRENCY,
    "defer": False,
    "descriptions": "full",
    "footprint": "warn",
    "journal": None,
    "skills": None,
}
"""The defaults of what an agent takes by keyword and holds in another form."""
SOURCES = {
    "model": "Model | str | list of those",
    "tools": "tools, functions, toolboxes, MCP servers",
    "instructions": "str | function",
    "output": "type | rc.Output",
}
"""Types of the parameters that are not declared as settings are, in short."""


def run_options() -> str:
    """Every option of a run, and which of the three ways to run takes it."""
    run = {**fields(QuestionOptions), **fields(RunOptions)}
    recover = fields(RecoverOptions)
    resume = {**recover, **fields(ResumeOptions)}
    rows = []
    for name, field in {**resume, **run}.items():
        ways = (("run", run), ("resume", resume), ("recover", recover))
        taken = ", ".join(f"`{way}`" for way, options in ways if name in options)
        rows.append((f"`{name}`", f"`{field.kind}`", taken, plain(field.words)))
    return table(("name", "type", "taken by", "what it is"), rows)


def tool_options() -> str:
    """Every option of @rc.tool that is no limit."""
    declared = {**fields(rc.Tool), **fields(ToolSettings)}
    rows = [
        _row(declared[name]._replace(kind=field.kind)) for name, field in fields(ToolOptions).items()
    ]
    return table(HEAD, rows)


def struct(owner: type) -> str:
    """The fields of a class."""
    return table(HEAD, [_row(field) for field in fields(owner).values()])


def _row(field: Field) -> tuple[str, ...]:
    return f"`{field.name}`", f"`{field.kind}`", code(field.default), plain(field.words)


def model_options() -> str:
    """Every option of a model. None has a default here: what is not given is not sent."""
    rows = [
        (f"`{f.name}`", f"`{f.kind}`", plain(f.words)) for f in fields(rc.models.ModelOptions).values()
    ]
    return table(("name", "type", "what it is"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "agent settings": agent_settings,
    "run options": run_options,
    "model options": model_options,
    "budget": partial(struct, rc.Budget),
    "tool options": tool_options,
    "limits": partial(struct, Limits),
    "facts": partial(struct, rc.Facts),
    "defer": partial(struct, rc.tools.Defer),
    "window": partial(struct, rc.conversation.Window),
    "retry": partial(struct, rc.models.Retry),
    "timeouts": partial(struct, rc.models.Timeouts),
    "profile": partial(struct, rc.models.Profile),
}
