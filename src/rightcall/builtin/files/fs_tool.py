"""The tools for a granted directory: ``fs``, and the editor and the memory of Anthropic's models.

``fs`` is one tool with modes: read, list, glob, grep and, unless read-only, write and edit. The others
have the names and the parameters of ``text_editor_20250728`` and ``memory_20250818``, which these models
use more reliably than a tool that they were not trained on. Any other model can use them, too.
https://platform.claude.com/docs/en/agents-and-tools/tool-use/text-editor-tool
https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool
"""

import os
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from rightcall.builtin.files import change, grep
from rightcall.builtin.files.root import Root, RootedPath, parse_path
from rightcall.builtin.files.textfile import load, read
from rightcall.builtin.files.tree import Access, FileLimits, Tree, explain_os_errors
from rightcall.core.facts import Facts
from rightcall.core.handler import Context
from rightcall.core.jsontext import JsonObject
from rightcall.core.limits import Limits
from rightcall.core.options import check_keywords
from rightcall.core.tool import Tool, object_schema
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


@check_keywords("rc.builtin.fs")
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
        # Which mode takes which parameters: no schema says that in a form that all models follow.
        missing = [each for each in _NEEDS.get(mode, ()) if each not in arguments]
        if missing:
            raise ToolFailure(f"{mode} needs {' and '.join(missing)}.", own=True)
        given = {key for key, value in arguments.items() if value not in ("", False, None)}
        extra = sorted(given - _TAKES[mode] - {"path"})
        if extra:
            raise ToolFailure(f"{mode} takes no {' and no '.join(extra)}. Nothing was done.", own=True)
        where = parse_path(arguments.get("path", "."), granted.names)
        access = Access(granted, limits, context.is_cancelled, **_HINTS)
        return _run_mode(access, mode, where, arguments)

    modes = [mode for mode in _TAKES if not (read_only and mode in _WRITES)]
    names = {"path"}.union(*(_TAKES[mode] for mode in modes))
    properties: JsonObject = {
        "mode": {"type": "string", "enum": modes, "description": "What to do."},
        **{name: schema for name, schema in _PROPERTIES.items() if name in names},
    }
    return Tool(
        name,
        _READING if read_only else _READING + _WRITING,
        object_schema(["mode"], **properties),
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


_HINTS = {
    "instead": (
        "To change a part of it, edit it. To replace all of it, read it first and give the version "
        "that is shown."
    ),
    "several": "Or set replace_all.",
}


def _run_mode(access: Access, mode: str, where: RootedPath, arguments: Arguments) -> str:
    if mode == "read":
        loaded = load(access.root, where, access.limits)
        return read(loaded, access.limits, arguments.get("start_line"), arguments.get("end_line"))
    if mode == "list":
        return grep.list_directory(access, where, arguments.get("depth", 1))
    if mode == "glob":
        return grep.glob(access, where, arguments["pattern"])
    if mode == "grep":
        wanted = grep.Grep(
            pattern=arguments["pattern"],
            include=arguments.get("include", ""),
            ignore_case=arguments.get("ignore_case", False),
            context=arguments.get("context_lines", 0),
        )
        return grep.grep(access, where, wanted)
    version = arguments.get("version", "")
    if mode == "write" and version:
        return change.overwrite(access, where, arguments["content"], version)
    if mode == "write":
        return change.create(access, where, arguments["content"])
    replacement = change.Replacement(
        old=arguments["old_text"],
        new=arguments["new_text"],
        count=arguments.get("count", 1),
        every=arguments.get("replace_all", False),
    )
    return change.edit(access, where, replacement, version)


NAME = "str_replace_based_edit_tool"
"""The vendor's name of the tool. A model that is given the vendor's own type uses it."""

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


@check_keywords("rc.builtin.text_editor")
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
        return _run_edit_command(access, command, parse_path(path, granted.names), arguments)

    return _command_tool(
        handler,
        name=NAME,
        short="View and edit files under one directory.",
        description=_VIEWING if read_only else _DESCRIPTION,
        commands=("view", "create", "str_replace", "insert"),
        properties=EDITING,
        required=("command", "path"),
        native={"type": "text_editor_20250728", "name": NAME, "max_characters": limits.max_characters},
        targets=("path",),
        read_only=read_only,
        limits=limits,
    )


def _command_tool(  # noqa: PLR0913 - a tool's fields, by name
    handler: Callable[..., str],
    *,
    name: str,
    short: str,
    description: str,
    commands: Sequence[str],
    properties: Mapping[str, JsonObject],
    required: Sequence[str],
    native: JsonObject,
    targets: Sequence[str],
    read_only: bool,
    limits: FileLimits,
) -> Tool:
    """The editor or the memory; with ``view`` alone if it is read-only."""
    natives = {"anthropic": native}
    if read_only:
        commands = ("view",)
        properties = {each: properties[each] for each in ("path", "view_range")}
        natives = {}  # the vendor's own tool type has no read-only form
        targets = ("path",)
    return Tool(
        name,
        description,
        object_schema(required, command={"type": "string", "enum": list(commands)}, **properties),
        handler,
        short=short,
        native=natives,
        errors="neutral",
        effect="read" if read_only else "write",
        serial=not read_only,
        limits=Limits(max_output_bytes=limits.max_characters * 4),
        facts=file_facts(*targets),
    )


def _run_edit_command(access: Access, command: str, where: RootedPath, arguments: Arguments) -> str:
    """Execute one of the vendor's commands: view, create, str_replace or insert."""
    if command == "create":
        return change.create(access, where, _require_argument(arguments, command, "file_text"))
    if command == "str_replace":
        old = _require_argument(arguments, command, "old_str")
        new = arguments.get("new_str") or ""
        return change.edit(access, where, change.Replacement(old=old, new=new))
    if command == "insert":
        after = _require_argument(arguments, command, "insert_line")
        # An earlier version of the editor called the text new_str, and models still do.
        text = arguments.get("insert_text", arguments.get("new_str"))
        text = _require_argument({"insert_text": text}, command, "insert_text")
        return change.insert(access, where, after, text)
    if grep.is_directory(access, where):
        return grep.list_directory(access, where, _DEPTH)
    view_range = arguments.get("view_range") or (1, -1)
    if len(view_range) != _RANGE:
        raise ToolFailure("view_range is two line numbers, the first and the last.", own=True)
    return read(load(access.root, where, access.limits), access.limits, *view_range)


def _require_argument(arguments: Arguments, command: str, name: str) -> Any:
    if arguments.get(name) is None:
        raise ToolFailure(f"{command} needs {name}.", own=True)
    return arguments[name]


PREFIX = "/memories"
LIMITS = FileLimits(max_file_bytes=256 * 1024, max_write_bytes=64 * 1024, max_visited=5000, skipped=())
"""Limits for notes, which are short, and which a model reads whole."""
MAX_NOTES = 500
"""The most files and directories; beyond that no new ones are created."""
MAX_BYTES = 8 * 1024 * 1024
"""The most bytes that all notes together may hold."""

_MEMORY_VIEWING = """\
Notes that outlast this conversation, as files under /memories. Look there first: what you learned \
earlier may be there.
- view: a note's lines, numbered, or what is in a directory."""
_MEMORY_DESCRIPTION = f"""{_MEMORY_VIEWING}
- create: a new note from file_text.
- str_replace: replace old_str with new_str in a note. old_str must be in it exactly as given, and once.
- insert: put insert_text after the line insert_line of a note.
- delete: a note, or a directory with all that is in it.
- rename: old_path to new_path."""

_MEMORY_PROPERTIES: Mapping[str, JsonObject] = {
    **EDITING,
    "path": {"type": "string", "description": "A path that begins with /memories."},
    "old_path": {"type": "string", "description": "rename: what to rename."},
    "new_path": {"type": "string", "description": "rename: the new path."},
}


@check_keywords("rc.builtin.memory")
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
            old = _note(_require_argument(arguments, command, "old_path"))
            new = _note(_require_argument(arguments, command, "new_path"))
            return _rename(access, old, new)
        where = _note(_require_argument(arguments, command, "path"))
        if command == "delete":
            return _delete(access, where)
        if command != "view":
            _check_room(access, max_notes, max_bytes)
        return _run_edit_command(access, command, where, arguments)

    return _command_tool(
        handler,
        name="memory",
        short="Notes that outlast the conversation.",
        description=_MEMORY_VIEWING if read_only else _MEMORY_DESCRIPTION,
        commands=("view", "create", "str_replace", "insert", "delete", "rename"),
        properties=_MEMORY_PROPERTIES,
        required=("command",),
        native={"type": "memory_20250818", "name": "memory"},
        # A note may repeat what untrusted text once made the model write.
        targets=("path", "old_path", "new_path"),
        read_only=read_only,
        limits=limits,
    )


def _note(path: str) -> RootedPath:
    if path != PREFIX and not path.startswith(f"{PREFIX}/"):
        raise ToolFailure(f"Paths of notes begin with {PREFIX}, like {PREFIX}/people/ada.md.", own=True)
    return RootedPath(parse_path(path.removeprefix(PREFIX).strip("/")).parts, PREFIX)


def _check_room(access: Access, max_notes: int, max_bytes: int) -> None:
    """Whether the limits allow one more change."""
    tree = Tree(access)
    entries = list(tree.entries(RootedPath()))
    size = sum(entry.size for entry in entries)
    if tree.is_cut or len(entries) >= max_notes or size >= max_bytes:
        raise ToolFailure(
            f"There are {len(entries):,} notes of {size:,} bytes, and room for no more. Delete some.",
            own=True,
        )


def _delete(access: Access, where: RootedPath) -> str:
    _refuse_root(where)
    with (
        explain_os_errors(access.root, where),
        access.root.changing(),
        access.root.directory(where.parent) as directory,
    ):
        found = os.stat(where.name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            # With dir_fd it follows no symbolic links on its way.
            shutil.rmtree(where.name, dir_fd=directory)
        else:
            os.unlink(where.name, dir_fd=directory)
    return f"Deleted {where.display_path}."


def _rename(access: Access, old: RootedPath, new: RootedPath) -> str:
    _refuse_root(old)
    _refuse_root(new)
    with (
        explain_os_errors(access.root, old),
        access.root.changing(),
        access.root.directory(old.parent) as source,
    ):
        os.stat(old.name, dir_fd=source, follow_symlinks=False)
        with explain_os_errors(access.root, new):
            access.root.make_directory(new.parent)
            with access.root.directory(new.parent) as target:
                with suppress(FileNotFoundError):
                    os.stat(new.name, dir_fd=target, follow_symlinks=False)
                    raise ToolFailure(
                        f"{new.display_path} exists already. Delete it first, or take another name.",
                        own=True,
                    )
                os.rename(old.name, new.name, src_dir_fd=source, dst_dir_fd=target)
    return f"Renamed {old.display_path} to {new.display_path}."


def _refuse_root(where: RootedPath) -> None:
    if not where.parts:
        raise ToolFailure(f"{PREFIX} itself can be neither deleted nor renamed.", own=True)
