"""Assembles JSON text from the leaves of a call's arguments.

Vertex may stream a call's arguments as leaves with their JSON paths. The model writes them in document
order; a leaf that belongs before already written text cannot be written.
https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc
"""

import re
from typing import Any, TypeAlias

from rightcall.core.jsontext import dump

Step: TypeAlias = str | int

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]""")
_ESCAPED = re.compile(r"\\(.)")
_EXACT = 2**53
"""Up to this number a double represents every integer exactly."""


class ArgumentsText:
    """Writes leaves as JSON text; returned text is final."""

    def __init__(self) -> None:
        self._open: list[Step] = []
        """The current step in each open container, outermost first."""
        self._names: list[set[Step]] = []
        """The names already used in each of those containers."""
        self._string: list[Step] | None = None
        """The path of a string that is still open."""
        self.is_broken = False
        """Whether a leaf could not be placed, so that the text is incomplete."""

    def write(self, leaf: dict[str, Any]) -> str:
        """The text that one leaf adds."""
        path = steps(str(leaf.get("jsonPath", "")))
        if self.is_broken or path is None:
            self.is_broken = True
            return ""
        value = _value(leaf)
        if value is None:
            return ""
        is_string = value.startswith('"')
        if is_string and path == self._string:
            return self._string_piece(leaf, path)
        ending, way = self._end_string(), self._go_to(path)
        if way is None:
            self.is_broken = True
            return ending
        return ending + way + ('"' + self._string_piece(leaf, path) if is_string else value)

    def close(self) -> str:
        """The text that is missing at the end of the arguments."""
        if self._string is not None:
            self.is_broken = True
        return self._end_string() + self._leave(0) if self._open else "{}"

    def _string_piece(self, leaf: dict[str, Any], path: list[Step]) -> str:
        text = dump(leaf["stringValue"])[1:-1]
        if leaf.get("willContinue") is True:
            self._string = path
            return text
        self._string = None
        return text + '"'

    def _end_string(self) -> str:
        was_open, self._string = self._string is not None, None
        return '"' if was_open else ""

    def _go_to(self, path: list[Step]) -> str | None:
        """Close the containers that the path leaves, and open those it enters; None if impossible."""
        if not self._open:
            return None if isinstance(path[0], int) else self._enter(path)
        shared = 0
        while shared < min(len(path), len(self._open)) and path[shared] == self._open[shared]:
            shared += 1
        if shared in (len(path), len(self._open)) or not self._follows(path[shared], shared):
            return None
        step = path[shared]
        text = self._leave(shared + 1) + ("," if isinstance(step, int) else f",{dump(step)}:")
        self._open[shared] = step
        self._names[shared].add(step)
        entered = self._enter(path[shared + 1 :])
        return None if entered is None else text + entered

    def _follows(self, step: Step, at: int) -> bool:
        before = self._open[at]
        if isinstance(before, int):
            return step == before + 1
        return isinstance(step, str) and step not in self._names[at]

    def _leave(self, depth: int) -> str:
        closing = "".join("]" if isinstance(step, int) else "}" for step in reversed(self._open[depth:]))
        del self._open[depth:], self._names[depth:]
        return closing

    def _enter(self, path: list[Step]) -> str | None:
        if any(isinstance(step, int) and step for step in path):
            return None
        self._open += path
        self._names += [{step} for step in path]
        return "".join("[" if isinstance(step, int) else "{" + dump(step) + ":" for step in path)


def steps(path: str) -> list[Step] | None:
    """The steps of a JSON path (RFC 9535) to a single place; None for any other path."""
    found: list[Step] = []
    at = 1
    while match := _STEP.match(path, at):
        name, index, quoted = match.groups()
        found.append(int(index) if index else name or _ESCAPED.sub(r"\1", quoted[1:-1]))
        at = match.end()
    return found if path.startswith("$") and at == len(path) and found else None


def _value(leaf: dict[str, Any]) -> str | None:
    """A leaf's value as JSON text; None if it has none."""
    for name in ("stringValue", "boolValue"):
        if isinstance(leaf.get(name), str | bool):
            return dump(leaf[name])
    number = leaf.get("numberValue")
    if isinstance(number, int | float):
        # The wire has doubles: an integer may come as 5.0, and must be an integer again.
        return dump(int(number) if float(number).is_integer() and abs(number) < _EXACT else number)
    return "null" if "nullValue" in leaf else None
