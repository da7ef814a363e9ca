"""Converts a transcript to Converse's messages: alternating roles, results first, legal ids and names.

What later messages cannot change is encoded once, and kept for the next requests of the run.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, assert_never

from msgspec import Raw, Struct

from rightcall.core.message import Message, Reasoning, Reply, Results, Unknown, User
from rightcall.core.parts import Call, Media, MediaKind, Result, Text, essence
from rightcall.core.request import Request
from rightcall.errors import EncodeError
from rightcall.wire.bedrock.tables import (
    CUTTING,
    DOCUMENTS,
    IMAGES,
    MEDIA,
    NAME,
    SOUNDS,
    UNPARSED,
    VIDEOS,
    Maker,
)
from rightcall.wire.media import check_taken, first_new, place_of
from rightcall.wire.payload import (
    EncodeCache,
    LegalIds,
    as_bytes,
    base64_raw,
    mapping,
    note_of,
    object_in,
    parsed_arguments,
    without,
)

_Block: TypeAlias = dict[str, Any]

MARK = "cachePoint"
"""The block that marks the content before it for the vendor's prompt cache."""

_CLOSED = 3
"""This many turns and the current one always include the user's last two, as no two turns of the model
are adjacent. Earlier turns get no mark, and are encoded for good."""
_ILLEGAL_ID = re.compile(r"[^a-zA-Z0-9_.:-]")
_ILLEGAL_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_ILLEGAL_TITLE = re.compile(r"[^a-zA-Z0-9()\[\]-]+")
_MAX_LENGTH = 64
_MAX_TITLE = 100
_NOTHING = "(no output)"
"""The text of an empty result: blocks of only white space are refused."""


class ConverseTurns(Struct, frozen=True):
    """The messages in the vendor's form: alternately user and assistant."""

    done: list[Raw]
    marks: int
    """The number of cache points in all of them."""
    last: list[_Block]
    """The last few turns. Their members may be replaced, but the values must not be changed in place."""
    called: Mapping[str, None]
    """The names of the tools that were called."""


def encode_messages(request: Request, cache: EncodeCache, maker: Maker, mark: _Block) -> ConverseTurns:
    """The messages for a model of that maker; ``mark`` follows parts that are to be cached."""
    messages = request.messages
    new = first_new(messages)

    def write(writer: _Writer, message: Message, at: int) -> None:
        writer.write(message, where=place_of(at, new))

    ways = f"{NAME} {maker.signs_thoughts} {maker.json_results} {maker.caches} {mark[MARK].get('ttl')}"
    turns = cache.write_messages(ways, messages, lambda: _Writer(maker, mark), write).turns()
    if not turns.last:
        raise EncodeError(NAME, "there is nothing to send; say something first.", where="messages")
    return turns


class _Writer:
    """Writes messages one after another. Blocks are never changed in place."""

    def __init__(self, maker: Maker, mark: _Block) -> None:
        self._maker = maker
        self._mark = mark
        self._ids = LegalIds(_ILLEGAL_ID)
        self._titles: set[str] = set()
        self._done: list[Raw] = []
        self._marks = 0
        self._called: dict[str, None] = {}
        self._closed: list[_Block] = []
        """Turns that are complete, but may still get a cache mark."""
        self._role = ""
        self._blocks: list[_Block] = []
        """The blocks of the current turn."""

    def write(self, message: Message, *, where: str) -> None:
        role = "assistant" if isinstance(message, Reply) else "user"
        blocks = self._content(message, where)
        if blocks and role != self._role:
            self._closed += _turn(self._role, self._blocks)
            self._role = role
            self._blocks = []
            while len(self._closed) > _CLOSED:
                turn = self._closed.pop(0)
                self._done.append(Raw(as_bytes(turn, NAME)))
                self._marks += marks_in(turn["content"])
        self._blocks += blocks

    def turns(self) -> ConverseTurns:
        last = [*map(dict, self._closed), *_turn(self._role, self._blocks)]
        marks = self._marks + sum([marks_in(turn["content"]) for turn in last])
        return ConverseTurns(self._done, marks, last, self._called)

    def _content(self, message: Message, where: str) -> list[_Block]:
        match message:
            case User():
                blocks: list[_Block] = []
                attached = message.vendor.get(NAME)
                if isinstance(attached, list | tuple):
                    for block in attached:
                        blocks.append(dict(mapping(block)))
                blocks += self._parts(message.content, where)
                names = [block["document"].get("name") for block in blocks if "document" in block]
                if names and not any("text" in block for block in blocks):
                    # "If you include a ContentBlock with a document field in the array, you must also
                    # include a ContentBlock with a text field": API_runtime_Message.html
                    blocks.append({"text": f"{names[0]}:"})
                return blocks
            case Reply():
                self._ids.begin_reply()
                blocks = list(self._reply_blocks(message))
                # A turn of only thoughts cannot be sent, and two user turns must not be adjacent.
                if any("reasoningContent" not in block for block in blocks):
                    return blocks
                return []
            case Results():
                blocks = []
                for result in message.results:
                    blocks += self._result(result)
                return blocks
            case _:
                assert_never(message)

    def _reply_blocks(self, reply: Reply) -> Iterable[_Block]:
        last = len(reply.content) - 1
        for at, part in enumerate(reply.content):
            match part:
                case Text():
                    if part.text.strip():
                        yield _text(part)
                case Reasoning():
                    # One without a signature, or for another maker, is left out.
                    bag = mapping(part.vendor.get(NAME))
                    if self._maker.signs_thoughts and "redactedContent" in bag:
                        yield {"reasoningContent": {"redactedContent": bag["redactedContent"]}}
                    elif self._maker.signs_thoughts and "signature" in bag:
                        yield {"reasoningContent": {"reasoningText": {"text": part.text, **bag}}}
                case Call():
                    use = {
                        "toolUseId": self._ids.of_call(part),
                        # The vendor may refuse a name that the model made up.
                        "name": _ILLEGAL_NAME.sub("_", part.name)[:_MAX_LENGTH] or "unknown",
                        "input": parsed_arguments(part.as_json, UNPARSED),
                        **mapping(part.vendor.get(NAME)),
                    }
                    self._called[use["name"]] = None
                    yield {"toolUse": use}
                case Media():
                    yield {"text": note_of(part)}
                case Unknown():
                    bag = mapping(part.vendor.get(NAME))
                    cut = at == last and reply.stop in CUTTING and "toolUse" in bag
                    if bag and not cut:
                        yield dict(bag)
                case _:
                    assert_never(part)

    def _result(self, result: Result) -> list[_Block]:
        parts: list[Text | Media] = []
        for part in result.content:
            if isinstance(part, Media) and result.is_error:
                # Claude accepts only text in an error result.
                parts.append(Text(note_of(part)))
            else:
                parts.append(part)
        content = self._parts(parts, "", result=True)
        if self._maker.json_results:
            for at, block in enumerate(content):
                if "text" in block:
                    value = object_in(block["text"])
                    content[at] = {"json": {"result": block["text"]} if value is None else value}
        bag = mapping(result.vendor.get(NAME))
        answer = {"toolUseId": self._ids.of_result(result), "content": content or [{"text": _NOTHING}]}
        if result.is_error:
            answer["status"] = "error"
        return [{"toolResult": answer | without(bag, MARK)}, *_mark_in(bag)]

    def _parts(self, parts: Iterable[Text | Media], where: str, *, result: bool = False) -> list[_Block]:
        blocks: list[_Block] = []
        for part in filter(_has_content, parts):
            if isinstance(part, Text):
                blocks.append({"text": part.text})
            else:
                blocks.append(self._media(part, where, result=result))
            # A result cannot hold a cache point.
            if not result:
                own = _mark_in(mapping(part.vendor.get(NAME)))
                if part.cache and self._maker.caches and not own:
                    blocks = add_mark(blocks, self._mark)
                else:
                    blocks = [*blocks, *own]
        return blocks

    def _media(self, part: Media, where: str, *, result: bool) -> _Block:
        """Media as a block. Unsupported media raise in a new message, and become a note elsewhere."""
        member, formats = _FORMS.get(part.kind, _DOCUMENT)
        # A document must not be empty, and a result cannot hold audio; a text can replace both.
        is_blank = member == "document" and part.way == "bytes" and not part.data.strip()
        is_unheard = result and member == "audio"
        if is_blank or is_unheard or not check_taken(part, MEDIA, NAME, where):
            return {"text": note_of(part)}
        form = formats.get(essence(part.media_type), "txt" if part.kind == "text" else "")
        if not form:
            # Such as ``image/*``, whose exact type other vendors detect.
            if where:
                words = f"{part.media_type} says too little; give its media_type in full."
                raise EncodeError(NAME, words, where=where)
            return {"text": note_of(part)}
        media: _Block = {"format": form}
        if member == "document":
            media["name"] = self._title_of(part)
        if part.url is not None:
            media["source"] = {"s3Location": {"uri": part.url}}
        else:
            media["source"] = {"bytes": base64_raw(part)}
        return {member: media | without(mapping(part.vendor.get(NAME)), MARK)}

    def _title_of(self, media: Media) -> str:
        """A document's name: legal and unique."""
        # The model reads it and could take it for an instruction: most punctuation is removed.
        title = _ILLEGAL_TITLE.sub(" ", media.name or "").strip()[:_MAX_TITLE].strip() or "Document"
        candidate = title
        number = 1
        while candidate in self._titles:
            number += 1
            candidate = f"{title[: _MAX_LENGTH - 8]} {number}"
        self._titles.add(candidate)
        return candidate


_DOCUMENT = ("document", DOCUMENTS)
_FORMS: Mapping[MediaKind, tuple[str, Mapping[str, str]]] = {
    "image": ("image", IMAGES),
    "audio": ("audio", SOUNDS),
    "video": ("video", VIDEOS),
}
"""The block for each kind of media, and its names of types; documents for other kinds."""


def _mark_in(bag: Mapping[str, Any]) -> list[_Block]:
    """The cache point that a part's bag puts after it."""
    if MARK in bag:
        return [{MARK: bag[MARK]}]
    return []


def marks_in(blocks: Iterable[Mapping[str, Any]]) -> int:
    """How many of the blocks are cache points."""
    return sum([MARK in block for block in blocks])


def add_mark(blocks: Sequence[_Block], mark: _Block) -> list[_Block]:
    """The blocks with a cache point after them.

    A cache point may not follow a document or a video, so trailing ones are not cached.
    """
    end = len(blocks)
    while end and ("document" in blocks[end - 1] or "video" in blocks[end - 1]):
        end -= 1
    if not end or MARK in blocks[end - 1]:
        return list(blocks)
    return [*blocks[:end], mark, *blocks[end:]]


def _turn(role: str, blocks: list[_Block]) -> list[_Block]:
    """The turn in a list; an empty list if the turn has no blocks."""
    if role == "user":
        # Results must come before everything else in their message.
        results = [block for block in blocks if "toolResult" in block]
        content = [*results, *(block for block in blocks if "toolResult" not in block)]
    else:
        # An assistant's message must not end with a thought.
        end = len(blocks)
        while end and "reasoningContent" in blocks[end - 1]:
            end -= 1
        content = blocks[:end]
    if content:
        return [{"role": role, "content": content}]
    return []


def _text(part: Text) -> _Block:
    citations = mapping(part.vendor.get(NAME)).get("citations")
    if not citations:
        return {"text": part.text}
    return {"citationsContent": {"content": [{"text": part.text}], "citations": citations}}


def _has_content(part: Text | Media) -> bool:
    """Whether the part has visible content: blocks of only white space are refused."""
    return isinstance(part, Media) or bool(part.text.strip())
