"""A transcript into the ``messages`` of a body.

Reasoning goes back only where it came from, in the member it came in: ``reasoning_content`` (DeepSeek
refuses a turn with calls that lacks it), ``reasoning``, ``reasoning_details`` as they were, ``<think>``
in front of the text, or Mistral's thinking parts. That of another vendor is left out.

A result has no mark for an error and takes no media here: both are said in words.

Call ids become such as the host takes: the same for the same id, and for no other.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, assert_never

from msgspec import Raw

from rightcall.core.call import Call
from rightcall.core.jsontext import dump
from rightcall.core.message import Message, Reasoning, Reply, Results, Unknown, User
from rightcall.core.parts import Media, Result, Text
from rightcall.core.request import Request
from rightcall.wire.encoding import EncodeCache, as_bytes, data_url, mapping, note_of, object_in
from rightcall.wire.openai_chat.hosts import Host, Ids
from rightcall.wire.openai_chat.tables import NAME

RAW_ARGUMENTS = "raw_arguments"
"""Arguments that are not a JSON object are sent as text under this key: hosts parse them for their
templates, and refuse the whole history for one broken call (vllm #47761, llama.cpp #25510)."""

_LONGEST_NAME = 64
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def messages_of(request: Request, host: Host, cache: EncodeCache) -> list[Any]:
    """The messages, the system text first."""
    key = f"{NAME}.{host.ids}.{host.owed}"
    writer = cache.written(key, request.messages, lambda: _Writer(host), _Writer.write)
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, *writer.items]


class _Writer:
    """Writes messages one after another, each into bytes that no later one changes."""

    def __init__(self, host: Host) -> None:
        self.items: list[Raw] = []
        self._host = host
        self._ids = _LegalIds(host.ids)

    def write(self, message: Message, _: int) -> None:
        self.items += [Raw(as_bytes(item, NAME)) for item in self._items(message)]

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
        {"type": "text", "text": part.text} if isinstance(part, Text) else _part(part) for part in parts
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
    bag = mapping(part.vendor.get(NAME))
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
    bag = mapping(part.vendor.get(NAME))
    if isinstance(bag.get("part"), Mapping):
        content.append(bag["part"])
    if bag.get("refusal"):
        members["refusal"] = bag["refusal"]
    if isinstance(bag.get("audio"), Mapping) and bag["audio"].get("id"):
        members["audio"] = {"id": bag["audio"]["id"]}
    if bag.get("images"):
        members.setdefault("images", []).extend(bag["images"])


def _call(call: Call, identity: str) -> dict[str, Any]:
    bag = mapping(call.vendor.get(NAME))
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
    return dump({RAW_ARGUMENTS: text}) if object_in(text) is None else text


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# OpenAI: "string too long. Expected a string with maximum length 40"; Mistral: "must be a-z, A-Z, 0-9,
# with a length of 9" (agno #5382, dify #28987; zed #53034, opencode #1680).
_LEGAL = {"forty": re.compile(r"[\x21-\x7e]{1,40}"), "nine": re.compile(r"[A-Za-z0-9]{9}")}


class _LegalIds:
    """The ids of one transcript, in its order."""

    def __init__(self, kind: Ids) -> None:
        self._kind: Ids = kind
        self._legal: dict[str, str] = {}
        self._taken: set[str] = set()
        self._calls: list[tuple[str, str]] = []
        self._count = 0

    def of_calls(self, calls: Sequence[Call]) -> list[str]:
        """An id for each call; a call without one gets its own."""
        self._calls = []
        for call in calls:
            self._count += 1
            self._calls.append((call.id, self._find(call.id or f"call_{self._count}")))
        return [legal for _, legal in self._calls]

    def of_results(self, results: Sequence[Result]) -> list[str]:
        """The ids of the calls that these answer: by id, and by their order where ids are the same."""
        waiting = list(self._calls)
        found = []
        for result in results:
            at = next((at for at, (given, _) in enumerate(waiting) if given == result.call_id), None)
            found.append(self._find(result.call_id) if at is None else waiting.pop(at)[1])
        return found

    def _find(self, given: str) -> str:
        if given not in self._legal:
            candidate = given if _LEGAL[self._kind].fullmatch(given) else self._make(given, 0)
            tries = 0
            while candidate in self._taken:
                tries += 1
                candidate = self._make(given, tries)
            self._taken.add(candidate)
            self._legal[given] = candidate
        return self._legal[given]

    def _make(self, given: str, tries: int) -> str:
        digest = sha256(f"{given}\n{tries}".encode(errors="surrogatepass")).digest()
        if self._kind == "forty":
            return f"call_{digest.hex()[:24]}"
        number = int.from_bytes(digest)
        return "".join(_DIGITS[number // 62**place % 62] for place in range(9))


_AUDIO = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/ogg": "ogg",
    "audio/flac": "flac",
}
"""OpenAI takes wav and mp3; imitators take more."""


def _part(media: Media) -> dict[str, Any]:
    """The content part of a user's message that carries the media."""
    kind = media.media_type.partition(";")[0].strip().lower()
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": data_url(media)}}
    if kind in _AUDIO:
        data = b64encode(media.data).decode()
        return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO[kind]}}
    if kind.startswith("video/"):
        # Not OpenAI's: vLLM, Qwen and OpenRouter take it so.
        return {"type": "video_url", "video_url": {"url": data_url(media)}}
    if kind.startswith("text/") or kind in ("application/json", "application/xml"):
        text = media.data.decode(errors="replace")
        return {"type": "text", "text": f"{media.name}:\n{text}" if media.name else text}
    name = media.name or f"file.{kind.rpartition('/')[2]}"
    return {"type": "file", "file": {"filename": name, "file_data": data_url(media)}}
