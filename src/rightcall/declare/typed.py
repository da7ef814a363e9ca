"""Validates a call's arguments against Python types, through pydantic.

Validation is strict: the JSON type must be the one the schema names, at every depth. What JSON Schema
calls an integer (``2.0`` included) is one here too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from itertools import islice
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from pydantic import TypeAdapter, ValidationError
from pydantic_core import CoreSchema, ErrorDetails, SchemaValidator

from rightcall.core.jsontext import JsonObject, JsonValue, dump, shorten
from rightcall.core.problem import MAX_PROBLEMS, Problem, Valid, json_path, must_be, unexpected
from rightcall.core.value_size import cut_down

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
_SUBJECT = re.compile(r"\w+ (?=should )|Input ")
"""The beginnings of pydantic's messages, which are removed because ours begin with the path."""
_SLOW = 10_000
"""The number of pydantic errors from which formatting them takes too long."""
_MAX_ERRORS = 20 * MAX_PROBLEMS
"""How many of pydantic's errors are read; several can make one problem."""


class Typed:
    """Validates arguments with pydantic and reports every problem. ``known`` are the parameters."""

    def __init__(self, adapter: TypeAdapter[Any], known: Iterable[str]) -> None:
        schema = _arguments_of(adapter.core_schema)
        self._is_call = schema is not None
        self._validate_json = (SchemaValidator(schema) if schema else adapter.validator).validate_json
        self._known = list(known)

    def validate(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        """The arguments as Python values, or the problems with them."""
        try:
            bound = self._validate_json(text, strict=True)
            return Valid(bound[1] if self._is_call else bound)
        except ValidationError as error:
            if error.error_count() > _SLOW and (some := self._some_problems(value)):
                return some
            errors = error.errors(include_url=False, include_context=False)
        exact = _with_integers(value, errors)
        if exact is not None:
            return self.validate(dump(exact), exact)
        found = [_Found(_locate(error, value), error) for error in errors[:_MAX_ERRORS]]
        return tuple(islice(_problems(found, 0, self._known), MAX_PROBLEMS))

    def _some_problems(self, value: JsonObject) -> tuple[Problem, ...]:
        """The problems in the first items and members of a large value, if there are any."""
        cuts: list[tuple[str | int, ...]] = []
        part = cut_down(value, MAX_PROBLEMS, (), cuts)
        assert isinstance(part, dict)
        try:
            self._validate_json(dump(part), strict=True)
        except ValidationError as error:
            few = error.error_count() <= _SLOW
            errors = error.errors(include_url=False, include_context=False) if few else []
        else:
            return ()
        if _with_integers(part, errors) is not None:
            return ()
        found = [_Found(_locate(error, part), error) for error in errors]
        # Members that were cut off are not missing.
        found = [
            each
            for each in found
            if not any(cut[: len(each.place.steps)] == each.place.steps for cut in cuts)
            and not (each.error["type"] in _MISSING and each.place.steps[:-1] in cuts)
        ]
        return tuple(islice(_problems(found[:_MAX_ERRORS], 0, self._known), MAX_PROBLEMS))


def _arguments_of(schema: Any) -> CoreSchema | None:
    """The part of a function's core schema that validates arguments without calling the function.

    It returns the positional and the keyword arguments; ours are all by keyword.
    """
    if schema["type"] == "definitions":
        inner = _arguments_of(schema["schema"])
        return None if inner is None else {**schema, "schema": inner}
    arguments: CoreSchema | None = schema["arguments_schema"] if schema["type"] == "call" else None
    return arguments


class _Place(Struct, frozen=True):
    """The place that a pydantic error refers to."""

    steps: Steps = ()
    unions: tuple[tuple[Steps, str | int], ...] = ()
    """The unions on the way: the steps to each, and the branch that was taken."""
    is_key: bool = False
    """Whether it is about a key of the object at ``steps``."""


class _Found(Struct, frozen=True):
    place: _Place
    error: ErrorDetails


def _locate(error: ErrorDetails, value: JsonValue) -> _Place:
    """Pydantic's location mixes keys with the names of union branches; the document tells them apart.

    If a branch has the name of a key, the right place is the one with the value in pydantic's error.
    """
    location, got = error["loc"], error["input"]
    if location[-2:] == (got, "[key]"):
        return replace(_candidates(location[:-2], value)[0][0], is_key=True)
    if error["type"] in _MISSING:
        parent = _best(_candidates(location[:-1], value), got)
        return replace(parent, steps=(*parent.steps, location[-1]))
    return _best(_candidates(location, value), got)


def _best(candidates: list[tuple[_Place, Any]], got: object) -> _Place:
    return next((place for place, node in candidates if node == got), candidates[0][0])


def _candidates(location: Steps, value: JsonValue) -> list[tuple[_Place, Any]]:
    """The places that a location can mean, with their values; each step is a key or a branch."""
    places: dict[Steps, tuple[_Place, Any]] = {(): (_Place(), value)}
    for step in location:
        onward: dict[Steps, tuple[_Place, Any]] = {}
        for place, node in places.values():
            if _has(node, step):
                steps = (*place.steps, step)
                onward.setdefault(steps, (_Place(steps, place.unions), node[step]))
        for place, node in places.values():
            taken = (*place.unions, (place.steps, step))
            onward.setdefault(place.steps, (_Place(place.steps, taken), node))
        places = onward
    return list(places.values())


def _has(node: object, step: str | int) -> bool:
    if isinstance(node, Mapping):
        return isinstance(step, str) and step in node
    return isinstance(node, list) and isinstance(step, int) and step < len(node)


def _problems(found: list[_Found], depth: int, known: list[str]) -> Iterator[Problem]:
    """One problem per place; the failures of a union's branches, from ``depth`` on, are merged."""
    unions: dict[Steps, dict[str | int, list[_Found]]] = {}
    for each in found:
        if len(each.place.unions) <= depth:
            yield _problem(each, known)
        else:
            branch, choice = each.place.unions[depth]
            unions.setdefault(branch, {}).setdefault(choice, []).append(each)
    for branch, choices in unions.items():
        yield from _union_problems(branch, choices, depth, known)


def _union_problems(
    branch: Steps, choices: dict[str | int, list[_Found]], depth: int, known: list[str]
) -> Iterator[Problem]:
    """The problems of a value by branch, for the branches that accept its type."""
    closer = [found for found in choices.values() if not _types_wanted(branch, found)]
    if not closer:
        types = [kind for found in choices.values() for kind in _types_wanted(branch, found)]
        yield Problem(json_path(branch), must_be(types, next(iter(choices.values()))[0].error["input"]))
        return
    worded = [tuple(_problems(found, depth + 1, known)) for found in closer[:4]]
    if len(closer) == 1:
        yield from worded[0]
        return
    reasons = ["; ".join(f"{p.path} {p.message}" for p in problems[:3]) for problems in worded]
    yield Problem(json_path(branch), "fits none of the alternatives: " + " / or: ".join(reasons))


def _types_wanted(branch: Steps, found: list[_Found]) -> list[str]:
    """The types that a branch accepts, if the value has another type."""
    return [
        _TYPES[each.error["type"]]
        for each in found
        if each.place.steps == branch and each.error["type"] in _TYPES and not each.place.is_key
    ]


def _problem(found: _Found, known: list[str]) -> Problem:
    place, error = found.place, found.error
    about = "has a key that " if place.is_key else ""
    return Problem(json_path(place.steps), about + _sentence(error, place.steps, known))


def _sentence(error: ErrorDetails, steps: Steps, known: list[str]) -> str:
    kind, message, got = error["type"], error["msg"], error["input"]
    if kind in _MISSING:
        return "is required and missing"
    if kind in _UNEXPECTED:
        return unexpected(str(steps[-1]), known if len(steps) == 1 else [])
    if kind in _TYPES:
        return must_be([_TYPES[kind]], got)
    if kind in {"value_error", "assertion_error"}:
        return f"{message.partition(', ')[2] or 'is not accepted'}; got {shorten(got)}"
    if kind == "union_tag_not_found":
        return f"must have {message.rpartition(' ')[2]}, which says what it is"
    return f"{_SUBJECT.sub('', message, count=1)}; got {shorten(got)}"


def _with_integers(value: JsonObject, errors: list[ErrorDetails]) -> JsonObject | None:
    """The document with whole floats as integers where required; None if there are none."""
    places = {
        _locate(error, value).steps
        for error in errors
        if error["type"] == "int_type" and _is_whole(error["input"])
    }
    document: Any = deepcopy(value) if places else None
    changed = False
    for *way, last in places:
        parent = document
        for step in way:
            parent = parent[step]
        if _is_whole(parent[last]):  # A validator can report a place that the document does not have.
            parent[last] = int(parent[last])
            changed = True
    return document if changed else None


def _is_whole(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()
