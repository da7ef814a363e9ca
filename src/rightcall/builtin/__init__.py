"""Tools that ship with rightcall. Each is made by a function, whose arguments are its gate."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.builtin.calculate.tool import calculate
    from rightcall.builtin.clock import date_math, datetime
    from rightcall.builtin.defaults import default_tools
    from rightcall.builtin.fs.editor import text_editor
    from rightcall.builtin.fs.tool import fs
    from rightcall.builtin.human import human
    from rightcall.builtin.memory import memory
    from rightcall.builtin.patch.tool import apply_patch
    from rightcall.builtin.plan import plan
    from rightcall.builtin.shell import shell
    from rightcall.builtin.web.search import web_search
    from rightcall.builtin.web.tool import web

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

lazily(__name__, {name: f"builtin.{home}" for name, home in _HOMES.items()})


class _Package(ModuleType):
    """Keeps a tool's name for the tool. Its module has the same, and importing would put that there."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
