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

from rightcall.core.message import Message, Reasoning, Reply, Results, Unknown, User
from rightcall.core.parts import Call, Media, Part, Result, Text, essence
from rightcall.core.request import Request
from rightcall.core.sanitize import break_tokens
from rightcall.wire.media import MediaTable, check_taken, first_new, is_taken, place_of
from rightcall.wire.openai_chat.hosts import Host, Ids
from rightcall.wire.openai_chat.reply import TRANSCRIPT, return_made
from rightcall.wire.openai_chat.tables import AUDIO, NAME
from rightcall.wire.payload import (
    BREAKPOINT,
    EncodeCache,
    arguments_text,
    as_bytes,
    base64_raw,
    mapping,
    named_text,
    note_of,
    url_raw,
    without,
)
from rightcall.wire.relay_tokens import HANDLE, TOKEN

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

    writer = cache.write_messages(key, request.messages, lambda: _Writer(host), write)
    if request.system:
        return [{"role": "system", "content": request.system}, *writer.items]
    return [*writer.items]


class _Writer:
    """Writes messages one after another, each into bytes that no later one changes."""

    def __init__(self, host: Host) -> None:
        self.items: list[Raw] = []
        self._host = host
        self._ids = _LegalIds(host.ids)
        self._media = host.media_table
        self._mark: Mapping[str, Any] = {}
        if host.caches:
            self._mark = BREAKPOINT
        elif host.marks:
            self._mark = {"cache_control": {"type": "ephemeral"}}
        self._role = ""
        """The role of the last item."""

    def write(self, message: Message, where: str) -> None:
        for item in self._items(message, where):
            if self._host.bridged:
                role = item["role"]
                if (self._role, role) == ("tool", "user"):
                    self.items.append(Raw(as_bytes({"role": "assistant", "content": BRIDGE}, NAME)))
                self._role = role
            self.items.append(Raw(as_bytes(item, NAME)))

    def _items(self, message: Message, where: str) -> Iterator[dict[str, Any]]:
        ids = self._ids
        owed = self._host.owed
        match message:
            case User():
                role = "user"
                if message.author == "developer" and all(isinstance(p, Text) for p in message.content):
                    role = self._host.developer
                content = _encode_user_content(message, self._media, where, self._mark)
                yield {"role": role, "content": content, **mapping(message.vendor.get(NAME))}
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
            shown = []
            for part in result.content:
                # A text file is sent as text.
                if isinstance(part, Media) and not _is_words(part) and is_taken(part, self._media):
                    shown.append(part)
            if shown:
                outsiders = ""
                if result.source is not None:
                    outsiders = "; outsiders could have made it"
                whose = f"From {result.name} ({identity}){outsiders}:"
                following.append({"type": "text", "text": whose})
                following += map(_part, shown)
            text = _result(result, shown)
            if self._host.renders:
                text = break_tokens(text)
            yield {"role": "tool", "tool_call_id": identity, "content": text}
        if following:
            yield {"role": "user", "content": [{"type": "text", "text": FOLLOWING}, *following]}


def _is_words(media: Media) -> bool:
    return media.kind == "text" and media.way == "bytes"


def _encode_user_content(
    message: User, table: MediaTable, where: str, mark: Mapping[str, Any]
) -> str | list[dict[str, Any]]:
    parts = [part for part in message.content if not (isinstance(part, Text) and not part.text)]
    if not parts:
        return ""
    marked = mark and any([part.cache for part in parts])  # noqa: C419 - quicker for the few there are
    if len(parts) == 1 and isinstance(parts[0], Text) and NAME not in parts[0].vendor and not marked:
        return parts[0].text
    content = []
    for part in parts:
        if isinstance(part, Text):
            item = {"type": "text", "text": part.text, **mapping(part.vendor.get(NAME))}
        elif check_taken(part, table, NAME, where):
            item = _part(part)
        else:
            item = {"type": "text", "text": note_of(part)}
        if part.cache:
            item |= mark
        content.append(item)
    return content


def _result(result: Result, shown: Sequence[Part]) -> str:
    texts = []
    for part in result.content:
        if isinstance(part, Text):
            texts.append(part.text)
        elif _is_words(part):
            texts.append(named_text(part))
        elif part in shown:
            texts.append(f"[{part.about}: in the message after the results]")
        else:
            texts.append(note_of(part))
    text = "\n".join(texts)
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
                # The transcript of audio that is sent back need not be.
                is_transcript = TRANSCRIPT in mapping(part.vendor.get(NAME))
                heard = (mapping(media.vendor.get(NAME)).get("audio") for media in reply.media)
                if not (is_transcript and any(heard)):
                    _say(content, text)
            case Reasoning():
                bag = mapping(part.vendor.get(NAME))
                form = "reasoning_details" if "details" in bag else bag.get("field")
                if host.thoughts is None or form in host.thoughts:
                    _think(part, members, content)
            case Call():
                calls.append(_call(part, ids[len(calls)]))
            case Media():
                if not return_made(part, members, content, pictures=host.pictures):
                    _say(content, note_of(part))
            case Unknown():
                bag = mapping(part.vendor.get(NAME))
                if isinstance(bag.get("part"), Mapping):
                    content.append(bag["part"])
                if bag.get("refusal"):
                    members["refusal"] = bag["refusal"]
                if isinstance(bag.get("audio"), Mapping) and bag["audio"].get("id"):
                    members["audio"] = {"id": bag["audio"]["id"]}
                if bag.get("images"):
                    members.setdefault("images", []).extend(bag["images"])
            case _:
                assert_never(part)
    body = _content(content, has_more=bool(calls or members))
    message = {"role": "assistant", "content": body, **members}
    if calls:
        message["tool_calls"] = calls
    return message


def _content(parts: list[dict[str, Any]], *, has_more: bool) -> Any:
    if not parts:
        if has_more:
            return None
        return ""
    texts = []
    for part in parts:
        if part["type"] == "text":
            texts.append(part["text"])
    if len(texts) == len(parts):
        return "".join(texts)
    return parts


def _say(content: list[dict[str, Any]], text: str) -> None:
    if text:
        content.append({"type": "text", "text": text})


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


def _call(call: Call, identity: str) -> dict[str, Any]:
    bag = mapping(call.vendor.get(NAME))
    extra = without(bag, "type")
    name = _ILLEGAL.sub("_", call.name)[:_LONGEST_NAME] or "unnamed"
    if bag.get("type") == "custom":
        body: dict[str, Any] = {"name": name, "input": call.arguments}
        return {"id": identity, "type": "custom", "custom": body, **extra}
    function = {"name": name, "arguments": arguments_text(call.as_json, RAW_ARGUMENTS)}
    return {"id": identity, "type": "function", "function": function, **extra}


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# OpenAI: "string too long. Expected a string with maximum length 40"; Mistral: "must be a-z, A-Z, 0-9,
# with a length of 9" (agno #5382, dify #28987; zed #53034, opencode #1680).
_LEGAL = {
    "forty": re.compile(r"[\x21-\x7e]{1,40}"),
    "carrying": re.compile(rf"[\x21-\x7e]{{1,40}}|call_[A-Za-z0-9]+_\d+_(?:{TOKEN}|{HANDLE})"),
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
            for at, (given, legal) in enumerate(waiting):
                if given == result.call_id:
                    del waiting[at]
                    found.append(legal)
                    break
            else:
                found.append(self._find(result.call_id))
        return found

    def _find(self, given: str) -> str:
        if given not in self._legal:
            candidate = given
            if not _LEGAL[self._kind].fullmatch(given):
                candidate = self._make(given, 0)
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
            return {"type": "text", "text": named_text(media)}
        case _:
            name = media.name or f"file.{essence(media.media_type).rpartition('/')[2]}"
            return {"type": "file", "file": {"filename": name, "file_data": url_raw(media), **more}}
