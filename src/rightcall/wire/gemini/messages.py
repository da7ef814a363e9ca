"""Converts a transcript to Gemini's contents, which alternate between the roles user and model."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias, assert_never

from msgspec import Raw

from rightcall.core.message import Message, Reasoning, Reply, Results, Transcript, Unknown, User
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.wire.gemini.tables import MEDIA, NAME, NESTED_MEDIA
from rightcall.wire.google import FILES, FOREIGN_SIGNATURE
from rightcall.wire.media import check_taken, first_new, place_of
from rightcall.wire.payload import (
    EncodeCache,
    arguments_object,
    as_bytes,
    base64_raw,
    mapping,
    note_of,
    sequence,
)

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

    return cache.write_messages(key, messages, begin, write).turns


class _Writer:
    """Writes messages one after another, each part as bytes; only the last turn is still open."""

    def __init__(self, *, nested_media: bool) -> None:
        self._done: list[Raw] = []
        self._role = ""
        self._parts: list[Raw] = []
        self._nested_media = nested_media

    @property
    def turns(self) -> list[Raw | Json]:
        if self._parts:
            return [*self._done, self._open]
        return []

    @property
    def _open(self) -> Json:
        return {"role": self._role, "parts": self._parts}

    def write(self, message: Message, *, where: str) -> None:
        role = "user"
        match message:
            case User():
                parts = [content for part in message.content if (content := _plain(part, where))]
                # Parts that only Gemini has, such as fileData for an uploaded file.
                parts += sequence(mapping(message.vendor.get(NAME)).get("parts"))
                # A turn needs a part, and a call must not come first; empty text is accepted here.
                parts = parts or [{"text": ""}]
            case Reply():
                role = "model"
                parts = list(_reply_parts(message))
            case Results():
                parts = _result_parts(message.results, nested_media=self._nested_media)
            case _:
                assert_never(message)
        if parts and role != self._role:
            if self._parts:
                self._done.append(Raw(as_bytes(self._open, NAME)))
            self._role = role
            self._parts = []
        self._parts += [Raw(as_bytes(part, NAME)) for part in parts]


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
        if bag or check_taken(part, MEDIA, NAME, where):
            return {**_encode_media(part), **bag}
        return {"text": note_of(part)}
    if part.text or bag:
        return {"text": part.text, **bag}
    return {}


def _call(call: Call, *, is_first: bool) -> Json:
    bag = dict(mapping(call.vendor.get(NAME)))
    more = bag.pop("functionCall", {})
    function: Json = {}
    if call.id:
        function["id"] = call.id
    function["name"] = call.name
    function["args"] = arguments_object(call.as_json, UNPARSED)
    function.update(mapping(more))
    if NAME not in call.vendor and is_first:
        bag["thoughtSignature"] = FOREIGN_SIGNATURE
    return {"functionCall": function, **bag}


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
                    inner.append(_encode_media(part))
                else:
                    outer.append(part)
        response: Json = {"error" if result.is_error else "result": result.text}
        if outer:
            response["media"] = [part.media_type for part in outer]
            following.append((result, outer))
        answer: Json = {}
        if result.call_id:
            answer["id"] = result.call_id
        answer["name"] = result.name
        answer["response"] = response
        if inner:
            answer["parts"] = inner
        answer.update(mapping(result.vendor.get(NAME)))
        responses.append({"functionResponse": answer})
    for result, media in following:
        # If several calls returned media, a text names each call.
        if len(following) > 1:
            responses.append({"text": f"From {result.name} ({result.call_id}):"})
        responses += map(_plain, media)
    return responses


def _encode_media(media: Media) -> Json:
    if media.way == "bytes":
        # Of text types, only ``text/…`` types are accepted.
        kind = media.media_type
        if media.kind == "text" and not kind.startswith("text/"):
            kind = "text/plain"
        return {"inlineData": {"mimeType": kind, "data": base64_raw(media)}}
    place = media.url if media.id is None else media.id
    assert place is not None
    if place.startswith("files/"):
        place = f"{FILES}{place}"
    if media.kind == "other" or media.media_type.endswith("/*"):
        return {"fileData": {"fileUri": place}}
    return {"fileData": {"mimeType": media.media_type, "fileUri": place}}
