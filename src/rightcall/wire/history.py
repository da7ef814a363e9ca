"""Converts conversations between the vendors' formats and a transcript.

Each dialect has a ``history`` that reads its own messages. The model's messages are read by the
dialect's own decoder, so that a thought's signature, a call's id and whatever else must be sent back is
kept as in a run.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import msgspec

from rightcall.core.call import Call
from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.media_type import ANY_BYTES
from rightcall.core.message import Author, Message, Reply, Results, Transcript, User
from rightcall.core.options import checked, fits
from rightcall.core.outcome import OutcomeKind
from rightcall.core.parts import Media, Part, Result, Text
from rightcall.core.request import Request
from rightcall.errors import RightcallError, UsageError
from rightcall.wire.dialects import DIALECTS, load

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


class Said(msgspec.Struct, frozen=True):
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
        call = self._answered(where, call_id, name)
        self._results.append(
            Result(
                call_id=call.id,
                name=call.name,
                outcome=outcome,
                content=tuple(content),
                vendor=vendor or {},
            )
        )

    def said(self) -> Said:
        """The whole conversation."""
        self._close()
        return Said(tuple(self._messages), "\n\n".join(self._system))

    def _answered(self, where: str, call_id: str | None, name: str | None) -> Call:
        for at, call in enumerate(self._open):
            if call.id == call_id if call_id else call.name == name:
                return self._open.pop(at)
        known = ", ".join(call.id or call.name for call in self._open) or "none"
        wanted = call_id or name or ""
        raise misread(where, f"a result for {wanted!r}, and the calls that wait for one are: {known}")

    def _close(self) -> None:
        if self._results:
            self._messages.append(Results(tuple(self._results)))
            self._results = []


def misread(where: str, what: str) -> UsageError:
    """The error for what was not understood, with its place."""
    return UsageError(f"{where}: {what}")


def replied(dialect: str, body: JsonObject, where: str) -> Reply:
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


def media_at(url: str, kind: str, where: str, name: str | None = None, **more: Any) -> Media:
    """Media at a URL or in a data URL; ``kind`` is used where the URL gives no type."""
    if not url.startswith("data:"):
        return Media(b"", kind, name, url=url, **more)
    head, _, data = url.removeprefix("data:").partition(",")
    return Media(decoded(data, where), head.partition(";")[0] or kind, name, **more)


def decoded(data: str, where: str) -> bytes:
    """Decodes base64 of either alphabet."""
    try:
        return b64decode(data.replace("-", "+").replace("_", "/"), validate=True)
    except (Base64Error, ValueError) as error:
        raise misread(where, "not valid base64") from error


def bag(dialect: str, members: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """A vendor bag with these members; empty if there are none."""
    return {dialect: dict(members)} if members else {}


def history_of(given: "Said | Sequence[Any] | None") -> Said:
    """Reads the value of ``history=``: a transcript, or a conversation in a vendor's format."""
    if isinstance(given, Said):
        return given
    messages = () if given is None else tuple(given)
    ours = [isinstance(message, User | Reply | Results) for message in messages]
    if all(ours):
        return Said(messages)
    if any(ours):
        raise misread(f"history[{ours.index(False)}]", "messages of ours and of a vendor's in one list")
    return from_messages(messages)


@checked("rc.from_messages")
def from_messages(messages: Sequence[Any], dialect: str | None = None) -> Said:
    """Convert a conversation in a vendor's format to a transcript, and its system text.

    The messages are dictionaries or the SDK's own objects, of OpenAI's Chat or Responses, Anthropic,
    Gemini or Bedrock's Converse. The dialect is detected from their form, unless it is given. What is
    not understood is an error that names its place.
    """
    plain = [_plain(message) for message in messages]
    for at, message in enumerate(plain):
        if not isinstance(message, Mapping):
            raise misread(f"messages[{at}]", f"an object, and not {type(message).__name__}")
    name = _known(dialect) if dialect else _dialect_of(plain)
    said: Said = import_module(f"rightcall.wire.{name}.history").read(plain)
    return said


@checked("rc.to_messages")
def to_messages(transcript: Transcript, dialect: str, *, system: str = "") -> list[Any]:
    """Convert a transcript to a vendor's format, as its SDK takes it.

    ``dialect`` is ``openai_chat``, ``openai_responses``, ``anthropic``, ``gemini``,
    ``gemini_interactions``, ``bedrock``, ``cohere`` or ``ollama``. The system text goes first if the
    vendor takes it among the messages.
    """
    name = _known(dialect)
    if not fits(transcript, Sequence):
        kind = type(transcript).__name__
        raise UsageError(f"rc.to_messages takes a transcript, as in result.transcript, and not {kind}")
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
    return [{"role": "system", "content": system}, *found] if system else found


def _known(dialect: str) -> str:
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
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


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
        if isinstance(content, list) and any(map(_is_converse, content)):
            return "bedrock"
        kinds = (
            {part.get("type") for part in content if isinstance(part, Mapping)}
            if isinstance(content, list)
            else set()
        )
        if kinds & _BLOCKS:
            return "anthropic"
        if any(str(kind).startswith(("input_", "output_")) for kind in kinds - _CHAT_PARTS):
            return "openai_responses"
        if kinds & _CHAT_PARTS:
            return "openai_chat"
    return "openai_chat"


def _is_converse(part: object) -> bool:
    return isinstance(part, Mapping) and "type" not in part and bool(_CONVERSE & set(part))


UNTYPED = ANY_BYTES
"""The media type of a file that is known only by its id."""
