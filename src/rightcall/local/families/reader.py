"""Parses the text of a local model's reply, as it is generated, into events and parts.

One state machine for all families. It is always in one of five states: in the answer, in a thought,
between calls, in a call, or in the head of a message. Each takes text and returns what it did not
consume; a possible marker is held back until it is certain. The family's data defines the markers of a
state and their meaning (``marker_table``), and the format of its calls selects their parser (``body``).

Only markers and the white space around them are dropped: what looks like a call and is none is output as
text, or as part of the thought around it. An empty call is nothing but markers (``empty_call``).
"""

from collections.abc import Callable
from typing import TypeAlias

from rightcall.core.events import ModelEvent
from rightcall.core.options import checked
from rightcall.core.tool import Spec
from rightcall.local.families.body import Body
from rightcall.local.families.draft import Draft, Part, Voice
from rightcall.local.families.family import Family, JsonForm
from rightcall.local.families.marker_table import Label, is_fence, is_special, marker_table
from rightcall.local.families.named_body import NamedBody
from rightcall.local.families.object_body import ObjectBody
from rightcall.local.families.opening import HeadedMessage, head_in, is_aside, opened
from rightcall.local.families.section import Section
from rightcall.local.families.shapes import Specs

_State: TypeAlias = Callable[[str], str]

_STEP = 4096
"""Longer text is processed in pieces, so that removing the consumed part stays cheap."""


class Reader:
    """The parser of one reply. Feed it text, split anywhere; it must include special tokens.

    ``tail`` is the end of the prompt: it may have opened a thought or closed it, or begun the answer,
    and what it has begun counts as the model's own. With ``reasoning=False`` thoughts stay in the text,
    markers and all. ``fenced``: the answer was asked for as JSON, and a code fence around it is not part
    of it. ``offered``: only the tools in ``specs`` can be called; unmarked calls of others are text.
    """

    @checked("rc.local.Reader")
    def __init__(
        self,
        family: Family,
        specs: tuple[Spec, ...] = (),
        *,
        tail: str = "",
        reasoning: bool = True,
        fenced: bool = False,
        offered: bool = False,
    ) -> None:
        self._family = family
        self._table = marker_table(family)
        self._specs = Specs(specs, is_closed=offered)
        self._draft = Draft()
        self._voice = Voice(self._draft, reasoning=reasoning, fenced=fenced)
        # States are methods, and are compared with ==: each access makes another bound method.
        self._state: _State = self._prose
        self._home: _State = self._prose
        """The target of text that is not a call after all."""
        self._held = ""
        self._section = Section()
        self._tried = ""
        """The text that the body got before the call was certain."""
        self._body: Body | None = None
        self._label: Label | None = None
        self._is_inline = False
        self._last_kind = ""
        """The kind of message of the last head."""
        self._is_last = False
        # What the prompt has begun is parsed like the reply itself, to find the state; meanwhile markers
        # are not output, since the model did not write them.
        self._in_prompt = True
        self._begin(tail)
        self._in_prompt = False

    @property
    def content(self) -> tuple[Part, ...]:
        """The parts so far, in order. A call that is still open is marked as truncated."""
        return self._draft.parts

    def feed(self, text: str) -> tuple[ModelEvent, ...]:
        """The events that this text completes."""
        for at in range(0, len(text), _STEP):
            self._run(text[at : at + _STEP])
        return self._draft.take()

    def finish(self) -> tuple[ModelEvent, ...]:
        """The events that only the end of the reply completes."""
        self._is_last = True
        self._run("")
        if self._state in (self._call, self._at_call) and self._body is not None:
            self._body.finish()
            if not self._body.has_started and (self._tried.strip() or not is_special(self._section.raw)):
                self._give(self._section.raw + self._tried)
        elif self._state in (self._gap, self._at_section):
            self._give(self._section.said)
        self._voice.finish()
        return self._draft.take()

    def _run(self, text: str) -> None:
        text = self._held + text
        self._held = ""
        while text:
            text = self._state(text)

    def _begin(self, tail: str) -> None:
        begins = opened(self._family, tail)
        labels = [self._table.labels[author] for author in self._family.authors]
        if labels:
            self._label, self._state = labels[0], self._labelled
        elif begins.in_head:
            self._state = self._head
        elif begins.in_thought:
            self._think("")
        self._run(begins.text)
        if self._draft.is_empty:
            self._draft.forget_space()

    def _hold(self, text: str) -> str:
        self._held = text
        return ""

    # In the answer.

    def _prose(self, text: str) -> str:
        at, marker = self._table.prose.find(text, is_last=self._is_last)
        if at:
            self._voice.say(text[:at])
        if not marker:
            return self._hold(text[at:])
        self._home = self._prose
        return self._act(marker, text[at + len(marker) :])

    def _act(self, marker: str, rest: str) -> str:
        """Handle a marker of the answer."""
        match self._table.prose_kinds[marker]:
            case "thought":
                self._think(marker)
            case "thought_end":
                self._voice.stray(marker, in_prompt=self._in_prompt)
            case "head":
                self._section = Section(marker)
                self._state = self._head
            case "section":
                self._open_section(Section(marker, is_open=True, opener=marker), marker)
            case "call":
                self._open_call(marker)
            case "object":
                is_own = isinstance(self._family.form, JsonForm)
                body = None if is_own else self._table.json_body(self._draft, self._specs, is_bare=True)
                self._open_call("", is_bare=True, body=body)
                return marker + rest
            case "list":
                self._is_inline = not self._voice.at_line_start
                self._open_section(Section("[", is_open=True))
            case "label":
                self._label, self._state = self._table.labels[marker], self._labelled
            case _:
                pass
        return rest

    def _give(self, text: str) -> None:
        """Output text."""
        if self._home == self._thought:
            self._voice.ponder(text)
        else:
            self._voice.say(text)

    # In a thought.

    def _think(self, marker: str) -> None:
        self._state = self._home = self._thought
        self._voice.open_thought(marker, in_prompt=self._in_prompt)

    def _thought(self, text: str) -> str:
        at, marker = self._table.thought.find(text, is_last=self._is_last)
        self._voice.ponder(text[:at])
        if not marker:
            return self._hold(text[at:])
        rest = text[at + len(marker) :]
        if marker in self._table.thought_ends:
            self._state = self._home = self._prose
            self._voice.close_thought(marker, in_prompt=self._in_prompt)
            return rest
        if marker not in self._table.stays:
            # An unclosed thought is over; before a call, if there is one.
            self._voice.leave_thought()
            if self._table.prose_kinds[marker] not in ("section", "call"):
                self._state = self._home = self._prose
                return marker + rest
        return self._act(marker, rest)

    # Between calls.

    def _open_section(self, section: Section, marker: str = "") -> None:
        self._section = section
        # A fence around nothing may be part of an answer.
        self._state = self._at_section if marker and not is_fence(marker) else self._gap

    def _at_section(self, text: str) -> str:
        """Directly after the marker of a section, which may have nothing in it."""
        return self._unless_empty(text, self._gap)

    def _unless_empty(self, text: str, then: _State) -> str:
        found = self._table.empty_call.find(text, in_call=then == self._call, is_last=self._is_last)
        if found is None:
            return self._hold(text)
        size, close = found
        self._state = self._gap if size else then
        if size:
            self._section.end_empty(close, self._family)
        return text[size:]

    def _gap(self, text: str) -> str:
        section = self._section
        text = section.after_space(text)
        if section.is_lost:
            return self._no_call(text)
        if not text:
            return ""
        marker = self._table.gap.at_start(text, is_last=self._is_last)
        if marker is None:
            return self._hold(text)
        rest = text[len(marker) :]
        kind = self._table.gap_kinds[marker] if marker else ""
        if kind == "section_end" and marker in self._family.section.open and not section.has_called:
            # A code fence both opens and closes: before the first call it can only have opened.
            kind = "section"
        match kind:
            case "section":
                # A call ends the thought that it is in.
                self._home = self._prose if section.has_called else self._home
                self._open_section(section.add(marker), marker)
            case "call":
                self._open_call(marker)
            case "section_end" | "call_end" if section.end(kind):
                pass
            case "":
                return self._unmarked(text)
            case _:
                section.raw = section.said if kind == "drop" else section.raw
                return self._no_call(text)
        return rest

    def _unmarked(self, text: str) -> str:
        """Between calls, where there is no marker."""
        section = self._section
        if not section.is_open:
            return self._no_call(text)
        if text[0] == "]":
            return text[1:] if section.end_list(self._family) else self._no_call(text[1:])
        if text[0] == "[":
            section.raw += "["
            return text[1:]
        # If a bare name begins a call, a name after a call cannot be told from a sentence.
        is_sentence = self._table.heads is not None and section.has_called
        if self._table.begins_body(text[0]) and not is_sentence:
            self._open_call("", is_bare=self._family.is_bare and section.raw.strip() in ("", "["))
            return text
        if text[0] == "{":
            body = self._table.json_body(self._draft, self._specs, is_bare=False)
            self._open_call("", body=body)
            return text
        return self._no_call(text)

    def _no_call(self, text: str) -> str:
        """What follows belongs to the answer, or to the thought around it."""
        raw, self._section.raw = self._section.raw, ""
        self._go_home()
        # White space after nothing but markers comes before the answer.
        if self._draft.is_empty and raw.isspace():
            return text
        self._give(raw)
        return text

    def _go_home(self) -> None:
        # A call ends the thought that it is in.
        if self._section.has_called:
            self._home = self._prose
        self._state = self._home

    # In a call.

    def _open_call(self, marker: str, *, is_bare: bool = False, body: Body | None = None) -> None:
        if self._state != self._gap:
            self._section = Section(is_open=is_bare)
        self._section.raw += marker
        self._tried = ""
        # Inside of a sentence, f(a=1) is a call only if there is such a tool.
        names = self._specs.names if is_bare and self._is_inline else None
        self._body = body or self._table.body(self._draft, self._specs, is_bare=is_bare, names=names)
        self._state = self._at_call if marker and self._family.call.close else self._call

    def _at_call(self, text: str) -> str:
        """Directly after the marker of a call, which may have nothing in it."""
        return self._unless_empty(text, self._call)

    def _call(self, text: str) -> str:
        body = self._body
        assert body is not None
        if not body.has_started:
            self._tried += text
        undo = self._draft.before() if self._specs.is_closed and not body.has_started else None
        verdict = body.feed(text)
        if body.has_started and undo and not self._section.is_meant(self._draft.called, self._specs):
            undo()
            return self._was_none(self._tried)
        if body.has_started:
            self._section.raw = self._tried = ""
            self._section.has_called = True
        if verdict == "none":
            if isinstance(body, ObjectBody) and body.is_nameless and self._section.opener:
                return self._was_nameless(body)
            return self._was_none(body.rest)
        if verdict == "done":
            self._state = self._gap
            if isinstance(body, NamedBody) and body.is_text:
                self._section.raw = self._tried = ""
                self._state = self._home = self._prose
        return body.rest

    def _was_nameless(self, body: ObjectBody) -> str:
        """A marked object that names no tool: its markers are none of the answer, what it says is."""
        self._section.raw = ""
        said = "" if body.says_nothing else self._tried[: len(self._tried) - len(body.rest)]
        self._give(said)
        self._tried, self._state = "", self._gap
        return body.rest

    def _was_none(self, rest: str) -> str:
        text, rest = self._section.not_called(self._tried, rest)
        self._tried = ""
        self._go_home()
        self._give(text)
        return rest

    # After a marker that a label belongs to, and in the head of a message.

    def _labelled(self, text: str) -> str:
        assert self._label is not None
        found = self._label.read(text, is_last=self._is_last)
        if found is None:
            return self._hold(text)
        self._state = self._home
        self._give(found[0])
        return found[1]

    def _head(self, text: str) -> str:
        channels, raw = self._family.channels, self._section.raw
        assert channels is not None
        found = head_in(channels, self._table.message, raw, text, is_last=self._is_last)
        if found is None:
            return self._hold(text)
        self._section.raw = ""
        head, rest = found
        if head is not None:
            self._address(head)
        else:
            self._state = self._prose
            self._voice.say(raw)
        return rest

    def _address(self, found: HeadedMessage) -> None:
        """Handle the head of the message that follows."""
        self._home = self._prose
        match found.kind:
            case "thought":
                if self._last_kind == "thought":
                    self._voice.ponder("\n")
                self._think(found.shown)
            case "call" if is_aside(found, self._specs):
                self._draft.open_aside(found.name)
                self._state = self._aside
            case "call":
                self._open_section(Section())
                if self._table.heads is not None:
                    self._section.has_called = True
                    name = self._specs.bare(found.name, found.prefix)
                    self._body = NamedBody(self._table.heads, self._draft, self._specs, name=name)
                    self._state = self._call
            case _:
                self._state = self._prose
                if self._last_kind == "text" and self._draft.has_text:
                    # Two consecutive messages to the same recipient are two lines.
                    self._voice.say("\n")
        self._last_kind = found.kind

    def _aside(self, text: str) -> str:
        """A message to a tool of the model's maker that was not offered: kept, but not output."""
        at, marker = self._table.ends.find(text, is_last=self._is_last)
        self._draft.aside(text[:at])
        if not marker:
            return self._hold(text[at:])
        self._state = self._prose
        return text[at:]
