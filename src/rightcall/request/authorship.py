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

from rightcall.core.message import Message, Reasoning, Reply, Unknown
from rightcall.core.parts import Call, Text
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


_TEXTUAL = ("custom", "custom_tool_call")


def writer_at(dialect: str, url: str) -> str:
    """Returns the writer's name for replies from an address."""
    place = urlsplit(url)
    host = place.hostname or ""
    for (spoken, end), house in HOUSES.items():
        if spoken == dialect and (host == end or host.endswith("." + end)):
            return house
    if place.port:
        return f"{host}:{place.port}"
    return host


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
                    parts.append(_reasoning_as_text(text))
            case Unknown():
                continue
            case Call():
                # Only what marks its arguments as text instead of JSON.
                forms = {}
                for dialect, bag in part.vendor.items():
                    if isinstance(bag, Mapping) and bag.get("type") in _TEXTUAL:
                        forms[dialect] = {"type": bag["type"]}
                parts.append(replace(part, vendor=forms))
            case _:
                parts.append(replace(part, vendor={}))
    return replace(reply, content=tuple(parts), vendor={})


def _reasoning_as_text(reasoning: str) -> Text:
    return Text(f"<think>\n{reasoning.strip()}\n</think>\n\n")


class ReadableHistory:
    """Converts a conversation for one host: its own replies unchanged, others as it can read them.

    The same reply gives the same object, because encoders cache by identity what they have encoded.
    """

    def __init__(self, dialect: str, writer: str) -> None:
        self._dialect = dialect
        self._writer = writer
        self._changed: dict[tuple[int, bool], tuple[Reply, Reply]] = {}
        """By the id of the original, which is stored first, to keep it alive."""

    def convert(self, request: Request) -> Request:
        """Returns the request, with the messages as the host can read them."""
        as_text = request.options.get("foreign_reasoning") == "text"
        messages = [self._message(message, as_text=as_text) for message in request.messages]
        if all(map(is_, messages, request.messages)):
            return request
        return replace(request, messages=tuple(messages))

    def _message(self, message: Message, *, as_text: bool) -> Message:
        if type(message) is not Reply or message.written_by == self._writer:
            return message
        key = (id(message), as_text)
        known = self._changed.get(key)
        if known is None:
            if message.written_by:
                changed = as_read_elsewhere(message, as_text=as_text)
            else:
                changed = self._drop_foreign_thoughts(message, as_text=as_text)
            known = self._changed[key] = (message, changed)
        return known[1]

    def _drop_foreign_thoughts(self, reply: Reply, *, as_text: bool) -> Reply:
        """Returns a reply without a writer, without the thoughts that cannot be this host's."""
        parts: list[Any] = []
        for part in reply.content:
            if not isinstance(part, Reasoning) or self._may_be_own(part):
                parts.append(part)
            elif as_text and part.text.strip():
                parts.append(_reasoning_as_text(part.text))
        if len(parts) == len(reply.content) and all(map(is_, parts, reply.content)):
            return reply
        return replace(reply, content=tuple(parts))

    def _may_be_own(self, part: Reasoning) -> bool:
        bag = part.vendor.get(self._dialect)
        if self._writer != CLAUDE:
            return bag is not None
        return isinstance(bag, Mapping) and bool(bag.get("signature") or bag.get("data"))
