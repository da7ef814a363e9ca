"""Base classes of parsers for one call after its opening marker, and a parser of opening tags.

A body takes text as it arrives and adds what it finds to the draft. It may find that there is no call,
but only before the call has started; then the text is returned.
"""

# ruff: noqa: RUF001 - the markers are written as the models write them

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.local.families.draft import FamilyReply
from rightcall.local.families.scanner import JsonEnd, escape_json
from rightcall.local.families.shapes import ANY, STRING, Shapes, Specs, Types, to_json

MAX_HEAD = 512
"""The most characters of a name or key."""

Verdict: TypeAlias = Literal["more", "done", "none"]
State: TypeAlias = Callable[[], Verdict | None]
"""A state: consumes one token of the text; returns None to continue."""

_QUOTED = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)')""")
_ATTRIBUTE = re.compile(r"""\s+([\w:-]+)\s*=\s*["']?([^"'\s]*)["']?""")
_ATTRIBUTES = re.compile(rf"(?:{_ATTRIBUTE.pattern})*\s*/?\s*")
_NAME = re.compile(r"[^\s<>{}()\[\]\"'=,;|｜]+")


class CallBody(ABC):
    """A parser of one call, token by token. States are methods, and are compared with ==."""

    _state: State

    def __init__(self, draft: FamilyReply) -> None:
        self._draft = draft
        self._text = ""
        """The text that was fed and is not consumed yet."""
        self._end = JsonEnd()
        self.has_started = False
        """Whether the call is certain, and its start was emitted."""
        self.rest = ""
        """After ``done`` and ``none``: the rest of the text, which does not belong to it."""

    def feed(self, text: str) -> Verdict:
        """Feed text. ``done``: the call ended before ``rest``. ``none``: it is no call."""
        self._text += text
        while True:
            verdict = self._step()
            if verdict is not None:
                self.rest = self._text if verdict != "more" else ""
                return verdict

    @abstractmethod
    def finish(self) -> None:
        """The end of the text. A started call is ended, or cut off."""

    def _step(self) -> Verdict | None:
        return self._state()

    def _to(self, state: State) -> Verdict | None:
        """Switch to another state."""
        self._state = state
        return None

    def _start(self, name: str, identity: str = "") -> None:
        self.has_started = True
        self._draft.start(name, identity)

    def _end_call(self, identity: str = "") -> Verdict:
        self._draft.end(identity)
        return "done"

    def _skip_space(self) -> bool:
        """Skip the white space before the next token; returns whether there is one."""
        self._text = self._text.lstrip()
        return bool(self._text)

    def _pass_json(self) -> bool:
        """Pass a JSON value through; returns whether it is complete."""
        size = self._end.feed(self._text)
        self._draft.arguments(self._text[:size])
        self._text = self._text[size:]
        return self._end.is_over


class TypedBody(CallBody):
    """A body whose values are text, typed by the tool's schema: strings stream, others are buffered."""

    def __init__(self, draft: FamilyReply, specs: Specs) -> None:
        super().__init__(draft)
        self._specs = specs
        self._shapes = Shapes()
        self._types: Types = ANY
        self._pieces: list[str] = []
        """A value that is buffered until it is complete."""

    def _open_value(self) -> None:
        if self._types == STRING:
            self._draft.arguments('"')

    def _add(self, piece: str) -> None:
        if self._types == STRING:
            self._draft.arguments(escape_json(piece))
        else:
            self._pieces.append(piece)

    def _close_value(self) -> None:
        whole = "".join(self._pieces)
        self._draft.arguments('"' if self._types == STRING else to_json(whole, self._types))
        self._pieces = []

    def _cut_value(self) -> None:
        """Emit the part of a value that was not closed."""
        self._add(self._text)
        self._draft.arguments("".join(self._pieces))


class Head(Struct, frozen=True, gc=False):
    """The content of an opening tag."""

    name: str
    attributes: Mapping[str, str]
    is_quoted: bool = False

    @property
    def is_valid(self) -> bool:
        """Whether it is a name, and not part of a sentence. In quotes, any name counts."""
        if self.is_quoted:
            return bool(self.name.strip())
        return is_name(self.name)


def head(text: str) -> Head:
    """The first word, without its quotes, and the attributes after it. Without quotes, all of it."""
    match = _QUOTED.match(text)
    if match is None or not _ATTRIBUTES.fullmatch(text, match.end()):
        return Head(text.strip(), {})
    attributes = dict(_ATTRIBUTE.findall(text, match.end()))
    return Head(match[1] if match[1] is not None else match[2], attributes, is_quoted=True)


def is_name(text: str) -> bool:
    """Whether this can be the name of a tool, and not part of a sentence."""
    return _NAME.fullmatch(text) is not None
