"""Read a call whose arguments are tags named after their keys, down to the scalars.

What a tag holds is told by the schema where that says it, else by what follows: another tag, or text.
Where a string is admitted, all that stands inside is that string. Where no tag stands though one must,
the call ends as far as it came, and the rest is text.
"""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from rightcall.local.families.body import MAX_HEAD, Body, Verdict, head
from rightcall.local.families.draft import Draft
from rightcall.local.families.family import NestedForm
from rightcall.local.families.scanner import Scanner, inner, quoted
from rightcall.local.families.shapes import ANY, STRING, Shapes, Specs, Types, to_json

_Place: TypeAlias = Literal["name", "tags", "tag", "lead", "value"]


class _Level(Struct, gc=False):
    """An object or array that is open: the tag that closes it, and how much it holds."""

    key: str
    schema: Any
    is_array: bool = False
    count: int = 0


class NestedBody(Body):
    """One call."""

    def __init__(self, form: NestedForm, draft: Draft, specs: Specs) -> None:
        super().__init__(draft)
        self._form = form
        self._specs = specs
        self._shapes = Shapes()
        self._prefix = Scanner((form.prefix,))
        self._value = Scanner(())
        self._levels: list[_Level] = []
        self._tag = _Level("", None)
        self._types: Types = ANY
        self._pieces: list[str] = []
        self._place: _Place = "name"

    def finish(self) -> None:
        """The call was not closed."""
        if not self.has_started:
            return
        if self._place == "value":
            held = "".join(self._pieces) + self._text
            self._draft.arguments(inner(held) if self._types == STRING else held)
        elif self._place == "tag":
            self._draft.arguments(self._text)
        self._draft.cut()

    def _step(self) -> Verdict | None:
        match self._place:
            case "name":
                return self._read_name()
            case "tags":
                return self._tags()
            case "tag":
                return self._read_tag()
            case "lead":
                return self._lead()
            case "value":
                return self._read_value()

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
        self._place = "tags"
        return None

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
        self._place = "tag"
        return None

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
            self._place = "tags"
            return None if self._levels else self._done()
        self._open(tag.removeprefix("<").strip())
        return None

    def _open(self, key: str) -> None:
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
        self._pieces = []
        self._place = "lead"

    def _lead(self) -> Verdict | None:
        """Before the first letter of a value, or its first tag."""
        ending = f"{self._form.prefix}</{self._tag.key}>"
        self._value = Scanner((ending,))
        if self._types == STRING:
            self._draft.arguments('"')
            self._place = "value"
            return None
        if not ("string" in self._types and self._types != ANY):
            bare = self._text.lstrip()
            marker = self._prefix.at_start(bare)
            is_near = len(self._text) - len(bare) <= MAX_HEAD
            if (marker is None or bare == marker or not bare) and is_near:
                return "more"
            if marker and is_near and not bare.startswith(marker + "</"):
                return self._nest(bare)
        self._place = "value"
        return None

    def _nest(self, text: str) -> Verdict | None:
        """The value is made of tags: of items, if that is the first one's name and the schema allows."""
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
        self._place = "tags"
        return None

    def _read_value(self) -> Verdict | None:
        at, marker = self._value.find(self._text)
        piece, self._text = self._text[:at], self._text[at + len(marker) :]
        if self._types == STRING:
            self._draft.arguments(inner(piece))
        else:
            self._pieces.append(piece)
        if not marker:
            return "more"
        whole = "".join(self._pieces)
        self._draft.arguments('"' if self._types == STRING else to_json(whole, self._types))
        self._pieces = []
        self._place = "tags"
        return None


def _is_too_long(text: str, at: int) -> bool:
    """Whether what ends at ``at``, or has not ended yet, is longer than any tag."""
    return (at if at >= 0 else len(text)) > MAX_HEAD
