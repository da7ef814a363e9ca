"""What comes in fragments: calls, in whatever state hosts send them, and thoughts before the text.

OpenAI gives every fragment of a call an index and the first one its id and name. Imitators leave out the
index, or send 0 for every call; leave out the id, repeat it, or make up another for every fragment;
repeat the name or cut it in two; send a call whole. What opens a call, in this order:

- a name under an index, or in an entry of one delta, where no call has begun;
- a name beside an id that is not the call's own;
- another name, once the call has arguments;
- the same name or a new id with more arguments, once those of the call are complete JSON text.

Everything else belongs to the call of its id, else of its index, else to the last one.
(Index 0 for all: lmdeploy #3412, litellm #21331. No ids: vllm #18412. A new id for every fragment:
litellm #28223, vllm #23522.)

Models that write ``<think>…</think>`` do so at the very beginning of a reply; the same marker later is
text. What may turn out to be a marker is held back until it is one or is not, so that any cut gives the
same.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from rightcall.core.call import Call
from rightcall.core.events import CallDelta, CallEnd, CallStart, ModelEvent
from rightcall.core.jsontext import dump
from rightcall.wire.openai_chat.tables import NAME

_USUAL = frozenset(("index", "id", "type", "function", "custom"))


class CallSlot:
    """One call under way."""

    __slots__ = (
        "depth", "escaped", "extra", "id", "in_string", "index", "is_custom", "is_late", "name",
        "pending", "pieces", "position", "scanned", "size", "started",
    )  # fmt: skip

    def __init__(self, position: int, index: object) -> None:
        self.position = position
        self.index = index
        self.id = ""
        self.name = ""
        self.pending = ""
        """An id that came without a name: that of the next call, if a name follows."""
        self.pieces: list[str] = []
        self.extra: dict[str, Any] = {}
        self.started = False
        self.is_custom = False
        self.is_late = False
        """Fragments of it came after a later call had begun, so its end is not that one's beginning."""
        self.depth = 0
        self.in_string = False
        self.escaped = False
        self.scanned = 0
        self.size = 0

    def is_complete(self) -> bool:
        """Whether the arguments are JSON text with nothing left open. Looks at each character once."""
        for piece in self.pieces[self.scanned :]:
            for character in piece:
                if self.in_string:
                    if self.escaped:
                        self.escaped = False
                    elif character == "\\":
                        self.escaped = True
                    elif character == '"':
                        self.in_string = False
                elif character == '"':
                    self.in_string = True
                elif character in "{[":
                    self.depth += 1
                elif character in "}]":
                    self.depth -= 1
        self.scanned = len(self.pieces)
        return bool(self.pieces) and self.depth <= 0 and not self.in_string

    def repeats(self, fragment: str) -> bool:
        """Whether a fragment is the whole of the arguments, sent again."""
        return len(fragment) == self.size and self.is_complete() and "".join(self.pieces) == fragment

    def call(self, *, truncated: bool) -> Call:
        """The call as far as it came."""
        bag: dict[str, Any] = dict(self.extra)
        if self.is_custom:
            bag["type"] = "custom"
        return Call(
            id=self.id,
            name=self.name,
            arguments="".join(self.pieces),
            truncated=truncated,
            form="text" if self.is_custom else "json",
            vendor={NAME: bag} if bag else {},
        )


class Calls:
    """The calls of one reply."""

    def __init__(self) -> None:
        self._slots: list[CallSlot] = []
        self._by_index: dict[object, CallSlot] = {}
        self._by_id: dict[str, CallSlot] = {}
        self._touched: CallSlot | None = None
        self._in_delta: list[CallSlot] = []

    def __bool__(self) -> bool:
        return bool(self._slots)

    def feed(self, deltas: Any, events: list[ModelEvent]) -> None:
        """The events of the ``tool_calls`` of one delta."""
        self._in_delta = []
        for delta in deltas if isinstance(deltas, list) else [deltas]:
            if isinstance(delta, dict):
                self._one(delta, events)

    def whole(self, entries: Any, events: list[ModelEvent]) -> None:
        """The same for the ``tool_calls`` of a whole message, where every entry is a call."""
        for entry in entries if isinstance(entries, list) else [entries]:
            if isinstance(entry, Mapping):
                self._one(entry, events, self._open(object()))

    def end(self, events: list[ModelEvent], *, cut_off: bool, unsaid: bool) -> list[Call]:
        """The calls, with the events that only the end makes certain.

        ``cut_off``: the reply stopped where a call may have been going on. ``unsaid``: the host said
        that it was done and not why, so a call without arguments may only have begun.
        """
        calls: list[Call] = []
        for slot in self._slots:
            last = slot is self._touched or slot.is_late
            truncated = (cut_off and (last or not slot.pieces)) or (unsaid and not slot.pieces)
            call = slot.call(truncated=truncated)
            calls.append(call)
            if not slot.started:
                slot.started = True
                events.append(CallStart(slot.position, slot.name, slot.id))
            if not truncated:
                events.append(CallEnd(slot.position, call))
        return calls

    def close(self) -> None:
        """Something else has begun, so that no call can be cut off any more."""
        self._touched = None

    def goes_on(self, index: int, fragment: str, events: list[ModelEvent]) -> bool:
        """Some more arguments of the last call, if it is the one under that index; whether it is."""
        slot = self._by_index.get(index)
        if slot is None or not slot.started or slot is not self._slots[-1]:
            return False
        if fragment:
            slot.pieces.append(fragment)
            slot.size += len(fragment)
            events.append(CallDelta(slot.position, fragment))
        self._touched = slot
        return True

    def _one(
        self, delta: Mapping[str, Any], events: list[ModelEvent], slot: CallSlot | None = None
    ) -> None:
        body = delta.get("function") or delta.get("custom")
        function: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
        given, identity, name = delta.get("index"), _text(delta.get("id")), _text(function.get("name"))
        index = given if isinstance(given, int | str) else None
        fragment = _arguments(function)
        if slot is None:
            slot = self._find(index, identity, name)
            if slot is not None and _opens(slot, identity, name, fragment):
                identity = identity or slot.pending
                slot = None
            slot = slot or self._open(index)
        self._describe(slot, delta, identity, name)
        if fragment and not (identity and slot.repeats(fragment)):
            slot.pieces.append(fragment)
            slot.size += len(fragment)
            self._start(slot, events)
            events.append(CallDelta(slot.position, fragment))

    def _describe(self, slot: CallSlot, delta: Mapping[str, Any], identity: str, name: str) -> None:
        """What a fragment says of its call besides the arguments."""
        if identity and not slot.id:
            slot.id = identity
            self._by_id.setdefault(identity, slot)
        elif identity and identity != slot.id:
            slot.pending = identity
        if name and not slot.started:
            slot.name = _joined(slot.name, name)
        if delta.get("custom"):
            slot.is_custom = True
        if not _USUAL.issuperset(delta):
            slot.extra.update({k: v for k, v in delta.items() if k not in _USUAL and v is not None})
        slot.is_late = slot.is_late or slot is not self._slots[-1]
        self._touched = slot
        self._in_delta.append(slot)

    def _start(self, until: CallSlot, events: list[ModelEvent]) -> None:
        """The beginning of a call, when its name is certain; the calls before it have begun as well."""
        if until.started:
            return
        for slot in self._slots[: until.position + 1]:
            if not slot.started:
                slot.started = True
                events.append(CallStart(slot.position, slot.name, slot.id))

    def _open(self, index: object) -> CallSlot:
        slot = CallSlot(len(self._slots), index)
        self._slots.append(slot)
        if index is not None:
            self._by_index[index] = slot
        return slot

    def _find(self, index: object, identity: str, name: str) -> CallSlot | None:
        """The call that a fragment seems to belong to; None when it must be a new one."""
        last = self._slots[-1] if self._slots else None
        known = self._by_id.get(identity) if identity else None
        here = last if index is None else self._by_index.get(index)
        if here is None:
            return None if name else known or last
        if known is not None and known is not here and (not name or known.index == index):
            return known
        if name and not identity and here in self._in_delta:
            # Several calls in one delta, without an index or all with the same.
            return None
        return here


def _opens(slot: CallSlot, identity: str, name: str, fragment: str) -> bool:
    """Whether a fragment that points at a call begins another."""
    more = bool(fragment.strip())
    is_other = bool(identity and slot.id and identity != slot.id)
    if is_other and not name:
        return more and slot.is_complete()
    if is_other or not name or not slot.name:
        return is_other
    if name != slot.name:
        return bool(slot.pieces) or bool(identity and not slot.id)
    return not identity and more and slot.is_complete()


def _joined(before: str, name: str) -> str:
    """A name that comes again, longer, or in pieces."""
    if name.startswith(before) or name == before:
        return name
    return before + name


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _arguments(function: Mapping[str, Any]) -> str:
    value = function.get("arguments", function.get("input"))
    if value is None or isinstance(value, str):
        return value or ""
    # Some hosts send the arguments as JSON instead of as text.
    return dump(value)


Kind: TypeAlias = Literal["thought", "text"]
Piece: TypeAlias = tuple[Kind, str]

MARKERS = ("<think>", "</think>")


class ThinkFilter:
    """Feed it text, cut anywhere. ``opening`` and ``closing`` are the markers found, with their space.

    ``opening + thought + closing + text`` is what was fed, once it has finished.
    """

    def __init__(self, markers: tuple[str, str] = MARKERS) -> None:
        self._open, self._close = markers
        self._read = self._before
        self._held = ""
        self.opening = ""
        self.closing = ""

    @property
    def is_over(self) -> bool:
        """Whether all that follows is text."""
        return self._read == self._after

    def feed(self, text: str) -> list[Piece]:
        """The pieces that are now certain; none of them empty."""
        return self._read(text) if text else []

    def finish(self) -> list[Piece]:
        """What was held back, when nothing more comes."""
        held, self._held = self._held, ""
        kind: Kind = "thought" if self._read == self._inside else "text"
        if self._read == self._before:
            self._read = self._after
        return [(kind, held)] if held else []

    def _before(self, text: str) -> list[Piece]:
        text = self._held + text
        bare = text.lstrip()
        if bare.startswith(self._open):
            at = len(text) - len(bare) + len(self._open)
            self.opening, self._held = text[:at], ""
            self._read = self._inside
            return self.feed(text[at:])
        if self._open.startswith(bare):
            self._held = text
            return []
        self._held = ""
        self._read = self._after
        return [("text", text)]

    def _inside(self, text: str) -> list[Piece]:
        text = self._held + text
        at = text.find(self._close)
        if at >= 0:
            self.closing, self._held = self._close, ""
            self._read = self._between
            thought: list[Piece] = [("thought", text[:at])] if at else []
            return [*thought, *self.feed(text[at + len(self._close) :])]
        keep = _overlap(text, self._close)
        self._held = text[len(text) - keep :]
        sure = text[: len(text) - keep]
        return [("thought", sure)] if sure else []

    def _between(self, text: str) -> list[Piece]:
        """The space after a thought belongs to neither."""
        bare = text.lstrip()
        self.closing += text[: len(text) - len(bare)]
        if not bare:
            return []
        self._read = self._after
        return [("text", bare)]

    @staticmethod
    def _after(text: str) -> list[Piece]:
        return [("text", text)]


def _overlap(text: str, marker: str) -> int:
    """How much of the end of ``text`` could be the beginning of ``marker``."""
    longest = min(len(marker) - 1, len(text))
    return next((size for size in range(longest, 0, -1) if text.endswith(marker[:size])), 0)
