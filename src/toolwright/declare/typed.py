"""Validates a call's arguments against Python types, through pydantic.

Validation is strict: the JSON type must be the one the schema names, at every depth. What JSON Schema
calls an integer (``2.0`` included) is one here too.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from toolwright.core.jsontext import JsonObject, JsonValue, dump, shorten
from toolwright.core.ports import Valid
from toolwright.core.problem import Problem, json_path
from toolwright.core.schema import MAX_PROBLEMS, must_be, unexpected

Steps: TypeAlias = tuple[str | int, ...]

_TYPES = {
    "int_type": "integer",
    "float_type": "number",
    "string_type": "string",
    "bool_type": "boolean",
    "list_type": "array",
    "tuple_type": "array",
    "set_type": "array",
    "frozen_set_type": "array",
    "dict_type": "object",
    "mapping_type": "object",
    "model_type": "object",
    "model_attributes_type": "object",
    "dataclass_type": "object",
    "none_required": "null",
    "date_type": "string",
    "datetime_type": "string",
    "time_type": "string",
    "time_delta_type": "string",
    "bytes_type": "string",
    "uuid_type": "string",
    "url_type": "string",
}
_MISSING = {"missing", "missing_argument", "missing_keyword_only_argument"}
_UNEXPECTED = {"unexpected_keyword_argument", "extra_forbidden"}


class Typed:
    """Judges arguments with pydantic and reports every problem. ``known`` are the parameters."""

    def __init__(self, adapter: TypeAdapter[Any], known: Iterable[str]) -> None:
        self._validate_json = adapter.validator.validate_json
        self._known = list(known)

    def validate(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        """The arguments as Python values, or what is wrong with them."""
        try:
            return Valid(self._validate_json(text, strict=True))
        except ValidationError as error:
            errors = error.errors(include_url=False, include_context=False)
        whole = [e["loc"] for e in errors if e["type"] == "int_type" and _is_whole(e["input"])]
        if not whole:
            return tuple(_problems(errors, value, self._known))[:MAX_PROBLEMS]
        exact: Any = value
        for location in whole:
            exact = _with_integer(exact, _locate(location, exact).steps)
        return self.validate(dump(exact), exact)


class _Place:
    """Where a pydantic error points: the steps into the document, and the union branch taken."""

    def __init__(self) -> None:
        self.steps: Steps = ()
        self.branch: Steps | None = None
        """The steps to the innermost value that a union was tried on."""
        self.choice: str | int = ""
        self.is_key = False


def _locate(location: Steps, value: JsonValue, *, missing: bool = False) -> _Place:
    """Pydantic's location mixes keys with the names of union branches; the document tells them apart."""
    place = _Place()
    node: Any = value
    for index, step in enumerate(location):
        if isinstance(node, Mapping) and isinstance(step, str) and step in node:
            node = node[step]
        elif isinstance(node, list) and isinstance(step, int) and step < len(node):
            node = node[step]
        elif missing and index == len(location) - 1:
            pass
        elif step == "[key]":
            place.is_key = True
            continue
        else:
            place.branch, place.choice = place.steps, step
            continue
        place.steps = (*place.steps, step)
    return place


def _problems(
    errors: list[ErrorDetails], value: JsonValue, known: list[str]
) -> Iterator[Problem]:
    """One problem per place; the failures of a union's branches become one sentence."""
    unions: dict[Steps, dict[str | int, list[tuple[Steps, ErrorDetails]]]] = {}
    for error in errors:
        place = _locate(error["loc"], value, missing=error["type"] in _MISSING)
        if place.branch is None or place.is_key:
            prefix = "has a key that " if place.is_key else ""
            yield Problem(json_path(place.steps), prefix + _sentence(error, place.steps, known))
        else:
            choices = unions.setdefault(place.branch, {})
            choices.setdefault(place.choice, []).append((place.steps, error))
    for branch, choices in unions.items():
        yield from _word_union(branch, choices, known)


def _word_union(
    branch: Steps, choices: dict[str | int, list[tuple[Steps, ErrorDetails]]], known: list[str]
) -> Iterator[Problem]:
    flat = [pair for choice in choices.values() for pair in choice]
    types = [_TYPES[e["type"]] for steps, e in flat if steps == branch and e["type"] in _TYPES]
    if len(types) == len(choices):
        yield Problem(json_path(branch), must_be(types, flat[0][1]["input"]))
        return
    closer = [
        choice
        for choice in choices.values()
        if not any(steps == branch and e["type"] in _TYPES for steps, e in choice)
    ]
    if len(closer) == 1:
        for steps, error in closer[0]:
            yield Problem(json_path(steps), _sentence(error, steps, known))
        return
    reasons = [
        "; ".join(f"{json_path(steps)} {_sentence(error, steps, known)}" for steps, error in choice)
        for choice in closer
    ]
    yield Problem(json_path(branch), "fits none of the alternatives: " + " / or: ".join(reasons))


def _sentence(error: ErrorDetails, steps: Steps, known: list[str]) -> str:
    kind, message, got = error["type"], error["msg"], error["input"]
    if kind in _MISSING:
        return "is required and missing"
    if kind in _UNEXPECTED:
        return unexpected(str(steps[-1]), known if len(steps) == 1 else [])
    if kind in _TYPES:
        return must_be([_TYPES[kind]], got)
    if kind in {"value_error", "assertion_error"}:
        return f"{message.partition(', ')[2] or message}; got {shorten(got)}"
    return f"{message.removeprefix('Input ')}; got {shorten(got)}"


def _is_whole(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()


def _with_integer(node: Any, steps: Steps) -> Any:
    """A copy of the document in which the whole number at ``steps`` is an integer."""
    if not steps:
        return int(node)
    step, rest = steps[0], steps[1:]
    copy = node.copy()
    copy[step] = _with_integer(node[step], rest)
    return copy
