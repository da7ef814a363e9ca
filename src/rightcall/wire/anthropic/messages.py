"""Converts a transcript to Anthropic's messages: alternating roles, results first, legal ids.

What later messages cannot change is encoded once, and kept for the next requests of the run.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, assert_never

from msgspec import Raw, Struct

from rightcall.core.message import Message, Reasoning, Reply, Results, Unknown, User
from rightcall.core.parts import Call, Media, Result, Text, essence
from rightcall.core.request import Request
from rightcall.errors import EncodeError
from rightcall.wire.anthropic.tables import CUTTING, MADE, MEDIA, NAME, THOUGHTS, UNPARSED
from rightcall.wire.claude import COMPUTER, TOOLSET_MEMBER, split_action
from rightcall.wire.media import check_taken, first_new, place_of
from rightcall.wire.payload import (
    EncodeCache,
    LegalIds,
    as_bytes,
    base64_raw,
    mapping,
    note_of,
    parsed_arguments,
    sequence,
)

_Block: TypeAlias = dict[str, Any]

MARK = "cache_control"
"""The member that marks a block for the vendor's prompt cache."""

_CLOSED = 3
"""This many turns and the current one always include the user's last two, as no two turns of the model
are adjacent. Earlier turns get no mark, and are encoded for good."""
# https://github.com/maximhq/bifrost/issues/5097, https://github.com/NVIDIA-NeMo/Switchyard/issues/502
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_LENGTH = 64


class AnthropicTurns(Struct, frozen=True):
    """The messages in the vendor's form: alternately user and assistant."""

    done: list[Raw]
    marks: int
    """The number of cache marks in all of them."""
    last: list[_Block]
    """The last few turns. Their members may be replaced, but the values must not be changed in place."""
    has_files: bool = False
    """Whether any message refers to an uploaded file."""
    has_thoughts: bool = False


def encode_messages(
    request: Request, cache: EncodeCache, mark: Mapping[str, Any], *, has_set: bool
) -> AnthropicTurns:
    """The messages of a request; parts to be cached get ``mark``.

    ``has_set``: the request has the toolset for computer use, so that calls of the computer are written
    as calls of the set.
    """
    messages = request.messages

    def write(writer: _Writer, message: Message, at: int) -> None:
        # Only media need their place, for an error.
        writer.write(message, lambda: place_of(at, first_new(messages)))

    apart = request.options.get("system_turns") is True
    key = f"{NAME}.{mark.get('ttl', '')}.{apart}.{has_set}"

    def begin() -> _Writer:
        return _Writer(mark, apart=apart, has_set=has_set)

    turns = cache.write_messages(key, messages, begin, write).turns()
    if not turns.last:
        raise EncodeError(NAME, "there is nothing to send; say something first.", where="messages")
    if turns.last[-1]["role"] == "assistant":
        # Assistant content that is to be continued must not end with white space.
        *before, end = turns.last[-1]["content"]
        if end.get("type") == "text":
            turns.last[-1]["content"] = [*before, {**end, "text": end["text"].rstrip()}]
    return turns


def marks_in(blocks: Iterable[Mapping[str, Any]]) -> int:
    """The number of blocks with a cache mark, including texts within a result."""
    count = 0
    for block in blocks:
        count += MARK in block
        if "content" in block:
            for part in sequence(block["content"]):
                count += isinstance(part, Mapping) and MARK in part
    return count


class _Writer:
    """Writes messages one after another. Blocks are never changed in place."""

    def __init__(self, mark: Mapping[str, Any], *, apart: bool, has_set: bool) -> None:
        self._mark = mark
        self._has_set = has_set
        self._apart = apart
        """Whether developer messages are sent as a system message after the user's turn."""
        self._told: list[_Block] = []
        """The developer's blocks of the current turn."""
        self._ids = LegalIds(_ILLEGAL)
        self._families: dict[str, str] = {}
        """The toolset of a call, by id: its result must name it too."""
        self._done: list[Raw] = []
        self._marks = 0
        self._closed: list[_Block] = []
        """Turns that are complete, but may still get a cache mark."""
        self._role = ""
        self._blocks: list[_Block] = []
        """The blocks of the current turn."""
        self._has_files = False
        self._has_thoughts = False

    def write(self, message: Message, where: Callable[[], str]) -> None:
        role = "user"
        blocks: list[_Block] = []
        match message:
            case User():
                attached = message.vendor.get(NAME)
                if isinstance(attached, list | tuple):
                    for block in attached:
                        blocks.append(dict(mapping(block)))
                for part in message.content:
                    if _has_content(part):
                        block = self._block(part, where)
                        if part.cache:
                            block = {**block, MARK: self._mark}
                        blocks.append(block)
            case Reply():
                role = "assistant"
                self._write_reply(message, blocks)
            case Results():
                for result in message.results:
                    blocks.append(self._result_block(result))
            case _:
                assert_never(message)
        if blocks and role != self._role:
            self._closed += self._open()
            self._role = role
            self._blocks = []
            self._told = []
            while len(self._closed) > _CLOSED:
                turn = self._closed.pop(0)
                self._done.append(Raw(as_bytes(turn, NAME)))
                self._marks += marks_in(turn["content"])
        # It must follow a turn of the user's, and only a turn of the model's may follow it:
        # https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
        is_apart = self._apart and isinstance(message, User) and message.author == "developer"
        if is_apart and self._blocks and all(block.get("type") == "text" for block in blocks):
            self._told += blocks
        else:
            self._blocks += blocks

    def turns(self) -> AnthropicTurns:
        last = [*map(dict, self._closed), *self._open()]
        marks = self._marks + sum([marks_in(turn["content"]) for turn in last])
        return AnthropicTurns(self._done, marks, last, self._has_files, self._has_thoughts)

    def _open(self) -> list[_Block]:
        """The current turn in a list, and the developer's after it; none if the turn has no blocks."""
        content = self._blocks[:]
        if self._role == "user":
            # Results must come before everything else in their message.
            results = [block for block in content if block.get("type") == "tool_result"]
            if 0 < len(results) < len(content):
                others = [block for block in content if block.get("type") != "tool_result"]
                content = results + others
        else:
            # "The final block in an assistant message cannot be `thinking`":
            # https://github.com/tailcallhq/forgecode/issues/2107
            while content and content[-1].get("type") in THOUGHTS:
                content.pop()
        turns: list[_Block] = []
        if content:
            turns.append({"role": self._role, "content": content})
        if self._told:
            turns.append({"role": "system", "content": self._told})
        return turns

    def _write_reply(self, reply: Reply, blocks: list[_Block]) -> None:
        self._ids.begin_reply()
        for part in reply.content:
            match part:
                case Text():
                    if _has_content(part):
                        blocks.append(_text(part))
                case Reasoning():
                    self._has_thoughts = True
                    bag = mapping(part.vendor.get(NAME))
                    if bag.get("type") == "redacted_thinking":
                        blocks.append(dict(bag))
                    elif bag:
                        # Thoughts need their signature. Another vendor's have none, and are left out.
                        blocks.append({"type": "thinking", "thinking": part.text, **bag})
                case Call():
                    blocks.append(self._call_block(part))
                case Media():
                    # A file that the vendor's own code made is in the block that reports it.
                    if NAME not in part.vendor or MADE not in mapping(part.vendor[NAME]):
                        blocks.append(_note(part))
                case Unknown():
                    bag = mapping(part.vendor.get(NAME))
                    is_last = part is reply.content[-1] and reply.stop in CUTTING
                    is_cut = is_last and bag.get("type") == "server_tool_use"
                    if bag and not is_cut:
                        blocks.append(dict(bag))
                case _:
                    assert_never(part)

    def _call_block(self, call: Call) -> _Block:
        block: _Block = {
            "type": "tool_use",
            "id": self._ids.of_call(call),
            "name": _legal(call.name),
            "input": parsed_arguments(call.as_json, UNPARSED),
        }
        if NAME in call.vendor:
            block |= mapping(call.vendor[NAME])
        if self._has_set and (action := split_action(call.name, block["input"])):
            block |= {"name": _legal(action[0]), "input": action[1], TOOLSET_MEMBER: COMPUTER}
        if isinstance(block.get(TOOLSET_MEMBER), str):
            self._families[block["id"]] = block[TOOLSET_MEMBER]
        return block

    def _result_block(self, result: Result) -> _Block:
        legal = self._ids.of_result(result)
        content = []
        for part in result.content:
            # "all content must be type 'text' if 'is_error' is true":
            # https://github.com/vellum-ai/vellum-assistant/pull/18387
            if isinstance(part, Media) and result.is_error:
                self._has_files = self._has_files or part.id is not None
                content.append(_note(part))
            elif _has_content(part):
                content.append(self._block(part))
        block: _Block = {"type": "tool_result", "tool_use_id": legal}
        if content:
            block["content"] = content
        if result.is_error:
            block["is_error"] = True
        if legal in self._families:
            block[TOOLSET_MEMBER] = self._families[legal]
        if NAME in result.vendor:
            block |= mapping(result.vendor[NAME])
        return block

    def _block(self, part: Text | Media, where: Callable[[], str] = str) -> _Block:
        """Unsupported media raise in a new message, and become a note elsewhere."""
        if isinstance(part, Text):
            return _text(part)
        self._has_files = self._has_files or part.id is not None
        kind = part.kind
        # A document must not be empty; words can be.
        is_blank = kind == "text" and part.way == "bytes" and not part.data.strip()
        if is_blank or not check_taken(part, MEDIA, NAME, where()):
            return _note(part)
        if part.way == "address":
            source: _Block = {"type": "url", "url": part.url}
        elif part.way == "id":
            source = {"type": "file", "file_id": part.id}
        elif kind == "text":
            data = part.data.decode(errors="replace")
            source = {"type": "text", "media_type": "text/plain", "data": data}
        else:
            media_type = essence(part.media_type)
            source = {"type": "base64", "media_type": media_type, "data": base64_raw(part)}
        if kind == "image":
            block = {"type": "image", "source": source}
        else:
            block = {"type": "document", "source": source}
            if part.name:
                block["title"] = part.name
        return {**block, **mapping(part.vendor.get(NAME))}


def _has_content(part: Text | Media) -> bool:
    """Whether the part has visible content: blocks of only white space are refused."""
    return isinstance(part, Media) or bool(part.text.strip())


def _text(part: Text) -> _Block:
    block = {"type": "text", "text": part.text}
    if NAME in part.vendor:
        block |= mapping(part.vendor[NAME])
    return block


def _note(part: Media) -> _Block:
    return {"type": "text", "text": note_of(part)}


def _legal(name: str) -> str:
    """The vendor may refuse a name that the model made up."""
    return _ILLEGAL.sub("_", name)[:_MAX_LENGTH] or "unknown"
