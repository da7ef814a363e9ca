"""The ``parameters`` of a manifest's tool into the schema that the model is shown, and their types."""

import re
from collections.abc import Mapping

from rightcall.core.jsontext import JsonObject, JsonValue, shorten
from rightcall.core.schema import Schema, SchemaError
from rightcall.manifest.argv import written
from rightcall.manifest.entry import Parameter
from rightcall.manifest.fields import Spot

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]+)\]|\['((?:[^'\\]|\\.)*)'\]")
_SCALARS = frozenset({"string", "integer", "number", "boolean"})
_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number"}


def read_parameters(spot: Spot) -> tuple[JsonObject, dict[str, Parameter]] | None:
    """The schema that the model is shown, and what must be known of each parameter."""
    document = spot.value
    if not isinstance(document, dict) or document.get("type") != "object":
        spot.below(["type"]).wrong(
            "a tool's parameters are a JSON Schema of an object",
            'write {"type": "object", "properties": { … }}',
        )
        return None
    try:
        Schema(document)
    except SchemaError as error:
        place = spot.below(_steps(error.problem.path))
        place.wrong(f"not valid JSON Schema: {error.problem.message}")
        return None
    if document.get("additionalProperties", False) is not False:
        spot.below(["additionalProperties"]).wrong(
            "argv has a place only for the parameters it names", "write false"
        )
    required = document.get("required", [])
    known: dict[str, Parameter] = {}
    properties = spot.below(["properties"]).members() if "properties" in document else {}
    for name, place in properties.items():
        is_required = isinstance(required, list) and name in required
        found = _read_parameter(place, name, required=is_required)
        # One that is wrong is there all the same, and argv may speak of it.
        known[name] = found or Parameter(types=frozenset(), required=is_required)
    return {**document, "additionalProperties": False}, known


def _read_parameter(spot: Spot, name: str, *, required: bool) -> Parameter | None:
    schema = spot.value
    if not _NAME.fullmatch(name):
        plainer = re.sub(r"^[0-9]+|[^A-Za-z0-9_]", "_", name)[:64] or "value"
        spot.wrong(
            "a parameter's name must be 1 to 64 letters, digits or _, and not begin with a digit",
            f"write {shorten(plainer)}",
        )
        return None
    if not isinstance(schema, dict):
        spot.wrong("must be a schema that says the parameter's type", 'write {"type": "string"}')
        return None
    types = _types(schema)
    if types == {"array"}:
        return _read_array(spot, schema, required=required)
    if not types or not types <= _SCALARS:
        _refuse_types(spot, types)
        return None
    return Parameter(types=frozenset(types), required=required, listed=_listed(schema))


def _read_array(spot: Spot, schema: dict[str, JsonValue], *, required: bool) -> Parameter | None:
    items = schema.get("items")
    types = _types(items) if isinstance(items, dict) else set()
    if not isinstance(items, dict) or not types or not types <= _SCALARS:
        spot.below(["items"]).wrong(
            "the items of an array become arguments, so their type must be said, and be no other array",
            'write "items": {"type": "string"}',
        )
        return None
    return Parameter(types=frozenset(types), is_array=True, required=required, listed=_listed(items))


def _refuse_types(spot: Spot, types: set[str]) -> None:
    if not types:
        spot.wrong("its type is not said, and it becomes an argument", 'write "type": "string"')
        return
    wrong = sorted(types - _SCALARS)
    spot.below(["type"]).wrong(
        f"{' and '.join(wrong)} cannot become an argument beside other types"
        if "array" in wrong
        else f"{' and '.join(wrong)} cannot become one argument of a program",
        'write "string", "integer", "number", "boolean", or "array" alone',
    )


def _types(schema: Mapping[str, JsonValue]) -> set[str]:
    """The JSON types a schema allows, as far as it says so itself. Null counts as left out."""
    given = schema.get("type")
    if isinstance(given, str):
        types = {given}
    elif isinstance(given, list):
        types = {each for each in given if isinstance(each, str)}
    else:
        types = {_KINDS.get(type(value), "object") for value in _choices(schema) if value is not None}
    return types - {"null"}


def _choices(schema: Mapping[str, JsonValue]) -> list[JsonValue]:
    if "const" in schema:
        return [schema["const"]]
    choices = schema.get("enum")
    return list(choices) if isinstance(choices, list) else []


def _listed(schema: Mapping[str, JsonValue]) -> frozenset[str] | None:
    choices = _choices(schema)
    return frozenset(map(written, choices)) if choices else None


def _steps(path: str) -> list[str | int]:
    """A JSON path back into its steps."""
    return [
        name or (int(index) if index else re.sub(r"\\(.)", r"\1", quoted))
        for name, index, quoted in _STEP.findall(path)
    ]
