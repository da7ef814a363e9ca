"""Scans text that arrives in pieces: finds markers and the ends of JSON values, reads Python literals.

Literals are converted to JSON text as they arrive. An expression that is no literal (a name, a sum, a
call) becomes a string of its source, so that it is neither lost nor run. JSON's keywords are accepted as
well: models mix the two.
"""

import re
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring
from math import isfinite
from typing import Any, Literal, TypeAlias

_Trie: TypeAlias = dict[str, Any]
_NEVER = re.compile(r"(?!)")
_IN_STRING = re.compile(r'["\\]')
# No JSON text has a "<" outside of its strings, and many a marker begins with one.
_OUTSIDE = re.compile(r'["{}\[\]<]')
_AFTER_SCALAR = re.compile(r"[\s,}\]<]")


class Scanner:
    """A compiled set of markers. The leftmost one counts, and at one position the longest."""

    __slots__ = ("_marker", "_partial", "longest", "markers")

    def __init__(self, markers: Iterable[str]) -> None:
        self.markers = tuple(sorted({marker for marker in markers if marker}, key=len, reverse=True))
        self.longest = len(self.markers[0]) if self.markers else 0
        root: _Trie = {}
        for marker in self.markers:
            node = root
            for character in marker:
                node = node.setdefault(character, {})
        beginnings = _beginnings(root)
        if self.markers:
            self._marker = re.compile("|".join(map(re.escape, self.markers)))
        else:
            self._marker = _NEVER
        if beginnings:
            self._partial = re.compile(rf"(?:{beginnings})\Z")
        else:
            self._partial = _NEVER

    def find(self, text: str, *, is_last: bool = False) -> tuple[int, str]:
        """The position of the first marker, and which; or, with "", how much of the text has none.

        The rest might still become a marker, or a longer one; not if this ``is_last``.
        """
        match = self._marker.search(text)
        if match is None:
            return len(text) if is_last else self._free(text), ""
        if not is_last and len(text) - match.start() < self.longest:
            free = self._free(text)
            if free <= match.start():
                return free, ""
        return match.start(), match[0]

    def at_start(self, text: str, *, is_last: bool = False) -> str | None:
        """The marker at the beginning of the text, "" for none, or None if that is not certain yet."""
        match = self._marker.match(text)
        if not is_last and len(text) < self.longest:
            partial = self._partial.match(text)
            if partial is not None:
                return None
        if match is not None:
            return match[0]
        return ""

    def _free(self, text: str) -> int:
        partial = self._partial.search(text, max(0, len(text) - self.longest + 1))
        if partial is None:
            return len(text)
        return partial.start()


def _beginnings(node: Mapping[str, Any]) -> str:
    """A pattern for any prefix of a marker, and its continuation."""
    branches: list[str] = []
    for character, rest in node.items():
        if rest:
            more = _beginnings(rest)
            branches.append(re.escape(character) + (f"(?:{more})?" if more else ""))
    return "|".join(branches)


class JsonEnd:
    """Finds the end of one value by its brackets and quotes, reading each character once.

    It does not validate the value.
    """

    __slots__ = ("_begun", "_depth", "_escaped", "_in_string", "is_over")

    def __init__(self) -> None:
        self._begun = False
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self.is_over = False

    def feed(self, text: str) -> int:
        """How much of ``text``, which continues the last, belongs to the value."""
        at = 0
        if not self._begun and text:
            self._begun = True
            if text[0] not in '"{[':
                self._depth = -1
        if self._depth < 0:
            match = _AFTER_SCALAR.search(text)
            if match is None:
                return len(text)
            self.is_over = True
            return match.start()
        while at < len(text):
            if self._escaped:
                self._escaped = False
                at += 1
                continue
            match = (_IN_STRING if self._in_string else _OUTSIDE).search(text, at)
            if match is None:
                return len(text)
            at = match.end()
            if match[0] == "<":
                self.is_over = True
                return match.start()
            if self._mark(match[0]):
                self.is_over = True
                return at
        return len(text)

    def _mark(self, mark: str) -> bool:
        """Whether the value ends with this character."""
        if self._in_string:
            if mark == "\\":
                self._escaped = True
                return False
            self._in_string = False
        elif mark == '"':
            self._in_string = True
            return False
        else:
            self._depth += 1 if mark in "{[" else -1
        return self._depth <= 0


def quote_json(text: str) -> str:
    """A string as JSON."""
    written = encode_basestring(text)
    if written.isascii() or not any("\ud800" <= character <= "\udfff" for character in written):
        return written
    # Half a surrogate pair cannot be encoded, but escaped; the gate will refuse it.
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in written)


def escape_json(text: str) -> str:
    """A piece of a string, escaped for a JSON string."""
    return quote_json(text)[1:-1]


_Place: TypeAlias = Literal["value", "first", "item", "key", "colon", "string", "source", "after"]

_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[^\s,()\[\]{}:\"'=]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORDS = {
    "True": "true", "true": "true", "False": "false", "false": "false", "None": "null", "null": "null",
}  # fmt: skip
_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})"
    r"|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|([0-7]{1,3})|(.))",
    re.DOTALL,
)
_LONGEST_ESCAPE = 12
_SIMPLE = {
    "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "\n": "",
    "\\": "\\", "'": "'", '"': '"',
}  # fmt: skip
_OPENERS = {"[": "]", "(": ")", "{": "}"}
_STRING_STOPS = re.compile(r"[\\\"']")
_NESTED = re.compile(r"\s*[,:\]})]")
_NESTED_SO_FAR = re.compile(r"\s*")
_TOP = re.compile(r"\s*(?:,\s*(?:[^\W\d]\w*\s*=|\))|\)[ \t]*[,;\]<\r\n])")
_TOP_SO_FAR = re.compile(r"\s*(?:,\s*(?:[^\W\d]\w*\s*)?|\)[ \t]*)?")
_MAX_WORD = 512
_MAX_HEX = 0x10FFFF


class PythonValue:
    """One value. ``rest`` is the text after it, once ``is_over``."""

    def __init__(self) -> None:
        self._closers: list[tuple[str, str]] = []
        """The closing bracket of each open list and dict, in Python and in JSON."""
        self._brace: int | None = None
        """The index in ``_out`` of a brace that may open a dict or a set."""
        self._is_last = False
        self._place: _Place = "value"
        self._held = ""
        self._out: list[str] = []
        self._quote = ""
        self._in_key = False
        self._needs_comma = False
        self._source: list[str] = []
        self._depth: list[str] = []
        self._is_broken = False
        self.is_over = False
        self.rest = ""

    def feed(self, text: str, *, is_last: bool = False) -> str:
        """The JSON for this text."""
        self._is_last = is_last
        text = self._held + text
        self._held = ""
        while text and not self.is_over:
            left = self._step(text)
            if left is None:
                self._held = text
                break
            text = left
        if self.is_over:
            self.rest = text
        sure = len(self._out) if self._brace is None or self.is_over else self._brace
        out = self._out[:sure]
        self._out = self._out[sure:]
        self._brace = None if self._brace is None else 0
        return "".join(out)

    @property
    def is_whole(self) -> bool:
        """Whether the whole value was valid."""
        return self.is_over and not self._is_broken

    @property
    def pending(self) -> str:
        """The text that was fed and is not converted yet."""
        return "".join((*self._out, *self._source, self._held.lstrip()))

    def _step(self, text: str) -> str | None:
        """One token, and the rest after it; None to wait for more."""
        match self._place:
            case "string":
                return self._string(text)
            case "source":
                return self._code(text)
            case "after" if not self._closers:
                self.is_over = True
                return text
            case _:
                pass
        text = text[_SPACE.match(text).end() :]  # type: ignore[union-attr]
        if not text:
            return ""
        character = text[0]
        place = self._place
        if place == "colon":
            # After a key; or, without a colon, after the first item of a set, which becomes a list.
            if character == ":":
                self._brace = None
                self._out.append(": ")
                self._place = "value"
                return text[1:]
            if self._brace is None:
                return self._fail(text)
            self._out[self._brace] = "["
            self._brace = None
            self._closers[-1] = ("}", "]")
            self._place = "after"
            return text
        if (
            place in ("first", "item", "key", "after")
            and self._closers
            and character == self._closers[-1][0]
        ):
            self._brace = None
            self._out.append(self._closers.pop()[1])
            self._place = "after"
            return text[1:]
        if place == "after":
            if character == ",":
                self._needs_comma = True
                self._place = "key" if self._closers[-1][1] == "}" else "item"
                return text[1:]
            return self._fail(text)
        return self._open(text, character)

    def _open(self, text: str, character: str) -> str | None:
        """The first token of a value, or a key."""
        self._in_key = self._place == "key"
        if character in "\"'":
            if len(text) < len('"""') and text == character * len(text):
                return None
            self._comma()
            self._quote = character * 3 if text.startswith(character * 3) else character
            self._out.append('"')
            self._place = "string"
            return text[len(self._quote) :]
        if character in _OPENERS and not self._in_key:
            self._comma()
            self._closers.append((_OPENERS[character], "}" if character == "{" else "]"))
            self._place = "key" if character == "{" else "first"
            if character == "{":
                self._brace = len(self._out)
            self._out.append("{" if character == "{" else "[")
            return text[1:]
        match = _WORD.match(text)
        word = match[0] if match is not None else ""
        if len(word) == len(text) and len(word) < _MAX_WORD:
            return None
        follower = text[len(word) : len(word) + 1]
        is_long = len(word) >= _MAX_WORD
        if (not word and follower in ",)]}:=") or (is_long and self._in_key):
            return self._fail(text)
        found = ""
        if not is_long and follower not in "([{\"'=":
            found = _scalar(word)
        self._comma()
        if self._in_key:
            self._out.append(quote_json(word))
            self._in_key = False
            self._place = "colon"
        elif found:
            self._out.append(found)
            self._place = "after"
        else:
            self._source = []
            self._depth = []
            self._place = "source"
            return text
        return text[len(word) :]

    def _comma(self) -> None:
        if self._needs_comma:
            self._out.append(", ")
        self._needs_comma = False

    def _string(self, text: str) -> str | None:
        """Continue a string, as far as it is certain."""
        for match in _STRING_STOPS.finditer(text):
            at = match.start()
            if match[0] == "\\":
                return self._escape(text, at)
            if match[0] != self._quote[0]:
                continue
            ends = self._ends(text, at)
            if ends is None:
                return self._partial(text, at)
            if ends:
                self._out += (escape_json(text[:at]), '"')
                self._place = "colon" if self._in_key else "after"
                self._in_key = False
                return text[at + len(self._quote) :]
        self._out.append(escape_json(text))
        return ""

    def _ends(self, text: str, at: int) -> bool | None:
        """Whether a quote ends the string: models forget to escape inner quotes. None to wait for more.

        After the end comes the next argument, or the end of the enclosing value. So an inner quote is
        taken for the end only if one of these follows it by chance.
        """
        if len(self._quote) > 1:
            if text.startswith(self._quote, at):
                return True
            if self._quote.startswith(text[at:]) and not self._is_last:
                return None
            return False
        rest = text[at + 1 : at + 1 + _MAX_WORD]
        after, so_far = (_NESTED, _NESTED_SO_FAR) if self._closers else (_TOP, _TOP_SO_FAR)
        if after.match(rest):
            return True
        if len(rest) < _MAX_WORD and so_far.fullmatch(rest):
            return self._is_last or None
        return False

    def _partial(self, text: str, at: int) -> str | None:
        if at == 0:
            return None
        self._out.append(escape_json(text[:at]))
        return text[at:]

    def _escape(self, text: str, at: int) -> str | None:
        match = _ESCAPE.match(text, at)
        if (
            not self._is_last
            and len(text) - at < _LONGEST_ESCAPE
            and (match is None or text[at + 1] in "uUx01234567N")
        ):
            whole = re.search(r"[\"']", text[at + 2 :])
            if match is None or whole is None:
                return self._partial(text, at)
        if match is None:
            self._out.append(escape_json(text[: at + 1]))
            return text[at + 1 :]
        self._out.append(escape_json(text[:at] + _decode_escape(match)))
        return text[match.end() :]

    def _code(self, text: str) -> str | None:
        """Continue an expression that is no literal, up to the end of the value."""
        for at, character in enumerate(text):
            if self._depth and self._depth[-1] in "\"'":
                if character == self._depth[-1]:
                    self._depth.pop()
            elif character in "\"'":
                self._depth.append(character)
            elif character in _OPENERS:
                self._depth.append(_OPENERS[character])
            elif self._depth and character == self._depth[-1]:
                self._depth.pop()
            elif not self._depth and character in ",)]}":
                self._out.append(quote_json("".join((*self._source, text[:at])).strip()))
                self._source = []
                self._place = "after"
                return text[at:]
        self._source.append(text)
        return ""

    def _fail(self, text: str) -> str:
        """The text here is invalid: the value is over."""
        self._closers = []
        self._is_broken = True
        self.is_over = True
        return text


def _scalar(word: str) -> str:
    """A number or a keyword as JSON; empty if it is neither."""
    if word in _WORDS:
        return _WORDS[word]
    if _NUMBER.fullmatch(word):
        return word
    for read in (lambda text: int(text, 0), float):
        try:
            value = read(word)
        except ValueError:
            continue
        if isinstance(value, int) or isfinite(value):
            return str(value)
        return ""
    return ""


def _decode_escape(match: re.Match[str]) -> str:
    high, low, four, eight, two, octal, simple = match.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF))
    if octal:
        return chr(int(octal, 8))
    if digits := four or eight or two:
        code = int(digits, 16)
        if code <= _MAX_HEX:
            return chr(code)
        return match[0]
    return _SIMPLE.get(simple, match[0])


def literal(text: str) -> str:
    """A whole text that is one Python literal, as JSON; empty if it is none."""
    value = PythonValue()
    written = value.feed(text.strip() + "\n,", is_last=True)
    if value.is_whole and value.rest.strip() == ",":
        return written
    return ""
