"""Tools that ship with rightcall. Each is made by a function, whose arguments set what it may reach.

A tool's module never has the tool's own name: importing the module would overwrite the function.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.builtin.calculator import calculate as calculate
    from rightcall.builtin.clock import date_math as date_math
    from rightcall.builtin.clock import datetime as datetime
    from rightcall.builtin.files.editor import text_editor as text_editor
    from rightcall.builtin.files.fs_tool import fs as fs
    from rightcall.builtin.files.memories import memory as memory
    from rightcall.builtin.files.patch_tool import apply_patch as apply_patch
    from rightcall.builtin.files.root import Root as Root
    from rightcall.builtin.files.tree import FileLimits as FileLimits
    from rightcall.builtin.human_tool import human as human
    from rightcall.builtin.net.fetch_tool import web_fetch as web_fetch
    from rightcall.builtin.net.search_engines import web_search as web_search
    from rightcall.builtin.net.web_tool import web as web
    from rightcall.builtin.plan_tool import plan as plan
    from rightcall.builtin.plan_tool import plan_in as plan_in
    from rightcall.builtin.screen.chromium import browser as browser
    from rightcall.builtin.screen.computer_tool import computer as computer
    from rightcall.builtin.shell_tool import shell as shell
    from rightcall.core.tool import Tool

_HOMES = {
    "FileLimits": "builtin.files.tree",
    "Root": "builtin.files.root",
    "apply_patch": "builtin.files.patch_tool",
    "browser": "builtin.screen.chromium",
    "calculate": "builtin.calculator",
    "computer": "builtin.screen.computer_tool",
    "date_math": "builtin.clock",
    "datetime": "builtin.clock",
    "fs": "builtin.files.fs_tool",
    "human": "builtin.human_tool",
    "memory": "builtin.files.memories",
    "plan": "builtin.plan_tool",
    "plan_in": "builtin.plan_tool",
    "shell": "builtin.shell_tool",
    "text_editor": "builtin.files.editor",
    "web": "builtin.net.web_tool",
    "web_fetch": "builtin.net.fetch_tool",
    "web_search": "builtin.net.search_engines",
}


def default_tools() -> "tuple[Tool, ...]":
    """The tools that need no gate: arithmetic and the time, which touch nothing of the user's."""
    from rightcall.builtin.calculator import calculate  # noqa: PLC0415 - light until used
    from rightcall.builtin.clock import datetime  # noqa: PLC0415

    return (calculate(), datetime())


__all__ = [*_HOMES, "default_tools"]  # noqa: PLE0604 - the table is the one list

lazily(__name__, _HOMES)
