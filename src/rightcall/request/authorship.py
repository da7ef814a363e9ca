"""Which host wrote a reply, and what of it another host can read.

Vendor data is stored by dialect, and many hosts use one dialect. Thoughts, their signatures and other
data that only their writer understands are sent back only to the writer: Groq and Cerebras refuse
DeepSeek's ``reasoning_content``, Anthropic a thought that it has not signed.

A reply without a writer, as in older transcripts and in conversations in a vendor's format, counts as
the asked host's own, as far as the host can tell.
"""

from collections.abc import Mapping
from operator import is_
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from rightcall.core.call import Call
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Message, Reasoning, Reply, Transcript, Unknown
from rightcall.core.parts import Text
from rightcall.core.request import Request

CLAUDE = "claude"
"""Anthropic's signatures are valid wherever Claude is served, on its own API, Bedrock and Vertex:
https://platform.claude.com/docs/en/build-with-claude/extended-thinking"""

HOUSES: Mapping[tuple[str, str], str] = {
    ("anthropic", "api.anthropic.com"): CLAUDE,
    ("anthropic", "amazonaws.com"): CLAUDE,
    ("anthropic", "googleapis.com"): CLAUDE,
    ("anthropic", "services.ai.azure.com"): CLAUDE,
    # The same service in every region.
    ("bedrock", "amazonaws.com"): "amazonaws.com",
    ("gemini", "googleapis.com"): "googleapis.com",
}
"""Hosts that can read each other's replies share a name; by dialect and the end of the host's name."""


def writer_at(dialect: str, url: str) -> str:
    """Returns the writer's name for replies from an address."""
    place = urlsplit(url)
    host = place.hostname or ""
    for (spoken, end), house in HOUSES.items():
        if spoken == dialect and (host == end or host.endswith("." + end)):
            return house
    return f"{host}:{place.port}" if place.port else host


def as_read_elsewhere(reply: Reply, *, as_text: bool = False) -> Reply:
    """Returns the reply for a host that did not write it.

    With ``as_text`` its reasoning becomes text between ``<think>`` and ``</think>``; otherwise it is
    left out.
    """
    parts: list[Any] = []
    for part in reply.content:
        match part:
            case Reasoning(text):
                if as_text and text.strip():
                    parts.append(_told(text))
            case Unknown():
                continue
            case Call():
                parts.append(replace(part, vendor=_form_of(part)))
            case _:
                parts.append(replace(part, vendor={}))
    return replace(reply, content=tuple(parts), vendor={})


def _told(reasoning: str) -> Text:
    return Text(f"<think>\n{reasoning.strip()}\n</think>\n\n")


_TEXTUAL = ("custom", "custom_tool_call")


def _form_of(call: Call) -> Mapping[str, JsonValue]:
    """Returns the part of a call's vendor data that marks its arguments as text instead of JSON."""
    kinds = {
        dialect: bag.get("type") for dialect, bag in call.vendor.items() if isinstance(bag, Mapping)
    }
    return {dialect: {"type": kind} for dialect, kind in kinds.items() if kind in _TEXTUAL}


class Readable:
    """Converts a conversation for one host: its own replies unchanged, others as it can read them.

    The same reply gives the same object, because encoders cache by identity what they have encoded.
    """

    def __init__(self, dialect: str, writer: str) -> None:
        self._dialect = dialect
        self._writer = writer
        self._changed: dict[tuple[int, bool], tuple[Reply, Reply]] = {}
        """By the id of the original, which is stored first, to keep it alive."""

    def request(self, request: Request) -> Request:
        """Returns the request, with the messages as the host can read them."""
        as_text = request.options.get("foreign_reasoning") == "text"
        messages = self.of(request.messages, as_text=as_text)
        return request if messages is request.messages else replace(request, messages=messages)

    def of(self, messages: Transcript, *, as_text: bool) -> Transcript:
        """Returns the messages; the same tuple if nothing has to change."""
        writer = self._writer
        # A loop, as a generator takes twice as long: every request of a long history comes here.
        for each in messages:
            if type(each) is Reply and each.written_by != writer:
                break
        else:
            return messages
        found = [self._message(message, as_text=as_text) for message in messages]
        if all(new is old for new, old in zip(found, messages, strict=True)):
            return messages
        return tuple(found)

    def _message(self, message: Message, *, as_text: bool) -> Message:
        if type(message) is not Reply or message.written_by == self._writer:
            return message
        key = (id(message), as_text)
        known = self._changed.get(key)
        if known is None:
            if message.written_by:
                changed = as_read_elsewhere(message, as_text=as_text)
            else:
                changed = self._unsigned(message, as_text=as_text)
            known = self._changed[key] = (message, changed)
        return known[1]

    def _unsigned(self, reply: Reply, *, as_text: bool) -> Reply:
        """Returns a reply without a writer, without the thoughts that cannot be this host's."""
        parts = []
        for part in reply.content:
            if not isinstance(part, Reasoning) or self._may_be_own(part):
                parts.append(part)
            elif as_text and part.text.strip():
                parts.append(_told(part.text))
        if len(parts) == len(reply.content) and all(map(is_, parts, reply.content)):
            return reply
        return replace(reply, content=tuple(parts))

    def _may_be_own(self, part: Reasoning) -> bool:
        bag = part.vendor.get(self._dialect)
        if self._writer != CLAUDE:
            return bag is not None
        return isinstance(bag, Mapping) and bool(bag.get("signature") or bag.get("data"))
