"""The markers that a family's reader looks for in each state, compiled once from the family's data."""

# ruff: noqa: RUF001 - the markers are written as the models write them

import re
from functools import lru_cache
from typing import Literal, TypeAlias, assert_never

from msgspec import Struct

from rightcall.local.families.call_body import MAX_HEAD, CallBody
from rightcall.local.families.draft import FamilyReply
from rightcall.local.families.expression_body import GemmaBody, PythonBody
from rightcall.local.families.family import (
    Family,
    Form,
    GemmaForm,
    JsonForm,
    NamedForm,
    NestedForm,
    PythonForm,
    TagForm,
)
from rightcall.local.families.json_body import HeadMarkers, NamedBody, ObjectBody
from rightcall.local.families.scanner import Scanner
from rightcall.local.families.shapes import Specs
from rightcall.local.families.tag_body import NestedBody, TagBody, TagMarkers

Found: TypeAlias = tuple[int, str]
"""How much of the text is an empty call, and the marker that closes it, if the family has one."""

_SPACE = re.compile(r"\s*")
_DEPTHS = {"{": 1, "[": 1, "}": -1, "]": -1}
_WORDS = frozenset(("null", "None"))
_SOMETHING: Found = (0, "")


class EmptyCall:
    """The tokens of a family's empty calls, compiled once.

    A section or a call of brackets and marks that names no tool: models that were going to call and did
    not write ``<tool_call>{}</tool_call>``, ``[TOOL_CALLS][]`` or ``<function=></function>``. Nothing
    in it is text, so that all of it can go.
    """

    def __init__(self, family: Family) -> None:
        self._closes = frozenset((*family.section.close, *family.call.close))
        self._tokens = Scanner((*self._closes, *_DEPTHS, *_WORDS, ",", '""', *_marks(family.form)))
        named = isinstance(family.form, NamedForm) and family.form.first == "name"
        self._has_bare_names = named or isinstance(family.form, TagForm | NestedForm)

    def find(self, text: str, *, in_call: bool, is_last: bool) -> Found | None:
        """The empty call that the text begins with, size 0 for none, or None if that is not certain yet.

        ``in_call``: after the marker of a call, and not of a section.
        """
        at = depth = 0
        last = ""
        while (at := _SPACE.match(text, at).end()) < len(text):  # type: ignore[union-attr]
            token = self._tokens.at_start(text[at:], is_last=is_last)
            if token is None:
                break
            at += len(token)
            if token in self._closes:
                return at, token
            if not token or (not depth and self._may_be_name(token, last, in_call=in_call)):
                return _SOMETHING
            last = token
            depth += _DEPTHS.get(token, 0)
            # Without a closing marker, only brackets show where it ends.
            if not self._closes and _DEPTHS.get(token) == -1 and depth <= 0:
                return at, ""
        # The turn may end inside of one; after a marker alone, it does not.
        is_over = is_last or at > MAX_HEAD
        if is_over:
            return (at if last and is_last else 0, "")
        return None

    def _may_be_name(self, token: str, last: str, *, in_call: bool) -> bool:
        """Whether ``null`` is the name of a tool here, as what comes before or after it shows."""
        if last in _WORDS:
            return True
        return token in _WORDS and (self._has_bare_names if in_call else not self._closes)


def _marks(form: Form) -> tuple[str, ...]:
    """What a family writes around an empty name."""
    match form:
        case NamedForm(marks=marks, kind=kind):
            texts = [mark for mark, _ in marks]
            if kind:
                return (*texts, *(f"{kind}{mark}" for mark in texts))
            return tuple(texts)
        case TagForm(name_close=close, counter=counter):
            if counter:
                return (close, f'{counter}="1"')
            return (close,)
        case NestedForm(name_close=close):
            return (close,)
        case PythonForm():
            return ("()",)
        case JsonForm() | GemmaForm():
            return ()
        case other:
            assert_never(other)


_SOURCE = re.compile(r"[\s\d:,\[\]]*")
_NAME = re.compile(r"[\w.-]*")
_JSON = JsonForm()

Kind: TypeAlias = Literal[
    "drop", "thought", "thought_end", "section", "section_end", "call", "call_end", "head", "object",
    "list", "label",
]  # fmt: skip
"""The meaning of a marker: nothing, the beginning or end of something, a message's head, or that a call
may begin here without any marker."""


class MarkerLabel(Struct, frozen=True, gc=False):
    """Text after a marker that belongs to the marker, if one of ``ends`` follows."""

    text: re.Pattern[str]
    ends: Scanner
    shown: str
    """The marker's meaning if no label follows."""

    def read(self, text: str, *, is_last: bool) -> tuple[str, str] | None:
        """What of the text is output, and the rest of it; None if that is not certain yet."""
        size = self.text.match(text).end()  # type: ignore[union-attr]
        end = self.ends.at_start(text[size:], is_last=is_last) if size < len(text) else None
        if end is None and size <= MAX_HEAD and not is_last:
            return None
        if not end or size > MAX_HEAD:
            return self.shown + text[:size], text[size:]
        return "", text[size:].removeprefix(">")


class MarkerTable:
    """The markers of each state, and what they mean there.

    One text can mean different things in different states, so each state has a scanner of its own:
    ``prose`` for the answer, ``gap`` for the space between calls, ``thought`` for thoughts, ``message``
    and ``ends`` for messages with heads. A scanner only finds the markers of its state.
    """

    def __init__(self, family: Family) -> None:
        self.family = family
        channels = family.channels
        self.prose_kinds = _prose_kinds(family)
        # Between calls a marker means what it means in the answer, except that those of calls are always
        # markers, even where the answer drops them (a close) or takes them for text (any of them in an
        # addressed message). If one text both opens and closes a section (```), the close wins here,
        # being last; the reader takes it for the opening until there was a call.
        self.gap_kinds: dict[str, Kind] = {
            **self.prose_kinds,
            **dict.fromkeys(family.section.open, "section"),
            **dict.fromkeys(family.call.open, "call"),
            **dict.fromkeys(family.section.close, "section_end"),
            **dict.fromkeys(family.call.close, "call_end"),
        }
        # Brackets between calls belong to the list of calls, and are parsed without a marker.
        for character in "{[":
            self.gap_kinds.pop(character, None)
        self.empty_call = EmptyCall(family)
        self.prose = Scanner(self.prose_kinds)
        self.gap = Scanner(self.gap_kinds)
        self.thought_ends = frozenset(family.thoughts.close if channels is None else channels.ends)
        # Markers that end an unclosed thought without being its closing marker.
        if channels is not None:
            breaks = [channels.start, channels.channel]
        else:
            # Models think about markup: only special tokens are certainly not part of the thought.
            breaks = [marker for marker in (*family.wrappers, *family.ends) if is_special(marker)]
            if family.calls_in_thoughts:
                breaks += [*family.section.open, *family.call.open]
        # An end of turn that could be markup, as </s>, does not end a thought, but is not part of it.
        plain = (marker for marker in family.ends if marker not in breaks)
        self.stays = frozenset((*family.citations.open, *family.citations.close, *plain))
        self.thought = Scanner((*self.thought_ends, *breaks, *self.stays))
        self.message = Scanner(())
        self.ends = Scanner(())
        if channels is not None:
            self.message = Scanner((channels.message,))
            self.ends = Scanner((channels.start, *channels.ends))
        names = Scanner(family.section.open)
        sources = Scanner((">",))
        self.labels = {
            **{marker: MarkerLabel(_SOURCE, sources, marker) for marker in family.citations.close},
            **{marker: MarkerLabel(_NAME, names, "") for marker in family.authors},
        }
        self.heads = HeadMarkers(family, family.form) if isinstance(family.form, NamedForm) else None
        self._tags = TagMarkers(family, family.form) if isinstance(family.form, TagForm) else None

    def begins_body(self, character: str) -> bool:
        """Whether a call may begin with a character, inside of a section and without a marker."""
        if self.family.call.open:
            return False
        if isinstance(self.family.form, PythonForm | NamedForm):
            return character.isalpha() or character == "_"
        return character == "{"

    def body(
        self, draft: FamilyReply, specs: Specs, *, is_bare: bool, names: frozenset[str] | None
    ) -> CallBody:
        """The parser of one call.

        ``is_bare``: no marker, so that only its syntax shows a call. ``names``: the only tools that may
        then be called; None for any.
        """
        match self.family.form:
            case JsonForm() as form:
                return ObjectBody(form, draft, is_bare=is_bare, known=specs.names)
            case NamedForm():
                assert self.heads is not None
                return NamedBody(self.heads, draft, specs)
            case TagForm():
                assert self._tags is not None
                return TagBody(self._tags, draft, specs)
            case NestedForm() as form:
                return NestedBody(form, draft, specs)
            case PythonForm():
                return PythonBody(draft, names)
            case GemmaForm(quote):
                return GemmaBody(quote, draft, specs)
            case other:
                assert_never(other)

    def json_body(self, draft: FamilyReply, specs: Specs, *, is_bare: bool) -> CallBody:
        """The parser of JSON calls, which models that saw many write instead of their own format."""
        return ObjectBody(_JSON, draft, is_bare=is_bare, known=specs.names)


@lru_cache(maxsize=64)
def marker_table(family: Family) -> MarkerTable:
    """The marker table of a family."""
    return MarkerTable(family)


def _prose_kinds(family: Family) -> dict[str, Kind]:
    """The meaning of each marker in the answer.

    Families reuse one marker for several things: Inkling's ``<|end_message|>`` closes a section, closes
    a thought and wraps the answer. Each step below overrides those before it, so the order is the rule:
    what opens something comes after what closes or wraps something, and wins.
    """
    kinds: dict[str, Kind] = {}
    if family.is_bare:
        kinds.update({"[": "list", "{": "object"})
    kinds.update(dict.fromkeys(family.thoughts.close, "thought_end"))
    # After the ends of thoughts: a wrapper that also ends a thought (Gemma's ``<channel|>``) is only a
    # wrapper outside of one, and must not be output as a stray end.
    kinds.update(dict.fromkeys((*family.wrappers, *family.ends, *family.citations.open), "drop"))
    kinds.update(dict.fromkeys((*family.citations.close, *family.authors), "label"))
    # After the wrappers: ``<|channel>`` primarily opens a thought.
    kinds.update(dict.fromkeys(family.thoughts.open, "thought"))
    channels = family.channels
    closes = (*family.section.close, *family.call.close)
    # A close without an open is dropped only if no person could have meant it: special tokens are, but
    # ``</function>`` or a code fence in an answer is text. It never overrides another meaning.
    kinds.update({marker: "drop" for marker in closes if is_special(marker) and marker not in kinds})
    if channels is None:
        # Last: these begin calls, whatever else they mean.
        kinds.update(dict.fromkeys(family.section.open, "section"))
        kinds.update(dict.fromkeys(family.call.open, "call"))
    else:
        # The head marks calls; the same markers inside of a message are its text.
        kinds.update(dict.fromkeys(channels.ends, "drop"))
        kinds.update(dict.fromkeys((channels.start, channels.channel), "head"))
    # Families omit the markers that they do not have.
    kinds.pop("", None)
    return kinds


def is_special(marker: str) -> bool:
    """Whether a marker is a special token, which no model writes as content."""
    return marker.startswith(("<|", "<｜")) or marker.endswith("|>") or marker == "[TOOL_CALLS]"


def is_fence(marker: str) -> bool:
    """Whether a marker also occurs in code: what it opens may be part of an answer."""
    return marker.startswith("`")


def is_call_marker(opener: str) -> bool:
    """Whether what stood before a call says that it is one, even of a tool that there is not.

    Without a marker, it may be an example; in a code fence, too.
    """
    return opener not in ("", "[") and not is_fence(opener)
