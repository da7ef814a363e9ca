"""The child that validates arguments by a schema of any cost: it reads requests from stdin."""

import socket
from functools import lru_cache

from msgspec import Struct, json

from rightcall.bounded_child import FIRST_KIND, PARTIAL, answer_requests, limit_memory, send, set_alarm
from rightcall.core.jsontext import JsonObject, parse
from rightcall.core.schema import Schema

VALID = FIRST_KIND
PROBLEMS = FIRST_KIND + 1
"""The kinds of frames: that it is valid, or the problems, after a partial frame that says it is not."""
_MOST_MEMORY = 2 << 30
_MOST_SCHEMAS = 8


class ValidationRequest(Struct, frozen=True):
    """A validation request: a schema with its settings, and a value."""

    schema: str
    resources: str
    formats: bool
    text: str
    seconds: float


@lru_cache(maxsize=_MOST_SCHEMAS)
def _schema(document: str, resources: str, formats: bool) -> Schema:  # noqa: FBT001 - a key of the cache
    known: dict[str, JsonObject] = json.decode(resources)
    return Schema(json.decode(document), resources=known, formats=formats, bounded=False)


def _answer(line: socket.socket, request: bytes) -> None:
    question = json.decode(request, type=ValidationRequest)
    set_alarm(question.seconds)
    schema = _schema(question.schema, question.resources, question.formats)
    value = parse(question.text)
    if schema.fits(value):
        set_alarm(0)
        send(line, VALID)
        return
    # Sent at once: finding every problem can take much longer than finding the first.
    send(line, PARTIAL)
    problems = schema.problems(value)
    set_alarm(0)
    send(line, PROBLEMS, json.encode(problems))


def main() -> None:
    """Answer until the requests end."""
    # A list of millions of errors exhausts only this process.
    limit_memory(_MOST_MEMORY)
    answer_requests(_answer)
