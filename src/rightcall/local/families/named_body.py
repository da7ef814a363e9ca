"""Parses a call that is a name followed by JSON arguments, which are passed through unchanged."""

import re

from rightcall.local.families.body import MAX_HEAD, Body, Verdict, is_name
from rightcall.local.families.draft import Draft
from rightcall.local.families.family import Family, NamedForm, Slot
from rightcall.local.families.scanner import Scanner
from rightcall.local.families.shapes import Specs

_NUMBER = re.compile(r":\d+\Z")


class Heads:
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


class NamedBody(Body):
    """One call. With a ``name``, its head was parsed already, and nothing comes before it."""

    def __init__(self, heads: Heads, draft: Draft, specs: Specs, *, name: str = "") -> None:
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
        slot = self._heads.slots.get(marker, "arguments")
        if marker in self._heads.slots:
            self._text = self._text[at + len(marker) :]
        else:
            self._text = self._text[at:]
        self._slot = slot
        if slot != "arguments":
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
        name, identity = self._found["name"], self._found.get("id", "")
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
            return self._done()
        return self._to(self._read_json if is_json else self._read_raw)

    def _read_json(self) -> Verdict | None:
        return self._done() if self._pass_json() else "more"

    def _read_raw(self) -> Verdict | None:
        at, marker = self._heads.ends.find(self._text)
        self._draft.arguments(self._text[:at])
        self._text = self._text[at:]
        return self._done() if marker else "more"
