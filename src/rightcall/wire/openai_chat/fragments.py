"""Calls that come in fragments, in whatever state hosts send them.

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

Calls stand in the order of their indexes, whichever came first. What has neither a name nor arguments is
no call: hosts send empty ones beside a plain answer, or beside the call that is meant.
"""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from msgspec import Struct

from rightcall.core.events import CallDelta, CallEnd, CallStart, ModelEvent
from rightcall.core.jsontext import dump
from rightcall.core.parts import Call
from rightcall.wire.openai_chat.tables import NAME
from rightcall.wire.payload import mapping, own_bag

_USUAL = frozenset(("index", "id", "type", "function", "custom"))


class Fragment(Struct, gc=False):
    """A piece of a call, as far as the host gave its parts."""

    index: object
    id: str
    name: str
    arguments: str
    is_custom: bool = False
    extra: Mapping[str, Any] | None = None
    """Members that are not usual, to be sent back."""


class FragmentedCall:
    """One call while it arrives."""

    __slots__ = (
        "depth", "escaped", "extra", "id", "in_string", "index", "is_custom", "is_late", "name",
        "pending", "pieces", "position", "scanned", "size", "started",
    )  # fmt: skip

    def __init__(self, position: int, index: object) -> None:
        self.position = position
        """Its index in the events, and its place among the calls."""
        self.index = index
        self.id = ""
        self.name = ""
        self.pending = ""
        """An id that came without a name; it belongs to the next call if a name follows."""
        self.pieces: list[str] = []
        self.extra: dict[str, Any] = {}
        self.started = False
        self.is_custom = False
        self.is_late = False
        """Whether fragments came after a later call had begun, so that the later call's start is not its
        end."""
        self.depth = 0
        self.in_string = False
        self.escaped = False
        self.scanned = 0
        self.size = 0

    def is_complete(self) -> bool:
        """Whether the arguments are complete JSON text. Reads each character once."""
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
        """Whether a fragment repeats the complete arguments."""
        return len(fragment) == self.size and self.is_complete() and "".join(self.pieces) == fragment

    def call(self, *, truncated: bool) -> Call:
        """The call as far as it arrived."""
        bag: dict[str, Any] = dict(self.extra)
        if self.is_custom:
            bag["type"] = "custom"
        return Call(
            id=self.id,
            name=self.name,
            arguments="".join(self.pieces),
            truncated=truncated,
            form="text" if self.is_custom else "json",
            vendor=own_bag(NAME, bag),
        )


class Calls:
    """The calls of one reply."""

    def __init__(self) -> None:
        self._slots: list[FragmentedCall] = []
        self._by_index: dict[object, FragmentedCall] = {}
        self._by_id: dict[str, FragmentedCall] = {}
        self._taken: set[int] = set()
        self._next = 0
        """The positions that calls have, and the first one after all of them."""
        self.touched: FragmentedCall | None = None
        """The call of the last fragment; None once something else has begun."""
        self._in_delta: list[FragmentedCall] = []

    def __bool__(self) -> bool:
        return bool(self._begun())

    def feed(self, deltas: Any, events: list[ModelEvent]) -> None:
        """The events of the ``tool_calls`` of one delta."""
        self._in_delta = []
        for delta in deltas if isinstance(deltas, list) else [deltas]:
            if isinstance(delta, dict):
                self._one(_fragment(delta), events)

    def feed_one(self, fragment: Fragment, events: list[ModelEvent]) -> None:
        """The same for a delta with one fragment, which is parsed already."""
        self._in_delta = []
        self._one(fragment, events)

    def whole(self, entries: Any) -> None:
        """Add the ``tool_calls`` of a whole message, where every entry is a call."""
        for entry in entries if isinstance(entries, list) else [entries]:
            if isinstance(entry, dict):
                fragment = _fragment(entry)
                slot = self.touched = self._open(None)
                slot.id = fragment.id
                slot.name = fragment.name
                slot.is_custom = fragment.is_custom
                slot.extra.update(fragment.extra or {})
                if fragment.arguments:
                    slot.pieces.append(fragment.arguments)

    def end(self, events: list[ModelEvent], *, cut_off: bool, unsaid: bool) -> list[Call]:
        """The calls; adds the events that only the end makes certain.

        ``cut_off``: the reply may have stopped within a call. ``unsaid``: the host ended without a
        reason, so a call without arguments may be incomplete.
        """
        calls: list[Call] = []
        begun = self._begun()
        if len(begun) > 1:
            begun.sort(key=attrgetter("position"))
        for slot in begun:
            last = slot is self.touched or slot.is_late
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
        """Note that something else has begun, so that the calls so far are complete."""
        self.touched = None

    def goes_on(self, index: int, fragment: str, events: list[ModelEvent]) -> bool:
        """Add arguments to the last call if they continue it; returns whether they do."""
        slot = self.touched
        # After anything else, such as a thought, there is more to do than to add.
        if slot is None or slot is not self._by_index.get(index) or slot is not self._slots[-1]:
            return False
        if fragment:
            slot.pieces.append(fragment)
            slot.size += len(fragment)
            if not slot.started:
                self._start(slot, events)
            events.append(CallDelta(slot.position, fragment))
        return True

    def _begun(self) -> list[FragmentedCall]:
        """Those of which something has come that makes them calls."""
        return [slot for slot in self._slots if slot.name or slot.pieces]

    def _one(self, fragment: Fragment, events: list[ModelEvent]) -> None:
        index = fragment.index
        identity = fragment.id
        name = fragment.name
        arguments = fragment.arguments
        slot = self._find(index, identity, name)
        if slot is not None and _opens(slot, identity, name, arguments):
            identity = identity or slot.pending
            slot = None
        slot = slot or self._open(index)
        slot.is_custom = slot.is_custom or fragment.is_custom
        # Store what a fragment says of its call besides the arguments.
        if identity and not slot.id:
            slot.id = identity
            self._by_id.setdefault(identity, slot)
        elif identity and identity != slot.id:
            slot.pending = identity
        if name and not slot.started:
            # Join a name that is repeated, extended, or sent in pieces.
            before = slot.name
            if name.startswith(before) or name == before:
                slot.name = name
            else:
                slot.name = before + name
        slot.is_late = slot.is_late or slot is not self._slots[-1]
        self.touched = slot
        self._in_delta.append(slot)
        if fragment.extra:
            slot.extra.update(fragment.extra)
        if arguments and not (identity and slot.repeats(arguments)):
            slot.pieces.append(arguments)
            slot.size += len(arguments)
            self._start(slot, events)
            events.append(CallDelta(slot.position, arguments))

    def _start(self, until: FragmentedCall, events: list[ModelEvent]) -> None:
        """Emit a call's start once its name is certain, after those of the calls before it."""
        if until.started:
            return
        for slot in self._slots:
            if not slot.started and (slot.name or slot.pieces):
                slot.started = True
                events.append(CallStart(slot.position, slot.name, slot.id))
            if slot is until:
                return

    def _open(self, index: object) -> FragmentedCall:
        is_free = isinstance(index, int) and index not in self._taken
        position = index if is_free else self._next
        assert isinstance(position, int)
        self._taken.add(position)
        if position >= self._next:
            self._next = position + 1
        slot = FragmentedCall(position, index)
        self._slots.append(slot)
        if index is not None:
            self._by_index[index] = slot
        return slot

    def _find(self, index: object, identity: str, name: str) -> FragmentedCall | None:
        """The call that a fragment seems to belong to; None if it must be new."""
        last = self._slots[-1] if self._slots else None
        known = self._by_id.get(identity) if identity else None
        here = last if index is None else self._by_index.get(index)
        if here is None:
            if name:
                return None
            return known or last
        if known is not None and known is not here and (not name or known.index == index):
            return known
        if name and not identity and here in self._in_delta:
            # Several calls in one delta, without an index or all with the same one.
            return None
        return here


def _fragment(delta: Mapping[str, Any]) -> Fragment:
    """Parses an entry of ``tool_calls``."""
    function, is_custom = _body(delta)
    given = delta.get("index")
    fragment = Fragment(
        given if isinstance(given, int | str) else None,
        _text(delta.get("id")),
        _text(function.get("name")),
        _arguments(function),
        is_custom,
    )
    if not _USUAL.issuperset(delta):
        fragment.extra = {k: v for k, v in delta.items() if k not in _USUAL and v is not None}
    return fragment


def _body(delta: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """The content of a fragment, and whether its tool takes text.

    Hosts that know both forms may send the other one empty beside it.
    """
    given = delta.get("function")
    custom = delta.get("custom")
    function = mapping(given)
    if custom and isinstance(custom, dict) and any(custom.values()) and not any(function.values()):
        return custom, True
    return function, False


def _opens(slot: FragmentedCall, identity: str, name: str, fragment: str) -> bool:
    """Whether a fragment addressed to a call begins another one."""
    more = bool(fragment.strip())
    is_other = bool(identity and slot.id and identity != slot.id)
    if is_other and not name:
        return more and slot.is_complete()
    if is_other or not name or not slot.name:
        return is_other
    if name != slot.name:
        return bool(slot.pieces) or bool(identity and not slot.id)
    return not identity and more and slot.is_complete()


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return str(value)


def _arguments(function: Mapping[str, Any]) -> str:
    value = function.get("arguments", function.get("input"))
    if value is None or isinstance(value, str):
        return value or ""
    # Some hosts send the arguments as JSON instead of text.
    return dump(value)
