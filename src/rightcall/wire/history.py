"""Converts conversations between the vendors' formats and a transcript.

Each dialect has a ``history`` that reads its own messages. The model's messages are read by the
dialect's own decoder, so that a thought's signature, a call's id and whatever else must be sent back is
kept as in a run.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import msgspec

from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.message import Author, Message, Reply, Results, Transcript, User
from rightcall.core.options import check_keywords, fits
from rightcall.core.outcome import OutcomeKind
from rightcall.core.parts import ANY_BYTES, Call, Media, Part, Result, Text
from rightcall.core.request import Request
from rightcall.errors import RightcallError, UsageError
from rightcall.wire.dialects import DIALECTS, load
from rightcall.wire.payload import items_in

_MEMBERS = {"openai_responses": "input", "gemini_interactions": "input", "gemini": "contents"}
"""The member of a request that holds the messages, where it is not ``messages``."""
_WITH_BYTES = ("bedrock",)
"""Dialects whose SDK takes raw bytes where the wire format has base64."""
_STEPS = ("user_input", "model_output", "function_result")
"""Types that only steps of Gemini's Interactions have."""
_IN_LIST = ("cohere", "ollama", "openai_chat", "openai_responses")
"""Dialects in which the system text is, or may be, one of the messages."""
_NEWEST = "gemini-latest"
"""Only Gemini's messages depend on the model's name: newer models accept images inside results."""
_SOME = "http://localhost"
_BLOCKS = frozenset(
    ("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "search_result")
)
_CONVERSE = frozenset(
    ("text", "toolUse", "toolResult", "reasoningContent", "citationsContent", "image", "document",
     "video", "audio", "guardContent", "cachePoint", "searchResult")
)  # fmt: skip
"""The possible names of the single member of a Bedrock block. Other vendors' blocks have a type."""
_CHAT_PARTS = frozenset(("image_url", "input_audio", "file", "video_url"))


class ChatHistory(msgspec.Struct, frozen=True):
    """A conversation as it was given: its messages and its system text."""

    messages: Transcript
    system: str = ""

    def system_under(self, instructions: str) -> str:
        """The system text for an agent with these instructions that continues this conversation."""
        own = instructions.strip()
        if own and own != self.system.strip():
            raise UsageError(
                "the history has a system text that is not the agent's instructions; "
                "leave it out of the history, or give the agent no instructions"
            )
        return instructions or self.system


class HistoryReader:
    """Collects the messages of a dialect's history, and matches calls with results."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._system: list[str] = []
        self._open: list[Call] = []
        """Calls of the last reply that have no result yet."""
        self._results: list[Result] = []

    def instruct(self, text: str) -> None:
        """Add system text: at the beginning to the system prompt, later as a developer message."""
        if self._messages or self._results:
            self.say((Text(text),), "developer")
        elif text:
            self._system.append(text)

    def say(
        self,
        parts: Iterable[Part],
        author: Author = "user",
        vendor: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Add a user's message."""
        self._close()
        self._messages.append(User(tuple(parts), author, vendor or {}))

    def reply(self, reply: Reply) -> None:
        """Add the model's reply."""
        self._close()
        self._messages.append(reply)
        self._open = list(reply.calls)

    def result(
        self,
        where: str,
        content: Iterable[Part],
        *,
        call_id: str | None = None,
        name: str | None = None,
        outcome: OutcomeKind = "returned",
        vendor: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Add the result of a call, matched by id, or else by name."""
        for at, call in enumerate(self._open):
            if call.id == call_id if call_id else call.name == name:
                del self._open[at]
                break
        else:
            known = ", ".join(call.id or call.name for call in self._open) or "none"
            wanted = call_id or name or ""
            words = f"a result for {wanted!r}, and the calls that wait for one are: {known}"
            raise misread(where, words)
        self._results.append(
            Result(
                call_id=call.id,
                name=call.name,
                outcome=outcome,
                content=tuple(content),
                vendor=vendor or {},
            )
        )

    def conversation(self) -> ChatHistory:
        """The whole conversation."""
        self._close()
        return ChatHistory(tuple(self._messages), "\n\n".join(self._system))

    def _close(self) -> None:
        if self._results:
            self._messages.append(Results(tuple(self._results)))
            self._results = []


def misread(where: str, what: str) -> UsageError:
    """The error for what was not understood, with its place."""
    return UsageError(f"{where}: {what}")


def decode_reply(dialect: str, body: JsonObject, where: str) -> Reply:
    """The model's reply, decoded from ``body`` as if it had come in a response."""
    try:
        return load(dialect).decode(msgspec.json.encode(body))
    except (RightcallError, msgspec.EncodeError, ValueError, TypeError) as error:
        raise misread(where, f"not what a model says in this dialect: {error}") from error


def objects(value: object, where: str) -> Iterator[tuple[str, JsonObject]]:
    """The objects of a list, each with its path."""
    if not isinstance(value, list | tuple):
        raise misread(where, f"a list of objects, and not {type(value).__name__}")
    for at, item in enumerate(value):
        if not isinstance(item, Mapping):
            raise misread(f"{where}[{at}]", f"an object, and not {type(item).__name__}")
        yield f"{where}[{at}]", item


def string(item: Mapping[str, Any], member: str, where: str) -> str:
    """A member that must be a string."""
    value = item.get(member)
    if not isinstance(value, str):
        raise misread(f"{where}.{member}", f"text, and not {type(value).__name__}")
    return value


def others(item: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """The remaining members that have a value."""
    return {key: value for key, value in item.items() if key not in known and value is not None}


def system_text(parts: Sequence[Part], where: str) -> str:
    """The system text in the parts of a message."""
    texts = []
    for part in parts:
        if not isinstance(part, Text):
            raise misread(f"{where}.content", "system text is text only")
        texts.append(part.text)
    return "".join(texts)


def media_at(url: str, kind: str, where: str, name: str | None = None, **more: Any) -> Media:
    """Media at a URL or in a data URL; ``kind`` is used where the URL gives no type."""
    if not url.startswith("data:"):
        return Media(b"", kind, name, url=url, **more)
    head, _, data = url.removeprefix("data:").partition(",")
    return Media(decode_base64(data, where), head.partition(";")[0] or kind, name, **more)


def decode_base64(data: str, where: str) -> bytes:
    """Decodes base64 of either alphabet."""
    try:
        return b64decode(data.replace("-", "+").replace("_", "/"), validate=True)
    except ValueError as error:
        raise misread(where, "not valid base64") from error


def history_of(given: "ChatHistory | Sequence[Any] | None") -> ChatHistory:
    """Reads the value of ``history=``: a transcript, or a conversation in a vendor's format."""
    if isinstance(given, ChatHistory):
        return given
    messages = () if given is None else tuple(given)
    ours = [isinstance(message, User | Reply | Results) for message in messages]
    if all(ours):
        return ChatHistory(messages)
    if any(ours):
        raise misread(f"history[{ours.index(False)}]", "messages of ours and of a vendor's in one list")
    return from_messages(messages)


@check_keywords("rc.wire.from_messages")
def from_messages(messages: Sequence[Any], dialect: str | None = None) -> ChatHistory:
    """Convert a conversation in a vendor's format to a transcript, and its system text.

    The messages are dictionaries or the SDK's own objects, of OpenAI's Chat or Responses, Anthropic,
    Gemini or Bedrock's Converse. The dialect is detected from their form, unless it is given. What is
    not understood is an error that names its place.
    """
    plain = [_plain(message) for message in messages]
    for at, message in enumerate(plain):
        if not isinstance(message, Mapping):
            raise misread(f"messages[{at}]", f"an object, and not {type(message).__name__}")
    name = _check_dialect(dialect) if dialect else _dialect_of(plain)
    said: ChatHistory = import_module(f"rightcall.wire.{name}.history").read(plain)
    return said


@check_keywords("rc.wire.to_messages")
def to_messages(transcript: Transcript, dialect: str, *, system: str = "") -> list[Any]:
    """Convert a transcript to a vendor's format, as its SDK takes it.

    ``dialect`` is ``openai_chat``, ``openai_responses``, ``anthropic``, ``gemini``,
    ``gemini_interactions``, ``bedrock``, ``cohere`` or ``ollama``. The system text goes first if the
    vendor takes it among the messages.
    """
    name = _check_dialect(dialect)
    if not fits(transcript, Sequence):
        kind = type(transcript).__name__
        raise UsageError(
            f"rc.wire.to_messages takes a transcript, as in result.transcript, and not {kind}"
        )
    if system and name not in _IN_LIST:
        raise UsageError(f"{name} takes the system text beside the messages, and not among them")
    found: list[Any] = []
    if transcript:
        request = Request(messages=tuple(transcript), options={"cache": False})
        # For an unknown host: reasoning is included.
        body = msgspec.json.decode(load(name, _SOME).encode(request, model=_NEWEST, stream=False).body)
        found = body[_MEMBERS.get(name, "messages")]
        if name in _WITH_BYTES:
            found = import_module(f"rightcall.wire.{name}.history").with_bytes(found)
    if system:
        return [{"role": "system", "content": system}, *found]
    return found


def _check_dialect(dialect: str) -> str:
    if dialect not in DIALECTS:
        raise UsageError(f"no dialect {dialect!r}; there are {', '.join(DIALECTS)}")
    return dialect


def _plain(value: Any) -> Any:
    """Converts the vendors' SDK objects to dictionaries, at any depth."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, bytes):
        # Google's and Amazon's SDKs take bytes.
        return b64encode(value).decode()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def _dialect_of(messages: Sequence[JsonObject]) -> str:
    """Detects the dialect of messages. Plain texts with roles fit every dialect; read as Chat."""
    if any("tool_plan" in message for message in messages):
        return "cohere"
    if any("tool_name" in message for message in messages):
        return "ollama"
    if any(message.get("type") in _STEPS for message in messages):
        return "gemini_interactions"
    for message in messages:
        if "parts" in message:
            return "gemini"
        if "role" not in message or message.get("type") == "message":
            return "openai_responses"
        if message["role"] in ("tool", "function") or message.get("tool_calls"):
            return "openai_chat"
        content = message.get("content")
        kinds = set()
        for part in items_in(content):
            if "type" not in part and not _CONVERSE.isdisjoint(part):
                return "bedrock"
            kinds.add(part.get("type"))
        if kinds & _BLOCKS:
            return "anthropic"
        if any(str(kind).startswith(("input_", "output_")) for kind in kinds - _CHAT_PARTS):
            return "openai_responses"
        if kinds & _CHAT_PARTS:
            return "openai_chat"
    return "openai_chat"


UNTYPED = ANY_BYTES
"""The media type of a file that is known only by its id."""
