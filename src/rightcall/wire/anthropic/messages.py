"""Converts a transcript to Anthropic's messages: alternating roles, results first, legal ids.

What later messages cannot change is encoded once, and kept for the next requests of the run.
"""

import re
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, assert_never

from msgspec import Raw, Struct

from rightcall.core.call import Call
from rightcall.core.jsontext import JsonObject
from rightcall.core.media_type import essence
from rightcall.core.message import Message, Reasoning, Reply, Results, Unknown, User
from rightcall.core.parts import Media, Result, Text
from rightcall.core.request import Request
from rightcall.errors import EncodeError
from rightcall.wire.anthropic.tables import CUTTING, MADE, MEDIA, NAME, THOUGHTS, UNPARSED
from rightcall.wire.anthropic.toolset import FAMILY, SET_NAME, parted
from rightcall.wire.encoding import (
    EncodeCache,
    as_bytes,
    base64_raw,
    mapping,
    note_of,
    object_in,
    sequence,
)
from rightcall.wire.media import check_taken, first_new, place_of

_Block: TypeAlias = dict[str, Any]

MARK = "cache_control"
"""The member that marks a block for the vendor's prompt cache."""

_CLOSED = 3
"""This many turns and the current one always include the user's last two, as no two turns of the model
are adjacent. Earlier turns get no mark, and are encoded for good."""
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_LENGTH = 64


class _Ids:
    """Legal call ids: in the vendor's alphabet, not too long, and unique.

    https://github.com/maximhq/bifrost/issues/5097, https://github.com/NVIDIA-NeMo/Switchyard/issues/502
    An id depends only on earlier messages, so that a longer history keeps the ids of its beginning.
    """

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._open: dict[str, deque[str]] = {}
        self._families: dict[str, str] = {}
        """The toolset of a call, by id: its result must name it too."""

    def begin_reply(self) -> None:
        self._open = {}

    def of_call(self, call: Call) -> str:
        legal = _legal(call.id)
        candidate, number = legal, 1
        while candidate in self._used:
            number += 1
            candidate = f"{legal[: _MAX_LENGTH - 8]}_{number}"
        self._used.add(candidate)
        self._open.setdefault(call.id, deque()).append(candidate)
        return candidate

    def belongs(self, legal: str, family: object) -> None:
        if isinstance(family, str):
            self._families[legal] = family

    def of_result(self, result: Result) -> str:
        given = self._open.get(result.call_id)
        if not given:
            return _legal(result.call_id)
        return given.popleft() if len(given) > 1 else given[0]

    def family(self, legal: str) -> str | None:
        return self._families.get(legal)


class Turns(Struct, frozen=True):
    """The messages in the vendor's form: alternately user and assistant."""

    done: list[Raw]
    marks: int
    """The number of cache marks in ``done``."""
    last: list[_Block]
    """The last few turns. Their members may be replaced, but the values must not be changed in place."""
    has_files: bool = False
    """Whether any message refers to an uploaded file."""


def encode_messages(
    request: Request, cache: EncodeCache, mark: Mapping[str, Any], *, has_set: bool
) -> Turns:
    """The messages of a request; parts to be cached get ``mark``.

    ``has_set``: the request has the toolset for computer use, so that calls of the computer are written
    as calls of the set.
    """
    messages = request.messages
    new = first_new(messages)

    def write(writer: _Writer, message: Message, at: int) -> None:
        writer.write(message, where=place_of(at, new))

    apart = request.options.get("system_turns") is True
    key = f"{NAME}.{mark.get('ttl', '')}.{apart}.{has_set}"

    def begin() -> _Writer:
        return _Writer(mark, apart=apart, has_set=has_set)

    turns = cache.written(key, messages, begin, write).turns()
    if not turns.last:
        raise EncodeError(NAME, "there is nothing to send; say something first.", where="messages")
    if turns.last[-1]["role"] == "assistant":
        turns.last[-1]["content"] = _stripped(turns.last[-1]["content"])
    return turns


def marks_in(blocks: Iterable[Mapping[str, Any]]) -> int:
    """The number of blocks with a cache mark, including texts within a result."""
    count = 0
    for block in blocks:
        count += MARK in block
        if parts := sequence(block.get("content")):
            count += sum([MARK in mapping(part) for part in parts])
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
        self._ids = _Ids()
        self._done: list[Raw] = []
        self._marks = 0
        self._closed: list[_Block] = []
        """Turns that are complete, but may still get a cache mark."""
        self._role = ""
        self._blocks: list[_Block] = []
        """The blocks of the current turn."""
        self._has_files = False

    def write(self, message: Message, *, where: str) -> None:
        role = "assistant" if isinstance(message, Reply) else "user"
        blocks = _blocks(message, self._ids, where=where, has_set=self._has_set)
        if isinstance(message, User) and any([part.cache for part in message.content]):  # noqa: C419 - quicker
            kept = [part.cache for part in message.content if _says(part)]
            start = len(blocks) - len(kept)
            for at, is_kept in enumerate(kept, start):
                blocks[at] = {**blocks[at], MARK: self._mark} if is_kept else blocks[at]
        if blocks and role != self._role:
            self._closed += self._open()
            self._role, self._blocks, self._told = role, [], []
            while len(self._closed) > _CLOSED:
                self._finish(self._closed.pop(0))
        # It must follow a turn of the user's, and only a turn of the model's may follow it:
        # https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
        is_apart = self._apart and isinstance(message, User) and message.author == "developer"
        if is_apart and self._blocks and _is_text(blocks):
            self._told += blocks
        else:
            self._blocks += blocks
        self._has_files = self._has_files or _names_file(message)

    def turns(self) -> Turns:
        last = [*map(dict, self._closed), *self._open()]
        return Turns(self._done, self._marks, last, self._has_files)

    def _open(self) -> list[_Block]:
        told = [{"role": "system", "content": self._told}] if self._told else []
        return [*_turn(self._role, self._blocks), *told]

    def _finish(self, turn: _Block) -> None:
        self._done.append(Raw(as_bytes(turn, NAME)))
        self._marks += marks_in(turn["content"])


def _is_text(blocks: list[_Block]) -> bool:
    return all(block.get("type") == "text" for block in blocks)


def _turn(role: str, blocks: list[_Block]) -> list[_Block]:
    """The turn in a list; an empty list if the turn has no blocks."""
    content = _ordered(role, blocks)
    return [{"role": role, "content": content}] if content else []


def _blocks(message: Message, ids: _Ids, *, where: str, has_set: bool) -> list[_Block]:
    match message:
        case User():
            attached = message.vendor.get(NAME)
            given = map(mapping, attached) if isinstance(attached, list | tuple) else ()
            return [*map(dict, given), *_content(message.content, where)]
        case Reply():
            ids.begin_reply()
            return list(_reply_blocks(message, ids, has_set=has_set))
        case Results():
            return [_result_block(result, ids) for result in message.results]
        case _:
            assert_never(message)


def _ordered(role: str, blocks: list[_Block]) -> list[_Block]:
    if role == "user":
        # Results must come before everything else in their message.
        results = [block for block in blocks if block.get("type") == "tool_result"]
        if len(results) in (0, len(blocks)):
            return blocks[:]
        return [*results, *(block for block in blocks if block.get("type") != "tool_result")]
    # "The final block in an assistant message cannot be `thinking`":
    # https://github.com/tailcallhq/forgecode/issues/2107
    end = len(blocks)
    while end and blocks[end - 1].get("type") in THOUGHTS:
        end -= 1
    return blocks[:end]


def _stripped(blocks: list[_Block]) -> list[_Block]:
    """Assistant content that is to be continued must not end with white space."""
    if blocks[-1].get("type") != "text":
        return blocks
    return [*blocks[:-1], {**blocks[-1], "text": blocks[-1]["text"].rstrip()}]


def _reply_blocks(reply: Reply, ids: _Ids, *, has_set: bool) -> Iterable[_Block]:
    last = len(reply.content) - 1
    for at, part in enumerate(reply.content):
        match part:
            case Text():
                if _says(part):
                    yield _text(part)
            case Reasoning():
                bag = mapping(part.vendor.get(NAME))
                if bag.get("type") == "redacted_thinking":
                    yield dict(bag)
                elif bag:
                    # Thoughts need their signature. Another vendor's thoughts have none, and are left
                    # out.
                    yield {"type": "thinking", "thinking": part.text, **bag}
            case Call():
                yield _call_block(part, ids, has_set=has_set)
            case Media():
                # A file that the vendor's own code made is in the block that reports it.
                if MADE not in mapping(part.vendor.get(NAME)):
                    yield _note(part)
            case Unknown():
                bag = mapping(part.vendor.get(NAME))
                cut = at == last and reply.stop in CUTTING and bag.get("type") == "server_tool_use"
                if bag and not cut:
                    yield dict(bag)
            case _:
                assert_never(part)


def _call_block(call: Call, ids: _Ids, *, has_set: bool) -> _Block:
    block = {
        "type": "tool_use",
        "id": ids.of_call(call),
        # The vendor may refuse a name that the model made up.
        "name": _legal(call.name, "unknown"),
        "input": _input(call.as_json),
        **mapping(call.vendor.get(NAME)),
    }
    if has_set and (action := parted(call.name, block["input"])):
        block |= {"name": _legal(action[0], "unknown"), "input": action[1], SET_NAME: FAMILY}
    ids.belongs(block["id"], block.get(SET_NAME))
    return block


def _input(arguments: str) -> JsonObject:
    """The arguments as an object, which the vendor requires, even if they are malformed or cut off."""
    if not arguments.strip():
        return {}
    value = object_in(arguments)
    return {UNPARSED: arguments} if value is None else value


def _result_block(result: Result, ids: _Ids) -> _Block:
    legal = ids.of_result(result)
    family = ids.family(legal)
    # "all content must be type 'text' if 'is_error' is true":
    # https://github.com/vellum-ai/vellum-assistant/pull/18387
    content = (
        [
            _note(part) if isinstance(part, Media) else _text(part)
            for part in result.content
            if _says(part)
        ]
        if result.is_error
        else _content(result.content, "")
    )
    return {
        "type": "tool_result",
        "tool_use_id": legal,
        **({"content": content} if content else {}),
        **({"is_error": True} if result.is_error else {}),
        **({SET_NAME: family} if family else {}),
        **mapping(result.vendor.get(NAME)),
    }


def _content(parts: Iterable[Text | Media], where: str) -> list[_Block]:
    return [
        _text(part) if isinstance(part, Text) else _media(part, where) for part in parts if _says(part)
    ]


def _says(part: Text | Media) -> bool:
    """Whether the part has visible content: blocks of only white space are refused."""
    return isinstance(part, Media) or bool(part.text.strip())


def _text(part: Text) -> _Block:
    return {"type": "text", "text": part.text, **mapping(part.vendor.get(NAME))}


def _media(part: Media, where: str) -> _Block:
    """Media as a block. Unsupported media raise in a new message, and become a note elsewhere."""
    kind = part.kind
    # A document must not be empty; words can be.
    is_blank = kind == "text" and part.way == "bytes" and not part.data.strip()
    if is_blank or not check_taken(part, MEDIA, NAME, where):
        return _note(part)
    more = mapping(part.vendor.get(NAME))
    if kind == "image":
        return {"type": "image", "source": _source(part), **more}
    title = {"title": part.name} if part.name else {}
    return {"type": "document", "source": _source(part), **title, **more}


def _source(part: Media) -> _Block:
    match part.way:
        case "address":
            return {"type": "url", "url": part.url}
        case "id":
            return {"type": "file", "file_id": part.id}
        case _ if part.kind == "text":
            data = part.data.decode(errors="replace")
            return {"type": "text", "media_type": "text/plain", "data": data}
        case _:
            kind = essence(part.media_type)
            return {"type": "base64", "media_type": kind, "data": base64_raw(part)}


def _names_file(message: Message) -> bool:
    """Whether the message refers to an uploaded file."""
    match message:
        case User():
            parts: Iterable[Text | Media] = message.content
        case Results():
            parts = [part for result in message.results for part in result.content]
        case _:
            return False
    return bool([part for part in parts if isinstance(part, Media) and part.id is not None])


def _note(part: Media) -> _Block:
    return {"type": "text", "text": note_of(part)}


def _legal(word: str, otherwise: str = "call") -> str:
    return _ILLEGAL.sub("_", word)[:_MAX_LENGTH] or otherwise
