"""Files under a granted directory, as tools."""

from rightcall.builtin.fs.beneath import Root
from rightcall.builtin.fs.editor import text_editor
from rightcall.builtin.fs.grant import granted
from rightcall.builtin.fs.limits import FileLimits
from rightcall.builtin.fs.tool import fs

__all__ = ["FileLimits", "Root", "fs", "granted", "text_editor"]
