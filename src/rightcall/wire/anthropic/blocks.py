"""The content blocks of a reply, growing, and the parts that they become.

Knows one block at a time, and nothing of streams.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import msgspec

from rightcall.core.call import Call
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Reasoning, Unknown
from rightcall.core.parts import Media, Text
from rightcall.wire.anthropic.tables import NAME

Part: TypeAlias = Text | Reasoning | Call | Media | Unknown

UNPARSED = "unparsed_arguments"
"""The member that holds arguments as text, where the vendor wants an object and they are none."""


class Block:
    """One content block, as it began and as it has grown."""

    __slots__ = ("call", "fields", "grown", "is_open", "kind", "pieces", "whole_input")

    def __init__(self, fields: dict[str, Any], whole_input: str, call: int) -> None:
        self.kind: str = fields.get("type") or ""
        self.fields = fields
        self.pieces: list[str] = []
        """Text, thinking or JSON, by the kind of the block."""
        self.whole_input = whole_input
        """The input as the block began with it, which is all of it if no pieces follow."""
        self.call = call
        """The position among the reply's calls; -1 if it is not one."""
        self.is_open = True
        self.grown: dict[str, list[Any]] = {}
        """What deltas of unknown kinds brought, by member."""

    def grow(self, delta: Mapping[str, Any]) -> None:
        """Take a delta of a kind that is not known."""
        for key, value in delta.items():
            if key != "type":
                self.grown.setdefault(key, []).append(value)

    def whole(self) -> dict[str, Any]:
        """The block as it would stand in a reply that was not streamed."""
        grown = {key: _sum([self.fields.get(key), *values]) for key, values in self.grown.items()}
        fields = {**self.fields, **grown}
        if self.pieces and self.kind not in ("text", "thinking"):
            fields["input"] = _input("".join(self.pieces))
        return fields

    def arguments(self, *, truncated: bool = False) -> str:
        """The raw text of a call's arguments."""
        nothing = truncated and self.whole_input == "{}"
        return "".join(self.pieces) or ("" if nothing else self.whole_input)


def parts_of(blocks: Iterable[Block], *, cut: bool) -> tuple[Part, ...]:
    """The parts of a reply.

    ``cut``: the reply stopped where a block may not have been complete; calls that nothing came after
    are truncated.
    """
    parts = (_PARTS.get(block.kind, _unknown)(block, cut) for block in blocks)
    # An empty text says nothing, and is refused if it is sent back.
    return tuple(part for part in parts if not isinstance(part, Text) or part.text or part.vendor)


def call_of(block: Block, *, truncated: bool = False) -> Call:
    """The call that a block holds."""
    beside = _rest(block, "type", "id", "name", "input")
    return Call(
        id=_text(block.fields.get("id")),
        name=_text(block.fields.get("name")),
        arguments=block.arguments(truncated=truncated),
        truncated=truncated,
        vendor={NAME: beside} if beside else {},
    )


def _text_part(block: Block, _cut: bool) -> Part:  # noqa: FBT001 (one signature for all)
    beside = _rest(block, "type", "text")
    return Text("".join(block.pieces), {NAME: beside} if beside else {})


def _thinking(block: Block, _cut: bool) -> Part:  # noqa: FBT001
    fields = {key: value for key, value in block.whole().items() if key != "thinking"}
    return Reasoning("".join(block.pieces), {NAME: fields})


def _redacted(block: Block, _cut: bool) -> Part:  # noqa: FBT001
    return Reasoning("", {NAME: block.whole()})


def _call(block: Block, cut: bool) -> Part:  # noqa: FBT001
    return call_of(block, truncated=cut and block.is_open)


def _unknown(block: Block, _cut: bool) -> Part:  # noqa: FBT001
    return Unknown({NAME: block.whole()})


def _sum(values: list[Any]) -> Any:
    """Texts and lists add up; of anything else the last one counts."""
    given = [value for value in values if value is not None]
    if given and all(isinstance(value, str) for value in given):
        return "".join(given)
    if given and all(isinstance(value, list) for value in given):
        return [item for value in given for item in value]
    return given[-1] if given else None


def _input(text: str) -> Any:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {UNPARSED: text}


def _rest(block: Block, *known: str) -> dict[str, JsonValue]:
    """What the block says besides; members that are null or empty say nothing."""
    return {key: value for key, value in block.whole().items() if key not in known and value}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_PARTS: Mapping[str, Callable[[Block, bool], Part]] = {
    "text": _text_part,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _call,
}
