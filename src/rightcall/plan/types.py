"""The type that a plan names for ``extract`` into the schema of the reader's answer, and back.

``None`` is always allowed: it means that the text does not say.
"""

import ast
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from msgspec import Struct

from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.plan.operations import Fails

_PLAIN: Mapping[str, JsonObject] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
}
_MOST_ITEMS = 200
_DEEPEST = 6


class Wanted(Struct, frozen=True, eq=False):
    """What the reader is asked to extract."""

    name: str
    """The type as the plan writes it."""
    schema: JsonObject


def wanted(node: ast.expr, classes: Mapping[str, ast.ClassDef]) -> Wanted:
    """The type that an expression of a plan names. Raises Fails if it is not a valid type."""
    schema = _schema(node, classes, 0)
    return Wanted(" ".join(ast.unparse(node).split()), _or_nothing(schema))


def _or_nothing(schema: JsonObject) -> JsonObject:
    return schema if _takes_nothing(schema) else {"anyOf": [schema, {"type": "null"}]}


def _takes_nothing(schema: JsonObject) -> bool:
    if schema.get("type") == "null":
        return True
    options = schema.get("anyOf")
    return isinstance(options, list) and any(_takes_nothing(each) for each in options)


def _schema(node: ast.expr, classes: Mapping[str, ast.ClassDef], depth: int) -> JsonObject:
    if depth > _DEEPEST:
        raise Fails("TypeError", "the type is nested too deeply")
    match node:
        case ast.Name(id=name) if name in _PLAIN:
            return _PLAIN[name]
        case ast.Name(id=name) | ast.Constant(value=str(name)) if name in classes:
            return _record(classes[name], classes, depth)
        case ast.Constant(value=None):
            return {"type": "null"}
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return {"anyOf": [_schema(each, classes, depth + 1) for each in (left, right)]}
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return _or_nothing(_schema(inner, classes, depth + 1))
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            items = _schema(inner, classes, depth + 1)
            return {"type": "array", "items": items, "maxItems": _MOST_ITEMS}
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            return {"enum": _listed(inner)}
        case _:
            pass
    raise Fails(
        "TypeError",
        "extract takes str, int, float, bool, date, datetime, list[…], Literal[…], … | None, or a class "
        "of the plan's with such fields",
    )


def _listed(node: ast.expr) -> list[JsonValue]:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    values = [part.value for part in parts if isinstance(part, ast.Constant)]
    if len(values) < len(parts) or not all(isinstance(each, str | int | bool) for each in values):
        raise Fails("TypeError", "Literal lists texts and numbers")
    return values  # type: ignore[return-value]


def _record(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], depth: int) -> JsonObject:
    fields = {
        each.target.id: _or_nothing(_schema(each.annotation, classes, depth + 1))
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    if not fields:
        raise Fails("TypeError", f"the class {node.name} has no fields")
    words = ast.get_docstring(node)
    return {
        "type": "object",
        "title": node.name,
        **({"description": words} if words else {}),
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def restored(data: JsonValue, schema: JsonObject) -> Any:
    """An answer with dates as dates. Raises ValueError for a text that is not a date."""
    options = schema.get("anyOf")
    if isinstance(options, list):
        if data is None:
            return None
        fitting = [each for each in options if each.get("type") != "null" and _fits(data, each)]
        return restored(data, fitting[0]) if fitting else data
    if isinstance(data, str) and schema.get("format") == "date":
        return date.fromisoformat(data)
    if isinstance(data, str) and schema.get("format") == "date-time":
        return datetime.fromisoformat(data)
    items, properties = schema.get("items"), schema.get("properties")
    if isinstance(data, list) and isinstance(items, Mapping):
        return [restored(each, items) for each in data]
    if isinstance(data, Mapping) and isinstance(properties, Mapping):
        members: Mapping[str, Any] = properties
        return {key: restored(each, members[key]) for key, each in data.items()}
    return data


def _fits(data: JsonValue, schema: JsonObject) -> bool:
    kinds = {"array": list, "object": Mapping, "string": str}
    return isinstance(data, kinds.get(str(schema.get("type")), object))
