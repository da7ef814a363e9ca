"""Converts a transcript to Converse's messages: alternating roles, results first, legal ids and names.

What later messages cannot change is encoded once, and kept for the next requests of the run.
"""

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, assert_never

from msgspec import Raw, Struct

from rightcall.core.call import Call
from rightcall.core.jsontext import JsonObject
from rightcall.core.media_type import MediaKind, essence
from rightcall.core.message import Message, Reasoning, Reply, Results, Unknown, User
from rightcall.core.parts import Media, Result, Text
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
from rightcall.wire.encoding import EncodeCache, as_bytes, base64_raw, mapping, note_of, object_in
from rightcall.wire.media import check_taken, first_new, place_of

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


class _Names:
    """Legal call ids and document names: in the vendor's alphabet, not too long, and unique.

    They depend only on earlier messages, so that a longer history keeps those of its beginning.
    """

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._open: dict[str, deque[str]] = {}
        self._titles: set[str] = set()

    def begin_reply(self) -> None:
        self._open = {}

    def of_call(self, call: Call) -> str:
        legal = _unused(_legal_id(call.id), self._used, "{}_{}")
        self._open.setdefault(call.id, deque()).append(legal)
        return legal

    def of_result(self, result: Result) -> str:
        given = self._open.get(result.call_id)
        if not given:
            return _legal_id(result.call_id)
        return given.popleft() if len(given) > 1 else given[0]

    def of_document(self, media: Media) -> str:
        # The model reads the name and could take it for an instruction: most punctuation is removed.
        title = _ILLEGAL_TITLE.sub(" ", media.name or "").strip()[:_MAX_TITLE].strip() or "Document"
        return _unused(title, self._titles, "{} {}")


def _unused(word: str, used: set[str], form: str) -> str:
    candidate, number = word, 1
    while candidate in used:
        number += 1
        candidate = form.format(word[: _MAX_LENGTH - 8], number)
    used.add(candidate)
    return candidate


class Turns(Struct, frozen=True):
    """The messages in the vendor's form: alternately user and assistant."""

    done: list[Raw]
    marks: int
    """The number of cache points in ``done``."""
    last: list[_Block]
    """The last few turns. Their members may be replaced, but the values must not be changed in place."""
    called: Mapping[str, None]
    """The names of the tools that were called."""


def encode_messages(request: Request, cache: EncodeCache, maker: Maker, mark: _Block) -> Turns:
    """The messages for a model of that maker; ``mark`` follows parts that are to be cached."""
    messages = request.messages
    new = first_new(messages)

    def write(writer: _Writer, message: Message, at: int) -> None:
        writer.write(message, where=place_of(at, new))

    ways = f"{NAME} {maker.signs_thoughts} {maker.json_results} {maker.caches} {mark[MARK].get('ttl')}"
    turns = cache.written(ways, messages, lambda: _Writer(maker, mark), write).turns()
    if not turns.last:
        raise EncodeError(NAME, "there is nothing to send; say something first.", where="messages")
    return turns


class _Writer:
    """Writes messages one after another. Blocks are never changed in place."""

    def __init__(self, maker: Maker, mark: _Block) -> None:
        self._maker = maker
        self._mark = mark
        self._names = _Names()
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
            self._role, self._blocks = role, []
            while len(self._closed) > _CLOSED:
                self._finish(self._closed.pop(0))
        self._blocks += blocks

    def turns(self) -> Turns:
        last = [*map(dict, self._closed), *_turn(self._role, self._blocks)]
        return Turns(self._done, self._marks, last, self._called)

    def _finish(self, turn: _Block) -> None:
        self._done.append(Raw(as_bytes(turn, NAME)))
        self._marks += marks_in(turn["content"])

    def _content(self, message: Message, where: str) -> list[_Block]:
        match message:
            case User():
                return self._said(message, where)
            case Reply():
                self._names.begin_reply()
                blocks = list(self._replied(message))
                # A turn of only thoughts cannot be sent, and two user turns must not be adjacent.
                return blocks if any("reasoningContent" not in block for block in blocks) else []
            case Results():
                return [block for result in message.results for block in self._result(result)]
            case _:
                assert_never(message)

    def _said(self, message: User, where: str) -> list[_Block]:
        attached = message.vendor.get(NAME)
        given = map(mapping, attached) if isinstance(attached, list | tuple) else ()
        blocks = [*map(dict, given), *self._parts(message.content, where)]
        names = [block["document"].get("name") for block in blocks if "document" in block]
        if names and not any("text" in block for block in blocks):
            # "If you include a ContentBlock with a document field in the array, you must also include a
            # ContentBlock with a text field": API_runtime_Message.html
            blocks.append({"text": f"{names[0]}:"})
        return blocks

    def _replied(self, reply: Reply) -> Iterable[_Block]:
        last = len(reply.content) - 1
        for at, part in enumerate(reply.content):
            match part:
                case Text():
                    if part.text.strip():
                        yield _text(part)
                case Reasoning():
                    yield from self._thought(part)
                case Call():
                    use = _call(part, self._names)
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

    def _thought(self, part: Reasoning) -> Iterable[_Block]:
        """A thought with its signature. One without, or for another maker, is left out."""
        bag = mapping(part.vendor.get(NAME))
        if not self._maker.signs_thoughts:
            return
        if "redactedContent" in bag:
            yield {"reasoningContent": {"redactedContent": bag["redactedContent"]}}
        elif "signature" in bag:
            yield {"reasoningContent": {"reasoningText": {"text": part.text, **bag}}}

    def _result(self, result: Result) -> list[_Block]:
        parts = [part for part in result.content if _says(part)]
        if result.is_error:
            # Claude accepts only text in an error result.
            parts = [Text(note_of(part)) if isinstance(part, Media) else part for part in parts]
        content = [
            _as_object(block["text"]) if self._maker.json_results and "text" in block else block
            for block in self._parts(parts, "", result=True)
        ]
        bag = mapping(result.vendor.get(NAME))
        answer = {
            "toolUseId": self._names.of_result(result),
            "content": content or [{"text": _NOTHING}],
            **({"status": "error"} if result.is_error else {}),
            **_unmarked(bag),
        }
        return [{"toolResult": answer}, *_mark_in(bag)]

    def _parts(self, parts: Iterable[Text | Media], where: str, *, result: bool = False) -> list[_Block]:
        blocks: list[_Block] = []
        for part in filter(_says, parts):
            if isinstance(part, Text):
                blocks.append({"text": part.text})
            else:
                blocks.append(self._media(part, where, result=result))
            # A result cannot hold a cache point.
            if not result:
                own = _mark_in(mapping(part.vendor.get(NAME)))
                kept = part.cache and self._maker.caches and not own
                blocks = marked(blocks, self._mark) if kept else [*blocks, *own]
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
        named = {"name": self._names.of_document(part)} if member == "document" else {}
        more = _unmarked(mapping(part.vendor.get(NAME)))
        return {member: {"format": form, **named, "source": _source(part), **more}}


_DOCUMENT = ("document", DOCUMENTS)
_FORMS: Mapping[MediaKind, tuple[str, Mapping[str, str]]] = {
    "image": ("image", IMAGES),
    "audio": ("audio", SOUNDS),
    "video": ("video", VIDEOS),
}
"""The block for each kind of media, and its names of types; documents for other kinds."""


def _source(part: Media) -> _Block:
    if part.url is not None:
        return {"s3Location": {"uri": part.url}}
    return {"bytes": base64_raw(part)}


def _mark_in(bag: Mapping[str, Any]) -> list[_Block]:
    """The cache point that a part's bag puts after it."""
    return [{MARK: bag[MARK]}] if MARK in bag else []


def _unmarked(bag: Mapping[str, Any]) -> _Block:
    return {name: value for name, value in bag.items() if name != MARK}


def marks_in(blocks: Iterable[Mapping[str, Any]]) -> int:
    """How many of the blocks are cache points."""
    return sum([MARK in block for block in blocks])


def marked(blocks: Sequence[_Block], mark: _Block) -> list[_Block]:
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
    content = _ordered(role, blocks)
    return [{"role": role, "content": content}] if content else []


def _ordered(role: str, blocks: list[_Block]) -> list[_Block]:
    if role == "user":
        # Results must come before everything else in their message.
        results = [block for block in blocks if "toolResult" in block]
        return [*results, *(block for block in blocks if "toolResult" not in block)]
    # An assistant's message must not end with a thought.
    end = len(blocks)
    while end and "reasoningContent" in blocks[end - 1]:
        end -= 1
    return blocks[:end]


def _call(call: Call, names: _Names) -> _Block:
    return {
        "toolUseId": names.of_call(call),
        # The vendor may refuse a name that the model made up.
        "name": _ILLEGAL_NAME.sub("_", call.name)[:_MAX_LENGTH] or "unknown",
        "input": _input(call.as_json),
        **mapping(call.vendor.get(NAME)),
    }


def _input(arguments: str) -> JsonObject:
    """The arguments as an object, which the vendor requires, even if they are malformed or cut off."""
    if not arguments.strip():
        return {}
    value = object_in(arguments)
    return {UNPARSED: arguments} if value is None else value


def _as_object(text: str) -> _Block:
    value = object_in(text)
    return {"json": {"result": text} if value is None else value}


def _text(part: Text) -> _Block:
    citations = mapping(part.vendor.get(NAME)).get("citations")
    if not citations:
        return {"text": part.text}
    return {"citationsContent": {"content": [{"text": part.text}], "citations": citations}}


def _says(part: Text | Media) -> bool:
    """Whether the part has visible content: blocks of only white space are refused."""
    return isinstance(part, Media) or bool(part.text.strip())


def _legal_id(word: str) -> str:
    return _ILLEGAL_ID.sub("_", word)[:_MAX_LENGTH] or "call"
