"""What is lost in translation between dialects, as data, and requests without it.

Four tables: request members and parts of a conversation that only their own vendor understands, settings
that a vendor does not have, and parts of a reply that a client's dialect has no field for. Documentation
is generated from them, and ``fit`` removes from a request what the target vendor would refuse or ignore.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.request import ANY_OBJECT, Request
from rightcall.wire.claude import MIN_BUDGET

UNREAD: Mapping[str, Mapping[str, str]] = {
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
"""Request members that are reported in ``Asked.left_out``, by dialect, with an explanation where the
name is not clear. A vendor's own tools and unknown members are left out of every dialect."""

UNKEPT: Mapping[str, Mapping[str, str]] = {
    "openai_responses": {
        "web_search_call": "",
        "file_search_call": "",
        "code_interpreter_call": "",
        "image_generation_call": "and every other item of the vendor's own tools",
    },
    "anthropic": {
        "server_tool_use": "",
        "web_search_tool_result": "and every other block of the vendor's own tools",
        "search_result": "its text is told, and not cited",
    },
}
"""Parts of a conversation from a client that only their own vendor understands: they refer to what
happened at that vendor, with content that is encrypted or stored there. Each is reported in
``Asked.left_out``."""

UNTOLD: Mapping[str, Mapping[str, str]] = {
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

UNPLACED: Mapping[str, Mapping[str, str]] = {
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

_HARMLESS: Mapping[str, Any] = {"parallel": True}
"""Values that equal the default, so that dropping them changes nothing."""
_IN_JSON = "Answer with one JSON object, and with nothing else."
_NO_JSON_MODE = ("anthropic", "bedrock")
_CLAUDES = ("anthropic", "bedrock")


class Lost(NamedTuple):
    """One row: something that is not translated."""

    dialect: str
    side: str
    what: str
    why: str


class Fitted(Struct, frozen=True):
    """A request that a dialect can express, and what had to be left out of it."""

    request: Request
    left_out: tuple[str, ...] = ()


def rows() -> Iterator[Lost]:
    """All rows of what is not translated."""
    sides = (
        ("of a client's request", UNREAD),
        ("of a client's history", UNKEPT),
        ("to a vendor", UNTOLD),
        ("of a reply, to a client", UNPLACED),
    )
    for side, table in sides:
        for dialect, things in table.items():
            yield from (Lost(dialect, side, what, why) for what, why in things.items())


def fit(request: Request, dialect: str) -> Fitted:
    """The request without what ``dialect``, the target vendor's dialect, cannot express."""
    given, options = request.options, dict(request.options)
    lost = [name for name in UNTOLD[dialect] if options.pop(name, None) is not None]
    said = [name for name in lost if given[name] != _HARMLESS.get(name)]
    left = [f"{name}: {dialect} has no such setting" for name in said]
    if dialect in _CLAUDES:
        _fit_claude(request, options, left)
    request = replace(request, options=options)
    if request.output == ANY_OBJECT and dialect in _NO_JSON_MODE:
        # There is no JSON mode: the system text asks for JSON instead.
        system = "\n\n".join([each for each in (request.system, _IN_JSON) if each])
        request = replace(request, system=system, output=None)
    return Fitted(request, tuple(left))


def _fit_claude(request: Request, options: dict[str, Any], left: list[str]) -> None:
    """Adapt what only Claude restricts: temperature and top_p, and a budget within ``max_tokens``."""
    reasoning = options.get("reasoning")
    if reasoning not in (None, "none", 0):
        # https://platform.claude.com/docs/en/build-with-claude/extended-thinking#feature-compatibility
        warm = [name for name in ("temperature", "top_p") if options.pop(name, None) is not None]
        left += [f"{name}: Claude takes none while it thinks" for name in warm]
    elif (options.get("temperature") or 0) > 1:
        options["temperature"] = 1.0
        left.append("temperature: 1 is the most that Claude takes")
    limit = request.max_tokens
    if isinstance(reasoning, int) and limit is not None and limit <= max(reasoning, MIN_BUDGET):
        budget = limit // 2
        options["reasoning"] = budget if budget >= MIN_BUDGET else "none"
        left.append("reasoning: the budget is a part of max_tokens, and was made smaller")
