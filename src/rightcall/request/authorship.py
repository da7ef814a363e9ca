"""Which host wrote a reply, and what of it another host can read.

Vendor data is stored by dialect, and many hosts use one dialect. Thoughts, their signatures and other
data that only their writer understands are sent back only to the writer: Groq and Cerebras refuse
DeepSeek's ``reasoning_content``, Anthropic a thought that it has not signed.

What tools returned is changed where the host may render it with an open model's chat template.

A reply without a writer, as in older transcripts and in conversations in a vendor's format, counts as
the asked host's own, as far as the host can tell.
"""

from collections.abc import Mapping
from operator import is_
from typing import Any, assert_never
from urllib.parse import urlsplit

from msgspec.structs import replace

from rightcall.core.message import Message, Reasoning, Reply, Results, Unknown, User
from rightcall.core.parts import Call, Result, Text
from rightcall.core.request import Request
from rightcall.core.sanitize import break_tokens

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


_CLOSED: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("api.anthropic.com", "amazonaws.com", "googleapis.com", "services.ai.azure.com"),
    "openai_responses": ("api.openai.com", "openai.azure.com", "api.x.ai"),
}
"""By dialect, the hosts that serve no open models. vLLM, llama-server, Ollama and others speak these
dialects, too; the encoders of Chat and of Ollama see to their hosts themselves."""

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


def may_render(dialect: str, url: str) -> bool:
    """Whether results are to be sent without special tokens, which the host may read as such."""
    host = urlsplit(url).hostname or ""
    closed = _CLOSED.get(dialect)
    if closed is None:
        return False
    return not any(host == end or host.endswith("." + end) for end in closed)


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


def _break_tokens(message: Results) -> Results:
    """Returns the results with every special token in their texts broken up."""
    results: list[Result] = []
    for result in message.results:
        parts: list[Any] = []
        for part in result.content:
            if isinstance(part, Text) and (broken := break_tokens(part.text)) != part.text:
                parts.append(replace(part, text=broken))
            else:
                parts.append(part)
        if all(map(is_, parts, result.content)):
            results.append(result)
        else:
            results.append(replace(result, content=tuple(parts)))
    if all(map(is_, results, message.results)):
        return message
    return replace(message, results=tuple(results))


class ReadableHistory:
    """Converts a conversation for one host: its own replies unchanged, others as it can read them.

    The same message gives the same object, because encoders cache by identity what they have encoded.
    """

    def __init__(self, dialect: str, writer: str, *, renders: bool = False) -> None:
        self._dialect = dialect
        self._writer = writer
        self._renders = renders
        self._changed: dict[tuple[int, bool], tuple[Message, Message]] = {}
        """By the id of the original, which is stored first, to keep it alive."""

    def convert(self, request: Request) -> Request:
        """Returns the request, with the messages as the host can read them."""
        as_text = request.options.get("foreign_reasoning") == "text"
        messages = [self._message(message, as_text=as_text) for message in request.messages]
        if all(map(is_, messages, request.messages)):
            return request
        return replace(request, messages=tuple(messages))

    def _message(self, message: Message, *, as_text: bool) -> Message:
        is_rendered = self._renders and type(message) is Results
        if not is_rendered and (type(message) is not Reply or message.written_by == self._writer):
            return message
        key = (id(message), as_text)
        known = self._changed.get(key)
        if known is None:
            known = self._changed[key] = (message, self._change(message, as_text=as_text))
        return known[1]

    def _change(self, message: Message, *, as_text: bool) -> Message:
        match message:
            case Results():
                return _break_tokens(message)
            case Reply(written_by=""):
                return self._drop_foreign_thoughts(message, as_text=as_text)
            case Reply():
                return as_read_elsewhere(message, as_text=as_text)
            case User():
                return message
            case _:
                assert_never(message)

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
