"""The server side of Chat Completions; the module satisfies the ``ServerDialect`` port."""

from collections.abc import Sequence

from rightcall.core.served import Answer, Asked, Listed, Refused
from rightcall.errors import RightcallError
from rightcall.wire.openai_chat.asked import asked
from rightcall.wire.openai_chat.tables import NAME
from rightcall.wire.openai_chat.writer import Writer, whole
from rightcall.wire.refused import openai_error, status_of
from rightcall.wire.refused import refused as _refused
from rightcall.wire.writing import json_bytes, models_of_openai

__all__ = ["asked", "counted", "listed", "name", "refused", "whole", "writer"]

name: str = NAME


def writer(asked: Asked, answer: Answer, /) -> Writer:
    """A writer for one streamed reply."""
    return Writer(asked, answer)


def refused(error: RightcallError, asked: Asked | None = None, /) -> Refused:  # noqa: ARG001
    """The error in the client's format."""
    return _refused(error, status_of(error), {"error": openai_error(error)})


def counted(tokens: int, /) -> bytes:
    """Chat has no request to count tokens; the body is that of Responses."""
    return json_bytes({"object": "response.input_tokens", "input_tokens": tokens})


def listed(models: Sequence[Listed], /) -> bytes:
    """The list of models."""
    return models_of_openai(models)
