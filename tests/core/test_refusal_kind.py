"""What vendors say of a refusal, and the one word that it comes to."""

from typing import get_args

import pytest

from rightcall.core.refusal_kind import refusal_kind
from rightcall.errors import (
    ErrorKind,
    ProtocolError,
    TransportError,
    TransportTimeout,
    VendorError,
    kind_of_status,
)

STATUSES = {
    400: "bad_request",
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    408: "timeout",
    409: "bad_request",
    413: "context_overflow",
    422: "bad_request",
    429: "rate_limit",
    500: "server",
    502: "server",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
    307: "not_found",
    None: "server",
}


@pytest.mark.parametrize(("status", "kind"), STATUSES.items())
def test_a_status_alone(status, kind):
    assert refusal_kind(status, (), "") == kind
    assert kind_of_status(status) == kind
    assert VendorError("no", status=status).kind == kind


TOLD = {
    # Codes, whatever the status.
    "OpenAI's quota": (429, ["insufficient_quota"], "You exceeded your current quota", "quota"),
    "OpenAI's context": (400, ["context_length_exceeded"], "", "context_overflow"),
    "in a stream": (None, ["context_length_exceeded"], "", "context_overflow"),
    "Anthropic's load in a stream": (None, ["overloaded_error"], "Overloaded", "overloaded"),
    "a server's fault in a stream": (None, ["server_error"], "", "server"),
    "Google's": (None, ["RESOURCE_EXHAUSTED"], "", "rate_limit"),
    "Azure's filter": (400, ["content_filter", "ResponsibleAIPolicyViolation"], "", "filtered"),
    "llama.cpp": (400, ["exceed_context_size_error"], "", "context_overflow"),
    "Groq's that will never fit": (413, ["rate_limit_exceeded"], "", "context_overflow"),
    "a model": (400, ["model_not_found"], "", "not_found"),
    "Anthropic's bytes": (None, ["request_too_large"], "", "context_overflow"),
    # Sentences, where a code is the same for all.
    "Anthropic's prompt": (
        400,
        ["invalid_request_error"],
        "prompt is too long: 205000 tokens > 200000 maximum",
        "context_overflow",
    ),
    "Anthropic's sum": (
        400,
        ["invalid_request_error"],
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
        "context_overflow",
    ),
    "Gemini's prompt": (
        400,
        ["INVALID_ARGUMENT"],
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "context_overflow",
    ),
    "vLLM's": (
        400,
        ["BadRequestError"],
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
        "context_overflow",
    ),
    "xAI's": (
        400,
        [],
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "context_overflow",
    ),
    "LM Studio's": (
        400,
        [],
        "The number of tokens to keep from the initial prompt is greater than the context length",
        "context_overflow",
    ),
    "an old llama.cpp's": (
        500,
        [],
        "the request exceeds the available context size. try increasing the context size",
        "context_overflow",
    ),
    "Anthropic's purse": (
        400,
        ["invalid_request_error"],
        "Your credit balance is too low to access the Anthropic API.",
        "quota",
    ),
    "Google's key": (
        400,
        ["INVALID_ARGUMENT"],
        "API key not valid. Please pass a valid API key.",
        "auth",
    ),
    "xAI's key": (400, [], "Incorrect API key provided: xa***.", "auth"),
    "Anthropic's filter": (
        400,
        ["invalid_request_error"],
        "Output blocked by content filtering policy",
        "filtered",
    ),
    "OpenRouter's moderation": (
        403,
        [],
        "openai/gpt-4o requires moderation and your input was flagged",
        "filtered",
    ),
    # What only sounds like it.
    "an option": (400, ["invalid_value"], "max_tokens must be a number", "bad_request"),
    "a token of JSON": (400, [], "Unexpected token < is invalid in JSON", "bad_request"),
    "a limit that names the context": (
        429,
        ["rate_limit_error"],
        "maximum context length",
        "rate_limit",
    ),
}


@pytest.mark.parametrize(("status", "codes", "words", "kind"), TOLD.values(), ids=TOLD)
def test_codes_go_before_words_and_words_before_the_status(status, codes, words, kind):
    assert refusal_kind(status, codes, words) == kind


def test_every_word_is_one_of_the_list_and_the_network_has_its_own():
    kinds = set(get_args(ErrorKind))
    assert {kind for *_, kind in TOLD.values()} | set(STATUSES.values()) <= kinds
    assert (TransportError("x").kind, TransportTimeout("x").kind) == ("connection", "timeout")
    assert ProtocolError("x").kind == "protocol"


def test_long_words_cost_no_more_than_short_ones():
    for piece in ("input token count ", "api key ", "blocked by ", "tokens ", "context size "):
        assert refusal_kind(400, (), piece * 200_000) in get_args(ErrorKind)
