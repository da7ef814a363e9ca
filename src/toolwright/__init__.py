"""toolwright: a tool-calling runtime for language models. The model proposes, your code disposes.

The public names, and nothing else. Each loads on first use, so that importing this stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from toolwright import errors
    from toolwright.core import outcome
    from toolwright.core.call import Call, CheckedCall
    from toolwright.core.context import Context
    from toolwright.core.parts import Media, Text
    from toolwright.core.problem import Problem
    from toolwright.core.result import Result
    from toolwright.core.tool import Facts, Limits, Spec, Tool
    from toolwright.declare.function import tool
    from toolwright.declare.toolbox import Toolbox
    from toolwright.dispatch import check, execute
    from toolwright.errors import ToolFailure
    from toolwright.execute.executor import Execution, Executor

_HOMES = {
    "Call": "core.call",
    "CheckedCall": "core.call",
    "Context": "core.context",
    "Execution": "execute.executor",
    "Executor": "execute.executor",
    "Facts": "core.tool",
    "Limits": "core.tool",
    "Media": "core.parts",
    "Problem": "core.problem",
    "Result": "core.result",
    "Spec": "core.tool",
    "Text": "core.parts",
    "Tool": "core.tool",
    "ToolFailure": "errors",
    "Toolbox": "declare.toolbox",
    "check": "dispatch",
    "execute": "dispatch",
    "tool": "declare.function",
}
_MODULES = {"errors": "errors", "outcome": "core.outcome"}

__all__ = [  # noqa: RUF022 - the table above is the order
    "Call",
    "CheckedCall",
    "Context",
    "Execution",
    "Executor",
    "Facts",
    "Limits",
    "Media",
    "Problem",
    "Result",
    "Spec",
    "Text",
    "Tool",
    "ToolFailure",
    "Toolbox",
    "check",
    "errors",
    "execute",
    "outcome",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        found: Any = import_module(f"toolwright.{_MODULES[name]}")
    elif name in _HOMES:
        found = getattr(import_module(f"toolwright.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module 'toolwright' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
