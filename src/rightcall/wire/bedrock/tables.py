"""Bedrock's terms, as data: stop reasons, file types, and differences between makers of models."""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.message import StopReason
from rightcall.errors import VendorError
from rightcall.wire.media import MediaTable, Takes
from rightcall.wire.payload import text_in
from rightcall.wire.refusal import Refusals, malformed_call, malformed_reply, readable
from rightcall.wire.schema_rules import CLAUDE

NAME = "bedrock"

STOPS: Mapping[str, StopReason] = {
    "end_turn": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "stop_sequence": "stop_sequence",
    "guardrail_intervened": "filtered",
    "content_filtered": "filtered",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
    # Claude's terms that Bedrock passes through.
    "refusal": "refusal",
    "pause_turn": "pause",
}
"""https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html#bedrock-runtime_Converse-response-stopReason"""

FAULTS: Mapping[str, str] = {
    "malformed_model_output": malformed_reply(),
    "malformed_tool_use": malformed_call(),
}
"""Stop reasons that are the model's own fault, and the message that tells the model."""

CUTTING: frozenset[StopReason] = frozenset(["length", "refusal", "stop_sequence", "filtered", "error"])
"""Stop reasons that may cut off a call, which still gets its ``contentBlockStop``."""

UNPARSED = "unparsed_arguments"
"""The member that holds arguments as text if they are not an object, which the vendor requires."""

IMAGES: Mapping[str, str] = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}

DOCUMENTS: Mapping[str, str] = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
}
"""Other text is sent as ``txt``."""

VIDEOS: Mapping[str, str] = {
    "video/x-matroska": "mkv",
    "video/quicktime": "mov",
    "video/mp4": "mp4",
    "video/webm": "webm",
    "video/x-flv": "flv",
    "video/mpeg": "mpeg",
    "video/x-ms-wmv": "wmv",
    "video/3gpp": "three_gp",
}

SOUNDS: Mapping[str, str] = {
    "audio/mpeg": "mp3",
    "audio/opus": "opus",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/ogg": "ogg",
    "audio/mp4": "m4a",
    "audio/webm": "webm",
}

FORMATS: Mapping[tuple[str, str], str] = {
    (kind, word): media_type
    for kind, words in (("image", IMAGES), ("audio", SOUNDS), ("video", VIDEOS))
    for media_type, word in reversed([*words.items()])
}
"""The types of media made by a model, by block kind and format name. Of two, the first counts."""

S3 = "s3://"
_OFFICE = frozenset(kind for kind in DOCUMENTS if kind.startswith("application/")) - {"application/pdf"}


def _accepts(types: frozenset[str] = frozenset()) -> Takes:
    return Takes(("bytes", "address"), types, S3)


MEDIA: MediaTable = {
    "image": _accepts(frozenset(IMAGES)),
    "pdf": _accepts(),
    "document": _accepts(_OFFICE),
    "text": _accepts(),
    "audio": _accepts(frozenset(SOUNDS)),
    "video": _accepts(frozenset(VIDEOS)),
}
"""As bytes, or at an S3 location.
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html"""

TTLS = ("5m", "1h")
"""How long the vendor can cache what is before a cache point.
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CachePointBlock.html"""

MAX_MARKS = 4
"""The most cache points in one request.
https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html"""

EFFORTS: Mapping[str, str] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "max",
}


EAGER_BETA = "fine-grained-tool-streaming-2025-05-14"
"""Makes Claude stream arguments unchecked. Claude's own API has a tool member for it, Converse has
not."""


class Maker(Struct, frozen=True, kw_only=True):
    """What the models of one maker support of Converse."""

    caches: bool = False
    """Whether cache points are accepted after the system text and in messages; other makers' models
    refuse the request."""
    caches_tools: bool = False
    signs_thoughts: bool = False
    """Whether its thoughts are signed and must be sent back."""
    own_choice: bool = False
    """Whether Anthropic's own ``tool_choice`` can be sent as an additional field instead of
    Converse's."""
    json_results: bool = False
    """Whether a result must be an object, not a text."""
    efforts: tuple[str, ...] = ("low", "medium", "high")
    """The effort levels that the maker's own field accepts."""
    effort_field: str = ""
    """The additional field for the effort level."""
    config_field: str = ""
    """The additional field that switches reasoning on, with an effort level."""


MAKERS: Mapping[str, Maker] = {
    "anthropic": Maker(caches=True, caches_tools=True, signs_thoughts=True, own_choice=True),
    # https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html
    "amazon": Maker(caches=True, config_field="reasoningConfig"),
    "mistral": Maker(json_results=True),
    "openai": Maker(effort_field="reasoning_effort"),
    "qwen": Maker(effort_field="reasoning_config"),
}
"""By the maker's name in the model's id. Makers not listed support only what every model does."""

UNKNOWN = Maker()
UNTOLD = Maker(signs_thoughts=True)
"""For ids that name no maker, such as those of inference profiles. Signed thoughts are assumed to be its
own."""

_MAKER = re.compile(r"(?:^|[./:])([a-z0-9]+)(?=\.)")


def maker_of(model: str) -> Maker:
    """The maker of a model, by its id: ``us.anthropic.claude-…``, or an ARN that ends so."""
    words = _MAKER.findall(model)
    known = next((MAKERS[word] for word in words if word in MAKERS), None)
    return known or (UNKNOWN if words else UNTOLD)


# https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html lists what is accepted; the
# limits are those of Claude, which AWS's page does not name.
RULES = replace(CLAUDE, dialect=NAME)

REFUSALS = Refusals(
    code=("code", "__type"),
    # https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
    statuses={
        "ValidationException": 400,
        "AccessDeniedException": 403,
        "ResourceNotFoundException": 404,
        "ModelTimeoutException": 408,
        "ModelErrorException": 424,
        "ThrottlingException": 429,
        "ModelNotReadyException": 429,
        "InternalServerException": 500,
        "ServiceUnavailableException": 503,
    },
    # Its status, 424, refers to the model behind Bedrock; a retry of the stream may succeed.
    transient=frozenset(["ModelStreamErrorException"]),
)

_FOR_THE_DAY = "tokens per day"


def error(status: int, headers: Mapping[str, str], body: bytes, /) -> VendorError:
    """The vendor's refusal, whatever the body looks like."""
    return parse_refusal(readable(body), status=status, headers=headers)


def parse_refusal(
    value: Any, kind: str = "", *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> VendorError:
    """The refusal of this kind in a JSON value or a text."""
    typed = value.get("__type") if isinstance(value, dict) else ""
    named = kind or (text_in(typed))
    refusal = REFUSALS.inside(value, status=status, headers=headers, code=named)
    if refusal.kind == "rate_limit" and _FOR_THE_DAY in refusal.message:
        # "Too many tokens per day, please wait before trying again.": a short wait will not help.
        refusal.kind = "quota"
        refusal.retryable = False
    return refusal
