"""A transcript into the ``messages`` of a body.

Reasoning goes back only where it came from, in the member it came in: ``reasoning_content`` (DeepSeek
refuses a turn with calls that lacks it), ``reasoning``, ``reasoning_details`` as they were, ``<think>``
in front of the text, or Mistral's thinking parts. That of another vendor is left out.

A result has no mark for an error and takes no media here: both are said in words.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from msgspec import Raw
from msgspec.json import Encoder

from rightcall.core.call import Call
from rightcall.core.jsontext import JsonError, dump, parse
from rightcall.core.message import Message, Reasoning, Reply, Results, Unknown, User
from rightcall.core.parts import Media, Text
from rightcall.core.request import Request
from rightcall.core.result import Result
from rightcall.wire.kept import written
from rightcall.wire.openai_chat.hosts import Host
from rightcall.wire.openai_chat.ids import LegalIds
from rightcall.wire.openai_chat.media import note_of, part_of
from rightcall.wire.openai_chat.tables import NAME

RAW_ARGUMENTS = "raw_arguments"
"""Arguments that are not a JSON object are sent as text under this key: hosts parse them for their
templates, and refuse the whole history for one broken call (vllm #47761, llama.cpp #25510)."""

_LONGEST_NAME = 64
_encoder = Encoder()
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def messages_of(request: Request, host: Host) -> list[Any]:
    """The messages, the system text first."""
    key = f"{NAME}.{host.ids}.{host.owed}"
    writer = written(request.memo, key, request.messages, lambda: _Writer(host), _Writer.write)
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, *writer.items]


class _Writer:
    """Writes messages one after another, each into bytes that no later one changes."""

    def __init__(self, host: Host) -> None:
        self.items: list[Raw] = []
        self._host = host
        self._ids = LegalIds(host.ids)

    def write(self, message: Message, _: int) -> None:
        self.items += [Raw(_encoder.encode(item)) for item in self._items(message)]

    def _items(self, message: Message) -> Iterator[dict[str, Any]]:
        ids, owed = self._ids, self._host.owed
        match message:
            case User():
                yield {"role": "user", "content": _said(message)}
            case Reply():
                reply = _reply(message, ids.of_calls(message.calls))
                if owed and "tool_calls" in reply:
                    reply.setdefault(owed, "")
                yield reply
            case Results():
                legal = ids.of_results(message.results)
                for result, identity in zip(message.results, legal, strict=True):
                    yield {"role": "tool", "tool_call_id": identity, "content": _result(result)}
            case _:
                assert_never(message)


def _said(message: User) -> str | list[dict[str, Any]]:
    parts = [part for part in message.content if not (isinstance(part, Text) and not part.text)]
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return [
        {"type": "text", "text": part.text} if isinstance(part, Text) else part_of(part)
        for part in parts
    ]


def _result(result: Result) -> str:
    text = "\n".join([part.text if isinstance(part, Text) else note_of(part) for part in result.content])
    if result.is_error and not text.lower().startswith("error"):
        return f"Error: {text}"
    return text


def _reply(reply: Reply, ids: list[str]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    content: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    for part in reply.content:
        match part:
            case Text(text):
                _say(content, text)
            case Reasoning():
                _think(part, members, content)
            case Call():
                calls.append(_call(part, ids[len(calls)]))
            case Media():
                _say(content, note_of(part))
            case Unknown():
                _return(part, members, content)
            case _:
                assert_never(part)
    message = {"role": "assistant", "content": _content(content, has_more=bool(calls or members))}
    return {**message, **members, **({"tool_calls": calls} if calls else {})}


def _content(parts: list[dict[str, Any]], *, has_more: bool) -> Any:
    if not parts:
        return None if has_more else ""
    if all(part["type"] == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    return parts


def _say(content: list[dict[str, Any]], text: str) -> None:
    if text:
        content.append({"type": "text", "text": text})


def _think(part: Reasoning, members: dict[str, Any], content: list[dict[str, Any]]) -> None:
    bag = _bag(part.vendor)
    field = bag.get("field")
    if "details" in bag:
        # With these OpenRouter needs no other form, and takes none that contradicts them.
        members.setdefault("reasoning_details", []).extend(bag["details"])
    elif field == "inline":
        _say(content, f"{bag.get('opening', '')}{part.text}{bag.get('closing', '')}")
    elif field == "part":
        content.append({"type": "thinking", "thinking": [{"type": "text", "text": part.text}]})
    elif isinstance(field, str):
        members[field] = members.get(field, "") + part.text


def _return(part: Unknown, members: dict[str, Any], content: list[dict[str, Any]]) -> None:
    bag = _bag(part.vendor)
    if isinstance(bag.get("part"), Mapping):
        content.append(bag["part"])
    if bag.get("refusal"):
        members["refusal"] = bag["refusal"]
    if isinstance(bag.get("audio"), Mapping) and bag["audio"].get("id"):
        members["audio"] = {"id": bag["audio"]["id"]}
    if bag.get("images"):
        members.setdefault("images", []).extend(bag["images"])


def _call(call: Call, identity: str) -> dict[str, Any]:
    bag = _bag(call.vendor)
    extra = {key: value for key, value in bag.items() if key != "type"}
    name = _ILLEGAL.sub("_", call.name)[:_LONGEST_NAME] or "unnamed"
    if bag.get("type") == "custom":
        body: dict[str, Any] = {"name": name, "input": call.arguments}
        return {"id": identity, "type": "custom", "custom": body, **extra}
    function = {"name": name, "arguments": _arguments(call.arguments)}
    return {"id": identity, "type": "function", "function": function, **extra}


def _arguments(text: str) -> str:
    if not text.strip():
        return "{}"
    try:
        if isinstance(parse(text), dict):
            return text
    except JsonError:
        pass
    return dump({RAW_ARGUMENTS: text})


def _bag(vendor: Mapping[str, Any]) -> Mapping[str, Any]:
    bag = vendor.get(NAME)
    return bag if isinstance(bag, Mapping) else {}
