"""Converts a transcript to steps, each encoded once and for all.

Thoughts are sent back only to the vendor they came from. Results can hold media.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, assert_never

from msgspec import Raw

from rightcall.core.message import Message, Reasoning, Reply, Results, Transcript, Unknown, User
from rightcall.core.parts import Call, Media, Part, Result, Text
from rightcall.errors import EncodeError
from rightcall.wire.gemini_interactions.tables import CONTENT, MEDIA, NAME
from rightcall.wire.google import FILES, FOREIGN_SIGNATURE
from rightcall.wire.media import check_taken, first_new, place_of
from rightcall.wire.payload import (
    CallIds,
    EncodeCache,
    arguments_object,
    as_bytes,
    base64_raw,
    mapping,
    named_text,
    note_of,
    sequence,
)

Json: TypeAlias = dict[str, Any]

UNPARSED = "unparsed_arguments"
"""The member for the text of arguments that are not a JSON object; the vendor takes only objects."""


def steps_of(messages: Transcript, cache: EncodeCache, first: int = 0) -> list[Raw]:
    """The messages as steps, beginning with message ``first``."""
    new = first_new(messages)

    def write(writer: _Writer, message: Message, at: int) -> None:
        writer.write(message, place_of(at, new))

    writer = cache.write_messages(NAME, messages, _Writer, write)
    found: list[Raw] = []
    for steps in writer.steps[first:]:
        found += steps
    if not found:
        raise EncodeError(
            NAME, "there is nothing to answer: a request needs a message.", where="messages"
        )
    return found


class _Writer:
    """Writes messages one after another. Calls without an id get one, and so do their results."""

    def __init__(self) -> None:
        self.steps: list[list[Raw]] = []
        """The steps of each message."""
        self._ids = CallIds()

    def write(self, message: Message, where: str) -> None:
        self.steps.append([Raw(as_bytes(step, NAME)) for step in self._steps(message, where)])

    def _steps(self, message: Message, where: str) -> Iterator[Json]:
        match message:
            case User():
                content = [_content(part, where) for part in message.content]
                content += sequence(mapping(message.vendor.get(NAME)).get("content"))
                yield {"type": "user_input", "content": content or [_text("")]}
            case Reply():
                yield from _reply(message, self._ids.of_calls(message.calls))
            case Results():
                for result in message.results:
                    yield _result(result, self._ids.of_result(result))
            case _:
                assert_never(message)


def _reply(reply: Reply, ids: Sequence[str]) -> Iterator[Json]:
    said: list[Json] = []
    """The contents of the model's output step that is being written."""
    calls = 0
    for part in reply.content:
        content = _own(part)
        if content is not None:
            said += content
            continue
        if said:
            yield {"type": "model_output", "content": said}
            said = []
        match part:
            case Reasoning():
                if NAME in part.vendor:
                    yield _thought(part)
            case Call():
                if not calls and NAME not in part.vendor:
                    yield {"type": "thought", "signature": FOREIGN_SIGNATURE}
                yield _call(part, ids[calls])
                calls += 1
            case Unknown():
                if step := mapping(mapping(part.vendor.get(NAME)).get("step")):
                    yield dict(step)
            case _:
                pass
    if said:
        yield {"type": "model_output", "content": said}


def _own(part: object) -> list[Json] | None:
    """The part as contents of the model's output step; None if it needs a step of its own."""
    match part:
        case Text():
            if part.text:
                return [_content(part)]
            return []
        case Media():
            return [_content(part)]
        case Unknown():
            content = mapping(part.vendor.get(NAME)).get("content")
            if content:
                return [dict(mapping(content))]
            return None
        case _:
            return None


def _thought(part: Reasoning) -> Json:
    thought: Json = {"type": "thought"}
    if part.text:
        thought["summary"] = [_text(part.text)]
    return {**thought, **mapping(part.vendor.get(NAME))}


def _call(call: Call, identity: str) -> Json:
    arguments = arguments_object(call.as_json, UNPARSED)
    told = {"type": "function_call", "id": identity, "name": call.name, "arguments": arguments}
    return {**told, **mapping(call.vendor.get(NAME))}


def _result(result: Result, identity: str) -> Json:
    content = [_content(part) for part in result.content]
    step: Json = {"type": "function_result", "call_id": identity, "name": result.name}
    if result.is_error:
        step["is_error"] = True
    step["result"] = content or [_text("")]
    return {**step, **mapping(result.vendor.get(NAME))}


def _content(part: Part, where: str = "") -> Json:
    more = mapping(part.vendor.get(NAME))
    if isinstance(part, Text):
        return {**_text(part.text), **more}
    # The vendor accepts any media that its own model made.
    if not more and not check_taken(part, MEDIA, NAME, where):
        return _text(note_of(part))
    if part.kind == "text" and part.way == "bytes":
        return _text(named_text(part))
    if part.way == "bytes":
        content: Json = {"mime_type": part.media_type, "data": base64_raw(part)}
    else:
        place = part.url if part.id is None else part.id
        assert place is not None
        is_known = part.kind != "other" and not part.media_type.endswith("/*")
        content = {}
        if is_known:
            content["mime_type"] = part.media_type
        content["uri"] = f"{FILES}{place}" if place.startswith("files/") else place
    return {"type": CONTENT.get(part.kind, "document"), **content, **more}


def _text(text: str) -> Json:
    return {"type": "text", "text": text}
