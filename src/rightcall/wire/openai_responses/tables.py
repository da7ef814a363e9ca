"""What the Responses API calls things, as data."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from rightcall.core.call import CallForm
from rightcall.core.message import StopReason
from rightcall.wire.media import ANYWHERE, MediaTable, Takes

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
"""Why a response is incomplete. Any other reason means that it broke off."""

ENDINGS: Mapping[StopReason, str | None] = {
    "end": None,
    "calls": None,
    "stop_sequence": None,
    "refusal": None,  # with its words in a part of their own
    "length": "max_output_tokens",
    "pause": "max_output_tokens",
    "filtered": "content_filter",
}
"""Why a response is incomplete, as a client is told; None for one that is complete."""

ENDS: Mapping[str, str] = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
    "response.done": "completed",
}
"""The events that end a stream, with the status they mean where the response does not say."""

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
"""Where each count stands; then where hosts that grew from Chat Completions put it, and Perplexity."""

WHOLE_STATUS = frozenset(("completed", "requires_action"))
"""The words for a response that is all there. Perplexity has one of its own for calls."""

TOLD = frozenset(
    [
        *("search_results", "fetch_url_results", "skill_loaded", "advisor_result", "share_file"),
        *("sandbox_results", "sandbox_write_file", "sandbox_read_file", "sandbox_edit_file"),
        *("sandbox_grep", "sandbox_glob", "sandbox_apply_patch", "unknown"),
    ]
)
"""Items that Perplexity tells of and does not take back (perplexityai 0.46.1, OutputItem and
InputItemParam)."""

TEXTS = frozenset(("output_text", "text"))
"""The parts of a message that are text. A refusal is not: the official SDK leaves it out of it too."""

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
"""The items that wait for us, and the member that holds what the model wrote."""

APPROVAL = "mcp_approval_request"
"""A call that the vendor would run at an MCP server, and wants a yes to:
https://platform.openai.com/docs/guides/tools-connectors-mcp"""

FORMS: Mapping[str, CallForm] = {"custom_tool_call": "text", APPROVAL: "approval"}
"""What a call's arguments are where they are no JSON of ours."""

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
"""Calls of the tools that the vendor's models are trained on, and the type of the tool, also its name.
What the model wrote is an object; of a computer it is a list. Each has a page of its own below
https://platform.openai.com/docs/guides/: tools-shell, tools-local-shell, tools-apply-patch,
tools-computer-use, tools-tool-search."""

WHOLE = frozenset(NATIVE) | {APPROVAL}
"""The calls that come in one piece, whose text does not tell whether it is all."""

Channel: TypeAlias = Literal["text", "refusal", "summary", "content", "arguments", "input"]
"""Where in its item a piece of a stream belongs."""

PIECES: Mapping[str, tuple[str, Channel]] = {
    "response.output_text": ("message", "text"),
    "response.refusal": ("message", "refusal"),
    "response.reasoning_summary_text": ("reasoning", "summary"),
    "response.reasoning_text": ("reasoning", "content"),
    "response.reasoning": ("reasoning", "content"),
    "response.function_call_arguments": ("function_call", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "input"),
}
"""What comes in pieces: the event without its ``.delta`` or ``.done``, the item's type, the channel."""

EFFORTS = frozenset(("none", "minimal", "low", "medium", "high", "xhigh", "max"))

# The budgets that Google gives these words in its own OpenAI-compatible API:
# https://ai.google.dev/gemini-api/docs/openai#thinking
BUDGETS: tuple[tuple[int, str], ...] = ((0, "none"), (1024, "low"), (8192, "medium"))
"""The effort that a number of tokens up to this means; beyond the last it is ``high``."""

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
"""The documents that may be sent, with endings for those without a name; other text is ``.txt``."""

TTLS = ("30m", "12h", "24h")
"""How long the vendor keeps the beginning of a prompt."""

MEDIA: MediaTable = {
    "image": Takes(ANYWHERE),
    "pdf": Takes(ANYWHERE),
    "document": Takes(ANYWHERE, frozenset(EXTENSIONS)),
    "text": Takes(ANYWHERE),
    "other": Takes(("address", "id")),
}
"""https://platform.openai.com/docs/guides/file-inputs and .../images-vision"""
