"""Parses a call whose arguments are tags named after their keys, down to the scalars.

The schema determines a tag's content, if it can; otherwise what follows does: another tag, or text. If a
string is allowed, the whole content is that string. If a required tag is missing, the call ends there,
and the rest is text.
"""

from typing import Any

from msgspec import Struct

from rightcall.local.families.body import MAX_HEAD, TypedBody, Verdict, head
from rightcall.local.families.draft import Draft
from rightcall.local.families.family import NestedForm
from rightcall.local.families.scanner import Scanner, quoted
from rightcall.local.families.shapes import ANY, Specs


class _Level(Struct, gc=False):
    """An open object or array: its closing tag, and its number of members."""

    key: str
    schema: Any
    is_array: bool = False
    count: int = 0


class NestedBody(TypedBody):
    """One call."""

    def __init__(self, form: NestedForm, draft: Draft, specs: Specs) -> None:
        super().__init__(draft, specs)
        self._form = form
        self._prefix = Scanner((form.prefix,))
        self._value = Scanner(())
        self._levels: list[_Level] = []
        self._tag = _Level("", None)
        self._state = self._read_name

    def finish(self) -> None:
        """The call was not closed."""
        if not self.has_started:
            return
        if self._state == self._read_value:
            self._cut_value()
        elif self._state == self._read_tag:
            self._draft.arguments(self._text)
        self._draft.cut()

    def _read_name(self) -> Verdict | None:
        at = self._text.find(self._form.name_close)
        if _is_too_long(self._text, at):
            return "none"
        if at < 0:
            return "more"
        found = head(self._text[:at])
        if not found.is_valid:
            return "none"
        self._text = self._text[at + len(self._form.name_close) :]
        self._start(found.name)
        self._shapes = self._specs.shapes(found.name)
        self._draft.arguments("{")
        self._levels = [_Level("invoke", self._shapes.root)]
        return self._to(self._tags)

    def _tags(self) -> Verdict | None:
        """Between the tags of an object or array."""
        if not self._skip_space():
            return "more"
        marker = self._prefix.at_start(self._text)
        if marker is None:
            return "more"
        if not marker:
            return self._done()
        self._text = self._text[len(marker) :]
        return self._to(self._read_tag)

    def _read_tag(self) -> Verdict | None:
        at = self._text.find(">")
        if _is_too_long(self._text, at):
            self._text = self._form.prefix + self._text
            return self._done()
        if at < 0:
            return "more"
        tag, self._text = self._text[:at], self._text[at + 1 :]
        if tag.startswith("</"):
            if tag[2:].strip() != self._levels[-1].key:
                self._text = f"{self._form.prefix}{tag}>{self._text}"
                return self._done()
            level = self._levels.pop()
            self._draft.arguments("]" if level.is_array else "}")
            return self._to(self._tags) if self._levels else self._done()
        return self._open(tag.removeprefix("<").strip())

    def _open(self, key: str) -> Verdict | None:
        """A tag of a member or an item."""
        level = self._levels[-1]
        comma = ", " if level.count else ""
        level.count += 1
        if level.is_array:
            schema = self._shapes.item(level.schema)
            self._draft.arguments(comma)
        else:
            schema = self._shapes.member(level.schema, key)
            self._draft.arguments(f"{comma}{quoted(key)}: ")
        self._tag = _Level(key, schema)
        self._types = self._shapes.types(schema)
        return self._to(self._lead)

    def _lead(self) -> Verdict | None:
        """Before the first character of a value, or its first tag."""
        ending = f"{self._form.prefix}</{self._tag.key}>"
        self._value = Scanner((ending,))
        # Tags are only looked for if the schema does not allow text here.
        if "string" not in self._types or self._types == ANY:
            bare = self._text.lstrip()
            marker = self._prefix.at_start(bare)
            is_near = len(self._text) - len(bare) <= MAX_HEAD
            if (marker is None or bare == marker or not bare) and is_near:
                return "more"
            if marker and is_near and not bare.startswith(marker + "</"):
                return self._nest(bare)
        self._open_value()
        return self._to(self._read_value)

    def _nest(self, text: str) -> Verdict | None:
        """The value is made of tags: of items, if the first is named so and the schema allows it."""
        at = text.find(">", len(self._form.prefix))
        if _is_too_long(text, at):
            return self._done()
        if at < 0:
            return "more"
        first = text[len(self._form.prefix) + 1 : at].strip()
        is_item = first == self._form.item
        self._tag.is_array = "array" in self._types and (is_item or "object" not in self._types)
        self._draft.arguments("[" if self._tag.is_array else "{")
        self._levels.append(self._tag)
        self._text = text
        return self._to(self._tags)

    def _read_value(self) -> Verdict | None:
        at, marker = self._value.find(self._text)
        piece, self._text = self._text[:at], self._text[at + len(marker) :]
        self._add(piece)
        if not marker:
            return "more"
        self._close_value()
        return self._to(self._tags)


def _is_too_long(text: str, at: int) -> bool:
    """Whether the text up to ``at``, or the whole if it has no end yet, is longer than any tag."""
    return (at if at >= 0 else len(text)) > MAX_HEAD
