"""What the writers of all dialects share: JSON on one line, and rare parts of a reply."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from rightcall.core.call import TEXT_MEMBER, Call
from rightcall.core.jsontext import JsonError, parse
from rightcall.core.message import Reply, Unknown
from rightcall.core.served import Listed
from rightcall.wire.encoding import mapping

REFUSED = "The model refused to answer."
"""The text of a refusal for which the model gave no reason."""


_encode = msgspec.json.Encoder().encode


def json_bytes(value: object) -> bytes:
    """The value as JSON. A lone surrogate, which JSON cannot hold, becomes a question mark."""
    try:
        data = _encode(value)
    except UnicodeEncodeError:
        data = _encode(_whole_text(value))
    return data if data.isascii() else _LINES.sub(_escaped, data)


_LINES = re.compile(b"\xc2\x85|\xe2\x80[\xa8\xa9]")
"""Characters besides those of SSE that Python takes as line ends; Google's SDK does too, within
events."""


def _escaped(found: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(found[0].decode())


def _whole_text(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, Mapping):
        return {key: _whole_text(each) for key, each in value.items()}
    return [_whole_text(each) for each in value] if isinstance(value, list | tuple) else value


def refusal_in(reply: Reply) -> str:
    """The model's words of refusal, which are not part of the reply's text; empty if there are none."""
    for part in reply.content:
        if isinstance(part, Unknown):
            for bag in part.vendor.values():
                said = mapping(bag)
                words = said.get("refusal") or mapping(said.get("part")).get("refusal")
                if isinstance(words, str):
                    return words
    return ""


def without_place(reply: Reply) -> Iterator[str]:
    """Parts of a reply that only some dialects have a field for."""
    yield from (f"{part.media_type} made by the model" for part in reply.media)
    yield from ["citations"] if reply.citations else []
    yield from ["logprobs"] if reply.logprobs else []


def input_of(call: Call) -> str:
    """The input text of a call, for a tool that takes text."""
    if call.form == "text":
        return call.arguments
    try:
        value = parse(call.arguments)
    except JsonError:
        return call.arguments
    text = mapping(value).get(TEXT_MEMBER)
    return text if isinstance(text, str) else call.arguments


def models_of_openai(models: Sequence[Listed]) -> bytes:
    """The list of models in the format of OpenAI's two dialects."""
    data = [
        {"id": each.name, "object": "model", "created": each.created, "owned_by": each.owner}
        for each in models
    ]
    return json_bytes({"object": "list", "data": data})


def dated(seconds: int) -> str:
    """A time in RFC 3339 format."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
