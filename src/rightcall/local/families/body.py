"""What reads one call once its opening marker has been seen, and the inside of its opening tag.

A body takes text as it comes and gives what it finds to the draft. It may turn out that there is no
call; that it can only say before the call has started, and the text is then given back.
"""

# ruff: noqa: RUF001 - the markers are written as the models write them

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.local.families.draft import Draft
from rightcall.local.families.scanner import JsonEnd, inner
from rightcall.local.families.shapes import ANY, STRING, Shapes, Specs, Types, to_json

MAX_HEAD = 512
"""A name or key longer than this is none."""

Verdict: TypeAlias = Literal["more", "done", "none"]
State: TypeAlias = Callable[[], Verdict | None]
"""Uses up one token of the text; None to go on."""

_QUOTED = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)')""")
_ATTRIBUTE = re.compile(r"""\s+([\w:-]+)\s*=\s*["']?([^"'\s]*)["']?""")
_ATTRIBUTES = re.compile(rf"(?:{_ATTRIBUTE.pattern})*\s*/?\s*")
_NAME = re.compile(r"[^\s<>{}()\[\]\"'=,;|｜]+")


class Body(ABC):
    """One call being read, token by token. States are methods, and are compared with ==."""

    _state: State

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._text = ""
        """What was fed and not used yet."""
        self._end = JsonEnd()
        self.has_started = False
        """Whether the call is certain, and its beginning told."""
        self.rest = ""
        """After ``done`` and ``none``: what was fed and does not belong to it."""

    def feed(self, text: str) -> Verdict:
        """Take text. ``done``: the call has ended before ``rest``. ``none``: it is no call."""
        self._text += text
        while True:
            verdict = self._step()
            if verdict is not None:
                self.rest = self._text if verdict != "more" else ""
                return verdict

    @abstractmethod
    def finish(self) -> None:
        """Nothing more comes. A call that has started is ended, or cut off."""

    def _step(self) -> Verdict | None:
        return self._state()

    def _to(self, state: State) -> Verdict | None:
        """Go on in another state."""
        self._state = state
        return None

    def _start(self, name: str, identity: str = "") -> None:
        self.has_started = True
        self._draft.start(name, identity)

    def _done(self, identity: str = "") -> Verdict:
        self._draft.end(identity)
        return "done"

    def _skip_space(self) -> bool:
        """Drop the space before the next token; whether there is one."""
        self._text = self._text.lstrip()
        return bool(self._text)

    def _pass_json(self) -> bool:
        """Give on a JSON value as it is written; whether it is over."""
        size = self._end.feed(self._text)
        self._draft.arguments(self._text[:size])
        self._text = self._text[size:]
        return self._end.is_over


class TypedBody(Body):
    """A body whose values are text, typed by the tool's schema: strings stream, all others wait."""

    def __init__(self, draft: Draft, specs: Specs) -> None:
        super().__init__(draft)
        self._specs = specs
        self._shapes = Shapes()
        self._types: Types = ANY
        self._pieces: list[str] = []
        """A value that is wanted as a whole."""

    def _open_value(self) -> None:
        if self._types == STRING:
            self._draft.arguments('"')

    def _add(self, piece: str) -> None:
        if self._types == STRING:
            self._draft.arguments(inner(piece))
        else:
            self._pieces.append(piece)

    def _close_value(self) -> None:
        whole = "".join(self._pieces)
        self._draft.arguments('"' if self._types == STRING else to_json(whole, self._types))
        self._pieces = []

    def _cut_value(self) -> None:
        """Give out what there is of a value that was not closed."""
        self._add(self._text)
        self._draft.arguments("".join(self._pieces))


class Head(Struct, frozen=True, gc=False):
    """What an opening tag says."""

    name: str
    attributes: Mapping[str, str]
    is_quoted: bool = False

    @property
    def is_valid(self) -> bool:
        """Whether it names something, as opposed to some sentence. In quotes, any name is one."""
        return bool(self.name.strip()) if self.is_quoted else is_name(self.name)


def head(text: str) -> Head:
    """What stands first, without its quotes, and the attributes after it. Without quotes it is all."""
    match = _QUOTED.match(text)
    if match is None or not _ATTRIBUTES.fullmatch(text, match.end()):
        return Head(text.strip(), {})
    attributes = dict(_ATTRIBUTE.findall(text, match.end()))
    return Head(match[1] if match[1] is not None else match[2], attributes, is_quoted=True)


def is_name(text: str) -> bool:
    """Whether this can be the name of a tool, as opposed to some sentence."""
    return _NAME.fullmatch(text) is not None
