"""Manifests written out in a way that tells where everything in them stands."""

import json
from pathlib import Path
from typing import Any

from rightcall.manifest.document import Reading, inspect

Path_ = tuple[str | int, ...]


class Layout:
    """A document as text, and where its values and keys stand in it."""

    def __init__(self, document: Any) -> None:
        self._pieces: list[str] = []
        self._line, self._column = 1, 1
        self.values: dict[Path_, tuple[int, int]] = {}
        self.keys: dict[Path_, tuple[int, int]] = {}
        self._write(document, (), 0)
        self._put("\n")
        self.text = "".join(self._pieces)

    def _put(self, text: str) -> None:
        self._pieces.append(text)
        for character in text:
            self._line, self._column = (
                (self._line + 1, 1) if character == "\n" else (self._line, self._column + 1)
            )

    def _write(self, value: Any, path: Path_, depth: int) -> None:
        self.values[path] = self._line, self._column
        if not isinstance(value, dict | list) or not value:
            self._put(json.dumps(value, ensure_ascii=False))
            return
        items = list(value.items() if isinstance(value, dict) else enumerate(value))
        self._put("{" if isinstance(value, dict) else "[")
        for count, (key, item) in enumerate(items):
            self._put(("," if count else "") + "\n" + "  " * (depth + 1))
            if isinstance(value, dict):
                self.keys[*path, key] = self._line, self._column
                self._put(f"{json.dumps(key, ensure_ascii=False)}:  ")
            self._write(item, (*path, key), depth + 1)
        self._put("\n" + "  " * depth + ("}" if isinstance(value, dict) else "]"))


def named(path: Path_) -> str:
    """``tools[1].argv[2]``."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def plain(**changes: Any) -> dict[str, Any]:
    """A tool with nothing wrong with it; None takes a field away."""
    tool = {
        "name": "search",
        "description": "Find lines.",
        "command": "/bin/echo",
        "argv": ["-n", "--", "{pattern}"],
        "parameters": {
            "type": "object",
            "properties": {"pattern": {"type": "string"}},
            "required": ["pattern"],
        },
    } | changes
    return {key: value for key, value in tool.items() if value is not Ellipsis}


def manifest(*tools: Any, **changes: Any) -> dict[str, Any]:
    """A document with these tools."""
    return {"version": 1, "tools": list(tools)} | changes


def look(folder: Path, text: str | bytes, **options: Any) -> Reading:
    """What is found in a file with this text."""
    path = folder / "tools.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return inspect(path, **options)


def said(reading: Reading) -> list[str]:
    """The problems, without the file's name."""
    return [str(each).removeprefix(f"{reading.file}:") for each in reading.problems]


def warned(reading: Reading) -> list[str]:
    """The warnings, without the file's name."""
    return [str(each).removeprefix(f"{reading.file}:") for each in reading.warnings]
