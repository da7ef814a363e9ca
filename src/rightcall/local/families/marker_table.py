"""The markers that a family's reader looks for in each state, compiled once from the family's data."""

# ruff: noqa: RUF001 - the markers are written as the models write them

import re
from functools import lru_cache
from typing import Literal, TypeAlias, assert_never

from msgspec import Struct

from rightcall.local.families.body import MAX_HEAD, Body
from rightcall.local.families.draft import Draft
from rightcall.local.families.empty_call import EmptyCall
from rightcall.local.families.expression_body import GemmaBody, PythonBody
from rightcall.local.families.family import (
    Family,
    GemmaForm,
    JsonForm,
    NamedForm,
    NestedForm,
    PythonForm,
    TagForm,
)
from rightcall.local.families.named_body import Heads, NamedBody
from rightcall.local.families.nested_body import NestedBody
from rightcall.local.families.object_body import ObjectBody
from rightcall.local.families.scanner import Scanner
from rightcall.local.families.shapes import Specs
from rightcall.local.families.tag_body import TagBody, Tags

_SOURCE = re.compile(r"[\s\d:,\[\]]*")
_NAME = re.compile(r"[\w.-]*")
_JSON = JsonForm()

Kind: TypeAlias = Literal[
    "drop", "thought", "thought_end", "section", "section_end", "call", "call_end", "head", "object",
    "list", "label",
]  # fmt: skip
"""The meaning of a marker: nothing, the beginning or end of something, a message's head, or that a call
may begin here without any marker."""


class Label(Struct, frozen=True, gc=False):
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
        breaks = _thought_breaks(family)
        # An end of turn that could be markup, as </s>, does not end a thought, but is not part of it.
        plain = (marker for marker in family.ends if marker not in breaks)
        self.stays = frozenset((*family.citations.open, *family.citations.close, *plain))
        self.thought = Scanner((*self.thought_ends, *breaks, *self.stays))
        self.message = Scanner((channels.message,)) if channels is not None else Scanner(())
        self.ends = Scanner((channels.start, *channels.ends)) if channels is not None else Scanner(())
        self.labels = _labels(family)
        self.heads = Heads(family, family.form) if isinstance(family.form, NamedForm) else None
        self._tags = Tags(family, family.form) if isinstance(family.form, TagForm) else None

    def begins_body(self, character: str) -> bool:
        """Whether a call may begin with a character, inside of a section and without a marker."""
        if self.family.call.open:
            return False
        if isinstance(self.family.form, PythonForm | NamedForm):
            return character.isalpha() or character == "_"
        return character == "{"

    def body(self, draft: Draft, specs: Specs, *, is_bare: bool, names: frozenset[str] | None) -> Body:
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

    def json_body(self, draft: Draft, specs: Specs, *, is_bare: bool) -> Body:
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


def _labels(family: Family) -> dict[str, Label]:
    names = Scanner(family.section.open)
    sources = Scanner((">",))
    return {
        **{marker: Label(_SOURCE, sources, marker) for marker in family.citations.close},
        **{marker: Label(_NAME, names, "") for marker in family.authors},
    }


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


def _thought_breaks(family: Family) -> tuple[str, ...]:
    """Markers that end an unclosed thought without being its closing marker."""
    if family.channels is not None:
        return (family.channels.start, family.channels.channel)
    # Models think about markup: only special tokens are certainly not part of the thought.
    special = (marker for marker in (*family.wrappers, *family.ends) if is_special(marker))
    calls = (*family.section.open, *family.call.open) if family.calls_in_thoughts else ()
    return (*special, *calls)
