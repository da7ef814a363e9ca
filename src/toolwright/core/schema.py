"""A JSON Schema 2020-12 into a validator that reports every problem in words.

Nothing is ever fetched: a ``$ref`` to another document resolves only among ``resources``.
"""

import difflib
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as Kind

from toolwright.core.jsontext import JsonObject, JsonValue, kind_of, shorten
from toolwright.core.ports import Valid
from toolwright.core.problem import Problem, json_path

MAX_PROBLEMS = 50
"""How many problems are listed; a model that made more needs no longer list."""

_ARTICLES = {"integer": "an integer", "array": "an array", "object": "an object", "null": "null"}


class SchemaError(ValueError):
    """A schema is not valid JSON Schema; ``problem`` says where and why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Schema:
    """A JSON Schema, compiled once. ``formats`` makes ``format`` a demand instead of a note."""

    def __init__(
        self,
        document: JsonObject,
        *,
        resources: Mapping[str, JsonObject] | None = None,
        formats: bool = False,
    ) -> None:
        self.document = document
        try:
            registry = jsonschema_rs.Registry(_items(resources)) if resources else None
            self._validator = jsonschema_rs.validator_for(
                dict(document), registry=registry, validate_formats=formats, offline=True
            )
        except jsonschema_rs.ValidationError as error:
            raise SchemaError(_locate(document, error)) from None
        except (ValueError, jsonschema_rs.ReferencingError, RecursionError) as error:
            raise SchemaError(Problem("$", str(error))) from None

    def validate(self, text: str, value: JsonObject) -> "Valid | tuple[Problem, ...]":  # noqa: ARG002
        """The port for tools with a raw schema: the handler takes the JSON values as they are."""
        if self._validator.is_valid(value):
            return Valid(value)
        return self.problems(value)

    def errors(self, value: JsonValue) -> Iterator[jsonschema_rs.ValidationError]:
        """The validator's own errors, one by one."""
        return self._validator.iter_errors(value)

    def problems(self, value: JsonValue) -> tuple[Problem, ...]:
        """Everything wrong with ``value``; empty when it is valid."""
        found = (problem for error in self.errors(value) for problem in self._word(error))
        return tuple(islice(found, MAX_PROBLEMS))

    def _word(self, error: jsonschema_rs.ValidationError) -> Iterator[Problem]:
        steps = error.instance_path
        match error.kind:
            case Kind.Required(name):
                yield Problem(json_path([*steps, name]), "is required and missing")
            case Kind.AdditionalProperties(names) | Kind.UnevaluatedProperties(names):
                known = self._properties_beside(error.schema_path)
                for name in names:
                    yield Problem(json_path([*steps, name]), unexpected(name, known))
            case Kind.AnyOf(branches) | Kind.OneOfNotValid(branches):
                yield Problem(json_path(steps), self._word_branches(error, branches))
            case Kind.PropertyNames(inner):
                reason = "; ".join(problem.message for problem in self._word(inner))
                yield Problem(json_path(steps), f"has a property name that {reason}")
            case _:
                yield Problem(json_path(steps), _sentence(error))

    def _word_branches(
        self,
        error: jsonschema_rs.ValidationError,
        branches: list[list[jsonschema_rs.ValidationError]],
    ) -> str:
        if types := [kind for branch in branches for kind in _types_wanted(branch, error)]:
            if len(types) >= len(branches):
                return must_be(types, error.instance)
            branches = [branch for branch in branches if not _types_wanted(branch, error)]
        reasons = [
            "; ".join(f"{p.path} {p.message}" for e in islice(branch, 3) for p in self._word(e))
            for branch in islice(branches, 4)
        ]
        return "fits none of the alternatives: " + " / or: ".join(reasons)

    def _properties_beside(self, schema_path: list[str | int]) -> list[str]:
        """The properties that the schema of an unexpected one declares, when easy to find."""
        node: Any = self.document
        try:
            for step in schema_path[:-1]:
                node = node[step]
            return list(node.get("properties", ()))
        except (KeyError, IndexError, TypeError, AttributeError):
            return []


def unexpected(name: str, known: list[str]) -> str:
    """The sentence for a member that the schema does not have."""
    if nearest := difflib.get_close_matches(name, known, n=1):
        return f"is not a parameter; did you mean {shorten(nearest[0])}?"
    if not known:
        return "is not a parameter; leave it out"
    return f"is not a parameter; there is {', '.join(map(shorten, known[:20]))}"


def must_be(types: list[str], value: JsonValue) -> str:
    """The sentence for a value of the wrong type."""
    wanted = list(dict.fromkeys(_ARTICLES.get(kind, f"a {kind}") for kind in types))
    return f"must be {' or '.join(wanted)}, not {described(value)}"


def described(value: JsonValue) -> str:
    """A value for use in a sentence: its type, and itself where that adds something."""
    if value is None or value == [] or value == {}:
        return kind_of(value).replace("an ", "an empty ")
    return f"{kind_of(value)} ({shorten(value)})"


def _items(resources: Mapping[str, JsonObject]) -> list[tuple[str, Any]]:
    return [(uri, dict(document)) for uri, document in resources.items()]


def _types_wanted(
    branch: list[jsonschema_rs.ValidationError], parent: jsonschema_rs.ValidationError
) -> list[str]:
    """The types a branch asks for, when the value's own type is all that is wrong with it."""
    match branch:
        case [error] if error.instance_path == parent.instance_path:
            return error.kind.types if isinstance(error.kind, Kind.Type) else []
        case _:
            return []


def _sentence(error: jsonschema_rs.ValidationError) -> str:
    got = shorten(error.instance)
    match error.kind:
        case Kind.Type(types):
            return must_be(types, error.instance)
        case Kind.Enum(options):
            return f"must be one of {', '.join(map(shorten, options))}; got {got}"
        case Kind.Constant(value):
            return f"must be {shorten(value)}; got {got}"
        case Kind.Minimum(limit):
            return f"must be at least {limit}; got {got}"
        case Kind.Maximum(limit):
            return f"must be at most {limit}; got {got}"
        case Kind.ExclusiveMinimum(limit):
            return f"must be greater than {limit}; got {got}"
        case Kind.ExclusiveMaximum(limit):
            return f"must be less than {limit}; got {got}"
        case Kind.MultipleOf(factor):
            return f"must be a multiple of {factor}; got {got}"
        case Kind.Pattern(pattern):
            return f"must match the pattern {pattern}; got {got}"
        case Kind.Format(name):
            return f"must be a valid {name}; got {got}"
        case _:
            return _size_sentence(error)


def _size_sentence(error: jsonschema_rs.ValidationError) -> str:
    match error.kind:
        case Kind.MinLength(limit):
            return f"must have at least {limit} characters; got {shorten(error.instance)}"
        case Kind.MaxLength(limit):
            return f"must have at most {limit} characters; got {shorten(error.instance)}"
        case Kind.MinItems(limit):
            return f"must have at least {limit} items"
        case Kind.MaxItems(limit):
            return f"must have at most {limit} items"
        case Kind.MinProperties(limit):
            return f"must have at least {limit} members"
        case Kind.MaxProperties(limit):
            return f"must have at most {limit} members"
        case Kind.UniqueItems():
            return "must not have the same item twice"
        case Kind.OneOfMultipleValid():
            return "fits more than one of the alternatives; exactly one is wanted"
        case Kind.FalseSchema():
            return "is not allowed here"
        case Kind.Not(schema):
            return f"must not fit the schema {shorten(schema, 200)}"
        case _:
            message = error.message
            return message if len(message) <= 300 else f"breaks the rule {error.kind.name!r}"  # noqa: PLR2004


def _locate(document: JsonObject, error: jsonschema_rs.ValidationError) -> Problem:
    """Where a bad schema is bad. The library names a missing reference without its place."""
    if isinstance(error.kind, Kind.Referencing):
        for steps, reference in _references(document, ()):
            if reference.lstrip("#") in error.message:
                return Problem(json_path(steps), f"{shorten(reference)} refers to nothing")
    return Problem(json_path(error.instance_path), error.message)


def _references(
    node: JsonValue, steps: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(node, Mapping):
        for key, child in node.items():
            if key in {"$ref", "$dynamicRef"} and isinstance(child, str):
                yield (*steps, key), child
            yield from _references(child, (*steps, key))
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from _references(child, (*steps, index))
