"""Bedrock's refusals, over HTTP and inside of streams, for ``wire.refusal``; a header tells the kind."""

from collections.abc import Mapping
from typing import Any

from rightcall.errors import VendorError
from rightcall.wire.refusal import Refusals, readable

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
    # Its status, 424, is of what the model did behind Bedrock; the stream may well go through next time.
    transient=frozenset(["ModelStreamErrorException"]),
)

_KIND = "x-amzn-errortype"
_REQUEST_ID = "x-amzn-requestid"


def error(status: int, headers: Mapping[str, str], body: bytes, /) -> VendorError:
    """The vendor's refusal, whatever the body looks like."""
    named = {name.lower(): text for name, text in headers.items()}
    refusal = refused(readable(body), named.get(_KIND, ""), status=status, headers=named)
    refusal.request_id = refusal.request_id or named.get(_REQUEST_ID, "")
    return refusal


def refused(
    value: Any, kind: str = "", *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> VendorError:
    """The refusal of a kind, that a JSON value or a text tells of."""
    named = kind or (value.get("__type") if isinstance(value, dict) else "")
    if isinstance(value, dict) and isinstance(value.get("Message"), str):
        # What stands before the service writes it so.
        value = {"message": value["Message"], **value}
    if named and isinstance(named, str):
        code = _plain(named)
        words = value if isinstance(value, dict) else {"message": value}
        words = words if any(words.values()) else {"message": f"{code}, and the vendor did not say why"}
        value = {**words, "code": code}
    return REFUSALS.inside(value, status=status, headers=headers)


def _plain(kind: str) -> str:
    """``com.amazon.coral#ThrottlingException:http://…`` and ``throttlingException`` are one."""
    word = kind.partition(":")[0].rpartition("#")[2].strip()
    return word[:1].upper() + word[1:]
