"""Tools that ship with toolwright. Each is made by a function, whose arguments are its gate."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.builtin.calculate.tool import calculate
    from toolwright.builtin.clock import date_math, datetime
    from toolwright.builtin.defaults import default_tools
    from toolwright.builtin.fs.editor import text_editor
    from toolwright.builtin.fs.tool import fs
    from toolwright.builtin.human import human
    from toolwright.builtin.memory import memory
    from toolwright.builtin.patch.tool import apply_patch
    from toolwright.builtin.plan import plan
    from toolwright.builtin.shell import shell
    from toolwright.builtin.web.search import web_search
    from toolwright.builtin.web.tool import web

_HOMES = {
    "apply_patch": "patch.tool",
    "calculate": "calculate.tool",
    "date_math": "clock",
    "datetime": "clock",
    "default_tools": "defaults",
    "fs": "fs.tool",
    "human": "human",
    "memory": "memory",
    "plan": "plan",
    "shell": "shell",
    "text_editor": "fs.editor",
    "web": "web.tool",
    "web_search": "web.search",
}
__all__ = [
    "apply_patch",
    "calculate",
    "date_math",
    "datetime",
    "default_tools",
    "fs",
    "human",
    "memory",
    "plan",
    "shell",
    "text_editor",
    "web",
    "web_search",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = found
    return found


class _Package(ModuleType):
    """Keeps a tool's name for the tool. Its module has the same, and importing would put that there."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
