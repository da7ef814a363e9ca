"""Anthropic's Messages from the vendor's side; the module satisfies the ``ServerDialect`` port."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rightcall.core.served import Answer, Asked, Listed, Refused
from rightcall.errors import ErrorKind, RightcallError
from rightcall.wire.anthropic.asked import asked
from rightcall.wire.anthropic.tables import NAME
from rightcall.wire.anthropic.writer import Writer, error_body, whole
from rightcall.wire.reading import tokens_of
from rightcall.wire.refused import STATUSES, kind_of
from rightcall.wire.refused import refused as _refused
from rightcall.wire.writing import dated, json_bytes

__all__ = ["asked", "counted", "listed", "name", "refused", "whole", "writer"]

name: str = NAME
_STATUSES: Mapping[ErrorKind, int] = {**STATUSES, "overloaded": 529}


def writer(asked: Asked, answer: Answer, /) -> Writer:
    """A writer for one streamed reply, which says first what the request is about."""
    if not answer.input_tokens:
        answer = replace(answer, input_tokens=tokens_of(asked))
    return Writer(answer)


def refused(error: RightcallError, asked: Asked | None = None, /) -> Refused:  # noqa: ARG001
    """The error as the client reads it."""
    return _refused(error, _STATUSES[kind_of(error)], error_body(error))


def counted(tokens: int, /) -> bytes:
    """How many tokens a request is."""
    return json_bytes({"input_tokens": tokens})


def listed(models: Sequence[Listed], /) -> bytes:
    """The list of models, on one page."""
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
