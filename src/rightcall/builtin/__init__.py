"""Tools that ship with rightcall. Each is made by a function, whose arguments set what it may reach.

A tool's module never has the tool's own name: importing the module would overwrite the function.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

if TYPE_CHECKING:
    from rightcall.builtin.calculator import calculate as calculate
    from rightcall.builtin.clock import date_math as date_math
    from rightcall.builtin.clock import datetime as datetime
    from rightcall.builtin.files.fs_tool import fs as fs
    from rightcall.builtin.files.fs_tool import memory as memory
    from rightcall.builtin.files.fs_tool import text_editor as text_editor
    from rightcall.builtin.files.patch_tool import apply_patch as apply_patch
    from rightcall.builtin.files.root import Root as Root
    from rightcall.builtin.files.tree import FileLimits as FileLimits
    from rightcall.builtin.human_tool import human as human
    from rightcall.builtin.net.web_tools import web as web
    from rightcall.builtin.net.web_tools import web_fetch as web_fetch
    from rightcall.builtin.net.web_tools import web_search as web_search
    from rightcall.builtin.plan_tool import plan as plan
    from rightcall.builtin.plan_tool import plan_in as plan_in
    from rightcall.builtin.screen.chromium import browser as browser
    from rightcall.builtin.screen.computer_tool import computer as computer
    from rightcall.builtin.shell_tool import shell as shell
    from rightcall.core.tool import Tool

_HOMES = index_homes(
    {
        "builtin.calculator": ("calculate",),
        "builtin.clock": ("date_math", "datetime"),
        "builtin.files.fs_tool": ("fs", "memory", "text_editor"),
        "builtin.files.patch_tool": ("apply_patch",),
        "builtin.files.root": ("Root",),
        "builtin.files.tree": ("FileLimits",),
        "builtin.human_tool": ("human",),
        "builtin.net.web_tools": ("web", "web_fetch", "web_search"),
        "builtin.plan_tool": ("plan", "plan_in"),
        "builtin.screen.chromium": ("browser",),
        "builtin.screen.computer_tool": ("computer",),
        "builtin.shell_tool": ("shell",),
    }
)


def default_tools() -> "tuple[Tool, ...]":
    """The tools that need no gate: arithmetic and the time, which touch nothing of the user's."""
    from rightcall.builtin import calculate, datetime  # noqa: PLC0415 - light until used

    return (calculate(), datetime())


__all__ = [*_HOMES, "default_tools"]  # noqa: PLE0604 - the table is the one list

lazily(__name__, _HOMES)
