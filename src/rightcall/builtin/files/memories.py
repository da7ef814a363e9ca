"""A tool for notes that a model keeps from one run to the next, in a granted directory.

The name, the commands and the ``/memories`` that paths begin with are those of Anthropic's
``memory_20250818``, which its models are trained on. Any other model can use it, too.
https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool
"""

import os
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from rightcall.builtin.files.editor import EDITING, edit_as_told, needed
from rightcall.builtin.files.fs_tool import file_facts
from rightcall.builtin.files.place import Place, place
from rightcall.builtin.files.root import Root
from rightcall.builtin.files.tree import Access, FileLimits, Tree, in_words
from rightcall.core.handler import Context
from rightcall.core.jsontext import JsonObject
from rightcall.core.limits import Limits
from rightcall.core.options import checked
from rightcall.core.tool import Tool
from rightcall.errors import ToolFailure

PREFIX = "/memories"
LIMITS = FileLimits(max_file_bytes=256 * 1024, max_write_bytes=64 * 1024, max_visited=5000, skipped=())
"""Limits for notes, which are short, and which a model reads whole."""
MAX_NOTES = 500
"""The most files and directories; beyond that no new ones are created."""
MAX_BYTES = 8 * 1024 * 1024
"""The most bytes that all notes together may hold."""

_VIEWING = """\
Notes that outlast this conversation, as files under /memories. Look there first: what you learned \
earlier may be there.
- view: a note's lines, numbered, or what is in a directory."""
_DESCRIPTION = f"""{_VIEWING}
- create: a new note from file_text.
- str_replace: replace old_str with new_str in a note. old_str must be in it exactly as given, and once.
- insert: put insert_text after the line insert_line of a note.
- delete: a note, or a directory with all that is in it.
- rename: old_path to new_path."""

_PATH: JsonObject = {"type": "string", "description": "A path that begins with /memories."}
_PROPERTIES: Mapping[str, JsonObject] = {
    **EDITING,
    "path": _PATH,
    "old_path": {"type": "string", "description": "rename: what to rename."},
    "new_path": {"type": "string", "description": "rename: the new path."},
}


@checked("rc.builtin.memory")
def memory(
    root: str | os.PathLike[str] | Root,
    *,
    read_only: bool = False,
    limits: FileLimits = LIMITS,
    max_notes: int = MAX_NOTES,
    max_bytes: int = MAX_BYTES,
) -> Tool:
    """A tool for notes under ``root``, which the model sees as ``/memories``."""
    granted = root if isinstance(root, Root) else Root(root)
    read_only = read_only or granted.read_only

    def handler(command: str, context: Context[Any], **arguments: Any) -> str:
        access = Access(granted, limits, context.is_cancelled, "To change it, use str_replace.")
        if command == "rename":
            old, new = (_note(needed(arguments, command, name)) for name in ("old_path", "new_path"))
            return _rename(access, old, new)
        where = _note(needed(arguments, command, "path"))
        if command == "delete":
            return _delete(access, where)
        if command != "view":
            _check_room(access, max_notes, max_bytes)
        return edit_as_told(access, command, where, arguments)

    commands = ["view"] if read_only else ["view", "create", "str_replace", "insert", "delete", "rename"]
    properties = (
        {name: _PROPERTIES[name] for name in ("path", "view_range")} if read_only else _PROPERTIES
    )
    return Tool(
        "memory",
        _VIEWING if read_only else _DESCRIPTION,
        {
            "type": "object",
            "properties": {"command": {"type": "string", "enum": commands}, **properties},
            "required": ["command"],
            "additionalProperties": False,
        },
        handler,
        short="Notes that outlast the conversation.",
        # The vendor's own tool type has no read-only form.
        native={} if read_only else {"anthropic": {"type": "memory_20250818", "name": "memory"}},
        errors="neutral",
        effect="read" if read_only else "write",
        serial=not read_only,
        limits=Limits(max_output_bytes=limits.max_characters * 4),
        # A note may repeat what untrusted text once made the model write.
        facts=file_facts("path") if read_only else file_facts("path", "old_path", "new_path"),
    )


def _note(path: str) -> Place:
    if path != PREFIX and not path.startswith(f"{PREFIX}/"):
        raise ToolFailure(f"Paths of notes begin with {PREFIX}, like {PREFIX}/people/ada.md.")
    return Place(place(path.removeprefix(PREFIX).strip("/")).parts, PREFIX)


def _check_room(access: Access, max_notes: int, max_bytes: int) -> None:
    """Whether the limits allow one more change."""
    tree = Tree(access)
    entries = list(tree.entries(Place()))
    size = sum(entry.size for entry in entries)
    if tree.is_cut or len(entries) >= max_notes or size >= max_bytes:
        raise ToolFailure(
            f"There are {len(entries):,} notes of {size:,} bytes, and room for no more. Delete some."
        )


def _delete(access: Access, where: Place) -> str:
    _refuse_root(where)
    with (
        in_words(access.root, where),
        access.root.changing(),
        access.root.directory(where.parent) as directory,
    ):
        found = os.stat(where.name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            # With dir_fd it follows no symbolic links on its way.
            shutil.rmtree(where.name, dir_fd=directory)
        else:
            os.unlink(where.name, dir_fd=directory)
    return f"Deleted {where.shown}."


def _rename(access: Access, old: Place, new: Place) -> str:
    _refuse_root(old)
    _refuse_root(new)
    with in_words(access.root, old), access.root.changing(), access.root.directory(old.parent) as source:
        os.stat(old.name, dir_fd=source, follow_symlinks=False)
        with in_words(access.root, new):
            access.root.make_directory(new.parent)
            with access.root.directory(new.parent) as target:
                _refuse_taken(target, new)
                os.rename(old.name, new.name, src_dir_fd=source, dst_dir_fd=target)
    return f"Renamed {old.shown} to {new.shown}."


def _refuse_taken(directory: int, where: Place) -> None:
    with suppress(FileNotFoundError):
        os.stat(where.name, dir_fd=directory, follow_symlinks=False)
        raise ToolFailure(f"{where.shown} exists already. Delete it first, or take another name.")


def _refuse_root(where: Place) -> None:
    if not where.parts:
        raise ToolFailure(f"{PREFIX} itself can be neither deleted nor renamed.")
