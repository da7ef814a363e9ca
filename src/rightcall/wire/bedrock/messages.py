"""A transcript into Converse's messages: roles that alternate, results first, legal ids and names.

What nothing later can change is written into bytes once, and kept for the next request of the run.
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
"""The block that marks what stands before it for the vendor's prompt cache."""

_CLOSED = 3
"""So many turns, with the one that messages are added to, hold the last two of the user's, as no two of
the model's are neighbours. What is before those gets no mark, and is not looked at again."""
_ILLEGAL_ID = re.compile(r"[^a-zA-Z0-9_.:-]")
_ILLEGAL_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_ILLEGAL_TITLE = re.compile(r"[^a-zA-Z0-9()\[\]-]+")
_MAX_LENGTH = 64
_MAX_TITLE = 100
_NOTHING = "(no output)"
"""What a result of nothing says: a block of nothing but white space is refused."""


class _Names:
    """Call ids and documents' names that the vendor takes: of its alphabet, not long, each used once.

    Only what came before decides, so that a longer history gives the same to its beginning.
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
        # The model reads the name, and may take it for an order: it is bare of everything but letters.
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
    """The messages as the vendor wants them; user messages, then assistant, then user."""

    done: list[Raw]
    marks: int
    """How many cache points there are in those."""
    last: list[_Block]
    """The last few, whose members may be replaced; what these hold must stay as it is."""
    called: Mapping[str, None]
    """The names of the tools that were called."""


def encode_messages(request: Request, cache: EncodeCache, maker: Maker, mark: _Block) -> Turns:
    """The messages for a model of that maker; ``mark`` stands after parts that are to be kept."""
    messages = request.messages
    new = first_new(messages)

    def write(writer: _Writer, message: Message, at: int) -> None:
        writer.write(message, where=place_of(at) if at >= new else "")

    ways = f"{NAME} {maker.signs_thoughts} {maker.json_results} {maker.caches} {mark[MARK].get('ttl')}"
    turns = cache.written(ways, messages, lambda: _Writer(maker, mark), write).turns()
    if not turns.last:
        raise EncodeError(NAME, "there is nothing to send; say something first.", where="messages")
    return turns


class _Writer:
    """Writes messages one after another. Blocks are not changed once they are made."""

    def __init__(self, maker: Maker, mark: _Block) -> None:
        self._maker = maker
        self._mark = mark
        self._names = _Names()
        self._done: list[Raw] = []
        self._marks = 0
        self._called: dict[str, None] = {}
        self._closed: list[_Block] = []
        """Turns that no message is added to any more, but which are not done with."""
        self._role = ""
        self._blocks: list[_Block] = []
        """The turn that messages are added to."""

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
                # Thoughts alone cannot be sent, and two turns of the user's must not be neighbours.
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
        """Its signature speaks for it. A thought without one, or for another maker, stays behind."""
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
            # Claude takes nothing but text beside an error.
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
            # Within a result there is no place for one.
            if not result:
                own = _mark_in(mapping(part.vendor.get(NAME)))
                kept = part.cache and self._maker.caches and not own
                blocks = marked(blocks, self._mark) if kept else [*blocks, *own]
        return blocks

    def _media(self, part: Media, where: str, *, result: bool) -> _Block:
        """Media as a block. What the vendor does not take is an error in a new message, else a note."""
        member, formats = _FORMS.get(part.kind, _DOCUMENT)
        # A document must not be empty, and a result holds no sound; words can be and do.
        is_blank = member == "document" and part.way == "bytes" and not part.data.strip()
        is_unheard = result and member == "audio"
        if is_blank or is_unheard or not check_taken(part, MEDIA, NAME, where):
            return {"text": note_of(part)}
        form = formats.get(essence(part.media_type), "txt" if part.kind == "text" else "")
        if not form:
            # Such as ``image/*``, of which other vendors find out the rest.
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
"""What media of a kind are sent in, and the words for their types; else those of documents."""


def _source(part: Media) -> _Block:
    if part.url is not None:
        return {"s3Location": {"uri": part.url}}
    return {"bytes": base64_raw(part)}


def _mark_in(bag: Mapping[str, Any]) -> list[_Block]:
    """The cache point that was said to stand after a part."""
    return [{MARK: bag[MARK]}] if MARK in bag else []


def _unmarked(bag: Mapping[str, Any]) -> _Block:
    return {name: value for name, value in bag.items() if name != MARK}


def marks_in(blocks: Iterable[Mapping[str, Any]]) -> int:
    """How many of the blocks are cache points."""
    return sum([MARK in block for block in blocks])


def marked(blocks: Sequence[_Block], mark: _Block) -> list[_Block]:
    """The blocks with a cache point after them.

    None may follow a document or a video, so those at the end are left out of what is cached.
    """
    end = len(blocks)
    while end and ("document" in blocks[end - 1] or "video" in blocks[end - 1]):
        end -= 1
    if not end or MARK in blocks[end - 1]:
        return list(blocks)
    return [*blocks[:end], mark, *blocks[end:]]


def _turn(role: str, blocks: list[_Block]) -> list[_Block]:
    """The turn, unless nothing is left of it."""
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
        # A name that the model made up may be none that the vendor takes.
        "name": _ILLEGAL_NAME.sub("_", call.name)[:_MAX_LENGTH] or "unknown",
        "input": _input(call.as_json),
        **mapping(call.vendor.get(NAME)),
    }


def _input(arguments: str) -> JsonObject:
    """The arguments as the object that the vendor demands, even where they are broken or cut off."""
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
    """Blocks of nothing but white space are refused."""
    return isinstance(part, Media) or bool(part.text.strip())


def _legal_id(word: str) -> str:
    return _ILLEGAL_ID.sub("_", word)[:_MAX_LENGTH] or "call"
