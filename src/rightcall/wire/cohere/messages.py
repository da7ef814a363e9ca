"""Converts a transcript to Cohere's messages, each encoded once and for all.

Thoughts and plans are sent back only to the vendor they came from. A result has no error flag, so that
its text says it, and takes no media: the images of all results of a turn follow in one user message,
which says whose they are and that the user did not write it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, assert_never

from msgspec import Raw

from rightcall.core.message import Message, Reasoning, Reply, Results, Unknown, User
from rightcall.core.parts import Call, Media, Part, Result, Text
from rightcall.core.request import Request
from rightcall.errors import EncodeError
from rightcall.wire.cohere.reply import PLAN
from rightcall.wire.cohere.tables import MEDIA, NAME
from rightcall.wire.media import check_taken, first_new, is_taken, place_of
from rightcall.wire.payload import (
    CallIds,
    EncodeCache,
    arguments_text,
    as_bytes,
    mapping,
    named_text,
    note_of,
    sequence,
    url_raw,
)

RAW_ARGUMENTS = "raw_arguments"
"""Arguments that are no JSON object are sent as text under this key."""
FOLLOWING = "What the tools above returned besides text. The user did not write this message."
"""The first text of the user message with the media that a tool's message cannot hold."""
_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")


def messages_of(request: Request, cache: EncodeCache) -> list[Any]:
    """The messages, the system text first."""
    new = first_new(request.messages)

    def write(writer: _Writer, message: Message, at: int) -> None:
        writer.write(message, place_of(at, new))

    writer = cache.write_messages(NAME, request.messages, _Writer, write)
    if not writer.items:
        raise EncodeError(NAME, "there is nothing to send; say something first.", where="messages")
    if request.system:
        return [{"role": "system", "content": request.system}, *writer.items]
    return [*writer.items]


class _Writer:
    """Writes messages one after another."""

    def __init__(self) -> None:
        self.items: list[Raw] = []
        self._ids = CallIds()

    def write(self, message: Message, where: str) -> None:
        self.items += [Raw(as_bytes(item, NAME)) for item in self._items(message, where)]

    def _items(self, message: Message, where: str) -> Iterator[dict[str, Any]]:
        match message:
            case User():
                parts = [part for part in message.content if isinstance(part, Media) or part.text]
                content: str | list[dict[str, Any]] = ""
                if len(parts) == 1 and isinstance(parts[0], Text):
                    content = parts[0].text
                elif parts:
                    content = [_content(part, where) for part in parts]
                yield {"role": "user", "content": content, **mapping(message.vendor.get(NAME))}
            case Reply():
                yield _reply(message, self._ids.of_calls(message.calls))
            case Results():
                yield from self._results(message.results)
            case _:
                assert_never(message)

    def _results(self, results: Sequence[Result]) -> Iterator[dict[str, Any]]:
        following: list[dict[str, Any]] = []
        for result in results:
            identity = self._ids.of_result(result)
            shown = [part for part in result.content if _is_shown(part)]
            if shown:
                outsiders = ""
                if result.source is not None:
                    outsiders = "; outsiders could have made it"
                whose = f"From {result.name} ({identity}){outsiders}:"
                following.append({"type": "text", "text": whose})
                following += [_content(part, "") for part in shown]
            yield {"role": "tool", "tool_call_id": identity, "content": _result(result)}
        if following:
            yield {"role": "user", "content": [{"type": "text", "text": FOLLOWING}, *following]}


def _content(part: Part, where: str) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if not check_taken(part, MEDIA, NAME, where):
        return {"type": "text", "text": note_of(part)}
    if part.kind == "text":
        return {"type": "text", "text": named_text(part)}
    more = mapping(part.vendor.get(NAME))
    return {"type": "image_url", "image_url": {"url": url_raw(part), **more}}


def _result(result: Result) -> str:
    text = "\n".join(map(_part_text, result.content))
    if result.is_error and not text.lower().startswith("error"):
        return f"Error: {text}"
    return text


def _part_text(part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    if part.kind == "text" and part.way == "bytes":
        return named_text(part)
    if _is_shown(part):
        return f"[{part.about}: in the message after the results]"
    return note_of(part)


def _is_shown(part: Part) -> bool:
    return isinstance(part, Media) and part.kind == "image" and is_taken(part, MEDIA)


def _reply(reply: Reply, ids: list[str]) -> dict[str, Any]:
    content: list[Any] = []
    calls: list[dict[str, Any]] = []
    plan = ""
    citations = [*sequence(mapping(reply.vendor.get(NAME)).get("citations"))]
    for part in reply.content:
        match part:
            case Text(text):
                if text:
                    content.append({"type": "text", "text": text})
                    citations += sequence(mapping(part.vendor.get(NAME)).get("citations"))
            case Reasoning(text):
                field = mapping(part.vendor.get(NAME)).get("field")
                if field == PLAN:
                    plan += text
                elif field == "thinking":
                    content.append({"type": "thinking", "thinking": text})
            case Call():
                calls.append(_call(part, ids[len(calls)]))
            case Media():
                content.append({"type": "text", "text": note_of(part)})
            case Unknown():
                if own := mapping(part.vendor.get(NAME)).get("part"):
                    content.append(own)
            case _:
                assert_never(part)
    if not content and not calls:
        content = [{"type": "text", "text": plan or "(nothing)"}]
    members: dict[str, Any] = {"role": "assistant"}
    # A plan belongs to the calls that follow it, and is not allowed in a message without calls.
    if plan and calls:
        members[PLAN] = plan
    if content:
        members["content"] = content
    if calls:
        members["tool_calls"] = calls
    if citations:
        members["citations"] = citations
    return members


def _call(call: Call, identity: str) -> dict[str, Any]:
    arguments = arguments_text(call.arguments, RAW_ARGUMENTS)
    function = {"name": _ILLEGAL.sub("_", call.name) or "unnamed", "arguments": arguments}
    more = mapping(call.vendor.get(NAME))
    return {"id": identity, "type": "function", "function": function, **more}
