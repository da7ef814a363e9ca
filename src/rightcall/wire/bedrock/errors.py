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
    told = value
    named = kind or (value.get("__type") if isinstance(value, dict) else "")
    if named and isinstance(named, str):
        code = {"code": _plain(named)}
        told = {**value, **code} if isinstance(value, dict) else {"message": value, **code}
    return REFUSALS.inside(told, status=status, headers=headers)


def _plain(kind: str) -> str:
    """``com.amazon.coral#ThrottlingException:http://…`` and ``throttlingException`` are one."""
    word = kind.partition(":")[0].rpartition("#")[2].strip()
    return word[:1].upper() + word[1:]
