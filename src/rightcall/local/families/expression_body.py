"""Parses calls that are expressions: Gemma's ``name{key:<|"|>text<|"|>,n:1}``, or ``name(key=1)``."""

import re
from abc import abstractmethod

from rightcall.local.families.call_body import MAX_HEAD, CallBody, Verdict
from rightcall.local.families.draft import FamilyReply
from rightcall.local.families.scanner import JsonEnd, PythonValue, Scanner, escape_json, quote_json
from rightcall.local.families.shapes import ANY, STRING, Shapes, Specs, to_json

_GEMMA_NAME = re.compile(r"\s*([^\s{}()<>\"',:]+)\s*\{")
_GEMMA_NAME_SO_FAR = re.compile(r"\s*(?:[^\s{}()<>\"',:]+\s*)?")
_PYTHON_NAME = re.compile(r"\s*([A-Za-z_][\w.\-]*)\s*\(")
_PYTHON_NAME_SO_FAR = re.compile(r"\s*(?:[A-Za-z_][\w.\-]*\s*)?")
_KEY = re.compile(r"([^\W\d]\w*)\s*=")
_KEY_SO_FAR = re.compile(r"(?:[^\W\d]\w*\s*)?")
_WORD = re.compile(r"[^,{}\[\]]*")
_MAX_WORD = 4096
"""The most characters of a word; unquoted text is a word."""


class _ExpressionBody(CallBody):
    """Shared by both formats: a name and a bracket."""

    _name_form: re.Pattern[str]
    _name_so_far: re.Pattern[str]

    def __init__(self, draft: FamilyReply) -> None:
        super().__init__(draft)
        self._state = self._read_name
        self._name = ""

    @abstractmethod
    def _after_name(self) -> Verdict | None:
        """Continue after the name, which is followed by a bracket."""

    def _read_name(self) -> Verdict | None:
        match = self._name_form.match(self._text)
        if match is None:
            may_come = self._name_so_far.fullmatch(self._text) and len(self._text) <= MAX_HEAD
            return "more" if may_come else "none"
        if match.end() - 1 > MAX_HEAD:
            return "none"
        self._name = match[1]
        verdict = self._after_name()
        if verdict is None:
            self._text = self._text[match.end() :]
        return verdict


class GemmaBody(_ExpressionBody):
    """A call in Gemma's notation. A syntax error ends it, and the rest is text."""

    _name_form = _GEMMA_NAME
    _name_so_far = _GEMMA_NAME_SO_FAR

    def __init__(self, quote: str, draft: FamilyReply, specs: Specs) -> None:
        super().__init__(draft)
        self._quote = quote
        self._specs = specs
        self._shapes = Shapes()
        self._scanner = Scanner((quote,))
        self._closers: list[str] = []
        self._is_first = True
        self._key = ""

    def finish(self) -> None:
        """The brace was not closed."""
        if self.has_started:
            self._draft.arguments(
                escape_json(self._text) if self._state == self._read_string else self._text
            )
            self._draft.cut()

    def _after_name(self) -> Verdict | None:
        self._shapes = self._specs.shapes(self._name)
        self._start(self._name)
        return self._open("{")

    def _open(self, opener: str) -> Verdict | None:
        self._draft.arguments(opener)
        self._closers.append("}" if opener == "{" else "]")
        self._is_first = True
        return self._next()

    def _next(self) -> Verdict | None:
        """Continue with another member or item."""
        return self._to(self._read_key if self._closers[-1] == "}" else self._read_value)

    def _after(self) -> Verdict | None:
        if not self._skip_space():
            return "more"
        if self._text[0] in "}]":
            return self._close()
        if self._text[0] != ",":
            return self._end_call()
        self._text = self._text[1:]
        return self._next()

    def _comma(self) -> None:
        if not self._is_first:
            self._draft.arguments(", ")
        self._is_first = False

    def _read_key(self) -> Verdict | None:
        if not self._skip_space():
            return "more"
        if self._text[0] in "}]":
            return self._close()
        at = self._text.find(":")
        if not 0 <= at <= MAX_HEAD:
            if len(self._text) <= MAX_HEAD:
                return "more"
            return self._end_call()
        key = self._text[:at]
        self._text = self._text[at + 1 :]
        self._comma()
        self._key = key.strip().removeprefix(self._quote).removesuffix(self._quote).strip('"')
        self._draft.arguments(f"{quote_json(self._key)}: ")
        return self._to(self._read_value)

    def _read_value(self) -> Verdict | None:
        if not self._skip_space():
            return "more"
        character = self._text[0]
        if self._is_first and character in "}]":
            return self._close()
        start = self._scanner.at_start(self._text)
        if start is None:
            return "more"
        in_list = self._closers[-1] == "]"
        if start:
            if in_list:
                self._comma()
            self._draft.arguments('"')
            self._text = self._text[len(start) :]
            return self._to(self._read_string)
        if character in '{["':
            if in_list:
                self._comma()
            if character == '"':
                self._end = JsonEnd()
                return self._to(self._read_json)
            self._text = self._text[1:]
            return self._open(character)
        match = _WORD.match(self._text)
        if match is None or match.end() == len(self._text) or match.end() > _MAX_WORD:
            if len(self._text) <= _MAX_WORD:
                return "more"
            return self._end_call()
        word = match[0]
        self._text = self._text[match.end() :]
        if in_list:
            self._comma()
        if word:
            types = ANY
            if len(self._closers) == 1:
                types = self._shapes.types(self._shapes.parameter(self._key))
            self._draft.arguments(to_json(word if types == STRING else word.strip(), types))
        return self._to(self._after)

    def _read_json(self) -> Verdict | None:
        """A string in JSON syntax."""
        if self._pass_json():
            return self._to(self._after)
        return "more"

    def _read_string(self) -> Verdict | None:
        at, marker = self._scanner.find(self._text)
        self._draft.arguments(escape_json(self._text[:at]))
        self._text = self._text[at + len(marker) :]
        if not marker:
            return "more"
        self._draft.arguments('"')
        return self._to(self._after)

    def _close(self) -> Verdict | None:
        if self._text[0] != self._closers[-1]:
            return self._end_call()
        self._text = self._text[1:]
        self._draft.arguments(self._closers.pop())
        self._is_first = False
        if self._closers:
            return self._to(self._after)
        return self._end_call()


class PythonBody(_ExpressionBody):
    """A call in Python syntax. ``names``: the only ones that are allowed; None for any."""

    _name_form = _PYTHON_NAME
    _name_so_far = _PYTHON_NAME_SO_FAR

    def __init__(self, draft: FamilyReply, names: frozenset[str] | None = None) -> None:
        super().__init__(draft)
        self._names = names
        self._count = 0
        self._value = PythonValue()

    def finish(self) -> None:
        """The parenthesis was not closed, unless its end was only awaited."""
        if self._state == self._read_value:
            self._draft.arguments(self._value.feed("", is_last=True))
            self._text = self._value.rest
            if self._value.is_over:
                self._state = self._after
        if self._state == self._after and self._text.lstrip().startswith(")"):
            self._skip_space()
            self._close()
        elif self.has_started:
            is_open = self._state == self._read_value
            self._draft.arguments(self._value.pending if is_open else self._text)
            self._draft.cut()

    def _after_name(self) -> Verdict | None:
        if self._names is None or self._name in self._names:
            return self._to(self._read_key)
        return "none"

    def _after(self) -> Verdict | None:
        if not self._skip_space():
            return "more"
        if self._text[0] == ")":
            return self._close()
        if self._text[0] != ",":
            return self._break(" ")
        self._text = self._text[1:]
        return self._to(self._read_key)

    def _read_key(self) -> Verdict | None:
        if not self._skip_space():
            return "more"
        if self._text[0] == ")":
            return self._close()
        match = _KEY.match(self._text)
        if match is None or match.end() - 1 > MAX_HEAD:
            so_far = _KEY_SO_FAR.fullmatch(self._text)
            if so_far is not None and len(self._text) <= MAX_HEAD:
                return "more"
            if self.has_started:
                return self._break(", ")
            return "none"
        self._begin()
        self._draft.arguments(f"{', ' if self._count else '{'}{quote_json(match[1])}: ")
        self._count += 1
        self._text = self._text[match.end() :]
        self._value = PythonValue()
        return self._to(self._read_value)

    def _read_value(self) -> Verdict | None:
        self._draft.arguments(self._value.feed(self._text))
        self._text = self._value.rest
        if self._value.is_over:
            return self._to(self._after)
        return "more"

    def _begin(self) -> None:
        if not self.has_started:
            self._start(self._name)

    def _close(self) -> Verdict:
        self._begin()
        self._text = self._text[1:]
        self._draft.arguments("}" if self._count else "{}")
        return self._end_call()

    def _break(self, before: str) -> Verdict | None:
        """The text here is not Python; it is passed through unchanged up to the parenthesis."""
        self._draft.arguments(before)
        return self._to(self._skip)

    def _skip(self) -> Verdict | None:
        at = self._text.find(")")
        piece = self._text if at < 0 else self._text[:at]
        self._draft.arguments(piece)
        self._text = self._text[len(piece) :]
        if at < 0:
            return "more"
        return self._close()
