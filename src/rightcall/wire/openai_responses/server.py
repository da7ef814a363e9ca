"""The server side of the Responses API; the module satisfies the ``ServerDialect`` port."""

from collections.abc import Sequence

from rightcall.core.served import Answer, Asked, Listed, Refused
from rightcall.errors import RightcallError
from rightcall.wire.openai_responses.asked import asked
from rightcall.wire.openai_responses.tables import NAME
from rightcall.wire.openai_responses.writer import Writer, whole
from rightcall.wire.refused import kind_of, openai_error, status_of
from rightcall.wire.refused import refused as _refused
from rightcall.wire.writing import json_bytes, models_of_openai

__all__ = ["asked", "counted", "listed", "name", "refused", "whole", "writer"]

name: str = NAME


def writer(asked: Asked, answer: Answer, /) -> Writer:
    """A writer for one streamed reply."""
    return Writer(asked, answer)


def refused(error: RightcallError, asked: Asked | None = None, /) -> Refused:
    """The error in the client's format.

    Codex understands an overlong prompt only as the end of a stream.
    """
    kind = kind_of(error)
    if kind == "context_overflow" and asked is not None and asked.client == "codex" and asked.stream:
        stream = Writer(asked, Answer(id="refused", model=asked.model)).fail(error)
        return Refused(status=200, body=stream, headers={"content-type": "text/event-stream"})
    return _refused(error, status_of(error), {"error": openai_error(error)})


def counted(tokens: int, /) -> bytes:
    """The body that says how many tokens a request has."""
    return json_bytes({"object": "response.input_tokens", "input_tokens": tokens})


def listed(models: Sequence[Listed], /) -> bytes:
    """The list of models."""
    return models_of_openai(models)
