"""One tool for a granted directory: read, list, glob, grep and, unless read-only, write and edit."""

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from rightcall.builtin.files import change, grep
from rightcall.builtin.files.place import Place, place
from rightcall.builtin.files.root import Root
from rightcall.builtin.files.textfile import load, read
from rightcall.builtin.files.tree import Access, FileLimits
from rightcall.core.facts import Facts
from rightcall.core.handler import Context
from rightcall.core.jsontext import JsonObject
from rightcall.core.limits import Limits
from rightcall.core.options import checked
from rightcall.core.tool import Tool
from rightcall.errors import ToolFailure

Arguments: TypeAlias = Mapping[str, Any]

_MAX_CONTEXT = 20
_MAX_DEPTH = 5

_READING = """\
Work with the files under one directory, the root. Paths are relative to it; "." is the root.
Modes:
- read: the lines of a text file, numbered. start_line and end_line choose some of them.
- list: what is in a directory. depth shows levels below it, too.
- glob: the paths that match pattern, such as "src/**/*.py".
- grep: the lines that match pattern, a regular expression, in a file or in all files of a directory. \
include limits it to files that match a glob."""
_WRITING = """
- write: make a new file from content. To replace a file that exists, also give the version that a read \
of it showed.
- edit: replace old_text with new_text in a file. old_text must be in it exactly as given, white space \
included and without line numbers, and only once unless count or replace_all says otherwise."""

_TAKES: Mapping[str, frozenset[str]] = {
    "read": frozenset(["start_line", "end_line"]),
    "list": frozenset(["depth"]),
    "glob": frozenset(["pattern"]),
    "grep": frozenset(["pattern", "include", "ignore_case", "context_lines"]),
    "write": frozenset(["content", "version"]),
    "edit": frozenset(["old_text", "new_text", "count", "replace_all", "version"]),
}
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "read": ("path",),
    "glob": ("pattern",),
    "grep": ("pattern",),
    "write": ("path", "content"),
    "edit": ("path", "old_text", "new_text"),
}
_WRITES = ("write", "edit")

_PROPERTIES: Mapping[str, JsonObject] = {
    "path": {"type": "string", "description": "A file or directory, relative to the root."},
    "start_line": {"type": "integer", "minimum": 1, "description": "read: the first line to show."},
    "end_line": {"type": "integer", "minimum": 1, "description": "read: the last line to show."},
    "depth": {
        "type": "integer",
        "minimum": 1,
        "maximum": _MAX_DEPTH,
        "description": "list: how many levels to show. 1 unless given.",
    },
    "pattern": {"type": "string", "description": "glob: a glob. grep: a regular expression."},
    "include": {"type": "string", "description": 'grep: a glob for the files, such as "*.py".'},
    "ignore_case": {
        "type": "boolean",
        "description": "grep: whether upper and lower case are the same.",
    },
    "context_lines": {
        "type": "integer",
        "minimum": 0,
        "maximum": _MAX_CONTEXT,
        "description": "grep: lines to show before and after each match.",
    },
    "content": {"type": "string", "description": "write: all of the text."},
    "old_text": {"type": "string", "description": "edit: the text to replace."},
    "new_text": {"type": "string", "description": "edit: what replaces it. Empty to delete."},
    "count": {
        "type": "integer",
        "minimum": 1,
        "description": "edit: how often old_text is there; each is replaced. 1 unless given.",
    },
    "replace_all": {"type": "boolean", "description": "edit: replace every old_text there is."},
    "version": {
        "type": "string",
        "description": "write, edit: refuse if the file is no longer the version that read showed.",
    },
}


@checked("rc.builtin.fs")
def fs(
    root: str | os.PathLike[str] | Root,
    *,
    name: str = "fs",
    read_only: bool = False,
    limits: FileLimits = FileLimits(),  # noqa: B008 - frozen
) -> Tool:
    """A tool for the files under ``root``, and no others.

    Nothing outside of the root can be reached through it: not by ``..`` or symbolic links, not through
    ``/proc``, and not while another process moves files. Pass a ``Root`` to allow hard links or other
    file systems mounted below it.
    """
    granted = root if isinstance(root, Root) else Root(root)
    read_only = read_only or granted.read_only

    def handler(mode: str, context: Context[Any], **arguments: Any) -> str:
        given = {key: value for key, value in arguments.items() if value not in ("", False, None)}
        _check_members(mode, given, arguments)
        where = place(arguments.get("path", "."), granted.names)
        access = Access(granted, limits, context.is_cancelled, **_HINTS)
        return _MODES[mode](access, where, arguments)

    modes = [mode for mode in _TAKES if not (read_only and mode in _WRITES)]
    return Tool(
        name,
        _READING if read_only else _READING + _WRITING,
        _parameters(modes),
        handler,
        short="Files under one directory.",
        errors="neutral",
        effect="read" if read_only else "write",
        # In one reply a model may write a file and then edit it, so calls run in order.
        serial=not read_only,
        limits=Limits(max_output_bytes=limits.max_characters * 4),
        facts=file_facts("path"),
    )


def file_facts(*targets: str) -> Facts:
    """Trust facts of file tools: others may have written the files, and not everyone may read them."""
    return Facts(untrusted=True, private=True, reach="user", targets=targets)


def _parameters(modes: list[str]) -> JsonObject:
    wanted = {"path"}.union(*(_TAKES[mode] for mode in modes))
    return {
        "type": "object",
        "properties": {
            "mode": {"type": "string", "enum": modes, "description": "What to do."},
            **{name: schema for name, schema in _PROPERTIES.items() if name in wanted},
        },
        "required": ["mode"],
        "additionalProperties": False,
    }


def _check_members(mode: str, given: Arguments, arguments: Arguments) -> None:
    """Check what no schema says in a form that all models follow: which mode takes which parameters."""
    missing = [name for name in _NEEDS.get(mode, ()) if name not in arguments]
    if missing:
        raise ToolFailure(f"{mode} needs {' and '.join(missing)}.")
    extra = sorted(given.keys() - _TAKES[mode] - {"path"})
    if extra:
        raise ToolFailure(f"{mode} takes no {' and no '.join(extra)}. Nothing was done.")


_HINTS = {
    "instead": (
        "To change a part of it, edit it. To replace all of it, read it first and give the version "
        "that is shown."
    ),
    "several": "Or set replace_all.",
}


def _read(access: Access, where: Place, arguments: Arguments) -> str:
    loaded = load(access.root, where, access.limits)
    return read(loaded, access.limits, arguments.get("start_line"), arguments.get("end_line"))


def _grep(access: Access, where: Place, arguments: Arguments) -> str:
    wanted = grep.Grep(
        pattern=arguments["pattern"],
        include=arguments.get("include", ""),
        ignore_case=arguments.get("ignore_case", False),
        context=arguments.get("context_lines", 0),
    )
    return grep.grep(access, where, wanted)


def _write(access: Access, where: Place, arguments: Arguments) -> str:
    version = arguments.get("version")
    if version:
        return change.overwrite(access, where, arguments["content"], version)
    return change.create(access, where, arguments["content"])


def _edit(access: Access, where: Place, arguments: Arguments) -> str:
    replacement = change.Replacement(
        old=arguments["old_text"],
        new=arguments["new_text"],
        count=arguments.get("count", 1),
        every=arguments.get("replace_all", False),
    )
    return change.edit(access, where, replacement, arguments.get("version", ""))


_MODES: Mapping[str, Callable[[Access, Place, Arguments], str]] = {
    "read": _read,
    "list": lambda access, where, given: grep.list_directory(access, where, given.get("depth", 1)),
    "glob": lambda access, where, given: grep.glob(access, where, given["pattern"]),
    "grep": _grep,
    "write": _write,
    "edit": _edit,
}
