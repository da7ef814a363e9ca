"""The server side of Anthropic's Messages; the module satisfies the ``ServerDialect`` port."""

from collections.abc import Sequence

from msgspec.structs import replace

from rightcall.core.served import Answer, Asked, Listed, Refused
from rightcall.errors import RightcallError
from rightcall.wire.anthropic.asked import asked
from rightcall.wire.anthropic.tables import NAME
from rightcall.wire.anthropic.writer import Writer, error_body, whole
from rightcall.wire.reading import tokens_of
from rightcall.wire.refused import kind_of, status_of
from rightcall.wire.refused import refused as _refused
from rightcall.wire.writing import dated, json_bytes

__all__ = ["asked", "counted", "listed", "name", "refused", "whole", "writer"]

name: str = NAME
_OVERLOADED = 529


def writer(asked: Asked, answer: Answer, /) -> Writer:
    """A writer for one streamed reply, which begins with an estimate of the request's tokens."""
    if not answer.input_tokens:
        answer = replace(answer, input_tokens=tokens_of(asked))
    return Writer(answer)


def refused(error: RightcallError, asked: Asked | None = None, /) -> Refused:  # noqa: ARG001
    """The error in the client's format."""
    status = _OVERLOADED if kind_of(error) == "overloaded" else status_of(error)
    return _refused(error, status, error_body(error))


def counted(tokens: int, /) -> bytes:
    """The body that says how many tokens a request has."""
    return json_bytes({"input_tokens": tokens})


def listed(models: Sequence[Listed], /) -> bytes:
    """The list of models, as a single page."""
    data = [
        {
            "type": "model",
            "id": each.name,
            "display_name": each.name,
            "created_at": dated(each.created),
            "lifecycle": "active",
            **({"max_input_tokens": each.context_window} if each.context_window else {}),
            **({"max_tokens": each.output_tokens} if each.output_tokens else {}),
        }
        for each in models
    ]
    ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {}
    return json_bytes({"data": data, "has_more": False, "first_id": None, "last_id": None, **ends})
