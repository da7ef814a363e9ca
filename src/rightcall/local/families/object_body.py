"""Parses a call that is a JSON object with the name and the arguments inside.

The members may come in any order. Arguments are passed through unchanged; if they come before the name
they are buffered. Arguments that are JSON text in a string are unquoted. If there is no member for
arguments, the other members are used: the gate will find a misspelt key.
"""

import re
from collections.abc import Container
from typing import Literal, TypeAlias

import msgspec

from rightcall.local.families.body import MAX_HEAD, Body, Verdict
from rightcall.local.families.draft import Draft
from rightcall.local.families.family import JsonForm
from rightcall.local.families.scanner import JsonEnd

_Role: TypeAlias = Literal["name", "arguments", "id", "wrapper", "other"]
_Way: TypeAlias = Literal["pass", "unwrap", "id", "other", "skip"]
"""How a value is handled: streamed, streamed without its quotes, buffered, or skipped."""
_Place: TypeAlias = Literal["open", "key", "colon", "value", "inside", "next"]

_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_unescape = msgspec.json.Decoder(str).decode
_PASSABLE = frozenset(("type",))
"""Other members that a call may have, if only its syntax shows that it is one."""
_SILENT = frozenset(('"type"', '"index"'))
"""Members that are not about the arguments."""


class ObjectBody(Body):
    """One call. ``known``: without markers, the names that may be called without arguments."""

    def __init__(self, form: JsonForm, draft: Draft, *, is_bare: bool, known: Container[str]) -> None:
        super().__init__(draft)
        self._form = form
        self._is_bare = is_bare
        self._known = known
        self._roles = _roles(form)
        self._place: _Place = "open"
        self._role: _Role = "other"
        self._depth = 0
        self._name = ""
        self._id = ""
        self._way: _Way = "skip"
        self._pieces: list[str] = []
        """A value that is buffered until it is complete."""
        self._waiting: list[str] = []
        """Arguments that came before the name."""
        self._has_arguments = False
        self._key = ""
        """The raw text of the last key, until its value begins."""
        self._others: list[str] = []
        """The raw text of the other members."""
        self.is_nameless = False
        """It is complete, and names no tool."""

    @property
    def says_nothing(self) -> bool:
        """Whether it has no arguments, and no other member that could be one."""
        return not self._others and not "".join(self._waiting).strip("{} \n\r\t")

    def finish(self) -> None:
        """The object was not closed, or it would have ended."""
        if not self.has_started:
            return
        if not self._has_arguments:
            self._draft.arguments("".join(self._others) + self._key)
        self._draft.cut(self._id)

    def _step(self) -> Verdict | None:
        if self._place == "inside":
            return self._value()
        if not self._skip_space():
            return "more"
        character = self._text[0]
        match self._place:
            case "open":
                return self._take("key", if_it=character == "{", depth=1)
            case "key" if character == '"':
                return self._read_key()
            case "key":
                return self._close() if character == "}" else self._bad()
            case "colon":
                return self._take("value", if_it=character == ":")
            case "value":
                return self._open_value(character)
            case _:
                if character == "}":
                    return self._close()
                return self._take("key", if_it=character == ",")

    def _take(self, then: _Place, *, if_it: bool = True, depth: int = 0) -> Verdict | None:
        if not if_it:
            return self._bad()
        self._text = self._text[1:]
        self._place = then
        self._depth += depth
        return None

    def _read_key(self) -> Verdict | None:
        before = self._text
        key = self._string()
        if key is None:
            return "more" if len(self._text) <= MAX_HEAD and self._may_be_key() else self._bad()
        self._key = before[: len(before) - len(self._text)]
        self._role = self._roles.get(key, "other")
        if self._form.is_keyed and self._depth == 1 and not self._name:
            self._name, self._role = key, "arguments"
        elif self._is_bare and self._role == "other" and key not in _PASSABLE and not self.has_started:
            # The place of an error must not depend on how the text was split.
            self._text = before
            return self._bad()
        self._place = "colon"
        return None

    def _may_be_key(self) -> bool:
        """Whether an incomplete key may be one of a call's, if only those identify it."""
        if not self._is_bare or self.has_started:
            return True
        return any(f'"{key}"'.startswith(self._text) for key in (*self._roles, *_PASSABLE))

    def _open_value(self, character: str) -> Verdict | None:
        role = self._role
        written, self._key = self._key, ""
        if role == "wrapper" and character == "{":
            return self._take("key", depth=1)
        if role in ("name", "wrapper") and character == '"' and not self._name:
            return self._read_name()
        if self._is_bare and (role == "name" or (role == "arguments" and character not in "{n")):
            return self._bad()
        self._way = "id" if role == "id" else "skip"
        if role == "other" and written not in _SILENT:
            self._way = "other"
            self._others.append(f"{', ' if self._others else '{'}{written}: ")
        if role == "arguments" and not self._has_arguments and character != "n":
            self._has_arguments = True
            self._way = "unwrap" if character == '"' else "pass"
            self._maybe_start()
        self._end = JsonEnd()
        self._pieces = []
        self._place = "inside"
        return None

    def _read_name(self) -> Verdict | None:
        before = self._text
        name = self._string()
        if name is None:
            may_be = len(self._text) <= MAX_HEAD and not (self._is_bare and _is_prose(self._text))
            return "more" if may_be else self._bad()
        if self._is_bare and (not name or _is_prose(name)):
            self._text = before
            return self._bad()
        self._name = name
        self._place = "next"
        self._maybe_start()
        return None

    def _value(self) -> Verdict | None:
        """Continue with a value."""
        size = self._end.feed(self._text)
        piece, self._text = self._text[:size], self._text[size:]
        if self._way == "pass":
            self._give(piece)
        elif self._way == "other":
            self._others.append(piece)
        elif self._way != "skip":
            self._pieces.append(piece)
        if not self._end.is_over:
            return "more"
        self._place = "next"
        if self._way == "unwrap":
            self._give(_plain("".join(self._pieces)))
        elif self._way == "id":
            self._id = _plain("".join(self._pieces))
        return None

    def _give(self, piece: str) -> None:
        if self.has_started:
            self._draft.arguments(piece)
        else:
            self._waiting.append(piece)

    def _maybe_start(self) -> None:
        if self._name and (self._has_arguments or not self._is_bare):
            self._begin()

    def _begin(self) -> None:
        if not self.has_started:
            self._start(self._name, self._id)
            self._draft.arguments("".join(self._waiting))
            self._waiting = []

    def _close(self) -> Verdict | None:
        self._text = self._text[1:]
        self._depth -= 1
        self._place = "next"
        if self._depth:
            return None
        self.is_nameless = not self._name and not self._is_bare
        is_known = not self._is_bare or self._has_arguments or self._name in self._known
        if not self._name or not is_known:
            return self._bad()
        self._begin()
        if not self._has_arguments:
            self._draft.arguments("".join((*self._others, "}")) if self._others else "{}")
        return self._done(self._id)

    def _bad(self) -> Verdict:
        """The text here is not JSON. A started call ends here."""
        if not self.has_started:
            return "none"
        if not self._has_arguments:
            self._draft.arguments("".join(self._others))
        self._text = self._key + self._text
        return self._done(self._id)

    def _string(self) -> str | None:
        """The string at the beginning of the text, once it is complete."""
        match = _STRING.match(self._text)
        if match is None or match.end() - 1 > MAX_HEAD:
            return None
        self._text = self._text[match.end() :]
        return _plain(match[0])


def _roles(form: JsonForm) -> dict[str, _Role]:
    roles: dict[str, _Role] = dict.fromkeys(form.wrapper_keys, "wrapper")
    roles.update(dict.fromkeys(form.name_keys, "name"))
    roles.update(dict.fromkeys(form.arguments_keys, "arguments"))
    roles.update(dict.fromkeys(form.id_keys, "id"))
    return roles


def _is_prose(name: str) -> bool:
    return any(character.isspace() for character in name)


def _plain(text: str) -> str:
    """The content of a JSON string; other text unchanged."""
    try:
        return _unescape(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text.strip('"') if text[:1] == '"' else text
