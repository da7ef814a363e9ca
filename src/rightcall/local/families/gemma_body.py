"""A call in Gemma's own notation, ``name{key:<|"|>text<|"|>,n:1}``, into that call."""

import re
from typing import Literal, TypeAlias

from rightcall.local.families.admitted import ANY, STRING, Shapes
from rightcall.local.families.body import MAX_HEAD, Body, Verdict
from rightcall.local.families.draft import Draft
from rightcall.local.families.jsonend import JsonEnd
from rightcall.local.families.jsonstring import inner, quoted
from rightcall.local.families.scan import Scanner
from rightcall.local.families.specs import Specs
from rightcall.local.families.values import to_json

_Place: TypeAlias = Literal["name", "first", "key", "value", "string", "json", "after"]

_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"\s*([^\s{}()<>\"',:]+)\s*\{")
_NAME_SO_FAR = re.compile(r"\s*(?:[^\s{}()<>\"',:]+\s*)?")
_WORD = re.compile(r"[^,{}\[\]]*")
_MAX_WORD = 4096
"""A word longer than this is none, and what is without quotes is a word."""


class GemmaBody(Body):
    """One call."""

    __slots__ = (
        "_closers", "_draft", "_end", "_is_first", "_key", "_name", "_place", "_quote", "_scanner",
        "_shapes", "_specs",
    )  # fmt: skip

    def __init__(self, quote: str, draft: Draft, specs: Specs) -> None:
        super().__init__()
        self._quote = quote
        self._draft = draft
        self._specs = specs
        self._shapes = Shapes()
        self._scanner = Scanner((quote,))
        self._end = JsonEnd()
        self._place: _Place = "name"
        self._closers: list[str] = []
        self._is_first = True
        self._name = ""
        self._key = ""

    def finish(self) -> None:
        """The brace was not closed."""
        if self.has_started:
            self._draft.arguments(inner(self._text) if self._place == "string" else self._text)
            self._draft.cut()

    def _step(self) -> Verdict | None:
        if self._place == "name":
            return self._read_name()
        if self._place == "string":
            return self._read_string()
        if self._place == "json":
            return self._read_json()
        self._text = self._text[_SPACE.match(self._text).end() :]  # type: ignore[union-attr]
        if not self._text:
            return "more"
        character = self._text[0]
        if self._place != "value" or self._is_first:
            if character in "}]":
                return self._close(character)
            if character == "," and self._place == "after":
                self._text = self._text[1:]
                self._place = "key" if self._closers[-1] == "}" else "value"
                return None
        if self._place == "key":
            return self._read_key()
        if self._place == "value":
            return self._read_value(character)
        return self._break()

    def _read_name(self) -> Verdict | None:
        match = _NAME.match(self._text)
        if match is not None and match.end() - 1 > MAX_HEAD:
            return "none"
        if match is None:
            so_far = _NAME_SO_FAR.fullmatch(self._text)
            return "more" if so_far is not None and len(self._text) <= MAX_HEAD else "none"
        self._name = match[1]
        self._shapes = self._specs.shapes(self._name)
        self._text = self._text[match.end() :]
        self.has_started = True
        self._draft.start(self._name)
        self._open("{")
        return None

    def _open(self, opener: str) -> None:
        self._draft.arguments(opener)
        self._closers.append("}" if opener == "{" else "]")
        self._is_first = True
        self._place = "key" if opener == "{" else "value"

    def _comma(self) -> None:
        if not self._is_first:
            self._draft.arguments(", ")
        self._is_first = False

    def _read_key(self) -> Verdict | None:
        found = self._token(":")
        if found is None:
            return "more" if len(self._text) <= MAX_HEAD else self._break()
        self._comma()
        self._key = found.strip().removeprefix(self._quote).removesuffix(self._quote).strip('"')
        self._draft.arguments(f"{quoted(self._key)}: ")
        self._is_first = False
        self._place = "value"
        return None

    def _token(self, end: str) -> str | None:
        """The text up to ``end``, which is taken with it."""
        at = self._text.find(end)
        if not 0 <= at <= MAX_HEAD:
            return None
        token, self._text = self._text[:at], self._text[at + 1 :]
        return token

    def _read_value(self, character: str) -> Verdict | None:
        start = self._scanner.at_start(self._text)
        if start is None:
            return "more"
        in_list = self._closers[-1] == "]"
        if start:
            if in_list:
                self._comma()
            self._draft.arguments('"')
            self._text = self._text[len(start) :]
            self._place = "string"
            return None
        if character in '{["':
            if in_list:
                self._comma()
            if character == '"':
                self._end = JsonEnd()
                self._place = "json"
                return None
            self._text = self._text[1:]
            self._open(character)
            return None
        return self._read_word(in_list=in_list)

    def _read_json(self) -> Verdict | None:
        """A string as JSON writes it."""
        size = self._end.feed(self._text)
        self._draft.arguments(self._text[:size])
        self._text = self._text[size:]
        if not self._end.is_over:
            return "more"
        self._place = "after"
        return None

    def _read_word(self, *, in_list: bool) -> Verdict | None:
        match = _WORD.match(self._text)
        if match is None or match.end() == len(self._text) or match.end() > _MAX_WORD:
            return "more" if len(self._text) <= _MAX_WORD else self._break()
        word = match[0]
        self._text = self._text[match.end() :]
        if in_list:
            self._comma()
        if word:
            types = ANY
            if len(self._closers) == 1:
                types = self._shapes.types(self._shapes.parameter(self._key))
            self._draft.arguments(to_json(word if types == STRING else word.strip(), types))
        self._place = "after"
        return None

    def _read_string(self) -> Verdict | None:
        at, marker = self._scanner.find(self._text)
        self._draft.arguments(inner(self._text[:at]))
        self._text = self._text[at + len(marker) :]
        if not marker:
            return "more"
        self._draft.arguments('"')
        self._place = "after"
        return None

    def _close(self, character: str) -> Verdict | None:
        if character != self._closers[-1]:
            return self._break()
        self._text = self._text[1:]
        self._draft.arguments(self._closers.pop())
        self._is_first = False
        self._place = "after"
        if self._closers:
            return None
        self._draft.end()
        return "done"

    def _break(self) -> Verdict:
        """What stands here makes no sense: the call ends as far as it came, and the rest is text."""
        self._draft.end()
        return "done"
