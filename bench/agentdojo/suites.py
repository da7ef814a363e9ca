"""AgentDojo's suites into rightcall tools over one of their environments."""

import functools
import logging
import warnings
from typing import Any, TypeAlias

from facts import FACTS

import rightcall as rc
from rightcall.errors import ToolFailure

with warnings.catch_warnings():
    # It loads every vendor's client, and they warn about each other.
    warnings.simplefilter("ignore")
    from agentdojo.functions_runtime import FunctionsRuntime
    from agentdojo.task_suite.load_suites import get_suites
    from agentdojo.task_suite.task_suite import TaskSuite

VERSION = "v1.2.2"

Environment: TypeAlias = Any
"""The state that a suite's tools act on; a pydantic model of the suite's own."""

logging.getLogger("agentdojo").setLevel(logging.ERROR)


@functools.cache
def suites() -> dict[str, TaskSuite[Any]]:
    """The suites by name, in AgentDojo's order."""
    return dict(get_suites(VERSION))


def tools_over(suite: TaskSuite[Any], environment: Environment, *, known: bool) -> list[rc.Tool]:
    """The suite's tools, acting on this environment; with the facts about them, where ``known``."""
    runtime = FunctionsRuntime(suite.tools)
    return [_tool(function, runtime, environment, known=known) for function in suite.tools]


def _tool(function: Any, runtime: FunctionsRuntime, environment: Environment, *, known: bool) -> rc.Tool:
    name = function.name

    async def handler(**arguments: Any) -> Any:
        value, error = runtime.run_function(environment, name, arguments)
        if error is not None:
            raise ToolFailure(error)
        return value

    declared = FACTS[name] if known else {}
    return rc.Tool(
        name=name,
        description=function.description,
        parameters=_schema(function.parameters),
        handler=handler,
        limits=rc.Limits(max_output_bytes=1024 * 1024),
        **declared,
    )


@functools.cache
def _schema(parameters: type[Any]) -> dict[str, Any]:
    schema: dict[str, Any] = parameters.model_json_schema()
    return {"properties": {}, **schema}
