"""Parses the text of a local model's reply, as it is generated, into events and parts.

One state machine for all families. It is always in one of five states: in the answer, in a thought,
between calls, in a call, or in the head of a message. Each takes text and returns what it did not
consume; a possible marker is held back until it is certain. The family's data defines the markers of a
state and their meaning (``marker_table``), and the format of its calls selects their parser (``body``).

Only markers and the white space around them are dropped: what looks like a call and is none is output as
text, or as part of the thought around it. An empty call is nothing but markers (``empty_call``).
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.core.events import ModelEvent
from rightcall.core.options import check_keywords
from rightcall.core.tool import Spec
from rightcall.local.families.call_body import MAX_HEAD, CallBody
from rightcall.local.families.draft import DraftWriter, FamilyReply, Part
from rightcall.local.families.family import Channels, Family, JsonForm
from rightcall.local.families.json_body import NamedBody, ObjectBody
from rightcall.local.families.marker_table import (
    Kind,
    MarkerLabel,
    is_call_marker,
    is_fence,
    is_special,
    marker_table,
)
from rightcall.local.families.scanner import Scanner
from rightcall.local.families.shapes import Specs

_RECIPIENT = re.compile(r"\bto=([^\s<]+)")
_TYPES = "json|code|text"


class ReplyStart(Struct, frozen=True, gc=False):
    """The part of a reply in which it begins."""

    text: str = ""
    """The part of the model's turn that the prompt already contains."""
    in_thought: bool = False
    in_head: bool = False


def parse_prompt_tail(family: Family, tail: str) -> ReplyStart:
    """The part of the reply that the prompt has begun.

    It is the text after the start of the model's turn. In an unknown template that start cannot be
    found, and only an opened thought counts.
    """
    if not tail:
        return ReplyStart(in_thought=family.thinking == "opened", in_head=family.channels is not None)
    start = -1
    for turn in family.turn:
        at = tail.rfind(turn)
        if at >= 0:
            start = max(start, at + len(turn))
    if start >= 0 and family.channels is not None:
        # Where the trailing messages of the model begin: a turn may have several.
        turn = family.turn[0]
        own = -1
        at = tail.find(family.channels.start)
        while at >= 0:
            if not tail.startswith(turn, at):
                own = -1
            elif own < 0:
                own = at + len(turn)
            at = tail.find(family.channels.start, at + 1)
        start = own
    if start >= 0:
        # Thoughts that only the prompt can open have been opened.
        return ReplyStart(
            tail[start:],
            in_thought=family.thinking == "opened" and not family.thoughts.open,
            in_head=family.channels is not None,
        )
    if family.shows_specs == "template":
        return ReplyStart(tail)
    last = max((tail.rfind(marker) for marker in family.thoughts.open), default=-1)
    if last < 0:
        return ReplyStart()
    return ReplyStart(tail[last:])


def answering(family: Family) -> str:
    """A prompt's end after which a reply of this family begins with its answer, or a call."""
    if family.thinking == "opened":
        return family.turn[0] + "".join(family.thoughts.close[:1])
    if family.channels is None:
        return ""
    return family.turn[0]


class HeadedMessage(Struct, frozen=True, gc=False):
    """The kind of message after a head."""

    kind: Literal["text", "thought", "call"]
    name: str = ""
    """The called tool, as written: a prefix may be part of it."""
    prefix: str = ""
    """A prefix that may come before that name without being part of it."""
    is_hosted: bool = False
    """Whether the tool is one of the model's maker, and not an offered one."""
    shown: str = ""
    """The head's text, for thoughts that are kept in the text."""


def is_aside(found: HeadedMessage, specs: Specs) -> bool:
    """Whether a message is to a tool that was not offered."""
    if specs.is_closed:
        return specs.name(specs.bare(found.name, found.prefix)) not in specs.names
    return found.is_hosted and not specs.names


def head_in(
    channels: Channels, end: Scanner, raw: str, text: str, *, is_last: bool
) -> tuple[HeadedMessage | None, str] | None:
    """The head that began with ``raw`` and goes on up to its ``end``, and the text after it.

    With None for the head, there is none; None alone if that is not certain yet.
    """
    at, marker = end.find(text, is_last=is_last)
    # Its last word may be incomplete.
    if not marker and not is_last and at <= MAX_HEAD and _beginning(channels).fullmatch(raw + text[:at]):
        return None
    if marker and at <= MAX_HEAD:
        head = message(channels, raw + text[:at])
        if head is not None:
            return head, text[at + len(marker) :]
    return None, text


@lru_cache(maxsize=16)
def _beginning(channels: Channels) -> re.Pattern[str]:
    return re.compile(rf"{_form(channels).pattern}\S*")


def message(channels: Channels, text: str) -> HeadedMessage | None:
    """Parses a head; None if it has other content and so is none.

    A recipient, a channel and a type of content may come in any order; the last of each counts.
    """
    if not _form(channels).fullmatch(text):
        return None
    recipients = _RECIPIENT.findall(text)
    recipient = recipients[-1] if recipients else ""
    channel = ""
    if channels.channel and channels.channel in text:
        channel = text.rsplit(channels.channel, 1)[1].split("<", 1)[0].strip().split(" ", 1)[0]
    is_thought = channel in channels.thoughts or recipient in channels.thoughts
    if recipient and recipient not in (*channels.nobody, *channels.thoughts):
        tool = recipient.removeprefix(channels.prefix)
        is_hosted = tool.split(".", 1)[0] in channels.hosted
        return HeadedMessage("call", recipient, channels.prefix, is_hosted)
    if not is_thought:
        return HeadedMessage("text")
    shown = text.removeprefix(channels.start).removeprefix("assistant") + channels.message
    return HeadedMessage("thought", shown=shown)


@lru_cache(maxsize=16)
def _form(channels: Channels) -> re.Pattern[str]:
    start = rf"(?:{re.escape(channels.start)}[\w.:-]*)?"
    channel = r"(?!)"
    if channels.channel:
        channel = rf"{re.escape(channels.channel)}[\w.-]*"
    constrain = r"(?!)"
    if channels.constrain:
        constrain = rf"{re.escape(channels.constrain)}[\w./+-]*"
    return re.compile(rf"{start}(?:\s*(?:to=[^\s<]+|{channel}|{constrain}|\b(?:{_TYPES})\b))*\s*")


_MAX_GAP = 4096
"""The most white space before another call."""
_MAX_AGAIN = 4096
"""How many characters of a failed call are searched again for another call inside."""
_SPACE = re.compile(r"\s*")
_SEPARATORS = re.compile(r"[\s,;]*")


class Section:
    """One section, from its first marker on.

    It decides which markers are text if no call follows, and which never are: those of an empty section
    that was opened and closed, and special tokens before the end of the turn.
    """

    __slots__ = ("has_called", "is_open", "opener", "raw")

    def __init__(self, raw: str = "", *, is_open: bool = False, opener: str = "") -> None:
        self.raw = raw
        """What is text if no call follows: markers and separators."""
        self.is_open = is_open
        self.opener = "" if is_fence(opener) else opener
        """The marker that opened it, if calls must follow: a fence may contain an answer."""
        self.has_called = False

    def after_space(self, text: str) -> str:
        """Consume separators of calls; returns the rest."""
        pattern = _SEPARATORS if self.is_open else _SPACE
        size = pattern.match(text, 0, _MAX_GAP - len(self.raw)).end()  # type: ignore[union-attr]
        self.raw += text[:size]
        return text[size:]

    @property
    def is_lost(self) -> bool:
        """Whether there is too much text here for another call to follow."""
        return len(self.raw) >= _MAX_GAP

    def add(self, marker: str) -> "Section":
        """The section after another opening marker: the same, as long as there was no call."""
        if self.has_called or not self.raw:
            return Section(marker, is_open=True, opener=marker)
        self.raw += marker
        self.is_open = True
        return self

    def end(self, kind: Kind | Literal[""]) -> bool:
        """Consume a marker that closes a call or the section; returns whether it is this section's."""
        if not (self.has_called or (self.opener and self.is_open)):
            return False
        self.raw = ""
        self.is_open = self.is_open and kind == "call_end"
        return True

    def end_list(self, family: Family) -> bool:
        """Consume a closing bracket; returns whether it ends a list, or none in a section."""
        is_over = self.has_called or bool(self.opener)
        if is_over:
            self.raw = ""
        else:
            self.raw += "]"
        is_bare = family.is_bare and (self.has_called or not self.opener)
        self.is_open = bool(family.section.close) and not is_bare
        return is_over

    def end_empty(self, marker: str, family: Family) -> None:
        """Nothing was in it, or in a call of it."""
        self.raw = ""
        self.opener = self.opener or marker
        self.is_open = self.is_open and marker in family.call.close

    def not_called(self, tried: str, rest: str) -> tuple[str, str]:
        """A call was none after all: what of the text is output, and what is parsed again.

        ``rest`` is the end of ``tried`` that the call's parser did not consume.
        """
        raw = self.raw
        self.raw = ""
        size = len(tried) - len(rest)
        if size > _MAX_AGAIN:
            # Searching much of it again and again would take quadratic time.
            return raw + tried[:size], rest
        if raw:
            return raw, tried
        # Without a consumed marker, the same character would open the same call for ever.
        return tried[:1], tried[1:]

    def is_meant(self, name: str, specs: Specs) -> bool:
        """Whether a call is one: of a tool that was offered, or, if there are tools, marked as one."""
        return name in specs.names or (bool(specs.names) and is_call_marker(self.raw.strip()))

    @property
    def leftover_text(self) -> str:
        """The part of it that is text, if the turn ends here."""
        if is_special(self.opener):
            return ""
        if self.has_called and not self.raw.strip(",; \n\r\t"):
            return ""
        return self.raw


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

    @check_keywords("rc.local.Reader")
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
        self._draft = FamilyReply()
        self._voice = DraftWriter(self._draft, reasoning=reasoning, fenced=fenced)
        # States are methods, and are compared with ==: each access makes another bound method.
        self._state: _State = self._prose
        self._home: _State = self._prose
        """The target of text that is not a call after all."""
        self._held = ""
        self._section = Section()
        self._tried = ""
        """The text that the body got before the call was certain."""
        self._body: CallBody | None = None
        self._label: MarkerLabel | None = None
        self._is_inline = False
        self._is_assumed = False
        """Whether the thought was opened by the prompt as far as is known."""
        self._last_kind = ""
        """The kind of message of the last head."""
        self._is_last = False
        # What the prompt has begun is parsed like the reply itself, to find the state; meanwhile markers
        # are not output, since the model did not write them.
        self._in_prompt = True
        start = parse_prompt_tail(family, tail)
        if family.authors:
            self._label = self._table.labels[family.authors[0]]
            self._state = self._read_label
        elif start.in_head:
            self._state = self._head
        elif start.in_thought:
            self._think("")
            self._is_assumed = True
            self._state = self._thought_start
        self._run(start.text)
        if self._draft.is_empty:
            self._draft.forget_space()
        self._in_prompt = False

    @property
    def content(self) -> tuple[Part, ...]:
        """The parts so far, in order. A call that is still open is marked as truncated."""
        return self._draft.parts

    @property
    def assumed_thought(self) -> str | None:
        """What is in the thought that the family's prompts open; None once a marker has shown one."""
        if self._is_assumed and self._state in (self._thought, self._thought_start):
            return self._draft.open_text + self._held
        return None

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
            self._give(self._section.leftover_text)
        self._voice.finish()
        return self._draft.take()

    def _run(self, text: str) -> None:
        text = self._held + text
        self._held = ""
        while text:
            text = self._state(text)

    def _hold(self, text: str) -> str:
        self._held = text
        return ""

    # In the answer.

    def _prose(self, text: str) -> str:
        at, marker = self._table.prose.find(text, is_last=self._is_last)
        if at:
            self._voice.add_answer(text[:at])
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
                body = None
                if not isinstance(self._family.form, JsonForm):
                    body = self._table.json_body(self._draft, self._specs, is_bare=True)
                self._open_call("", is_bare=True, body=body)
                return marker + rest
            case "list":
                self._is_inline = not self._voice.at_line_start
                self._open_section(Section("[", is_open=True))
            case "label":
                self._label = self._table.labels[marker]
                self._state = self._read_label
            case _:
                pass
        return rest

    def _give(self, text: str) -> None:
        if self._home == self._thought:
            self._voice.add_thought(text)
        else:
            self._voice.add_answer(text)

    # In a thought.

    def _think(self, marker: str) -> None:
        self._state = self._home = self._thought
        self._is_assumed = False
        self._voice.open_thought(marker, in_prompt=self._in_prompt)

    def _thought_start(self, text: str) -> str:
        """The beginning of a thought that the prompt opened: its marker may have been put back there."""
        bare = text.lstrip()
        self._voice.add_thought(text[: len(text) - len(bare)])
        for marker in self._family.thoughts.open:
            if bare.startswith(marker):
                self._think(marker)
                return bare[len(marker) :]
            if marker.startswith(bare) and not self._is_last:
                return self._hold(bare)
        self._state = self._thought
        return bare

    def _thought(self, text: str) -> str:
        at, marker = self._table.thought.find(text, is_last=self._is_last)
        self._voice.add_thought(text[:at])
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
        if marker and not is_fence(marker):
            self._state = self._at_section
        else:
            self._state = self._gap

    def _at_section(self, text: str) -> str:
        """Directly after the marker of a section, which may have nothing in it."""
        return self._unless_empty(text, self._gap)

    def _unless_empty(self, text: str, then: _State) -> str:
        found = self._table.empty_call.find(text, in_call=then == self._call, is_last=self._is_last)
        if found is None:
            return self._hold(text)
        size, close = found
        if not size:
            self._state = then
            return text
        self._state = self._gap
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
                if section.has_called:
                    self._home = self._prose
                self._open_section(section.add(marker), marker)
            case "call":
                self._open_call(marker)
            case "section_end" | "call_end" if section.end(kind):
                pass
            case "":
                return self._read_unmarked(text)
            case _:
                if kind == "drop":
                    section.raw = section.leftover_text
                return self._no_call(text)
        return rest

    def _read_unmarked(self, text: str) -> str:
        """Between calls, where there is no marker."""
        section = self._section
        if not section.is_open:
            return self._no_call(text)
        if text[0] == "]":
            if section.end_list(self._family):
                return text[1:]
            return self._no_call(text[1:])
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
        raw = self._section.raw
        self._section.raw = ""
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

    def _open_call(self, marker: str, *, is_bare: bool = False, body: CallBody | None = None) -> None:
        if self._state != self._gap:
            self._section = Section(is_open=is_bare)
        self._section.raw += marker
        self._tried = ""
        # Inside of a sentence, f(a=1) is a call only if there is such a tool.
        names = None
        if is_bare and self._is_inline:
            names = self._specs.names
        self._body = body or self._table.body(self._draft, self._specs, is_bare=is_bare, names=names)
        if marker and self._family.call.close:
            self._state = self._at_call
        else:
            self._state = self._call

    def _at_call(self, text: str) -> str:
        """Directly after the marker of a call, which may have nothing in it."""
        return self._unless_empty(text, self._call)

    def _call(self, text: str) -> str:
        body = self._body
        assert body is not None
        if not body.has_started:
            self._tried += text
        undo = None
        if self._specs.is_closed and not body.has_started:
            undo = self._draft.before()
        verdict = body.feed(text)
        if (
            body.has_started
            and undo
            and not self._section.is_meant(self._draft.called_name, self._specs)
        ):
            undo()
            return self._was_none(self._tried)
        if body.has_started:
            self._section.raw = self._tried = ""
            self._section.has_called = True
        if verdict == "none":
            if isinstance(body, ObjectBody) and body.is_nameless and self._section.opener:
                # A marked object that names no tool: its markers are not part of the answer, its
                # content is.
                self._section.raw = ""
                content = ""
                if not body.says_nothing:
                    content = self._tried[: len(self._tried) - len(body.rest)]
                self._give(content)
                self._tried = ""
                self._state = self._gap
                return body.rest
            return self._was_none(body.rest)
        if verdict == "done":
            self._state = self._gap
            if isinstance(body, NamedBody) and body.is_text:
                self._section.raw = self._tried = ""
                self._state = self._home = self._prose
        return body.rest

    def _was_none(self, rest: str) -> str:
        text, rest = self._section.not_called(self._tried, rest)
        self._tried = ""
        self._go_home()
        self._give(text)
        return rest

    # After a marker that a label belongs to, and in the head of a message.

    def _read_label(self, text: str) -> str:
        assert self._label is not None
        found = self._label.read(text, is_last=self._is_last)
        if found is None:
            return self._hold(text)
        self._state = self._home
        self._give(found[0])
        return found[1]

    def _head(self, text: str) -> str:
        channels = self._family.channels
        raw = self._section.raw
        assert channels is not None
        found = head_in(channels, self._table.message, raw, text, is_last=self._is_last)
        if found is None:
            return self._hold(text)
        self._section.raw = ""
        head, rest = found
        if head is not None:
            # Handle the head of the message that follows.
            self._home = self._prose
            match head.kind:
                case "thought":
                    if self._last_kind == "thought":
                        self._voice.add_thought("\n")
                    self._think(head.shown)
                case "call" if is_aside(head, self._specs):
                    self._draft.open_aside(head.name)
                    self._state = self._aside
                case "call":
                    self._open_section(Section())
                    if self._table.heads is not None:
                        self._section.has_called = True
                        name = self._specs.bare(head.name, head.prefix)
                        self._body = NamedBody(self._table.heads, self._draft, self._specs, name=name)
                        self._state = self._call
                case _:
                    self._state = self._prose
                    if self._last_kind == "text" and self._draft.has_text:
                        # Two consecutive messages to the same recipient are two lines.
                        self._voice.add_answer("\n")
            self._last_kind = head.kind
        else:
            self._state = self._prose
            self._voice.add_answer(raw)
        return rest

    def _aside(self, text: str) -> str:
        """A message to a tool of the model's maker that was not offered: kept, but not output."""
        at, marker = self._table.ends.find(text, is_last=self._is_last)
        self._draft.aside(text[:at])
        if not marker:
            return self._hold(text[at:])
        self._state = self._prose
        return text[at:]
