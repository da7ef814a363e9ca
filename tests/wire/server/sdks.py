"""What the vendors' own SDKs make of a reply, in one form for all: text, calls, stop, usage."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import httpx2 as httpx

from later import Later
from rightcall.core.message import Reply

anthropic = Later("anthropic")
openai = Later("openai")
genai = Later("google.genai")

HI = [{"role": "user", "content": "Hi"}]


class Heard(NamedTuple):
    """A reply as a client reads it."""

    text: str
    calls: tuple[tuple[str, Any], ...]
    """Names and arguments."""
    stop: str
    usage: tuple[int, int, int, int]
    """Tokens in, out, cached and thought with."""
    ids: tuple[str, ...] = ()


class Pieces(httpx.SyncByteStream):
    """A body that comes in these pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces


class _Wire:
    """Answers every request with what it was given last: the SDKs' clients are dear to make."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.kind = ""
        self.status = 200

    def client(self) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(self._answer))

    def set(self, pieces: list[bytes], *, stream: bool, status: int) -> None:
        self.pieces, self.status = pieces, status
        self.kind = "text/event-stream" if stream else "application/json"

    def _answer(self, _: httpx.Request) -> httpx.Response:
        headers = {"content-type": self.kind}
        return httpx.Response(self.status, headers=headers, stream=Pieces(self.pieces))


_WIRE = _Wire()


@cache
def _openai() -> "openai.OpenAI":
    http = _WIRE.client()
    return openai.OpenAI(api_key="k", base_url="http://gateway/v1", http_client=http, max_retries=0)


@cache
def _anthropics() -> "anthropic.Anthropic":
    http = _WIRE.client()
    return anthropic.Anthropic(api_key="k", base_url="http://gateway", http_client=http, max_retries=0)


@cache
def _google() -> "genai.Client":
    options = genai.types.HttpOptions(base_url="http://gateway", httpx_client=_WIRE.client())
    return genai.Client(api_key="k", http_options=options)


def openai_at(pieces: list[bytes], *, stream: bool, status: int = 200) -> "openai.OpenAI":
    """OpenAI's client, whose next request is answered with these pieces."""
    _WIRE.set(pieces, stream=stream, status=status)
    return _openai()


def anthropic_at(pieces: list[bytes], *, stream: bool, status: int = 200) -> "anthropic.Anthropic":
    """Anthropic's client, whose next request is answered with these pieces."""
    _WIRE.set(pieces, stream=stream, status=status)
    return _anthropics()


def google_at(pieces: list[bytes], *, stream: bool, status: int = 200) -> "genai.Client":
    """Google's client, whose next request is answered with these pieces."""
    _WIRE.set(pieces, stream=stream, status=status)
    return _google()


def _chat(pieces: list[bytes], *, stream: bool) -> Heard:
    client = openai_at(pieces, stream=stream)
    if stream:
        made: Any = _completion(client)
    else:
        made = client.chat.completions.create(model="m", messages=HI)
    choice = made.choices[0]
    calls = choice.message.tool_calls or []
    said = [_custom(call) if call.type == "custom" else _call(call.function) for call in calls]
    stop = "refusal" if choice.message.refusal else choice.finish_reason
    return Heard(
        choice.message.content or "",
        tuple(said),
        stop,
        _chat_usage(made.usage),
        tuple(call.id for call in calls),
    )


def _completion(client: "openai.OpenAI") -> Any:
    with client.chat.completions.stream(model="m", messages=HI) as events:
        for _ in events:
            pass
        try:
            return events.get_final_completion()
        except (openai.LengthFinishReasonError, openai.ContentFilterFinishReasonError) as error:
            # The SDK's helper will not have such an answer, and has it all the same.
            return error.completion


def _custom(call: Any) -> tuple[str, Any]:
    # The SDK has no type for those that were streamed.
    custom = call.to_dict()["custom"]
    return custom["name"], custom["input"]


def _call(function: Any) -> tuple[str, Any]:
    return function.name, _json(function.arguments)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _chat_usage(usage: Any) -> tuple[int, int, int, int]:
    if usage is None:
        return (0, 0, 0, 0)
    into, out = usage.prompt_tokens_details, usage.completion_tokens_details
    return (
        usage.prompt_tokens,
        usage.completion_tokens,
        (into and into.cached_tokens) or 0,
        (out and out.reasoning_tokens) or 0,
    )


def _responses(pieces: list[bytes], *, stream: bool) -> Heard:
    client = openai_at(pieces, stream=stream)
    if stream:
        ends = [
            event.response
            for event in client.responses.create(model="m", input="Hi", stream=True)
            if event.type in ("response.completed", "response.incomplete")
        ]
        (made,) = ends
        if made.status == "completed":
            with openai_at(pieces, stream=True).responses.stream(model="m", input="Hi") as events:
                for _ in events:
                    pass
                helped = events.get_final_response()
            assert (helped.id, helped.output_text) == (made.id, made.output_text)
    else:
        made = client.responses.create(model="m", input="Hi")
    calls = [item for item in made.output if item.type in ("function_call", "custom_tool_call")]
    said = [
        (c.name, c.input) if c.type == "custom_tool_call" else (c.name, _json(c.arguments))
        for c in calls
    ]
    refused = [
        part
        for item in made.output
        if item.type == "message"
        for part in item.content
        if part.type == "refusal"
    ]
    why = made.incomplete_details.reason if made.incomplete_details else made.status
    usage = made.usage
    counts = (
        usage.input_tokens,
        usage.output_tokens,
        usage.input_tokens_details.cached_tokens,
        usage.output_tokens_details.reasoning_tokens,
    )
    stop = "refusal" if refused else str(why)
    return Heard(made.output_text, tuple(said), stop, counts, tuple(call.call_id for call in calls))


def _anthropic(pieces: list[bytes], *, stream: bool) -> Heard:
    client = anthropic_at(pieces, stream=stream)
    if stream:
        with client.messages.stream(model="m", messages=HI, max_tokens=9) as events:
            for _ in events:
                pass
            made: Any = events.get_final_message()
    else:
        made = client.messages.create(model="m", messages=HI, max_tokens=9)
    calls = [block for block in made.content if block.type == "tool_use"]
    usage = made.usage
    cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    details = getattr(usage, "output_tokens_details", None)
    thought = (details and details.thinking_tokens) or 0
    return Heard(
        "".join([block.text for block in made.content if block.type == "text"]),
        tuple((call.name, call.input) for call in calls),
        made.stop_reason,
        (usage.input_tokens + cached + written, usage.output_tokens, cached, thought),
        tuple(call.id for call in calls),
    )


def _gemini(pieces: list[bytes], *, stream: bool) -> Heard:
    client = google_at(pieces, stream=stream)
    if stream:
        chunks = list(client.models.generate_content_stream(model="m", contents="Hi"))
    else:
        chunks = [client.models.generate_content(model="m", contents="Hi")]
    candidates = [each.candidates[0] for each in chunks if each.candidates]
    contents = [each.content for each in candidates if each.content]
    parts = [part for content in contents for part in content.parts or ()]
    calls = [part.function_call for part in parts if part.function_call]
    reasons = [each.finish_reason for each in candidates if each.finish_reason]
    counted = [each.usage_metadata for each in chunks if each.usage_metadata]
    usage = counted[-1]
    thought = usage.thoughts_token_count or 0
    counts = (
        (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0),
        (usage.candidates_token_count or 0) + thought,
        usage.cached_content_token_count or 0,
        thought,
    )
    return Heard(
        "".join([part.text for part in parts if part.text and not part.thought]),
        tuple((call.name, call.args) for call in calls),
        str(reasons[-1].value),
        counts,
        tuple(call.id or "" for call in calls),
    )


SDKS: dict[str, Callable[..., Heard]] = {
    "openai_chat": _chat,
    "openai_responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}

STOPS = {
    "openai_chat": {
        "end": "stop",
        "calls": "tool_calls",
        "length": "length",
        "stop_sequence": "stop",
        "refusal": "refusal",
        "pause": "length",
        "filtered": "content_filter",
    },
    "openai_responses": {
        "end": "completed",
        "calls": "completed",
        "length": "max_output_tokens",
        "stop_sequence": "completed",
        "refusal": "refusal",
        "pause": "max_output_tokens",
        "filtered": "content_filter",
    },
    "anthropic": {
        "end": "end_turn",
        "calls": "tool_use",
        "length": "max_tokens",
        "stop_sequence": "stop_sequence",
        "refusal": "refusal",
        "pause": "pause_turn",
        "filtered": "refusal",
    },
    "gemini": {
        "end": "STOP",
        "calls": "STOP",
        "length": "MAX_TOKENS",
        "stop_sequence": "STOP",
        "refusal": "SAFETY",
        "pause": "MAX_TOKENS",
        "filtered": "SAFETY",
    },
}
"""What each client is to be told of why a reply stopped."""


def expected(reply: Reply, dialect: str, *, refusal: str = "") -> Heard:
    """What a client of a dialect is to read of a reply; ``refusal``: its words, which are no text."""
    usage = reply.usage
    told = [call for call in reply.calls if not (dialect == "gemini" and call.truncated)]
    thought = min(usage.reasoning_tokens, usage.output_tokens)
    return Heard(
        reply.text + (refusal if dialect in ("anthropic", "gemini") else ""),
        tuple((call.name, _json(call.arguments) if call.arguments.strip() else {}) for call in told),
        STOPS[dialect][reply.stop],
        (usage.input_tokens, usage.output_tokens, usage.cached_tokens, thought),
    )
