"""Compiles a JSON Schema 2020-12 into a validator that reports every problem in words.

Nothing is ever fetched: a ``$ref`` to another document resolves only among ``resources``.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as Kind

from rightcall.core.jsontext import JsonObject, JsonValue, cut_down, shorten
from rightcall.core.problem import MAX_PROBLEMS, Problem, Valid, describe_unexpected, json_path, must_be
from rightcall.core.schema_cost import (
    BACKTRACKS,
    MOST_ERRORS,
    MOST_STEPS,
    SchemaCost,
    Unbounded,
    backtracking_patterns,
    hold_patterns,
)

MOST_LEVELS = 128
"""The most levels of a schema; beyond them its depth is reported as the problem."""
_SHOWN = 6
"""How many steps of a path to such a place are shown."""
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
        self._cost: SchemaCost | None = None
        try:
            backtracking = backtracking_patterns([document, *self._resources.values()])
            held = backtracking if bounded else None
            self._validator = _compile(document, self._resources, held, formats=formats)
            if bounded:
                self._cost = SchemaCost(document, self._resources, backtracking)
        except jsonschema_rs.ValidationError as error:
            raise SchemaError(_locate(document, error)) from None
        except Unbounded as error:
            raise SchemaTooCostly(Problem("$", str(error))) from None
        except (ValueError, jsonschema_rs.ReferencingError, RecursionError) as error:
            raise SchemaError(too_deep(document) or Problem("$", str(error))) from None

    def _steps(self, value: JsonValue, most: int, text: str | None = None) -> int:
        """Returns about how many visits a value takes at most; 0 if the cost is not limited."""
        if self._cost is None:
            return 0
        return self._cost.steps(value, most, text)

    def validate(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        """Validate arguments for a tool with a raw schema: its handler takes the JSON values as such."""
        if self._steps(value, MOST_STEPS, text) > MOST_STEPS:
            return (_TOO_LARGE,)
        if self.fits(value):
            return Valid(value)
        return self.problems(value)

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
        worded = chain.from_iterable(map(self._word, self.errors(value)))
        if problems := tuple(islice(worded, MAX_PROBLEMS)):
            return problems
        steps = self._steps(value, MOST_STEPS)
        if steps > MOST_STEPS:
            return (_TOO_LARGE,)
        if steps <= MOST_ERRORS or self._validator.is_valid(value):
            return ()
        return (_UNSAID,)

    def _some_errors(self, value: JsonValue) -> Iterator[jsonschema_rs.ValidationError]:
        """Yields errors in the first items and members: the library can find only all errors or one."""
        for members in (64, 8, 2):
            cuts: list[tuple[str | int, ...]] = []
            part = cut_down(value, members, (), cuts)
            if self._steps(part, MOST_ERRORS) > MOST_ERRORS:
                continue
            paths = _Paths(part)
            is_wrong = False
            for error in self._validator.iter_errors(part):
                paths.correct(error)
                if not _is_of_the_cut(error, cuts):
                    is_wrong = True
                    yield error
            if is_wrong:
                return
            break
        # With alternatives the validator would collect all errors of each before it reports the first.
        has_branches = self._cost is None or self._cost.branches
        if not has_branches and self._steps(value, MOST_STEPS) <= MOST_STEPS:
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
                    yield Problem(json_path([*steps, name]), describe_unexpected(name, known))
            case Kind.AnyOf(branches) | Kind.OneOfNotValid(branches):
                yield from self._word_branches(error, branches)
            case Kind.PropertyNames(inner):
                reason = "; ".join(problem.message for problem in self._word(inner))
                yield Problem(json_path(steps), f"has a property name that {reason}")
            case _:
                yield Problem(json_path(steps), _sentence(error))

    def _word_branches(
        self, error: jsonschema_rs.ValidationError, branches: list[list[jsonschema_rs.ValidationError]]
    ) -> Iterator[Problem]:
        """Yields the problems with each alternative that accepts values of this type."""
        closer = []
        types: list[str] = []
        for branch in branches:
            if wanted := _types_wanted(branch, error):
                types += wanted
            else:
                closer.append(branch)
        path = json_path(error.instance_path)
        if not closer:
            yield Problem(path, must_be(types, error.instance))
        elif len(closer) == 1:
            for cause in closer[0]:
                yield from self._word(cause)
        else:
            reasons = []
            for branch in closer[:4]:
                problems = chain.from_iterable(map(self._word, branch[:3]))
                reasons.append("; ".join([f"{problem.path} {problem.message}" for problem in problems]))
            yield Problem(path, "fits none of the alternatives: " + " / or: ".join(reasons))

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
        places = list(_with_empty_keys([], self._document))
        for step in error.instance_path:
            onward: list[tuple[list[str | int], Any]] = []
            for steps, node in places:
                for key in self._keys_like(step, node):
                    onward += _with_empty_keys([*steps, key], node[key])
            places = onward
        if places:
            error.instance_path = places[0][0]
        for steps, node in places:
            if node == error.instance:
                error.instance_path = steps
                break
        match error.kind:
            case Kind.AnyOf(branches) | Kind.OneOfNotValid(branches):
                for inner in chain.from_iterable(branches):
                    self.correct(inner)
            case _:
                pass

    def _keys_like(self, step: str | int, node: Any) -> Sequence[str | int]:
        """Returns the keys that the library may mean by a step."""
        if not isinstance(node, Mapping):
            if isinstance(step, int) and isinstance(node, list) and step < len(node):
                return [step]
            return []
        if isinstance(step, str):
            if step in node:
                return [step]
            return []
        if id(node) not in self._digits:
            numbers = self._digits[id(node)] = defaultdict(list)
            for key in filter(_DIGITS.fullmatch, node):
                numbers[int(key)].append(key)
        return self._digits[id(node)].get(step, [])


def _with_empty_keys(steps: list[str | int], node: Any) -> Iterator[tuple[list[str | int], Any]]:
    """Yields a place, and those that empty keys lead to from it."""
    yield steps, node
    if isinstance(node, Mapping) and "" in node:
        yield from _with_empty_keys([*steps, ""], node[""])


def _types_wanted(
    branch: list[jsonschema_rs.ValidationError], parent: jsonschema_rs.ValidationError
) -> list[str]:
    """Returns the types that a branch requires, if the value itself has another."""
    for error in branch:
        if error.instance_path == parent.instance_path and isinstance(error.kind, Kind.Type):
            return error.kind.types
    return []


def _sentence(error: jsonschema_rs.ValidationError) -> str:  # noqa: C901, PLR0912
    got = shorten(error.instance)
    match error.kind:
        case Kind.Type(types):
            return must_be(types, error.instance)
        case Kind.Enum(options):
            listed = ", ".join(map(shorten, options[:_LISTED]))
            if len(options) > _LISTED:
                listed += f" and {len(options) - _LISTED} more"
            return f"must be one of {listed}; got {got}"
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
        case Kind.MinLength(limit):
            return f"must have at least {_count(limit, 'character')}; got {got}"
        case Kind.MaxLength(limit):
            return f"must have at most {_count(limit, 'character')}; got {got}"
        case Kind.MinItems(limit):
            return f"must have at least {_count(limit, 'item')}"
        case Kind.MaxItems(limit):
            return f"must have at most {_count(limit, 'item')}"
        case Kind.MinProperties(limit):
            return f"must have at least {_count(limit, 'member')}"
        case Kind.MaxProperties(limit):
            return f"must have at most {_count(limit, 'member')}"
        case Kind.UniqueItems():
            return "must not have the same item twice"
        case Kind.OneOfMultipleValid():
            return "fits more than one of the alternatives; exactly one is wanted"
        case Kind.FalseSchema():
            # The library does not say which members it means; but then no member at all is allowed.
            if error.schema_path and error.schema_path[-1] in ("additionalProperties", "propertyNames"):
                return "must be an empty object"
            return "is not allowed here"
        case Kind.Contains():
            return _CONTAINS[str(error.schema_path[-1])]
        case Kind.UnevaluatedItems():
            return "has items that are not allowed"
        case Kind.Not(schema):
            return f"must not fit the schema {shorten(schema, 200)}"
        case _ if len(error.message) <= 300:  # noqa: PLR2004
            return error.message
        case _:
            return f"breaks the rule {error.kind.name!r}"


def _count(number: int, noun: str) -> str:
    if number == 1:
        return f"{number} {noun}"
    return f"{number} {noun}s"


def _locate(document: JsonObject, error: jsonschema_rs.ValidationError) -> Problem:
    """Returns where a schema is invalid. The library reports a missing reference without its place."""
    _Paths(document).correct(error)
    path = json_path(error.instance_path)
    match error.kind:
        case Kind.Referencing():
            # It names a resource, relative to its base or not, or a place in one.
            missing = error.message.partition("'")[2].partition("'")[0]
            for steps, reference in _references(document, ()):
                resource, _, fragment = reference.partition("#")
                is_relative = resource != "" and missing.endswith(f"/{resource}")
                if is_relative or missing in {reference, resource or reference, fragment or reference}:
                    return Problem(json_path(steps), f"{shorten(reference)} refers to nothing")
        case Kind.AnyOf() if error.instance_path[-1:] == ["type"]:
            return Problem(path, f"{shorten(error.instance)} is not a type; there is {_TYPES}")
    return Problem(path, error.message)


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


def too_deep(document: object) -> Problem | None:
    """Returns the first place that is too deep, or that contains itself; None if there is none."""
    path = ["$"]
    inside = {id(document): "$"}
    waiting = [(document, _children(document))]
    while waiting:
        step, child = next(waiting[-1][1], (None, None))
        if step is None:
            del inside[id(waiting.pop()[0])]
            path.pop()
            continue
        if not isinstance(child, dict | list | tuple):
            continue
        path.append(step)
        where = "".join(path[:_SHOWN]) + ("…" if len(path) > _SHOWN else "")
        if id(child) in inside:
            return Problem(where, f"contains itself: it is the same object as {inside[id(child)]}")
        if len(waiting) >= MOST_LEVELS:
            return Problem(where, f"nests deeper than {MOST_LEVELS} levels")
        inside[id(child)] = where
        waiting.append((child, _children(child)))
    return None


def _children(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield f".{key}", child
    elif isinstance(value, list | tuple):
        for at, child in enumerate(value):
            yield f"[{at}]", child


def _compile(
    document: JsonObject,
    resources: Mapping[str, JsonObject],
    backtracking: frozenset[str] | None,
    *,
    formats: bool,
) -> jsonschema_rs.Validator:
    """Returns the validator. Patterns match in linear time, those in ``backtracking`` within limits.

    If that is None, they match without limits, and may take forever.
    """
    engine: Any = jsonschema_rs.RegexOptions()
    if backtracking is None:
        engine = jsonschema_rs.FancyRegexOptions()
    elif backtracking:
        engine = jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS)
        document = hold_patterns(document, backtracking)
        resources = {uri: hold_patterns(each, backtracking) for uri, each in resources.items()}
    beside: list[tuple[str, Any]] = []
    for uri, resource in resources.items():
        own = resource.get("$id")
        if isinstance(own, str) and own != uri:
            # Under its own name too: its references are relative to that.
            beside += [(own, dict(resource)), (uri, {"$ref": own})]
        else:
            beside.append((uri, dict(resource)))
    return jsonschema_rs.validator_for(
        dict(document),
        registry=jsonschema_rs.Registry(beside) if beside else None,
        validate_formats=formats,
        offline=True,
        pattern_options=engine,
    )
