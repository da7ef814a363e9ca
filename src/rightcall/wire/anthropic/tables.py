"""Anthropic's words, as data: why it stopped, what it counted, how much it thinks, which schemas."""

from collections.abc import Mapping

from rightcall.core.message import StopReason
from rightcall.wire.media import ANYWHERE, MediaTable, Takes
from rightcall.wire.schema_rules import STRING_FORMATS, Rules

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
    # Hosts that imitate the format sometimes let OpenAI's words through.
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
"""What a client is told of why a reply stopped. One that broke off has no such word."""

CUTTING: frozenset[StopReason] = frozenset(["length", "refusal", "stop_sequence", "filtered", "error"])
"""Stops that may fall into the middle of a call. Such a call still gets its ``content_block_stop``, so
that nothing but the stop reason tells it from a complete one."""

BESIDE = frozenset(["compaction", "advisor_message"])
"""The iterations whose tokens are paid for and are not among the counts of the reply as a whole. The
others are, though its input may be that of the first alone.
https://platform.claude.com/docs/en/build-with-claude/compaction#understanding-usage and
.../agents-and-tools/tool-use/advisor-tool"""

ELSEWHERE = frozenset(["advisor_message", "fallback_message"])
"""The iterations of another model than the one that was asked, which cost what that one costs."""

UNPARSED = "unparsed_arguments"
"""The member that holds arguments as text, where the vendor wants an object and they are none."""

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
"""The vendor demands a limit. Every model it serves can write this much."""

EFFORT_MAX_TOKENS: Mapping[str, int] = {"high": 32_000, "xhigh": 64_000, "max": 64_000}
"""Thinking counts towards the limit, so that a greater effort needs a greater one."""

TTLS = ("5m", "1h")
"""How long it keeps what is marked."""

MAX_MARKS = 4
"""Cache marks in one request. https://platform.claude.com/docs/en/build-with-claude/prompt-caching"""

BETAS: Mapping[str, str] = {
    "computer_20250124": "computer-use-2025-01-24",
    "computer_20251124": "computer-use-2025-11-24",
    "memory_20250818": "context-management-2025-06-27",
}
"""The betas that native tools need, by type. Anthropic takes the memory tool without by now, but it was
refused (https://github.com/LionSR/TeXRA/pull/2076), and hosts are slower to follow."""

THOUGHTS = frozenset(["thinking", "redacted_thinking"])
"""The blocks that hold reasoning."""

FILES_BETA = "files-api-2025-04-14"
"""The beta that file ids need, or needed: hosts are slower to follow."""

MADE = "made_by"
"""In the bag of a file that the vendor's own code made: the id of the call that ran it."""

MEDIA: MediaTable = {
    "image": Takes(ANYWHERE, frozenset(["image/jpeg", "image/png", "image/gif", "image/webp"])),
    "pdf": Takes(ANYWHERE),
    "text": Takes(("bytes", "id")),
    # What is at an address is taken for a PDF.
    "other": Takes(("address", "id")),
}
"""https://platform.claude.com/docs/en/build-with-claude/files and .../pdf-support"""

_KEYWORDS = frozenset(
    ["title", "description", "enum", "const", "format", "minItems", "additionalProperties"]
)

# https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations, and
# what lib/_parse/_transform.py of anthropic 2.8.0 keeps. Like that, pattern and default move into the
# description: only some regular expressions are taken, and the others refuse the whole request.
RULES = Rules(
    dialect=NAME,
    keywords=_KEYWORDS,
    formats=STRING_FORMATS | {"uri"},
    min_items=1,
    plain_enums=True,
    max_strict_tools=20,
    max_optional=24,
    max_unions=16,
)
