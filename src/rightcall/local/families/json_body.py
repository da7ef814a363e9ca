"""Parses a call that is a JSON object with the name and the arguments inside.

The members may come in any order. Arguments are passed through unchanged; if they come before the name
they are buffered. Arguments that are JSON text in a string are unquoted. If there is no member for
arguments, the other members are used: the gate will find a misspelt key.

Another form is a name followed by JSON arguments (``NamedBody``), which are passed through unchanged,
too.
"""

import re
from collections.abc import Container
from typing import Literal, TypeAlias

import msgspec

from rightcall.local.families.call_body import MAX_HEAD, CallBody, Verdict, is_name
from rightcall.local.families.draft import FamilyReply
from rightcall.local.families.family import Family, JsonForm, NamedForm, Slot
from rightcall.local.families.scanner import JsonEnd, Scanner
from rightcall.local.families.shapes import Specs

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


class ObjectBody(CallBody):
    """One call. ``known``: without markers, the names that may be called without arguments."""

    def __init__(
        self, form: JsonForm, draft: FamilyReply, *, is_bare: bool, known: Container[str]
    ) -> None:
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
            # Continue with a value.
            size = self._end.feed(self._text)
            piece = self._text[:size]
            self._text = self._text[size:]
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
        if not self._skip_space():
            return "more"
        character = self._text[0]
        match self._place:
            case "open":
                return self._take("key", if_it=character == "{", depth=1)
            case "key" if character == '"':
                return self._read_key()
            case "key":
                if character == "}":
                    return self._close()
                return self._bad()
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
            if len(self._text) <= MAX_HEAD and self._may_be_key():
                return "more"
            return self._bad()
        self._key = before[: len(before) - len(self._text)]
        self._role = self._roles.get(key, "other")
        if self._form.is_keyed and self._depth == 1 and not self._name:
            self._name = key
            self._role = "arguments"
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
        written = self._key
        self._key = ""
        if role == "wrapper" and character == "{":
            return self._take("key", depth=1)
        if role in ("name", "wrapper") and character == '"' and not self._name:
            before = self._text
            name = self._string()
            if name is None:
                if len(self._text) <= MAX_HEAD and not (self._is_bare and _is_prose(self._text)):
                    return "more"
                return self._bad()
            if self._is_bare and (not name or _is_prose(name)):
                self._text = before
                return self._bad()
            self._name = name
            self._place = "next"
            self._maybe_start()
            return None
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
        return self._end_call(self._id)

    def _bad(self) -> Verdict:
        """The text here is not JSON. A started call ends here."""
        if not self.has_started:
            return "none"
        if not self._has_arguments:
            self._draft.arguments("".join(self._others))
        self._text = self._key + self._text
        return self._end_call(self._id)

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
        if text[:1] == '"':
            return text.strip('"')
        return text


_NUMBER = re.compile(r":\d+\Z")


class HeadMarkers:
    """The markers of a family's heads, compiled once for all of its calls."""

    def __init__(self, family: Family, form: NamedForm) -> None:
        self.form = form
        ends = (*family.call.close, *family.section.close, *family.call.open, *family.ends)
        if family.channels is not None:
            ends = (*ends, family.channels.start, family.channels.channel, *family.channels.ends)
        self.has_end = bool(family.call.close) or family.channels is not None
        self.slots: dict[str, Slot] = dict(form.marks)
        self.ends = Scanner(ends)
        self.marks = Scanner((*self.slots, "{", *ends))


class NamedBody(CallBody):
    """One call. With a ``name``, its head was parsed already, and nothing comes before it."""

    def __init__(self, heads: HeadMarkers, draft: FamilyReply, specs: Specs, *, name: str = "") -> None:
        super().__init__(draft)
        self._heads = heads
        self._form = heads.form
        self._specs = specs
        self._state = self._read_head
        self._slot: Slot = heads.form.first
        self._found: dict[Slot, str] = {}
        self._size = 0
        self.is_text = False
        """It is no call: the name was the one that marks plain text."""
        if name:
            self._state = self._before
            self._start(name)

    def finish(self) -> None:
        """The arguments are incomplete, or it would have ended."""
        if self._state == self._before and not self.has_started:
            self._begin()
        if not self.has_started:
            return
        if self._state == self._read_raw:
            self._draft.arguments(self._text)
            # Text has no end marker; it ends with the reply.
            self._draft.end()
        else:
            self._draft.cut()

    def _read_head(self) -> Verdict | None:
        at, marker = self._heads.marks.find(self._text)
        found = self._text[:at].strip()
        if self._slot in self._found or (found and not is_name(found)):
            return "none"
        if at + self._size > MAX_HEAD:
            return "none"
        if not marker:
            return "more"
        self._found[self._slot] = found
        self._size += at
        is_slot = marker in self._heads.slots
        self._text = self._text[at + len(marker) if is_slot else at :]
        self._slot = self._heads.slots.get(marker, "arguments")
        if self._slot != "arguments":
            return None
        name = self._found.get("name", "")
        if name and name == self._form.text_name:
            self.is_text = True
            return "done"
        if not is_name(name):
            return "none"
        if self._heads.has_end:
            self._begin()
        return self._to(self._before)

    def _begin(self) -> None:
        name = self._found["name"]
        identity = self._found.get("id", "")
        if self._form.is_numbered:
            identity = name
            name = _NUMBER.sub("", name)
        self._start(self._specs.bare(name, self._form.prefix), identity)

    def _before(self) -> Verdict | None:
        """Before the first character of the arguments."""
        if not self._skip_space():
            return "more"
        marker = self._heads.ends.at_start(self._text)
        if marker is None:
            return "more"
        is_json = self._text[0] == "{"
        if not self.has_started:
            # Without an end marker, anything that follows would be taken for arguments.
            if not marker and not is_json and self._found["name"] not in self._specs.names:
                return "none"
            self._begin()
        if marker:
            self._draft.arguments("{}")
            return self._end_call()
        return self._to(self._read_json if is_json else self._read_raw)

    def _read_json(self) -> Verdict | None:
        if self._pass_json():
            return self._end_call()
        return "more"

    def _read_raw(self) -> Verdict | None:
        at, marker = self._heads.ends.find(self._text)
        self._draft.arguments(self._text[:at])
        self._text = self._text[at:]
        if marker:
            return self._end_call()
        return "more"
