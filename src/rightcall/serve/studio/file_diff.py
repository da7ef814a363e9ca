"""A call that would change a file into the changed lines, from its arguments alone."""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from rightcall.serve.studio.to_json import Json

_PATHS = ("path", "file_path", "file", "filename")
_WHOLE = ("content", "file_text", "contents", "text")
_PAIRS = (("old_text", "new_text"), ("old_str", "new_str"), ("old_string", "new_string"))
_CONTEXT = 3
_MOST = 2000
"""Lines."""
_WRITES = ("write", "create", "edit", "str_replace", "insert", "replace", "update", "append", "save")
_UNSEEN = (
    "The file as it is now is not shown: the whole of it would be replaced by this, if it is there."
)


def diff_of(name: str, arguments: Mapping[str, Any]) -> Json | None:
    """The changes that a call would make to a file; None if it changes none, as far as can be seen."""
    path = next((arguments[key] for key in _PATHS if isinstance(arguments.get(key), str)), None)
    for old, new in _PAIRS:
        if isinstance(arguments.get(old), str):
            return _told(path or "", _changes(arguments[old], str(arguments.get(new) or "")), "")
    if isinstance(patch := arguments.get("diff", arguments.get("patch")), str):
        return _told(path or "", list(_patched(patch)), "")
    if path is None or not _is_write(name, arguments):
        return None
    if isinstance(text := arguments.get("insert_text"), str):
        after = f"After line {arguments.get('insert_line', '?')}."
        return _told(path, [["add", line] for line in text.splitlines()], after)
    for key in _WHOLE:
        if isinstance(text := arguments.get(key), str):
            return _told(path, [["add", line] for line in text.splitlines()], _UNSEEN, is_new=True)
    return None


def _is_write(name: str, arguments: Mapping[str, Any]) -> bool:
    words = (name, arguments.get("mode"), arguments.get("command"))
    return any(isinstance(each, str) and write in each.lower() for each in words for write in _WRITES)


def _changes(old: str, new: str) -> list[list[str]]:
    before, after = old.splitlines(), new.splitlines()
    lines: list[list[str]] = []
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_CONTEXT):
        if lines:
            lines.append(["skip", "…"])
        for tag, first, last, start, end in group:
            if tag == "equal":
                lines += [["same", line] for line in before[first:last]]
                continue
            lines += [["remove", line] for line in before[first:last]]
            lines += [["add", line] for line in after[start:end]]
    return lines


def _patched(patch: str) -> Iterator[list[str]]:
    kinds = {"+": "add", "-": "remove", "@": "skip"}
    for line in patch.splitlines():
        kind = kinds.get(line[:1], "same")
        yield [kind, line if kind == "skip" else line[1:]]


def _told(path: str, lines: list[list[str]], note: str, *, is_new: bool = False) -> Json:
    if len(lines) > _MOST:
        note = f"{note} {len(lines) - _MOST} more lines are not shown.".strip()
    return {"path": path, "is_new": is_new, "lines": lines[:_MOST], "note": note}
