"""AgentDojo's suites into rightcall tools over one of their environments.

With the folder ``src`` of AgentDyn's repository first in PYTHONPATH it is AgentDyn's: a fork of
AgentDojo, whose package goes by the same name.
"""

import functools
import logging
import warnings
from contextvars import ContextVar
from typing import Any, TypeAlias

import yaml  # type: ignore[import-untyped]
from facts import FACTS, IS_AGENTDYN

import rightcall as rc
from rightcall.errors import ToolFailure

with warnings.catch_warnings():
    # It loads every vendor's client, and they warn about each other.
    warnings.simplefilter("ignore")
    from agentdojo.functions_runtime import FunctionsRuntime
    from agentdojo.task_suite.load_suites import get_suites
    from agentdojo.task_suite.task_suite import TaskSuite

VERSION = "v1.2.2"
_OF_AGENTDYN = ("shopping", "github", "dailylife")

Environment: TypeAlias = Any
"""The state that a suite's tools act on; a pydantic model of the suite's own."""

_CURRENT: ContextVar[Environment] = ContextVar("environment")
"""What the tools of this run act on."""

logging.getLogger("agentdojo").setLevel(logging.ERROR)


def _load(text: Any) -> Any:
    return yaml.load(text, yaml.CSafeLoader)


# The suites read their data anew for each attack: with the loader in Python, most of the time is spent
# there.
yaml.safe_load = _load


@functools.cache
def suites() -> dict[str, TaskSuite[Any]]:
    """The suites by name, in AgentDojo's order."""
    found = dict(get_suites(VERSION))
    return {name: suite for name, suite in found.items() if (name in _OF_AGENTDYN) == IS_AGENTDYN}


def tools_over(suite: str, environment: Environment, *, has_facts: bool = True) -> list[rc.Tool]:
    """The suite's tools, acting on this environment from now on; with what is declared of them."""
    _CURRENT.set(environment)
    return _tools(suite, has_facts=has_facts)


@functools.cache
def _tools(suite: str, *, has_facts: bool) -> list[rc.Tool]:
    """Made once: checking a schema takes longer than a run."""
    whole = suites()[suite]
    runtime = FunctionsRuntime(whole.tools)
    return [_tool(function, runtime, has_facts=has_facts) for function in whole.tools]


def _tool(function: Any, runtime: FunctionsRuntime, *, has_facts: bool) -> rc.Tool:
    name = function.name

    async def handler(**arguments: Any) -> Any:
        value, error = runtime.run_function(_CURRENT.get(), name, arguments)
        if error is not None:
            raise ToolFailure(error)
        return value

    # As the suite's own function is annotated: a plan reads dates as dates. Text, or none, is text.
    if function.return_type != str | None:
        handler.__annotations__["return"] = function.return_type
    schema: dict[str, Any] = function.parameters.model_json_schema()
    return rc.Tool(
        name=name,
        description=function.description,
        parameters={"properties": {}, **schema},
        handler=handler,
        limits=rc.Limits(max_output_bytes=1024 * 1024),
        **(FACTS.get(name, {}) if has_facts else {}),
    )
