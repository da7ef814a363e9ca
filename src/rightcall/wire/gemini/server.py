"""The server side of Gemini's generateContent; the module satisfies the ``ServerDialect`` port."""

from collections.abc import Sequence

from rightcall.core.served import Answer, Asked, Listed, Refused
from rightcall.errors import RightcallError
from rightcall.wire.gemini.asked import asked
from rightcall.wire.gemini.tables import NAME
from rightcall.wire.gemini.writer import Writer, error_body, whole
from rightcall.wire.refused import refused as _refused
from rightcall.wire.refused import status_of
from rightcall.wire.writing import json_bytes

__all__ = ["asked", "counted", "listed", "name", "refused", "whole", "writer"]

name: str = NAME
_METHODS = ["generateContent", "streamGenerateContent", "countTokens"]


def writer(asked: Asked, answer: Answer, /) -> Writer:
    """A writer for one streamed reply."""
    return Writer(asked, answer)


def refused(error: RightcallError, asked: Asked | None = None, /) -> Refused:  # noqa: ARG001
    """The error in the client's format."""
    return _refused(error, status_of(error), error_body(error))


def counted(tokens: int, /) -> bytes:
    """The body that says how many tokens a request has."""
    return json_bytes({"totalTokens": tokens})


def listed(models: Sequence[Listed], /) -> bytes:
    """The list of models."""
    found = [
        {
            "name": f"models/{each.name}",
            "displayName": each.name,
            "supportedGenerationMethods": _METHODS,
            **({"inputTokenLimit": each.context_window} if each.context_window else {}),
            **({"outputTokenLimit": each.output_tokens} if each.output_tokens else {}),
        }
        for each in models
    ]
    return json_bytes({"models": found})
