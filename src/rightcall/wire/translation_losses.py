"""What is lost in translation between dialects, as data, and requests without it.

Four tables: request members and parts of a conversation that only their own vendor understands, settings
that a vendor does not have, and parts of a reply that a client's dialect has no field for. Documentation
is generated from them, and ``fit`` removes from a request what the target vendor would refuse or ignore.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.message import Message, Reply, User
from rightcall.core.parts import Media, Result, Text
from rightcall.core.request import ANY_OBJECT, Request
from rightcall.wire.claude import MIN_BUDGET
from rightcall.wire.payload import mapping

UNREAD_MEMBERS: Mapping[str, Mapping[str, str]] = {
    "openai_chat": {
        "n": "one answer is given",
        "logit_bias": "",
        "presence_penalty": "",
        "frequency_penalty": "",
        "modalities": "",
        "audio": "",
        "prediction": "",
        "service_tier": "",
        "store": "",
        "metadata": "",
        "verbosity": "",
        "web_search_options": "the vendor's own search",
    },
    "openai_responses": {
        "store": "nothing is kept",
        "background": "",
        "max_tool_calls": "",
        "metadata": "",
        "prompt": "a prompt that OpenAI keeps",
        "service_tier": "",
        "context_management": "",
        "text.verbosity": "",
    },
    "anthropic": {
        "container": "",
        "context_management": "",
        "mcp_servers": "",
        "service_tier": "",
        "top_k": "",
        "output_config.task_budget": "",
    },
    "gemini": {
        "safetySettings": "",
        "labels": "",
        "generationConfig.topK": "",
        "generationConfig.presencePenalty": "",
        "generationConfig.frequencyPenalty": "",
        "generationConfig.responseModalities": "",
        "generationConfig.speechConfig": "",
        "generationConfig.mediaResolution": "",
        "generationConfig.candidateCount": "one answer is given",
    },
}
"""Request members that are reported in ``ClientRequest.left_out``, by dialect, with an explanation
where the name is not clear. A vendor's own tools and unknown members are left out of every dialect."""

UNKEPT_PARTS: Mapping[str, Mapping[str, str]] = {
    "openai_chat": {
        "detail": "of an image",
    },
    "openai_responses": {
        "detail": "of an image",
        "web_search_call": "",
        "file_search_call": "",
        "code_interpreter_call": "",
        "image_generation_call": "and every other item of the vendor's own tools",
    },
    "anthropic": {
        "server_tool_use": "",
        "web_search_tool_result": "and every other block of the vendor's own tools",
        "search_result": "its text is told, and not cited",
        "citations": "of a document",
        "context": "of a document",
        "title": "of a document, for Gemini; Chat and Responses have a file name",
    },
    "gemini": {
        "mediaResolution": "",
        "videoMetadata": "",
        "displayName": "of an image, a sound or a video",
    },
}
"""Parts of a conversation from a client that only their own vendor understands: they refer to what
happened at that vendor, with content that is encrypted or stored there, or say how that vendor is to
treat them. The former are reported in ``ClientRequest.left_out``, the latter by ``lost_members``."""

UNSUPPORTED_SETTINGS: Mapping[str, Mapping[str, str]] = {
    "openai_chat": {},
    "openai_responses": {"seed": "", "stop": ""},
    "anthropic": {"seed": "", "logprobs": "", "cache_key": "it has marks instead"},
    "gemini": {"parallel": "", "user": "", "cache_key": "it caches by itself"},
    "gemini_interactions": {"parallel": "", "user": "", "cache_key": "", "logprobs": ""},
    "bedrock": {"seed": "", "logprobs": "", "cache_key": ""},
    "cohere": {"parallel": "", "user": "", "cache_key": "", "logprobs": ""},
    "ollama": {"parallel": "", "user": "", "cache_key": ""},
}
"""Settings that a vendor does not have, by dialect."""

UNPLACED_PARTS: Mapping[str, Mapping[str, str]] = {
    "openai_chat": {
        "sounds and files that the model made": "",
        "thoughts": "they are shown, and come back in the ids of calls alone",
        "Google's signatures of text": "Google recommends them, and demands those of calls alone",
    },
    "openai_responses": {
        "media that the model made": "",
        "citations": "",
        "logprobs": "",
        "Google's signatures of text": "Google recommends them, and demands those of calls alone",
    },
    "anthropic": {
        "media that the model made": "",
        "citations": "",
        "logprobs": "",
        "Google's signatures of text": "Google recommends them, and demands those of calls alone",
    },
    "gemini": {
        "citations": "",
        "a call that was cut off": "clients would run it",
        "tokens written to the cache": "",
    },
}
"""Parts of a reply that a client's dialect has no field for."""

_NAMES_OF_FILES: Mapping[str, str] = {"anthropic": "title", "gemini": "displayName"}
"""What a client's dialect calls the name of a file; of any other, ``filename``."""
_WITH_NAMES: Mapping[str, tuple[str, ...]] = {
    "openai_chat": ("pdf", "document", "text", "other"),
    "openai_responses": ("pdf", "document", "text", "other"),
    "anthropic": ("pdf", "text"),
    "bedrock": ("pdf", "document", "text"),
}
"""The kinds of files that a vendor is told the name of, by dialect."""
_MARKS: Mapping[str, Any] = {"cache_control": ..., "detail": "auto"}
"""Members that say nothing if they have this value; with ``...``, whatever they have."""

_HARMLESS: Mapping[str, Any] = {"parallel": True}
"""Values that equal the default, so that dropping them changes nothing."""
_IN_JSON = "Answer with one JSON object, and with nothing else."
_NO_JSON_MODE = ("anthropic", "bedrock")
_CLAUDES = ("anthropic", "bedrock")


class TranslationLoss(NamedTuple):
    """One row: something that is not translated."""

    dialect: str
    side: str
    what: str
    why: str


class FittedRequest(Struct, frozen=True):
    """A request that a dialect can express, and what had to be left out of it."""

    request: Request
    left_out: tuple[str, ...] = ()


def rows() -> Iterator[TranslationLoss]:
    """All rows of what is not translated."""
    sides = (
        ("of a client's request", UNREAD_MEMBERS),
        ("of a client's history", UNKEPT_PARTS),
        ("to a vendor", UNSUPPORTED_SETTINGS),
        ("of a reply, to a client", UNPLACED_PARTS),
    )
    for side, table in sides:
        for dialect, things in table.items():
            for what, why in things.items():
                yield TranslationLoss(dialect, side, what, why)


def lost_members(messages: Sequence[Message], client: str, dialect: str) -> Iterator[str]:
    """By path: what a client said of texts and files that is only for its own dialect's vendor.

    ``dialect`` is the target's; empty for a model that is no vendor's.
    """
    for at, message in enumerate(messages):
        if isinstance(message, Reply):
            # What comes with a model's words is the vendor's, and is told as thoughts are.
            continue
        holders: Sequence[User | Result] = (message,) if isinstance(message, User) else message.results
        for holder in holders:
            for index, part in enumerate(holder.content):
                if type(part) is Text and not part.vendor:
                    continue
                where = f"messages[{at}].content[{index}]"
                for name, value in mapping(part.vendor.get(client)).items():
                    if _MARKS.get(name, _MARKS) not in (..., value):
                        yield f"{where}.{name}"
                if isinstance(part, Media) and part.name and _loses_name(part, dialect):
                    yield f"{where}.{_NAMES_OF_FILES.get(client, 'filename')}"


def _loses_name(media: Media, dialect: str) -> bool:
    return bool(dialect) and media.kind not in _WITH_NAMES.get(dialect, ())


def fit(request: Request, dialect: str) -> FittedRequest:
    """The request without what ``dialect``, the target vendor's dialect, cannot express."""
    options = dict(request.options)
    left = []
    for name in UNSUPPORTED_SETTINGS[dialect]:
        value = options.pop(name, None)
        if value is not None and value != _HARMLESS.get(name):
            left.append(f"{name}: {dialect} has no such setting")
    if dialect in _CLAUDES:
        _fit_claude(request, options, left)
    request = replace(request, options=options)
    if request.output == ANY_OBJECT and dialect in _NO_JSON_MODE:
        # There is no JSON mode: the system text asks for JSON instead.
        system = f"{request.system}\n\n{_IN_JSON}" if request.system else _IN_JSON
        request = replace(request, system=system, output=None)
    return FittedRequest(request, tuple(left))


def _fit_claude(request: Request, options: dict[str, Any], left: list[str]) -> None:
    """Adapt what only Claude restricts: temperature and top_p, and a budget within ``max_tokens``."""
    reasoning = options.get("reasoning")
    if reasoning not in (None, "none", 0):
        # https://platform.claude.com/docs/en/build-with-claude/extended-thinking#feature-compatibility
        for name in ("temperature", "top_p"):
            if options.pop(name, None) is not None:
                left.append(f"{name}: Claude takes none while it thinks")
    elif (options.get("temperature") or 0) > 1:
        options["temperature"] = 1.0
        left.append("temperature: 1 is the most that Claude takes")
    limit = request.max_tokens
    if isinstance(reasoning, int) and limit is not None and limit <= max(reasoning, MIN_BUDGET):
        budget = limit // 2
        options["reasoning"] = budget if budget >= MIN_BUDGET else "none"
        left.append("reasoning: the budget is a part of max_tokens, and was made smaller")
