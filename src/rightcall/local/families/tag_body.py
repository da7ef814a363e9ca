"""Parses a call whose arguments are between tags, and types its values by the tool's schema."""

from collections.abc import Sequence
from functools import lru_cache
from html import unescape
from typing import Any

from msgspec import Struct

from rightcall.local.families.call_body import MAX_HEAD, State, TypedBody, Verdict, head
from rightcall.local.families.draft import FamilyReply
from rightcall.local.families.family import Family, NestedForm, TagForm
from rightcall.local.families.scanner import Scanner, quote_json
from rightcall.local.families.shapes import ANY, STRING, Specs

_CDATA = "<![CDATA["
_CDATA_END = "]]>"


class TagMarkers:
    """The markers of a family's tags, compiled once for all of its calls."""

    def __init__(self, family: Family, form: TagForm) -> None:
        self.form = form
        self.closes = frozenset((*family.call.close, *form.raw.close))
        ends = (*family.call.close, *family.section.close, *family.call.open, *family.section.open)
        self.name = Scanner((form.name_close, form.key_open, *family.call.close))
        self._cut = tuple(
            f"\n{close}{between}{end}"
            for close in family.call.close
            for end in family.section.close
            for between in ("", "\n")
        )
        self.key = Scanner((form.key_close,))
        self.key_opens = frozenset((form.key_open, *form.other_key_opens))
        self.between = Scanner((*self.key_opens, *form.raw.open, *ends))
        self.second = Scanner((form.value_open,))
        self.value_closes = frozenset(_value_ends(form))
        self.value = Scanner(self.value_closes)
        self.cdata = Scanner((_CDATA,))
        self.cdata_end = Scanner((_CDATA_END,))
        self.raw = Scanner(form.raw.close)

    @lru_cache(maxsize=256)  # noqa: B019 - one for each family, and those stay
    def value_of(self, keys: frozenset[str]) -> Scanner:
        """The end of a value that may be unclosed: before another key, or the end of the call."""
        others = (f"\n{self.form.key_open}{key}{self.form.key_close}" for key in keys)
        return Scanner((*_value_ends(self.form), *others, *self._cut))


def _value_ends(form: TagForm) -> Sequence[str]:
    if form.is_on_lines:
        return (f"\n{form.value_close}", form.value_close)
    return (form.value_close,)


class TagBody(TypedBody):
    """One call."""

    def __init__(self, tags: TagMarkers, draft: FamilyReply, specs: Specs) -> None:
        super().__init__(draft, specs)
        self._tags = tags
        self._form = tags.form
        self._state = self._read_name
        self._key = ""
        self._junk: list[str] = []
        """Text between the tags that is no tag; it is output as text."""
        self._count = 0
        self._ends = tags.value

    def finish(self) -> None:
        """The call was not closed. Held back text is added to its current place."""
        if not self.has_started:
            return
        if self._state == self._skip_junk:
            self._junk.append(self._text)
        elif self._state in (self._read_value, self._read_cdata):
            self._cut_value()
        elif self._state not in (self._between, self._second, self._lead):
            self._draft.arguments(self._text)
        self._draft.cut()
        self._draft.text("".join(self._junk))

    def _read_name(self) -> Verdict | None:
        self._skip_space()
        at, marker = self._tags.name.find(self._text)
        if at > MAX_HEAD:
            return "none"
        if not marker:
            return "more"
        whole = self._text[:at].rstrip()
        found = head(whole)
        if not found.is_valid:
            return "none"
        name = self._plain(found.name)
        self._text = self._text[at:]
        if marker == self._form.name_close:
            self._text = self._text[len(marker) :]
        name = self._specs.name(name)
        self._shapes = self._specs.shapes(name)
        if self._form.is_on_lines:
            self._ends = self._tags.value_of(self._shapes.keys)
        self._start(name)
        if self._form.is_quoted and whole.endswith("/"):
            return self._close("")
        return self._to(self._between)

    def _plain(self, name: str) -> str:
        if self._form.is_escaped:
            return unescape(name)
        return name

    def _between(self) -> Verdict | None:
        if not self._skip_space():
            return "more"
        marker = self._tags.between.at_start(self._text)
        if marker is None:
            return "more"
        if marker in self._tags.key_opens:
            state: State = self._read_key
        elif marker in self._form.raw.open and not self._count:
            state = self._read_raw
        elif marker:
            return self._close(marker)
        else:
            is_json = self._text[0] == "{" and not self._count
            state = self._read_json if is_json else self._skip_junk
        self._text = self._text[len(marker) :]
        return self._to(state)

    def _skip_junk(self) -> Verdict | None:
        """Up to the next tag."""
        at, marker = self._tags.between.find(self._text)
        self._junk.append(self._text[:at])
        self._text = self._text[at:]
        if marker:
            return self._to(self._between)
        return "more"

    def _close(self, marker: str) -> Verdict:
        if marker in self._tags.closes:
            self._text = self._text[len(marker) :]
        if self._count >= 0:
            self._draft.arguments("}" if self._count else "{}")
        self._end_call()
        self._draft.text("".join(self._junk))
        return "done"

    def _read_key(self) -> Verdict | None:
        at, marker = self._tags.key.find(self._text)
        if at > MAX_HEAD:
            # No key is that long; it is part of the text.
            self._junk.append(self._form.key_open)
            return self._to(self._skip_junk)
        if not marker:
            return "more"
        found = head(self._text[:at])
        self._text = self._text[at + len(marker) :]
        self._key = self._plain(found.name)
        self._types = self._shapes.types(self._shapes.parameter(self._key))
        attribute = self._form.attribute
        if attribute and (said := found.attributes.get(attribute, "")):
            # The schema overrides the model: a type that it does not allow is ignored.
            if said != ("true" if attribute == "string" else "string"):
                self._types = self._types - STRING or self._types
            elif "string" in self._types:
                self._types = STRING
        if self._form.value_open:
            return self._to(self._second)
        return self._write_key()

    def _write_key(self) -> Verdict | None:
        self._draft.arguments(f"{', ' if self._count else '{'}{quote_json(self._key)}: ")
        self._count += 1
        return self._to(self._lead)

    def _second(self) -> Verdict | None:
        """Before the second tag, which comes before the value."""
        if not self._skip_space():
            return "more"
        marker = self._tags.second.at_start(self._text)
        if marker is None:
            return "more"
        if not marker:
            self._junk.append(f"{self._form.key_open}{self._key}{self._form.key_close}")
            return self._to(self._between)
        self._text = self._text[len(marker) :]
        return self._write_key()

    def _lead(self) -> Verdict | None:
        """Before the first character of a value."""
        if not self._text:
            return "more"
        state: State = self._read_value
        if self._form.has_cdata:
            bare = self._text.lstrip()
            marker = self._tags.cdata.at_start(bare) if bare else None
            is_near = len(self._text) - len(bare) <= MAX_HEAD
            if marker is None and is_near:
                return "more"
            if marker and is_near:
                self._text = bare[len(marker) :]
                state = self._read_cdata
        elif self._form.is_on_lines and self._text[0] == "\n":
            at_end = self._ends.at_start(self._text)
            if at_end is None:
                return "more"
            self._text = self._text if at_end else self._text[1:]
        self._open_value()
        return self._to(state)

    def _read_cdata(self) -> Verdict | None:
        at, marker = self._tags.cdata_end.find(self._text)
        self._add(self._text[:at])
        self._text = self._text[at + len(marker) :]
        if marker:
            return self._to(self._read_value)
        return "more"

    def _read_value(self) -> Verdict | None:
        at, marker = self._ends.find(self._text)
        # An unclosed value ends before another key's tag, which is still to be parsed.
        size = len(marker) if marker in self._tags.value_closes else 0
        self._add(self._text[:at])
        self._text = self._text[at + size :]
        if not marker:
            return "more"
        self._close_value()
        return self._to(self._between)

    def _read_raw(self) -> Verdict | None:
        """Arguments that are one JSON text, between markers of their own."""
        at, marker = self._tags.raw.find(self._text)
        self._draft.arguments(self._text[:at])
        self._text = self._text[at + len(marker) :]
        if marker:
            return self._end_arguments()
        return "more"

    def _read_json(self) -> Verdict | None:
        """Arguments that are one JSON text, where tags were expected."""
        if self._pass_json():
            return self._end_arguments()
        return "more"

    def _end_arguments(self) -> Verdict | None:
        """All arguments were given at once."""
        self._count = -1
        return self._to(self._between)


class _Level(Struct, gc=False):
    """An open object or array: its closing tag, and its number of members."""

    key: str
    schema: Any
    is_array: bool = False
    count: int = 0


class NestedBody(TypedBody):
    """One call.

    Its arguments are tags named after their keys, down to the scalars. The schema determines a tag's
    content, if it can; otherwise what follows does: another tag, or text. If a string is allowed, the
    whole content is that string. If a required tag is missing, the call ends there, and the rest is
    text.
    """

    def __init__(self, form: NestedForm, draft: FamilyReply, specs: Specs) -> None:
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
            return self._end_call()
        self._text = self._text[len(marker) :]
        return self._to(self._read_tag)

    def _read_tag(self) -> Verdict | None:
        at = self._text.find(">")
        if _is_too_long(self._text, at):
            self._text = self._form.prefix + self._text
            return self._end_call()
        if at < 0:
            return "more"
        tag = self._text[:at]
        self._text = self._text[at + 1 :]
        if tag.startswith("</"):
            if tag[2:].strip() != self._levels[-1].key:
                self._text = f"{self._form.prefix}{tag}>{self._text}"
                return self._end_call()
            level = self._levels.pop()
            self._draft.arguments("]" if level.is_array else "}")
            if self._levels:
                return self._to(self._tags)
            return self._end_call()
        # A tag of a member or an item.
        key = tag.removeprefix("<").strip()
        level = self._levels[-1]
        comma = ", " if level.count else ""
        level.count += 1
        if level.is_array:
            schema = self._shapes.item(level.schema)
            self._draft.arguments(comma)
        else:
            schema = self._shapes.member(level.schema, key)
            self._draft.arguments(f"{comma}{quote_json(key)}: ")
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
                # The value is made of tags: of items, if the first is named so and the schema allows
                # it.
                at = bare.find(">", len(self._form.prefix))
                if _is_too_long(bare, at):
                    return self._end_call()
                if at < 0:
                    return "more"
                first = bare[len(self._form.prefix) + 1 : at].strip()
                is_item = first == self._form.item
                self._tag.is_array = "array" in self._types and (is_item or "object" not in self._types)
                self._draft.arguments("[" if self._tag.is_array else "{")
                self._levels.append(self._tag)
                self._text = bare
                return self._to(self._tags)
        self._open_value()
        return self._to(self._read_value)

    def _read_value(self) -> Verdict | None:
        at, marker = self._value.find(self._text)
        self._add(self._text[:at])
        self._text = self._text[at + len(marker) :]
        if not marker:
            return "more"
        self._close_value()
        return self._to(self._tags)


def _is_too_long(text: str, at: int) -> bool:
    """Whether the text up to ``at``, or the whole if it has no end yet, is longer than any tag."""
    return (at if at >= 0 else len(text)) > MAX_HEAD
