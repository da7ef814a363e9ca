"""Makes a JSON Schema and a validator from a signature or a pydantic model, by pydantic."""

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import reduce
from itertools import islice, pairwise
from operator import or_
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from pydantic import (
    BaseModel,
    GetCoreSchemaHandler,
    PydanticSchemaGenerationError,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
)
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUndefinedAnnotation
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import (
    CoreSchema,
    ErrorDetails,
    PydanticSerializationError,
    SchemaError,
    SchemaValidator,
    core_schema,
)
from typing_extensions import TypedDict

from rightcall.core.handler import Parameters
from rightcall.core.jsontext import JsonObject, JsonValue, cut_down, dump, shorten
from rightcall.core.problem import (
    MAX_PROBLEMS,
    Description,
    Problem,
    Valid,
    describe_unexpected,
    json_path,
    must_be,
)
from rightcall.core.references import definition_at_root
from rightcall.errors import DeclarationError

Steps: TypeAlias = tuple[str | int, ...]

_TYPES = {
    "int_type": "integer",
    "float_type": "number",
    "bool_type": "boolean",
    "none_required": "null",
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), "array"),
    **dict.fromkeys(("dict_type", "mapping_type", "dataclass_type"), "object"),
    **dict.fromkeys(("model_type", "model_attributes_type"), "object"),
    **dict.fromkeys(("string_type", "bytes_type", "uuid_type", "url_type"), "string"),
    **dict.fromkeys(("date_type", "datetime_type", "time_type", "time_delta_type"), "string"),
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
    """Validates arguments with pydantic and reports every problem. ``known`` are the parameters.

    Validation is strict: the JSON type must be the one the schema names, at every depth. What JSON
    Schema calls an integer (``2.0`` included) is one here too.
    """

    def __init__(self, adapter: TypeAdapter[Any], known: Iterable[str]) -> None:
        schema = _arguments_of(adapter.core_schema)
        self._is_call = schema is not None
        validator = adapter.validator if schema is None else SchemaValidator(schema)
        self._validate_json = validator.validate_json
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
        located = [_LocatedError(_locate(error, value), error) for error in errors[:_MAX_ERRORS]]
        return tuple(islice(_problems(located, 0, self._known), MAX_PROBLEMS))

    def _some_problems(self, value: JsonObject) -> tuple[Problem, ...]:
        """The problems in the first items and members of a large value, if there are any."""
        cuts: list[tuple[str | int, ...]] = []
        part = cut_down(value, MAX_PROBLEMS, (), cuts)
        assert isinstance(part, dict)
        errors = []
        try:
            self._validate_json(dump(part), strict=True)
        except ValidationError as error:
            if error.error_count() <= _SLOW:
                errors = error.errors(include_url=False, include_context=False)
        if _with_integers(part, errors) is not None:
            return ()
        located = []
        for each in errors:
            place = _locate(each, part)
            # Members that were cut off are not missing.
            is_cut_off = each["type"] in _MISSING and place.steps[:-1] in cuts
            if not is_cut_off and not any(cut[: len(place.steps)] == place.steps for cut in cuts):
                located.append(_LocatedError(place, each))
        return tuple(islice(_problems(located[:_MAX_ERRORS], 0, self._known), MAX_PROBLEMS))


def _arguments_of(schema: Any) -> CoreSchema | None:
    """The part of a function's core schema that validates arguments without calling the function.

    It returns the positional and the keyword arguments; ours are all by keyword.
    """
    arguments: CoreSchema | None = None
    if schema["type"] == "call":
        arguments = schema["arguments_schema"]
    elif schema["type"] == "definitions" and (inner := _arguments_of(schema["schema"])):
        arguments = {**schema, "schema": inner}
    return arguments


class _Place(Struct, frozen=True):
    """The place that a pydantic error refers to."""

    steps: Steps = ()
    unions: tuple[tuple[Steps, str | int], ...] = ()
    """The unions on the way: the steps to each, and the branch that was taken."""
    is_key: bool = False
    """Whether it is about a key of the object at ``steps``."""


class _LocatedError(Struct, frozen=True):
    place: _Place
    error: ErrorDetails


def _locate(error: ErrorDetails, value: JsonValue) -> _Place:
    """Pydantic's location mixes keys with the names of union branches; the document tells them apart.

    If a branch has the name of a key, the right place is the one with the value in pydantic's error.
    """
    location = error["loc"]
    got = error["input"]
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
            is_key = isinstance(node, Mapping) and isinstance(step, str) and step in node
            is_index = isinstance(node, list) and isinstance(step, int) and step < len(node)
            if is_key or is_index:
                steps = (*place.steps, step)
                onward.setdefault(steps, (_Place(steps, place.unions), node[step]))
        for place, node in places.values():
            taken = (*place.unions, (place.steps, step))
            onward.setdefault(place.steps, (_Place(place.steps, taken), node))
        places = onward
    return list(places.values())


def _problems(errors: list[_LocatedError], depth: int, known: list[str]) -> Iterator[Problem]:
    """One problem per place; the failures of a union's branches, from ``depth`` on, are merged."""
    unions: dict[Steps, dict[str | int, list[_LocatedError]]] = {}
    for each in errors:
        place = each.place
        if len(place.unions) <= depth:
            about = "has a key that " if place.is_key else ""
            yield Problem(json_path(place.steps), about + _sentence(each.error, place.steps, known))
        else:
            branch, choice = place.unions[depth]
            unions.setdefault(branch, {}).setdefault(choice, []).append(each)
    for branch, choices in unions.items():
        yield from _union_problems(branch, list(choices.values()), depth, known)


def _union_problems(
    branch: Steps, choices: list[list[_LocatedError]], depth: int, known: list[str]
) -> Iterator[Problem]:
    """The problems of a value by branch, for the branches that accept its type."""
    closer = []
    types: list[str] = []
    for errors in choices:
        wanted = []
        for each in errors:
            kind = each.error["type"]
            if each.place.steps == branch and kind in _TYPES and not each.place.is_key:
                wanted.append(_TYPES[kind])
        types += wanted
        if not wanted:
            closer.append(errors)
    path = json_path(branch)
    if not closer:
        yield Problem(path, must_be(types, choices[0][0].error["input"]))
    elif len(closer) == 1:
        yield from _problems(closer[0], depth + 1, known)
    else:
        reasons = []
        for errors in closer[:4]:
            problems = islice(_problems(errors, depth + 1, known), 3)
            reasons.append("; ".join([f"{problem.path} {problem.message}" for problem in problems]))
        yield Problem(path, "fits none of the alternatives: " + " / or: ".join(reasons))


def _sentence(error: ErrorDetails, steps: Steps, known: list[str]) -> str:
    kind = error["type"]
    message = error["msg"]
    got = error["input"]
    if kind in _MISSING:
        return "is required and missing"
    if kind in _UNEXPECTED:
        return describe_unexpected(str(steps[-1]), known if len(steps) == 1 else [])
    if kind in _TYPES:
        return must_be([_TYPES[kind]], got)
    if kind in {"value_error", "assertion_error"}:
        return f"{message.partition(', ')[2] or 'is not accepted'}; got {shorten(got)}"
    if kind == "union_tag_not_found":
        return f"must have {message.rpartition(' ')[2]}, which says what it is"
    return f"{_SUBJECT.sub('', message, count=1)}; got {shorten(got)}"


def _with_integers(value: JsonObject, errors: list[ErrorDetails]) -> JsonObject | None:
    """The document with whole floats as integers where required; None if there are none."""
    places = set()
    for error in errors:
        if error["type"] == "int_type" and _is_whole(error["input"]):
            places.add(_locate(error, value).steps)
    if not places:
        return None
    document: Any = deepcopy(value)
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


NO_SCHEMA = (
    PydanticSchemaGenerationError,
    PydanticInvalidForJsonSchema,
    PydanticUndefinedAnnotation,
    PydanticUserError,
    PydanticSerializationError,
)
"""What pydantic raises for a type that JSON Schema cannot describe."""
_NO_VALIDATOR = (*NO_SCHEMA, SchemaError, RecursionError)
"""That, and what it raises for a type that it cannot validate: a pattern that does not compile, say."""


def rebuild_typed_dicts(hint: Any, rebuilt: dict[object, Any] | None = None) -> Any:
    """A type, with every ``typing.TypedDict`` in it as one that pydantic takes.

    Before Python 3.12 pydantic takes only the one of ``typing_extensions``: the other did not keep which
    keys of a base class are required. Classes that people write are the same in both, so they are made
    again. ``rebuilt`` holds those that are being made: one may contain itself.
    """
    if sys.version_info >= (3, 12):
        return hint
    rebuilt = {} if rebuilt is None else rebuilt
    if is_typeddict(hint) and type(hint).__module__ == "typing":
        if hint not in rebuilt:
            _rebuild(hint, rebuilt)
        return rebuilt[hint]
    origin = get_origin(hint)
    args = get_args(hint)
    if origin is None or origin is Literal:
        return hint
    if origin is Annotated:
        return Annotated[(rebuild_typed_dicts(args[0], rebuilt), *args[1:])]
    inner = tuple([rebuild_typed_dicts(each, rebuilt) for each in args])
    if inner == args:
        return hint
    if origin in (Union, UnionType):
        return reduce(or_, inner)
    return origin[inner]


def _rebuild(hint: Any, rebuilt: dict[object, Any]) -> None:
    made: Any = TypedDict(hint.__name__, {})  # type: ignore[misc] # its fields come later
    rebuilt[hint] = made
    made.__doc__ = hint.__doc__
    made.__module__ = hint.__module__
    fields = get_type_hints(hint, include_extras=True)
    optional = set()
    for name, field in fields.items():
        kind = get_origin(field)
        # Annotations in quotes hide what they say from the class itself.
        if kind is NotRequired or (kind is not Required and name in hint.__optional_keys__):
            optional.add(name)
        if kind in (Required, NotRequired):
            field = get_args(field)[0]  # noqa: PLW2901
        made.__annotations__[name] = rebuild_typed_dicts(field, rebuilt)
    made.__optional_keys__ = frozenset(optional)
    made.__required_keys__ = frozenset(fields.keys() - optional)


class _StructFields:
    """Has pydantic describe and validate a msgspec struct, which it does not know, by its fields."""

    def __get_pydantic_core_schema__(
        self, source: type[Struct], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        members = {}
        for each in msgspec.structs.fields(source):
            schema = handler.generate_schema(annotate_structs(each.type))
            members[each.encode_name] = core_schema.typed_dict_field(schema, required=each.required)
        plain = core_schema.typed_dict_schema(members, cls_name=source.__name__)
        about = {"description": inspect.cleandoc(source.__doc__)} if source.__doc__ else {}

        def make(value: dict[str, Any]) -> Struct:
            try:
                return msgspec.convert(value, source)
            except msgspec.ValidationError as error:
                raise ValueError(str(error)) from error

        return core_schema.no_info_after_validator_function(
            make, plain, metadata={"pydantic_js_updates": about}
        )


def annotate_structs(hint: Any) -> Any:
    """A type, with every msgspec struct in it described for pydantic."""
    if isinstance(hint, type) and issubclass(hint, Struct):
        return Annotated[hint, _StructFields()]
    origin = get_origin(hint)
    args = get_args(hint)
    if origin is None or origin is Literal:
        return hint
    if origin is Annotated:
        return Annotated[(annotate_structs(args[0]), *args[1:])]
    inner = tuple([annotate_structs(each) for each in args])
    if inner == args:
        return hint
    if origin in (Union, UnionType):
        return Union[inner]  # noqa: UP007 - of types that are computed
    return origin[inner]


def describe_signature(tool: str, parameters: Parameters) -> Description:
    """The schema of a function's parameters."""
    try:
        adapter = _adapter(parameters)
        schema = _schema_of(adapter)
    except _NO_VALIDATOR as error:
        raise _blame(tool, parameters, error) from error
    return Description(schema, Typed(adapter, schema.get("properties", {})))


def describe_model(tool: str, model: type[BaseModel]) -> Description:
    """The schema of a pydantic model's fields."""
    try:
        adapter = TypeAdapter(model)
        schema = _schema_of(adapter)
    except _NO_VALIDATOR as error:
        raise DeclarationError(tool, f"the model has no JSON Schema: {_reason(error)}.") from error
    schema = definition_at_root(schema)
    schema.pop("title", None)
    schema.pop("description", None)
    if schema.get("type") != "object":
        raise DeclarationError(tool, "the model is not an object.", fix="Give it fields.")
    return Description(schema, Typed(adapter, schema.get("properties", {})))


def _blame(tool: str, parameters: Parameters, error: Exception) -> DeclarationError:
    """The parameter that pydantic cannot describe."""
    for name, parameter in parameters.items():
        try:
            _schema_of(_adapter({name: parameter}))
        except RecursionError:
            return DeclarationError(
                tool, "its type nests too deeply to be described.", where=f"parameter {name!r}"
            )
        except SchemaError as cause:
            return DeclarationError(
                tool,
                f"pydantic cannot check it: {_reason(cause)}.",
                where=f"parameter {name!r}",
                fix="Patterns are Rust's regular expressions, without look-around and back-references.",
            )
        except NO_SCHEMA as cause:
            return DeclarationError(
                tool,
                f"{parameter.annotation!r} cannot be described to a model: {_reason(cause)}.",
                where=f"parameter {name!r}",
                fix="Use a type that pydantic knows, or annotate it rc.Context to inject it.",
            )
    return DeclarationError(tool, f"the parameters cannot be described: {_reason(error)}.")


def _adapter(parameters: Parameters) -> TypeAdapter[Any]:
    """Validates the parameters as pydantic validates a call, and returns them by name."""

    def take(**arguments: Any) -> dict[str, Any]:
        return arguments

    by_name = []
    for parameter in parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            parameter = parameter.replace(kind=parameter.KEYWORD_ONLY)  # noqa: PLW2901
        annotation = annotate_structs(rebuild_typed_dicts(parameter.annotation))
        by_name.append(parameter.replace(annotation=annotation))
    take.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
    take.__annotations__ = {each.name: each.annotation for each in by_name}
    return TypeAdapter(take)  # type: ignore[arg-type]


def _schema_of(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    """The JSON Schema of an adapter's type, without generated titles."""
    schema = adapter.json_schema(schema_generator=_ToolSchema)
    for name, definition in schema.get("$defs", {}).items():
        if definition.get("title") == name:
            del definition["title"]
    return schema


def _reason(error: Exception) -> str:
    if isinstance(error, SchemaError):
        # The cause is the last line, below what was being built when it was found.
        lines = [line.strip() for line in str(error).split("\n")]
        pattern = ""
        for line, after in pairwise(lines):
            if "parse error" in line:
                pattern = f"the pattern {after!r}: "
                break
        return f"{pattern}{lines[-1].removeprefix('error: ').removeprefix('SchemaError: ')}".rstrip(".")
    return str(error).split("\n", 1)[0].partition(". Set `arbitrary_types_allowed")[0].rstrip(".")


class _ToolSchema(GenerateJsonSchema):
    """pydantic's generator, restricted to what a model can be told and the gate can enforce."""

    ignored_warning_kinds = {"non-serializable-default"}  # noqa: RUF012 - as its parent has it

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False

    def generator_schema(self, schema: core_schema.GeneratorSchema) -> JsonSchemaValue:  # noqa: ARG002
        raise PydanticInvalidForJsonSchema(
            "an iterator is checked only while it is read, which is after the gate; use list[…]"
        )

    def arguments_schema(self, schema: core_schema.ArgumentsSchema) -> JsonSchemaValue:
        if schema.get("var_kwargs_mode") == "unpacked-typed-dict":
            raise PydanticInvalidForJsonSchema(
                "pydantic does not describe an unpacked TypedDict; write the parameters out"
            )
        return super().arguments_schema(schema)

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonSchemaValue:
        return self.handle_invalid_for_json_schema(schema, "a class")

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        if kind == "skipped-choice":
            raise PydanticInvalidForJsonSchema(detail)
        super().emit_warning(kind, detail)
