"""The text editor tool that Anthropic's models are trained on, for a granted directory.

The name and the parameters are those of ``text_editor_20250728``, which these models use more reliably
than a tool that they were not trained on.
https://platform.claude.com/docs/en/agents-and-tools/tool-use/text-editor-tool
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

from rightcall.builtin.files import change
from rightcall.builtin.files.fs_tool import Arguments, file_facts
from rightcall.builtin.files.grep import is_directory, list_directory
from rightcall.builtin.files.place import Place, place
from rightcall.builtin.files.root import Root
from rightcall.builtin.files.textfile import load, read
from rightcall.builtin.files.tree import Access, FileLimits
from rightcall.core.handler import Context
from rightcall.core.jsontext import JsonObject
from rightcall.core.limits import Limits
from rightcall.core.options import checked
from rightcall.core.tool import Tool
from rightcall.errors import ToolFailure

NAME = "str_replace_based_edit_tool"
"""The vendor's name of the tool. A model that is given the vendor's own type uses it."""

_NATIVE: JsonObject = {"type": "text_editor_20250728", "name": NAME}
_DEPTH = 2
"""How many directory levels the vendor's editor shows."""
_RANGE = 2

EDITING: Mapping[str, JsonObject] = {
    "path": {"type": "string", "description": "A file or directory, relative to the root."},
    "view_range": {
        "type": "array",
        "items": {"type": "integer"},
        "description": "view: the first and the last line to show; -1 is the end of the file.",
    },
    "file_text": {"type": "string", "description": "create: all of the text."},
    "old_str": {
        "type": "string",
        "description": "str_replace: the text to replace. It must be in the file exactly so, and once.",
    },
    "new_str": {"type": "string", "description": "str_replace: what replaces it. Nothing to delete."},
    "insert_line": {
        "type": "integer",
        "minimum": 0,
        "description": "insert: the line to insert after; 0 is the beginning.",
    },
    "insert_text": {"type": "string", "description": "insert: the lines to insert."},
}
"""The parameters that the vendor's text editor and its memory have in common."""

_DESCRIPTION = """\
View, create and edit text files under one directory, the root. Paths are relative to it; "." is it.
- view: a file's lines, numbered, or what is in a directory.
- create: a new file from file_text.
- str_replace: replace old_str with new_str. old_str must be in the file exactly as given, and only once.
- insert: put insert_text after the line insert_line."""
_VIEWING = """\
View text files under one directory, the root. Paths are relative to it; "." is the root.
- view: a file's lines, numbered, or what is in a directory."""


@checked("rc.builtin.text_editor")
def text_editor(
    root: str | os.PathLike[str] | Root,
    *,
    read_only: bool = False,
    limits: FileLimits = FileLimits(),  # noqa: B008 - frozen
) -> Tool:
    """A tool for the files under ``root``, with the interface of Anthropic's text editor."""
    granted = root if isinstance(root, Root) else Root(root)
    read_only = read_only or granted.read_only

    def handler(command: str, path: str, context: Context[Any], **arguments: Any) -> str:
        access = Access(granted, limits, context.is_cancelled, "To change it, use str_replace.")
        return edit_as_told(access, command, place(path, granted.names), arguments)

    commands = ["view"] if read_only else ["view", *CHANGES]
    properties = {name: EDITING[name] for name in ("path", "view_range")} if read_only else EDITING
    return Tool(
        NAME,
        _VIEWING if read_only else _DESCRIPTION,
        {
            "type": "object",
            "properties": {"command": {"type": "string", "enum": commands}, **properties},
            "required": ["command", "path"],
            "additionalProperties": False,
        },
        handler,
        short="View and edit files under one directory.",
        # The vendor's own tool type has no read-only form.
        native={} if read_only else {"anthropic": {**_NATIVE, "max_characters": limits.max_characters}},
        errors="neutral",
        effect="read" if read_only else "write",
        serial=not read_only,
        limits=Limits(max_output_bytes=limits.max_characters * 4),
        facts=file_facts("path"),
    )


def edit_as_told(access: Access, command: str, where: Place, arguments: Arguments) -> str:
    """Execute one of the vendor's commands: view, create, str_replace or insert."""
    if command == "view":
        return _view(access, where, arguments)
    return CHANGES[command](access, where, arguments)


def needed(arguments: Arguments, command: str, name: str) -> Any:
    """A required argument of the command. Raises ToolFailure if it is missing."""
    if arguments.get(name) is None:
        raise ToolFailure(f"{command} needs {name}.")
    return arguments[name]


def _view(access: Access, where: Place, arguments: Arguments) -> str:
    if is_directory(access, where):
        return list_directory(access, where, _DEPTH)
    view_range = arguments.get("view_range") or (1, -1)
    if len(view_range) != _RANGE:
        raise ToolFailure("view_range is two line numbers, the first and the last.")
    return read(load(access.root, where, access.limits), access.limits, *view_range)


def _create(access: Access, where: Place, arguments: Arguments) -> str:
    return change.create(access, where, needed(arguments, "create", "file_text"))


def _replace(access: Access, where: Place, arguments: Arguments) -> str:
    old = needed(arguments, "str_replace", "old_str")
    return change.edit(access, where, change.Replacement(old=old, new=arguments.get("new_str") or ""))


def _insert(access: Access, where: Place, arguments: Arguments) -> str:
    # An earlier version of the editor called the text new_str, and models still do.
    text = arguments.get("insert_text", arguments.get("new_str"))
    after = needed(arguments, "insert", "insert_line")
    return change.insert(access, where, after, needed({"insert_text": text}, "insert", "insert_text"))


CHANGES: Mapping[str, Callable[[Access, Place, Arguments], str]] = {
    "create": _create,
    "str_replace": _replace,
    "insert": _insert,
}
"""The commands that change files."""
