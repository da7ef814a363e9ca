"""Validates arguments by a schema of unbounded cost: in a child process, which a deadline kills."""

import threading
from collections.abc import Mapping
from contextlib import suppress

from msgspec import json

from rightcall.bounded_child import HAS_CHILDREN, Children
from rightcall.core.jsontext import JsonObject, JsonValue, dump
from rightcall.core.options import check_keywords
from rightcall.core.problem import Problem, Valid
from rightcall.core.schema import Schema, SchemaTooCostly
from rightcall.errors import UsageError
from rightcall.process.validation_child import VALID, ValidationRequest

SECONDS = 2.0
"""The default time limit for validating one call's arguments, in seconds."""
HAS_DEADLINES = HAS_CHILDREN
"""Whether this system supports the validating child processes."""


class DeadlineValidator:
    """Validates arguments by a JSON Schema of any cost: ``validator=DeadlineValidator(schema)``.

    A child process validates. Arguments that take longer than ``seconds`` are refused, and the error
    says so. The handler is called with the arguments unchanged, so a schema for a handler with few
    parameters needs ``"additionalProperties": false``. Raises SchemaError for an invalid schema.
    """

    waits = True
    """Validating waits for another process, so a gate does it off its event loop."""

    @check_keywords("rightcall.process.DeadlineValidator")
    def __init__(
        self,
        schema: JsonObject,
        *,
        seconds: float = SECONDS,
        resources: Mapping[str, JsonObject] | None = None,
        formats: bool = False,
    ) -> None:
        if not 0 < seconds < threading.TIMEOUT_MAX:
            raise UsageError(f"seconds must be a number above 0, not {seconds}")
        with suppress(SchemaTooCostly):
            Schema(schema, resources=resources, formats=formats)
        self._schema = dump(schema)
        self._resources = dump(dict(resources or {}))
        self._formats = formats
        self._seconds = seconds

    def validate(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        """Validate the arguments; blocks until done, at most until the deadline."""
        return self._problems(text) or Valid(value)

    def problems(self, value: JsonValue) -> tuple[Problem, ...]:
        """The problems of a value; empty if it is valid."""
        return self._problems(dump(value))

    def _problems(self, text: str) -> tuple[Problem, ...]:
        if not HAS_DEADLINES:
            raise UsageError("a DeadlineValidator needs a POSIX system and Python's own interpreter")
        request = ValidationRequest(self._schema, self._resources, self._formats, text, self._seconds)
        answer = _CHILDREN.ask(json.encode(request), self._seconds)
        if answer.exit_code is not None:
            if answer.frames:
                return (
                    Problem("$", "does not fit the schema, and what is wrong takes too long to find"),
                )
            if not answer.is_late:
                raise RuntimeError(
                    f"the process that validates by the schema ended with {answer.exit_code}"
                )
            limit = f"checking it against the schema took longer than {self._seconds:g} s"
            return (Problem("$", f"{limit}, which is the most; try simpler or shorter arguments"),)
        kind, body = answer.frames[-1]
        if kind == VALID:
            return ()
        return json.decode(body, type=tuple[Problem, ...])


_CHILDREN = Children("rightcall.process.validation_child", work="validates")


def close_children() -> None:
    """End the idle validating processes; the next call starts others."""
    _CHILDREN.close()
