"""Cohere's terms, as data: stop reasons, media, and the rules of its strict mode."""

from collections.abc import Mapping

from rightcall.core.message import StopReason
from rightcall.wire.media import BYTES, MediaTable, Takes
from rightcall.wire.refusal import Refusals
from rightcall.wire.schema_rules import SchemaRules

NAME = "cohere"

STOPS: Mapping[str, StopReason] = {
    "COMPLETE": "end",
    "TOOL_CALL": "calls",
    "MAX_TOKENS": "length",
    "STOP_SEQUENCE": "stop_sequence",
    "ERROR": "error",
    "TIMEOUT": "error",
    # Terms of API version 1, which hosts still use.
    "ERROR_LIMIT": "length",
    "ERROR_TOXIC": "filtered",
    "USER_CANCEL": "error",
}
"""https://docs.cohere.com/reference/chat#response.body.finish_reason"""

CUTTING: frozenset[StopReason] = frozenset(["length", "stop_sequence", "filtered", "error"])
"""Stop reasons that may cut off a call."""

IMAGES = frozenset(["image/png", "image/jpeg", "image/webp", "image/gif"])
MEDIA: MediaTable = {"image": Takes(("bytes", "address"), IMAGES), "text": Takes(BYTES)}
"""https://docs.cohere.com/docs/image-inputs. Text files are sent as text."""

# https://docs.cohere.com/docs/structured-outputs-json: no bounds on numbers and lengths, no allOf, oneOf
# or not; every tool needs at least one required parameter.
RULES = SchemaRules(
    dialect=NAME,
    keywords=frozenset(["title", "description", "enum", "const", "pattern", "format"]),
    formats=frozenset(["date-time", "uuid", "date", "time"]),
    closed=False,
    recursion=True,
    max_properties=200,
)

# Over HTTP there is a message and a status; a stream that fails ends with one of two codes.
REFUSALS = Refusals(code=("code", "finish_reason"), transient=frozenset(["ERROR", "TIMEOUT"]))

error = REFUSALS.over_http
parse_refusal = REFUSALS.inside
