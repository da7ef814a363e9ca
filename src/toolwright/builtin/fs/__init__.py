"""Files under a granted directory, as tools."""

from toolwright.builtin.fs.beneath import Root
from toolwright.builtin.fs.editor import text_editor
from toolwright.builtin.fs.grant import granted
from toolwright.builtin.fs.limits import FileLimits
from toolwright.builtin.fs.tool import fs

__all__ = ["FileLimits", "Root", "fs", "granted", "text_editor"]
