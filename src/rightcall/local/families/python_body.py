"""A call as Python writes it, ``name(key=value)``, into that call."""

import re
from typing import Literal, TypeAlias

from rightcall.local.families.body import MAX_HEAD, Body, Verdict
from rightcall.local.families.draft import Draft
from rightcall.local.families.jsonstring import quoted
from rightcall.local.families.python_value import PythonValue

_Place: TypeAlias = Literal["name", "first", "key", "value", "after", "broken"]

_NAME = re.compile(r"\s*([A-Za-z_][\w.\-]*)\s*\(")
_NAME_SO_FAR = re.compile(r"\s*(?:[A-Za-z_][\w.\-]*\s*)?")
_KEY = re.compile(r"([^\W\d]\w*)\s*=")
_KEY_SO_FAR = re.compile(r"(?:[^\W\d]\w*\s*)?")
_SPACE = re.compile(r"\s*")


class PythonBody(Body):
    """One call. ``names``: the only ones that it may have; None for any."""

    __slots__ = (
        "_count",
        "_draft",
        "_name",
        "_names",
        "_place",
        "_value",
    )

    def __init__(self, draft: Draft, names: frozenset[str] | None = None) -> None:
        super().__init__()
        self._draft = draft
        self._names = names
        self._place: _Place = "name"
        self._name = ""
        self._count = 0
        self._value = PythonValue()

    def finish(self) -> None:
        """The parenthesis was not closed, unless that was waiting for what follows."""
        if self._place == "value":
            self._draft.arguments(self._value.feed("", is_last=True))
            self._text = self._value.rest
            self._place = "after" if self._value.is_over else "value"
        if self._text.lstrip().startswith(")") and self._place == "after":
            self._text = self._text.lstrip()
            self._close()
        elif self.has_started:
            self._draft.arguments(self._value.pending if self._place == "value" else self._text)
            self._draft.cut()

    def _step(self) -> Verdict | None:
        match self._place:
            case "name":
                return self._read_name()
            case "value":
                return self._read_value()
            case "broken":
                return self._skip()
            case _:
                pass
        self._text = self._text[_SPACE.match(self._text).end() :]  # type: ignore[union-attr]
        if not self._text:
            return "more"
        if self._text[0] == ")":
            return self._close()
        if self._place == "after":
            if self._text[0] != ",":
                return self._break()
            self._text = self._text[1:]
            self._place = "key"
            return None
        return self._read_key()

    def _read_name(self) -> Verdict | None:
        match = _NAME.match(self._text)
        if match is not None and match.end() - 1 > MAX_HEAD:
            return "none"
        if match is None:
            so_far = _NAME_SO_FAR.fullmatch(self._text)
            return "more" if so_far is not None and len(self._text) <= MAX_HEAD else "none"
        self._name = match[1]
        if self._names is not None and self._name not in self._names:
            return "none"
        self._text = self._text[match.end() :]
        self._place = "first"
        return None

    def _read_key(self) -> Verdict | None:
        match = _KEY.match(self._text)
        if match is None or match.end() - 1 > MAX_HEAD:
            so_far = _KEY_SO_FAR.fullmatch(self._text)
            if so_far is not None and len(self._text) <= MAX_HEAD:
                return "more"
            return self._break() if self.has_started else "none"
        self._start()
        self._draft.arguments(f"{', ' if self._count else '{'}{quoted(match[1])}: ")
        self._count += 1
        self._text = self._text[match.end() :]
        self._value = PythonValue()
        self._place = "value"
        return None

    def _read_value(self) -> Verdict | None:
        self._draft.arguments(self._value.feed(self._text))
        self._text = self._value.rest
        if not self._value.is_over:
            return "more"
        self._place = "after"
        return None

    def _start(self) -> None:
        if not self.has_started:
            self.has_started = True
            self._draft.start(self._name)

    def _close(self) -> Verdict:
        self._start()
        self._text = self._text[1:]
        self._draft.arguments("}" if self._count else "{}")
        self._draft.end()
        return "done"

    def _break(self) -> Verdict | None:
        """What stands here is not Python; up to the parenthesis it is given on as it is."""
        self._draft.arguments(", " if self._place == "key" else " ")
        self._place = "broken"
        return None

    def _skip(self) -> Verdict | None:
        at = self._text.find(")")
        piece = self._text if at < 0 else self._text[:at]
        self._draft.arguments(piece)
        self._text = self._text[len(piece) :]
        return "more" if at < 0 else self._close()
