"""Compiles a JSON Schema 2020-12 into a validator that reports every problem in words.

Nothing is ever fetched: a ``$ref`` to another document resolves only among ``resources``.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as Kind

from rightcall.core.jsontext import JsonObject, JsonValue, shorten
from rightcall.core.problem import MAX_PROBLEMS, Problem, Valid, json_path, must_be, unexpected
from rightcall.core.schema_compile import compiled
from rightcall.core.schema_cost import MOST_ERRORS, MOST_STEPS, SchemaCost
from rightcall.core.schema_depth import too_deep
from rightcall.core.schema_patterns import (
    Unbounded,
    backtracking_patterns,
)
from rightcall.core.value_size import cut_down

_TYPES = "string, number, integer, boolean, object, array and null"
_LISTED = 50
"""How many allowed values are listed; the model has all of them in the schema."""

_TOO_LARGE = Problem("$", "is too large, or nested too deep, to be checked against the schema")
_UNSAID = Problem("$", "does not fit the schema, and is too large for all that is wrong to be found")
_WHATEVER_ELSE = (Kind.Type, Kind.AdditionalProperties, Kind.PropertyNames, Kind.FalseSchema)
"""Errors about an object or an array that do not depend on its left-out content."""

_DIGITS = re.compile(r"\+?[0-9]{1,20}")
_CONTAINS = {
    "contains": "has no item of the kind that the schema asks for",
    "minContains": "has too few items of the kind that the schema asks for",
    "maxContains": "has too many items of the kind that the schema asks for",
}


class SchemaError(ValueError):
    """A schema is not valid JSON Schema; ``problem`` says where and why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class SchemaTooCostly(SchemaError):
    """A schema with which validation could take forever."""


class Schema:
    """A JSON Schema, compiled once. ``formats`` enforces ``format``.

    Without ``bounded`` its cost is not limited: only for a process that is killed at a deadline.
    """

    def __init__(
        self,
        document: JsonObject,
        *,
        resources: Mapping[str, JsonObject] | None = None,
        formats: bool = False,
        bounded: bool = True,
    ) -> None:
        self.document = document
        self._resources = resources or {}
        self._steps: Callable[..., int] = _uncounted
        self._branches = True
        try:
            backtracking = backtracking_patterns([document, *self._resources.values()])
            held = backtracking if bounded else None
            self._validator = compiled(document, self._resources, held, formats=formats)
            if bounded:
                cost = SchemaCost(document, self._resources, backtracking)
                self._steps, self._branches = cost.steps, cost.branches
        except jsonschema_rs.ValidationError as error:
            raise SchemaError(_locate(document, error)) from None
        except Unbounded as error:
            raise SchemaTooCostly(Problem("$", str(error))) from None
        except (ValueError, jsonschema_rs.ReferencingError, RecursionError) as error:
            raise SchemaError(too_deep(document) or Problem("$", str(error))) from None

    def validate(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        """Validate arguments for a tool with a raw schema: its handler takes the JSON values as such."""
        if self._steps(value, MOST_STEPS, text) > MOST_STEPS:
            return (_TOO_LARGE,)
        return Valid(value) if self.fits(value) else self.problems(value)

    def fits(self, value: JsonValue) -> bool:
        """Whether ``value`` is valid, at any cost."""
        return self._validator.is_valid(value)

    def errors(self, value: JsonValue) -> Iterator[jsonschema_rs.ValidationError]:
        """Yields the validator's own errors; for a large value, only some of them."""
        if self._steps(value, MOST_ERRORS) > MOST_ERRORS:
            yield from self._some_errors(value)
            return
        paths = _Paths(value)
        for error in self._validator.iter_errors(value):
            paths.correct(error)
            yield error

    def problems(self, value: JsonValue) -> tuple[Problem, ...]:
        """Returns the problems of ``value``, as far as they are found quickly; empty if it is valid."""
        found = (problem for error in self.errors(value) for problem in self._word(error))
        if some := tuple(islice(found, MAX_PROBLEMS)):
            return some
        steps = self._steps(value, MOST_STEPS)
        if steps <= MOST_ERRORS or (steps <= MOST_STEPS and self._validator.is_valid(value)):
            return ()
        return (_TOO_LARGE if steps > MOST_STEPS else _UNSAID,)

    def _some_errors(self, value: JsonValue) -> Iterator[jsonschema_rs.ValidationError]:
        """Yields errors in the first items and members: the library can find only all errors or one."""
        for kept in (64, 8, 2):
            cuts: list[tuple[str | int, ...]] = []
            part = cut_down(value, kept, (), cuts)
            if self._steps(part, MOST_ERRORS) > MOST_ERRORS:
                continue
            paths, is_wrong = _Paths(part), False
            for error in self._validator.iter_errors(part):
                paths.correct(error)
                if not _is_of_the_cut(error, cuts):
                    is_wrong = True
                    yield error
            if is_wrong:
                return
            break
        if not self._branches and self._steps(value, MOST_STEPS) <= MOST_STEPS:
            try:
                self._validator.validate(value)
            except jsonschema_rs.ValidationError as error:
                _Paths(value).correct(error)
                yield error

    def _word(self, error: jsonschema_rs.ValidationError) -> Iterator[Problem]:
        steps = error.instance_path
        match error.kind:
            case Kind.Required(name):
                yield Problem(json_path([*steps, name]), "is required and missing")
            case Kind.AdditionalProperties(names) | Kind.UnevaluatedProperties(names):
                known = self._properties_beside(error)
                for name in names:
                    yield Problem(json_path([*steps, name]), unexpected(name, known))
            case Kind.AnyOf(branches) | Kind.OneOfNotValid(branches):
                yield from self._word_branches(error, branches)
            case Kind.PropertyNames(inner):
                reason = "; ".join(problem.message for problem in self._word(inner))
                yield Problem(json_path(steps), f"has a property name that {reason}")
            case _:
                yield Problem(json_path(steps), _sentence(error))

    def _word_branches(
        self,
        error: jsonschema_rs.ValidationError,
        branches: list[list[jsonschema_rs.ValidationError]],
    ) -> Iterator[Problem]:
        """Yields the problems with each alternative that accepts values of this type."""
        closer = [branch for branch in branches if not _types_wanted(branch, error)]
        if not closer:
            types = [kind for branch in branches for kind in _types_wanted(branch, error)]
            yield Problem(json_path(error.instance_path), must_be(types, error.instance))
        elif len(closer) == 1:
            yield from (problem for cause in closer[0] for problem in self._word(cause))
        else:
            reasons = [
                "; ".join(f"{p.path} {p.message}" for e in islice(branch, 3) for p in self._word(e))
                for branch in islice(closer, 4)
            ]
            message = "fits none of the alternatives: " + " / or: ".join(reasons)
            yield Problem(json_path(error.instance_path), message)

    def _properties_beside(self, error: jsonschema_rs.ValidationError) -> list[str]:
        """Returns the properties that the schema declares beside an unexpected one, if easy to find."""
        resource = (error.absolute_keyword_location or "").partition("#")[0]
        node: Any = self._resources.get(resource, self.document)
        try:
            for step in error.schema_path[:-1]:
                node = node[step]
            return list(node.get("properties", ()))
        except (KeyError, IndexError, TypeError, AttributeError):
            return []


def _uncounted(*_: object) -> int:
    """The cost of an unbounded schema is not counted."""
    return 0


def _is_of_the_cut(error: jsonschema_rs.ValidationError, cuts: Sequence[tuple[str | int, ...]]) -> bool:
    """Whether an error may be due to the part that was left out, and not to the value."""
    if isinstance(error.kind, _WHATEVER_ELSE):
        return False
    here = tuple(error.instance_path)
    return any(cut[: len(here)] == here for cut in cuts)


class _Paths:
    """Corrects the paths of errors about one document.

    The library (0.60) leaves out empty keys, and reports a key of digits as an index.
    """

    def __init__(self, document: JsonValue) -> None:
        self._document = document
        self._digits: dict[int, dict[int, list[str]]] = {}
        """By the id of each object: its keys by the number that they spell."""

    def correct(self, error: jsonschema_rs.ValidationError) -> None:
        """Correct an error's path, and those of the errors inside it."""
        places: list[tuple[list[str | int], Any]] = list(_onward([], self._document))
        for step in error.instance_path:
            places = [
                onward
                for steps, node in places
                for key in self._keys_like(step, node)
                for onward in _onward([*steps, key], node[key])
            ]
        same = [steps for steps, node in places if node == error.instance]
        error.instance_path = next(iter(same or [steps for steps, _ in places]), error.instance_path)
        match error.kind:
            case Kind.AnyOf(branches) | Kind.OneOfNotValid(branches):
                for inner in chain.from_iterable(branches):
                    self.correct(inner)
            case _:
                pass

    def _keys_like(self, step: str | int, node: Any) -> Sequence[str | int]:
        """Returns the keys that the library may mean by a step."""
        if not isinstance(node, Mapping):
            return (
                [step] if isinstance(step, int) and isinstance(node, list) and step < len(node) else []
            )
        if isinstance(step, str):
            return [step] if step in node else []
        if id(node) not in self._digits:
            numbers = self._digits[id(node)] = defaultdict(list)
            for key in filter(_DIGITS.fullmatch, node):
                numbers[int(key)].append(key)
        return self._digits[id(node)].get(step, [])


def _onward(steps: list[str | int], node: Any) -> Iterator[tuple[list[str | int], Any]]:
    """Yields a place, and those that empty keys lead to from it."""
    yield steps, node
    if isinstance(node, Mapping) and "" in node:
        yield from _onward([*steps, ""], node[""])


def _types_wanted(
    branch: list[jsonschema_rs.ValidationError], parent: jsonschema_rs.ValidationError
) -> list[str]:
    """Returns the types that a branch requires, if the value itself has another."""
    for error in branch:
        if error.instance_path == parent.instance_path and isinstance(error.kind, Kind.Type):
            return error.kind.types
    return []


def _sentence(error: jsonschema_rs.ValidationError) -> str:
    got = shorten(error.instance)
    match error.kind:
        case Kind.Type(types):
            return must_be(types, error.instance)
        case Kind.Enum(options):
            return f"must be one of {_listed(options)}; got {got}"
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
            return f"must have at least {_count(limit, 'character')}; got {shorten(error.instance)}"
        case Kind.MaxLength(limit):
            return f"must have at most {_count(limit, 'character')}; got {shorten(error.instance)}"
        case Kind.MinItems(limit):
            return f"must have at least {_count(limit, 'item')}"
        case Kind.MaxItems(limit):
            return f"must have at most {_count(limit, 'item')}"
        case Kind.MinProperties(limit):
            return f"must have at least {_count(limit, 'member')}"
        case Kind.MaxProperties(limit):
            return f"must have at most {_count(limit, 'member')}"
        case _:
            return _other_sentence(error)


def _other_sentence(error: jsonschema_rs.ValidationError) -> str:
    match error.kind:
        case Kind.UniqueItems():
            return "must not have the same item twice"
        case Kind.OneOfMultipleValid():
            return "fits more than one of the alternatives; exactly one is wanted"
        case Kind.FalseSchema():
            # The library does not say which members it means; but then no member at all is allowed.
            none = error.schema_path and error.schema_path[-1] in {
                "additionalProperties",
                "propertyNames",
            }
            return "must be an empty object" if none else "is not allowed here"
        case Kind.Contains():
            return _CONTAINS[str(error.schema_path[-1])]
        case Kind.UnevaluatedItems():
            return "has items that are not allowed"
        case Kind.Not(schema):
            return f"must not fit the schema {shorten(schema, 200)}"
        case _:
            message = error.message
            return message if len(message) <= 300 else f"breaks the rule {error.kind.name!r}"  # noqa: PLR2004


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _listed(options: Sequence[object]) -> str:
    listed = ", ".join(map(shorten, options[:_LISTED]))
    more = len(options) - _LISTED
    return listed if more <= 0 else f"{listed} and {more} more"


def _locate(document: JsonObject, error: jsonschema_rs.ValidationError) -> Problem:
    """Returns where a schema is invalid. The library reports a missing reference without its place."""
    _Paths(document).correct(error)
    path = json_path(error.instance_path)
    match error.kind:
        case Kind.Referencing():
            missing = error.message.partition("'")[2].partition("'")[0]
            for steps, reference in _references(document, ()):
                if _means(reference, missing):
                    return Problem(json_path(steps), f"{shorten(reference)} refers to nothing")
        case Kind.AnyOf() if error.instance_path[-1:] == ["type"]:
            return Problem(path, f"{shorten(error.instance)} is not a type; there is {_TYPES}")
    return Problem(path, error.message)


def _means(reference: str, missing: str) -> bool:
    """Whether a reference names ``missing``: a resource, relative or not, or a place in one."""
    resource, _, fragment = reference.partition("#")
    return missing in {reference, resource or reference, fragment or reference} or (
        resource != "" and missing.endswith(f"/{resource}")
    )


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
