"""The terms of the Responses API, as data."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from rightcall.core.message import StopReason
from rightcall.core.parts import CallForm
from rightcall.errors import VendorError
from rightcall.wire.media import ANYWHERE, MediaTable, Takes
from rightcall.wire.refusal import Refusals

NAME = "openai_responses"
"""The key of this dialect in vendor bags."""

PATH = "/responses"

INCOMPLETE: Mapping[str, StopReason] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "filtered",
    "steered": "pause",
}
"""Why a response is incomplete. Any other reason means that it failed."""

ENDINGS: Mapping[StopReason, str | None] = {
    "end": None,
    "calls": None,
    "stop_sequence": None,
    "refusal": None,  # with its text in a separate part
    "length": "max_output_tokens",
    "pause": "max_output_tokens",
    "filtered": "content_filter",
}
"""The reason that a client receives for an incomplete response; None for a complete one."""

ENDS: Mapping[str, str] = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
    "response.done": "completed",
}
"""The events that end a stream, and the status they imply if the response has none."""

USAGE: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "input_tokens": (("input_tokens",), ("prompt_tokens",)),
    "output_tokens": (("output_tokens",), ("completion_tokens",)),
    "cached_tokens": (
        ("input_tokens_details", "cached_tokens"),
        ("prompt_tokens_details", "cached_tokens"),
        ("input_tokens_details", "cache_read_input_tokens"),
    ),
    "cache_written_tokens": (
        ("input_tokens_details", "cache_write_tokens"),
        ("input_tokens_details", "cache_creation_input_tokens"),
    ),
    "reasoning_tokens": (
        ("output_tokens_details", "reasoning_tokens"),
        ("completion_tokens_details", "reasoning_tokens"),
    ),
}
"""The member of each count; then the members used by hosts derived from Chat Completions, and by
Perplexity."""

WHOLE_STATUS = frozenset(("completed", "requires_action"))
"""The statuses of a complete response. Perplexity has its own for calls."""

TOLD = frozenset(
    [
        *("search_results", "fetch_url_results", "skill_loaded", "advisor_result", "share_file"),
        *("sandbox_results", "sandbox_write_file", "sandbox_read_file", "sandbox_edit_file"),
        *("sandbox_grep", "sandbox_glob", "sandbox_apply_patch", "unknown"),
    ]
)
"""Items that Perplexity sends but does not accept back (perplexityai 0.46.1, OutputItem and
InputItemParam)."""

TEXTS = frozenset(("output_text", "text"))
"""The parts of a message that are text. A refusal is not: the official SDK excludes it too."""

CALLS: Mapping[str, str] = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "computer_call": "actions",
    "local_shell_call": "action",
    "tool_search_call": "arguments",
    "mcp_approval_request": "arguments",
}
"""The items that are calls for us, and the member that holds the model's input."""

APPROVAL = "mcp_approval_request"
"""A call that the vendor would run at an MCP server, if it is approved:
https://platform.openai.com/docs/guides/tools-connectors-mcp"""

FORMS: Mapping[str, CallForm] = {"custom_tool_call": "text", APPROVAL: "approval"}
"""The form of a call's arguments where it is not our JSON."""

OUTPUTS: Mapping[str, str] = {
    **{kind: f"{kind}_output" for kind in CALLS},
    "tool_search_call": "tool_search_output",
    APPROVAL: "mcp_approval_response",
}

NATIVE: Mapping[str, str] = {
    "shell_call": "shell",
    "apply_patch_call": "apply_patch",
    "computer_call": "computer",
    "local_shell_call": "local_shell",
    "tool_search_call": "tool_search",
}
"""Calls of the tools that the vendor's models are trained on, and the type of the tool, which is also
its name. The model's input is an object; for a computer it is a list. Each has its own page under
https://platform.openai.com/docs/guides/: tools-shell, tools-local-shell, tools-apply-patch,
tools-computer-use, tools-tool-search."""

WHOLE = frozenset(NATIVE) | {APPROVAL}
"""Calls that come in one piece, so that their text does not show whether they are complete."""

Channel: TypeAlias = Literal["text", "refusal", "summary", "content", "arguments", "input"]
"""The part of an item that a piece of a stream belongs to."""

PIECES: Mapping[str, tuple[str, Channel]] = {
    "response.output_text": ("message", "text"),
    "response.refusal": ("message", "refusal"),
    "response.reasoning_summary_text": ("reasoning", "summary"),
    "response.reasoning_text": ("reasoning", "content"),
    "response.reasoning": ("reasoning", "content"),
    "response.function_call_arguments": ("function_call", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "input"),
}
"""What comes in pieces: the event without ``.delta`` or ``.done``, the item's type, the channel."""

EFFORTS = frozenset(("none", "minimal", "low", "medium", "high", "xhigh", "max"))

# Google's budgets for these levels in its OpenAI-compatible API:
# https://ai.google.dev/gemini-api/docs/openai#thinking
BUDGETS: tuple[tuple[int, str], ...] = ((0, "none"), (1024, "low"), (8192, "medium"))
"""The effort level for a budget of up to this many tokens; beyond the last it is ``high``."""

EXTENSIONS: Mapping[str, str] = {
    "application/pdf": ".pdf",
    "application/json": ".json",
    "application/xml": ".xml",
    "application/rtf": ".rtf",
    "application/msword": ".doc",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.ms-powerpoint": ".ppt",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "text/plain": ".txt",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/markdown": ".md",
}
"""The accepted document types, with file extensions for files without a name; other text is ``.txt``."""

TTLS = ("30m", "12h", "24h")
"""How long the vendor can cache the beginning of a prompt."""

MEDIA: MediaTable = {
    "image": Takes(ANYWHERE),
    "pdf": Takes(ANYWHERE),
    "document": Takes(ANYWHERE, frozenset(EXTENSIONS)),
    "text": Takes(ANYWHERE),
    "other": Takes(("address", "id")),
}
"""https://platform.openai.com/docs/guides/file-inputs and .../images-vision"""

_TRANSIENT = frozenset([
    "server_error", "internal_error", "internal_server_error", "api_error", "rate_limit_exceeded",
    "rate_limit_error", "too_many_requests", "overloaded", "overloaded_error", "server_overloaded",
    "slow_down", "service_unavailable", "service_unavailable_error", "timeout",
    "vector_store_timeout", "previous_response_not_ready",
])  # fmt: skip
_FINAL = frozenset([
    "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "account_deactivated",
    "usage_limit_reached", "context_length_exceeded",
])  # fmt: skip

REFUSALS = Refusals(code=("code", "type"), transient=_TRANSIENT, final=_FINAL)

error = REFUSALS.over_http
parse_refusal = REFUSALS.inside


_NOT_FOUND = 404


def is_forgotten(refusal: VendorError) -> bool:
    """Whether the vendor has lost what it stored.

    https://platform.openai.com/docs/guides/conversation-state
    """
    is_lost = refusal.status == _NOT_FOUND and "onversation" in refusal.body
    code = "previous_response_not_found"
    return is_lost or refusal.vendor_code == code or "previous_response_id" in refusal.body
