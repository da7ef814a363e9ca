"""The tool with which OpenAI's models are trained to change files, for a granted directory.

An operation creates, changes or deletes one file, as in ``apply_patch`` of the Responses API. There the
tool is sent as the vendor's own; other models get the same as a function.
https://platform.openai.com/docs/guides/tools-apply-patch
"""

import os
import stat
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from rightcall.builtin.files import change
from rightcall.builtin.files.fs_tool import file_facts
from rightcall.builtin.files.patch import Patched, apply, parse_hunks, parse_new
from rightcall.builtin.files.place import Place, place
from rightcall.builtin.files.root import Root, kind_of
from rightcall.builtin.files.textfile import in_bytes, load_whole
from rightcall.builtin.files.tree import Access, FileLimits, in_words
from rightcall.core.handler import Context
from rightcall.core.limits import Limits
from rightcall.core.options import checked
from rightcall.core.tool import Tool
from rightcall.errors import ToolFailure, UsageError

_SHOWN_LINES = 10

_DESCRIPTION = """\
Make, change or delete one text file under one directory, the root. Paths are relative to it.
- create_file: diff is the whole new file, with + before every line.
- update_file: diff holds one or more hunks, in the order of the file. A hunk begins with a line @@, \
after which a line of the file may stand to say where to look, as in "@@ def main():". Its lines begin \
with a space if they stay, with - if they go and with + if they are new. Give about three lines before \
and after a change, exactly as they are in the file; no line numbers. A line "*** End of File" ends a \
hunk that stands at the end of the file.
- delete_file: takes no diff."""


@checked("rc.builtin.apply_patch")
def apply_patch(
    root: str | os.PathLike[str] | Root,
    *,
    limits: FileLimits = FileLimits(),  # noqa: B008 - frozen
) -> Tool:
    """A tool that changes the files under ``root``, and no others, by OpenAI's V4A diffs."""
    granted = root if isinstance(root, Root) else Root(root)
    if granted.read_only:
        raise UsageError("apply_patch: the root is granted for reading only, and the tool only writes")

    def handler(path: str, context: Context[Any], **operation: Any) -> str:
        where = place(path, granted.names)
        access = Access(granted, limits, context.is_cancelled, "To change it, use update_file.")
        return _OPERATIONS[operation["type"]](access, where, operation.get("diff"))

    return Tool(
        "apply_patch",
        _DESCRIPTION,
        {
            "type": "object",
            "properties": {
                "type": {"type": "string", "enum": list(_OPERATIONS)},
                "path": {"type": "string", "description": "The file, relative to the root."},
                "diff": {
                    "type": "string",
                    "description": "create_file, update_file: what to put there.",
                },
            },
            "required": ["type", "path"],
            "additionalProperties": False,
        },
        handler,
        short="Make, change or delete files under one directory.",
        native={"openai_responses": {"type": "apply_patch"}},
        errors="neutral",
        effect="write",
        # In one reply a model may create a file and then change it, so calls run in order.
        serial=True,
        limits=Limits(max_output_bytes=limits.max_characters * 4),
        facts=file_facts("path"),
    )


def _create(access: Access, where: Place, diff: str | None) -> str:
    return change.create(access, where, parse_new(_needed(access, "create_file", diff)))


def _update(access: Access, where: Place, diff: str | None) -> str:
    hunks = parse_hunks(_needed(access, "update_file", diff))
    loaded = load_whole(access.root, where, access.limits)
    try:
        patched = apply(hunks, loaded.file.original, loaded.file.newline, access.deadline())
    except ToolFailure as failure:
        raise ToolFailure(f"{where.shown} was not changed. {failure.message}") from None
    # Reads the file again, under the lock, and refuses if it is no longer the one that was patched.
    limits = replace(access.limits, max_write_bytes=access.limits.max_file_bytes)
    change.overwrite(replace(access, limits=limits), where, patched.text, loaded.version)
    return f"Updated {where.shown} {_where(patched)}."


def _delete(access: Access, where: Place, diff: str | None) -> str:
    if diff:
        raise ToolFailure("delete_file takes no diff. Nothing was done.")
    if not where.parts:
        raise ToolFailure("The root is a directory. Name a file in it.")
    with (
        in_words(access.root, where),
        access.root.changing(),
        access.root.directory(where.parent) as directory,
    ):
        found = os.stat(where.name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            raise ToolFailure(f"{where.shown} is {kind_of(found)}, not a file. Nothing was deleted.")
        if access.is_cancelled():
            raise ToolFailure("The call was given up; nothing was deleted.")
        os.unlink(where.name, dir_fd=directory)
    return f"Deleted {where.shown}."


def _needed(access: Access, operation: str, diff: str | None) -> str:
    if diff is None:
        raise ToolFailure(f"{operation} needs diff.")
    size, most = len(diff.encode(errors="replace")), access.limits.max_write_bytes
    if size > most:
        raise ToolFailure(
            f"A diff of {in_bytes(size)} is more than the {most:,} that are taken at once."
        )
    return diff


def _where(patched: Patched) -> str:
    shown = [f"{number:,}" for number in patched.lines[:_SHOWN_LINES]]
    more = len(patched.lines) - len(shown)
    lines = ", ".join(shown) + (f" and {more:,} more" if more else "")
    loose = "; white space was not everywhere as in the diff" if patched.is_loose else ""
    return f"at line {lines}{loose}"


_OPERATIONS: Mapping[str, Callable[[Access, Place, str | None], str]] = {
    "create_file": _create,
    "update_file": _update,
    "delete_file": _delete,
}
