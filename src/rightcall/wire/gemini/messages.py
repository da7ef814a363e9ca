"""Converts a transcript to Gemini's contents, which alternate between the roles user and model."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, assert_never

from msgspec import Raw

from rightcall.core.call import Call
from rightcall.core.message import Message, Reasoning, Reply, Results, Transcript, Unknown, User
from rightcall.core.parts import Media, Result, Text
from rightcall.wire.encoding import (
    EncodeCache,
    as_bytes,
    base64_raw,
    mapping,
    note_of,
    object_in,
    sequence,
)
from rightcall.wire.gemini.tables import MEDIA, NAME, NESTED_MEDIA
from rightcall.wire.google import FILES, FOREIGN_SIGNATURE
from rightcall.wire.media import check_taken, first_new, place_of

Json: TypeAlias = dict[str, Any]

UNPARSED = "unparsed_arguments"
"""The member for the text of arguments that are not a JSON object; the vendor takes only objects."""


def contents(messages: Transcript, cache: EncodeCache, *, nested_media: bool) -> list[Raw | Json]:
    """The messages as contents. Consecutive messages of the same role are joined."""
    key = f"{NAME}.{nested_media}"
    begin = partial(_Writer, nested_media=nested_media)
    new = first_new(messages)

    def write(writer: _Writer, message: Message, at: int) -> None:
        writer.write(message, where=place_of(at, new))

    return cache.written(key, messages, begin, write).turns


class _Writer:
    """Writes messages one after another, each part as bytes; only the last turn is still open."""

    def __init__(self, *, nested_media: bool) -> None:
        self._done: list[Raw] = []
        self._role = ""
        self._parts: list[Raw] = []
        self._nested_media = nested_media

    @property
    def turns(self) -> list[Raw | Json]:
        return [*self._done, self._open] if self._parts else []

    @property
    def _open(self) -> Json:
        return {"role": self._role, "parts": self._parts}

    def write(self, message: Message, *, where: str) -> None:
        role, parts = _turn(message, where=where, nested_media=self._nested_media)
        if parts and role != self._role:
            if self._parts:
                self._done.append(Raw(as_bytes(self._open, NAME)))
            self._role, self._parts = role, []
        self._parts += [Raw(as_bytes(part, NAME)) for part in parts]


def _turn(message: Message, *, where: str, nested_media: bool) -> tuple[str, list[Json]]:
    match message:
        case User():
            return "user", _user_parts(message, where)
        case Reply():
            return "model", list(_reply_parts(message))
        case Results():
            return "user", _result_parts(message.results, nested_media=nested_media)
        case _:
            assert_never(message)


def _user_parts(message: User, where: str) -> list[Json]:
    parts = [said for part in message.content if (said := _plain(part, where))]
    # Parts that only Gemini has, such as fileData for an uploaded file.
    parts += sequence(mapping(message.vendor.get(NAME)).get("parts"))
    # A turn needs a part, and a call must not come first; empty text is accepted here.
    return parts or [{"text": ""}]


def _reply_parts(reply: Reply) -> Iterator[Json]:
    needs_signature = True
    for part in reply.content:
        match part:
            case Text() | Media():
                if said := _plain(part):
                    yield said
            case Reasoning():
                if NAME in part.vendor:
                    yield {"text": part.text, "thought": True, **mapping(part.vendor.get(NAME))}
            case Call():
                yield _call(part, is_first=needs_signature)
                needs_signature = False
            case Unknown():
                if bag := mapping(part.vendor.get(NAME)):
                    yield dict(bag)
            case _:
                assert_never(part)


def _plain(part: Text | Media, where: str = "") -> Json:
    """Text or media with Gemini's own members; empty for an empty text without any."""
    bag = mapping(part.vendor.get(NAME))
    if isinstance(part, Media):
        # The vendor accepts any media that its own model made.
        taken = bool(bag) or check_taken(part, MEDIA, NAME, where)
        return {**_shown(part), **bag} if taken else {"text": note_of(part)}
    return {"text": part.text, **bag} if part.text or bag else {}


def _call(call: Call, *, is_first: bool) -> Json:
    bag = dict(mapping(call.vendor.get(NAME)))
    more = bag.pop("functionCall", {})
    said: Json = {"id": call.id} if call.id else {}
    said |= {"name": call.name, "args": _arguments(call.as_json)}
    said |= dict(more) if isinstance(more, Mapping) else {}
    if NAME not in call.vendor and is_first:
        bag["thoughtSignature"] = FOREIGN_SIGNATURE
    return {"functionCall": said, **bag}


def _arguments(text: str) -> Raw | Json:
    if not text.strip():
        return {}
    return {UNPARSED: text} if object_in(text) is None else Raw(text.encode())


def _result_parts(results: Sequence[Result], *, nested_media: bool) -> list[Json]:
    """The responses in the order of the calls, then the media that they cannot hold."""
    responses: list[Json] = []
    following: list[tuple[Result, list[Media]]] = []
    for result in results:
        inner: list[Json] = []
        outer: list[Media] = []
        for part in result.content:
            if isinstance(part, Media):
                if nested_media and part.way == "bytes" and part.media_type in NESTED_MEDIA:
                    inner.append(_shown(part))
                else:
                    outer.append(part)
        response: Json = {"error" if result.is_error else "result": result.text}
        if outer:
            response["media"] = [part.media_type for part in outer]
            following.append((result, outer))
        said: Json = {"id": result.call_id} if result.call_id else {}
        said |= {"name": result.name, "response": response}
        if inner:
            said["parts"] = inner
        responses.append({"functionResponse": said | dict(mapping(result.vendor.get(NAME)))})
    return responses + list(_following(following))


def _following(media: Sequence[tuple[Result, list[Media]]]) -> Iterator[Json]:
    """The media that follow the responses. If several calls returned some, a text names each call."""
    for result, parts in media:
        if len(media) > 1:
            yield {"text": f"From {result.name} ({result.call_id}):"}
        yield from map(_plain, parts)


def _shown(media: Media) -> Json:
    if media.way == "bytes":
        # Of text types, only ``text/…`` types are accepted.
        is_text = media.kind == "text" and not media.media_type.startswith("text/")
        kind = "text/plain" if is_text else media.media_type
        return {"inlineData": {"mimeType": kind, "data": base64_raw(media)}}
    place = media.url if media.id is None else media.id
    assert place is not None
    place = f"{FILES}{place}" if place.startswith("files/") else place
    is_known = media.kind != "other" and not media.media_type.endswith("/*")
    return {"fileData": {**({"mimeType": media.media_type} if is_known else {}), "fileUri": place}}
