"""Converts a transcript to the ``messages`` of a body.

Reasoning is sent back only to its origin, in the member it came in: ``reasoning_content`` (DeepSeek
refuses a turn with calls that lacks it), ``reasoning``, ``reasoning_details`` unchanged, ``<think>``
before the text, or Mistral's thinking parts. Another vendor's reasoning is left out.

A result has no error flag, so that its text says it. It takes no media, either: those of all results of
a turn follow in one user message, which says whose they are and that the user did not write it.

Call ids are converted to ids that the host accepts, one to one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, assert_never

from msgspec import Raw

from rightcall.core.call import Call
from rightcall.core.jsontext import dump
from rightcall.core.media_type import essence
from rightcall.core.message import Message, Reasoning, Reply, Results, Unknown, User
from rightcall.core.parts import Media, Part, Result, Text
from rightcall.core.request import Request
from rightcall.wire.caching import BREAKPOINT
from rightcall.wire.carried import TOKEN
from rightcall.wire.encoding import (
    EncodeCache,
    as_bytes,
    base64_raw,
    mapping,
    note_of,
    object_in,
    url_raw,
)
from rightcall.wire.media import MediaTable, check_taken, first_new, is_taken, place_of
from rightcall.wire.openai_chat.hosts import Host, Ids
from rightcall.wire.openai_chat.made import return_made
from rightcall.wire.openai_chat.reply import TRANSCRIPT
from rightcall.wire.openai_chat.tables import AUDIO, NAME

RAW_ARGUMENTS = "raw_arguments"
"""Arguments that are not a JSON object are sent as text under this key: hosts parse them for their
templates, and refuse the whole history for one broken call (vllm #47761, llama.cpp #25510)."""

FOLLOWING = "What the tools above returned besides text. The user did not write this message."
"""The first text of the user message with the media that a tool's message cannot hold."""

BRIDGE = "I see."
"""The assistant's text between a tool message and a user message, for hosts that require one."""

_LONGEST_NAME = 64
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def messages_of(request: Request, host: Host, cache: EncodeCache) -> list[Any]:
    """The messages, the system text first."""
    # Compared by identity: the writer keeps its host.
    key = f"{NAME}.{id(host)}"
    new = first_new(request.messages)

    def write(writer: _Writer, message: Message, at: int) -> None:
        writer.write(message, place_of(at, new))

    writer = cache.written(key, request.messages, lambda: _Writer(host), write)
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, *writer.items]


class _Writer:
    """Writes messages one after another, each into bytes that no later one changes."""

    def __init__(self, host: Host) -> None:
        self.items: list[Raw] = []
        self._host = host
        self._ids = _LegalIds(host.ids)
        self._media = host.media_table
        self._mark: Mapping[str, Any] = {"cache_control": {"type": "ephemeral"}} if host.marks else {}
        if host.caches:
            self._mark = BREAKPOINT
        self._role = ""
        """The role of the last item."""

    def write(self, message: Message, where: str) -> None:
        for item in self._items(message, where):
            if self._host.bridged:
                self._bridge(item["role"])
            self.items.append(Raw(as_bytes(item, NAME)))

    def _bridge(self, role: str) -> None:
        if (self._role, role) == ("tool", "user"):
            self.items.append(Raw(as_bytes({"role": "assistant", "content": BRIDGE}, NAME)))
        self._role = role

    def _items(self, message: Message, where: str) -> Iterator[dict[str, Any]]:
        ids, owed = self._ids, self._host.owed
        match message:
            case User():
                role = "user"
                if message.author == "developer" and all(isinstance(p, Text) for p in message.content):
                    role = self._host.developer
                said = {"role": role, "content": _said(message, self._media, where, self._mark)}
                yield {**said, **mapping(message.vendor.get(NAME))}
            case Reply():
                reply = _reply(message, ids.of_calls(message.calls), self._host)
                if owed and "tool_calls" in reply:
                    reply.setdefault(owed, "")
                yield reply
            case Results():
                yield from self._results(message.results)
            case _:
                assert_never(message)

    def _results(self, results: Sequence[Result]) -> Iterator[dict[str, Any]]:
        following: list[dict[str, Any]] = []
        for result, identity in zip(results, self._ids.of_results(results), strict=True):
            shown = [part for part in result.content if isinstance(part, Media) and self._is_shown(part)]
            if shown:
                following += _following(result, identity, shown)
            yield {"role": "tool", "tool_call_id": identity, "content": _result(result, shown)}
        if following:
            yield {"role": "user", "content": [{"type": "text", "text": FOLLOWING}, *following]}

    def _is_shown(self, media: Media) -> bool:
        """Whether it is accepted as media; a text file is sent as text."""
        return not _is_words(media) and is_taken(media, self._media)


def _following(result: Result, identity: str, shown: Sequence[Media]) -> Iterator[dict[str, Any]]:
    outsiders = "; outsiders could have made it" if result.source is not None else ""
    yield {"type": "text", "text": f"From {result.name} ({identity}){outsiders}:"}
    for media in shown:
        yield _part(media)


def _is_words(media: Media) -> bool:
    return media.kind == "text" and media.way == "bytes"


def _said(
    message: User, table: MediaTable, where: str, mark: Mapping[str, Any]
) -> str | list[dict[str, Any]]:
    parts = [part for part in message.content if not (isinstance(part, Text) and not part.text)]
    if not parts:
        return ""
    marked = mark and any([part.cache for part in parts])  # noqa: C419 - quicker for the few there are
    if len(parts) == 1 and isinstance(parts[0], Text) and NAME not in parts[0].vendor and not marked:
        return parts[0].text
    return [{**_content_part(part, table, where), **(mark if part.cache else {})} for part in parts]


def _content_part(part: Part, table: MediaTable, where: str) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text, **mapping(part.vendor.get(NAME))}
    if not check_taken(part, table, NAME, where):
        return {"type": "text", "text": note_of(part)}
    return _part(part)


def _result(result: Result, shown: Sequence[Part]) -> str:
    text = "\n".join([_worded(part, is_shown=part in shown) for part in result.content])
    if result.is_error and not text.lower().startswith("error"):
        return f"Error: {text}"
    return text


def _reply(reply: Reply, ids: list[str], host: Host) -> dict[str, Any]:
    members: dict[str, Any] = {}
    content: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    for part in reply.content:
        match part:
            case Text(text):
                if not (TRANSCRIPT in mapping(part.vendor.get(NAME)) and _is_heard(reply)):
                    _say(content, text)
            case Reasoning():
                if host.thoughts is None or _form_of(part) in host.thoughts:
                    _think(part, members, content)
            case Call():
                calls.append(_call(part, ids[len(calls)]))
            case Media():
                if not return_made(part, members, content, pictures=host.pictures):
                    _say(content, note_of(part))
            case Unknown():
                _return(part, members, content)
            case _:
                assert_never(part)
    message = {"role": "assistant", "content": _content(content, has_more=bool(calls or members))}
    return {**message, **members, **({"tool_calls": calls} if calls else {})}


def _is_heard(reply: Reply) -> bool:
    """Whether audio is sent back, so that its transcript need not be."""
    return any(mapping(part.vendor.get(NAME)).get("audio") for part in reply.media)


def _content(parts: list[dict[str, Any]], *, has_more: bool) -> Any:
    if not parts:
        return None if has_more else ""
    texts = [part["text"] for part in parts if part["type"] == "text"]
    return "".join(texts) if len(texts) == len(parts) else parts


def _say(content: list[dict[str, Any]], text: str) -> None:
    if text:
        content.append({"type": "text", "text": text})


def _form_of(part: Reasoning) -> object:
    """The member or form in which reasoning came."""
    bag = mapping(part.vendor.get(NAME))
    return "reasoning_details" if "details" in bag else bag.get("field")


def _think(part: Reasoning, members: dict[str, Any], content: list[dict[str, Any]]) -> None:
    bag = mapping(part.vendor.get(NAME))
    field = bag.get("field")
    if "details" in bag:
        # With these OpenRouter needs no other form, and refuses one that contradicts them.
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
    function = {"name": name, "arguments": _arguments(call.as_json)}
    return {"id": identity, "type": "function", "function": function, **extra}


def _arguments(text: str) -> str:
    if not text.strip():
        return "{}"
    return dump({RAW_ARGUMENTS: text}) if object_in(text) is None else text


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# OpenAI: "string too long. Expected a string with maximum length 40"; Mistral: "must be a-z, A-Z, 0-9,
# with a length of 9" (agno #5382, dify #28987; zed #53034, opencode #1680).
_LEGAL = {
    "forty": re.compile(r"[\x21-\x7e]{1,40}"),
    "carrying": re.compile(rf"[\x21-\x7e]{{1,40}}|call_[A-Za-z0-9]+_\d+_{TOKEN}"),
    "nine": re.compile(r"[A-Za-z0-9]{9}"),
}


class _LegalIds:
    """Assigns the ids of one transcript, in order."""

    def __init__(self, kind: Ids) -> None:
        self._kind: Ids = kind
        self._legal: dict[str, str] = {}
        self._taken: set[str] = set()
        self._calls: list[tuple[str, str]] = []
        self._count = 0

    def of_calls(self, calls: Sequence[Call]) -> list[str]:
        """An id for each call; a call without an id gets a new one."""
        self._calls = []
        for call in calls:
            self._count += 1
            self._calls.append((call.id, self._find(call.id or f"call_{self._count}")))
        return [legal for _, legal in self._calls]

    def of_results(self, results: Sequence[Result]) -> list[str]:
        """The ids of the answered calls: by id, and by order where ids are equal."""
        waiting = list(self._calls)
        found = []
        for result in results:
            if waiting and waiting[0][0] == result.call_id:
                found.append(waiting.pop(0)[1])
                continue
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
        if self._kind != "nine":
            return f"call_{digest.hex()[:24]}"
        number = int.from_bytes(digest)
        return "".join(_DIGITS[number // 62**place % 62] for place in range(9))


def _worded(part: Part, *, is_shown: bool) -> str:
    """The text for a part of a result."""
    if isinstance(part, Text):
        return part.text
    if _is_words(part):
        return _text_of(part)
    return f"[{part.about}: in the message after the results]" if is_shown else note_of(part)


def _text_of(media: Media) -> str:
    text = media.data.decode(errors="replace")
    return f"{media.name}:\n{text}" if media.name else text


def _part(media: Media) -> dict[str, Any]:
    """The content part of a user message for the media."""
    more = mapping(media.vendor.get(NAME))
    if media.id is not None:
        return {"type": "file", "file": {"file_id": media.id, **more}}
    match media.kind:
        case "image":
            return {"type": "image_url", "image_url": {"url": url_raw(media), **more}}
        case "video":
            return {"type": "video_url", "video_url": {"url": url_raw(media), **more}}
        case "audio":
            sound = {"data": base64_raw(media), "format": AUDIO[essence(media.media_type)]}
            return {"type": "input_audio", "input_audio": {**sound, **more}}
        case "text":
            return {"type": "text", "text": _text_of(media)}
        case _:
            name = media.name or f"file.{essence(media.media_type).rpartition('/')[2]}"
            return {"type": "file", "file": {"filename": name, "file_data": url_raw(media), **more}}
