"""Anthropic's terms, as data: stop reasons, usage, effort levels, schema rules."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from rightcall.core.message import StopReason
from rightcall.wire.media import ANYWHERE, MediaTable, Takes
from rightcall.wire.refusal import Refusals
from rightcall.wire.schema_rules import CLAUDE

NAME = "anthropic"

STOPS: Mapping[str, StopReason] = {
    "end_turn": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause_turn": "pause",
    "compaction": "pause",
    # Imitators sometimes pass OpenAI's terms through.
    "stop": "end",
    "tool_calls": "calls",
    "length": "length",
    "content_filter": "filtered",
    "sensitive": "filtered",
}
"""https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons"""

REASONS: Mapping[StopReason, str] = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause": "pause_turn",
    "filtered": "refusal",
}
"""The stop reason that a client receives. A reply that broke off has none."""

CUTTING: frozenset[StopReason] = frozenset(["length", "refusal", "stop_sequence", "filtered", "error"])
"""Stop reasons that may cut off a call. Such a call still gets its ``content_block_stop``, so that only
the stop reason tells it from a complete one."""

BESIDE = frozenset(["compaction", "advisor_message"])
"""Iterations whose tokens are billed but not included in the reply's counts. The others are included,
though the input may be that of the first alone.
https://platform.claude.com/docs/en/build-with-claude/compaction#understanding-usage and
.../agents-and-tools/tool-use/advisor-tool"""

ELSEWHERE = frozenset(["advisor_message", "fallback_message"])
"""Iterations that ran on another model than the requested one, at that model's price."""

UNPARSED = "unparsed_arguments"
"""The member that holds arguments as text if they are not an object, which the vendor requires."""

EFFORTS: Mapping[str, str] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "max",
}
"""https://platform.claude.com/docs/en/build-with-claude/effort"""

DEFAULT_MAX_TOKENS = 16_384
"""The vendor requires a limit. Every model that it serves can write this much."""

EFFORT_MAX_TOKENS: Mapping[str, int] = {"high": 32_000, "xhigh": 64_000, "max": 64_000}
"""Thinking counts towards the limit, so a higher effort needs a higher limit."""

TTLS = ("5m", "1h")
"""How long the vendor can cache what is marked."""

MAX_MARKS = 4
"""The most cache marks in one request.
https://platform.claude.com/docs/en/build-with-claude/prompt-caching"""

BETAS: Mapping[str, str] = {
    "computer_20250124": "computer-use-2025-01-24",
    "computer_20251124": "computer-use-2025-11-24",
    "memory_20250818": "context-management-2025-06-27",
}
"""The betas that native tools need, by type. Anthropic now accepts the memory tool without one, but did
not before (https://github.com/LionSR/TeXRA/pull/2076), and hosts are slower to follow."""

THOUGHTS = frozenset(["thinking", "redacted_thinking"])
"""The blocks that hold reasoning."""

FILES_BETA = "files-api-2025-04-14"
"""The beta that file ids need; Anthropic may no longer require it, but hosts are slower to follow."""

MADE = "made_by"
"""In the vendor bag of a file made by the vendor's code: the id of the call that ran it."""

MEDIA: MediaTable = {
    "image": Takes(ANYWHERE, frozenset(["image/jpeg", "image/png", "image/gif", "image/webp"])),
    "pdf": Takes(ANYWHERE),
    "text": Takes(("bytes", "id")),
    # A file at a URL is treated as a PDF.
    "other": Takes(("address", "id")),
}
"""https://platform.claude.com/docs/en/build-with-claude/files and .../pdf-support"""

# https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations, and
# what lib/_parse/_transform.py of anthropic 2.8.0 keeps. As there, pattern and default move into the
# description: only some regular expressions are accepted, and others make the vendor refuse the whole
# request.
RULES = replace(CLAUDE, dialect=NAME)

REFUSALS = Refusals(
    code=("type", "code"),
    # https://platform.claude.com/docs/en/api/errors
    statuses={
        "invalid_request_error": 400,
        "authentication_error": 401,
        "billing_error": 402,
        "permission_error": 403,
        "not_found_error": 404,
        "request_too_large": 413,
        "rate_limit_error": 429,
        "api_error": 500,
        "timeout_error": 504,
        "overloaded_error": 529,
    },
    final=frozenset(["enforced_spend_limit_reached"]),
)

error = REFUSALS.over_http
parse_refusal = REFUSALS.inside


def is_refusal(content: Mapping[str, Any]) -> bool:
    """Whether a body that should hold a reply holds an error."""
    return content.get("type") == "error" or (bool(content.get("error")) and "content" not in content)
