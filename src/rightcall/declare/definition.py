"""Makes tools from tool definitions in any vendor's format.

The formats are Chat's ``{"type": "function", "function": {…}}``, the flat one of Responses, Anthropic's
with ``input_schema``, Gemini's ``functionDeclarations``, Bedrock's ``toolSpec``, MCP's with
``inputSchema``, and a bare function with ``parameters``; as dictionaries, or as the objects of the
vendors' SDKs.

A definition has no code. With a handler it is a tool like any other. Without one somebody else runs it:
every call waits, as for a person, until ``resume`` or ``approve`` gives its result as an ``Answer``.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.tool import Tool
from rightcall.declare.parameters import is_model
from rightcall.errors import DeclarationError, ToolFailure

NOT_OURS = "{name} is not run by this program, and nobody has given its result."

_SCHEMAS = (
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
    "parameters_json_schema",
    "parameters",
)
"""The fields that may hold the schema, by vendor: Anthropic's, MCP's, Gemini's two, everybody's."""
_DECLARATIONS = ("functionDeclarations", "function_declarations")
_FUNCTION_TYPES = (None, "function", "custom")
_NUMBERS = frozenset(
    ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
)
_SNAKE = {
    "any_of": "anyOf",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "additional_properties": "additionalProperties",
}
_GOOGLE_TYPES = frozenset(("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"))
_GOOGLE_ONLY = frozenset(("nullable", "propertyOrdering", "property_ordering"))


def is_definition(source: object) -> bool:
    """Whether this is a definition, and not a tool, a function or a list of them."""
    return isinstance(source, Mapping) or (is_model(type(source)) and not callable(source))


def tools_defined(source: object) -> Iterator[Tool]:
    """The tools of a definition; Gemini's may hold several."""
    for definition in _each(_plain(source)):
        yield tool_defined(definition)


def tool_defined(source: object, handler: Callable[..., Any] | None = None, **options: Any) -> Tool:
    """The one tool of a definition, run by ``handler``; ``options`` are those of any tool."""
    found = list(_each(_plain(source)))
    if len(found) != 1:
        names = ", ".join(str(each.get("name")) for each in found)
        raise DeclarationError(
            names or "definition",
            f"{len(found)} functions in one definition.",
            fix="Give each its handler: rc.tool(declaration, handler=…).",
        )
    definition = found[0]
    name = definition.get("name")
    if not isinstance(name, str):
        raise DeclarationError("definition", "it has no name.", where=_members(definition))
    description = definition.get("description")
    said: dict[str, Any] = {
        "name": name,
        "description": description if isinstance(description, str) else "",
        **_facts(definition),
        **options,
    }
    if handler is None:
        handler = _somebody_elses(said["name"])
        said["approval"] = True
    return Tool(parameters=_schema(name, definition), handler=handler, **said)


def _plain(source: Any) -> JsonObject:
    if is_model(type(source)):
        dumped: JsonObject = source.model_dump(mode="json", by_alias=True, exclude_none=True)
        return dumped
    assert isinstance(source, Mapping)
    return source


def _each(source: JsonObject) -> Iterator[JsonObject]:
    """The functions in a definition, each as the object with its name."""
    for member in _DECLARATIONS:
        if isinstance(declared := source.get(member), list):
            yield from (_plain(each) for each in declared)
            return
    inner = source.get("function", source.get("toolSpec"))
    definition = inner if isinstance(inner, Mapping) else source
    kind = source.get("type")
    is_known = any(member in definition for member in _SCHEMAS)
    # A function may have no parameters; a custom tool without a schema takes text, and is no function.
    is_known = is_known or ("name" in definition and kind != "custom")
    if kind not in _FUNCTION_TYPES or not is_known:
        raise DeclarationError(
            str(definition.get("name") or kind or "definition"),
            f"no shape of a function that is known here: {_members(source)}.",
            fix="A vendor's own tool goes into options={'vendor_tools': […]}; "
            "a tool of LangChain's through rc.from_langchain.",
        )
    yield definition


def _facts(definition: JsonObject) -> dict[str, Any]:
    """The options in a definition, under our names."""
    facts: dict[str, Any] = {}
    if isinstance(definition.get("strict"), bool):
        facts["strict"] = definition["strict"]
    if isinstance(examples := definition.get("input_examples"), list):
        facts["examples"] = examples
    hints = definition.get("annotations")
    if isinstance(hints, Mapping):
        if hints.get("readOnlyHint") is True:
            facts["effect"] = "read"
        elif hints.get("idempotentHint") is True:
            facts["effect"] = "idempotent"
    return facts


def _schema(name: str, definition: JsonObject) -> JsonObject:
    member = next((each for each in _SCHEMAS if definition.get(each) is not None), None)
    if member is None:
        return {"type": "object", "properties": {}}
    given = definition[member]
    if isinstance(given, Mapping) and set(given) == {"json"}:
        # Bedrock nests the schema under its format.
        given = given["json"]
    if not isinstance(given, Mapping):
        raise DeclarationError(name, "a schema is an object.", where=member)
    return _json_schema(given) if _is_googles(given) else given


def _is_googles(schema: JsonObject) -> bool:
    """Whether the schema is in Gemini's own dialect, which is almost JSON Schema."""
    return schema.get("type") in _GOOGLE_TYPES


def _json_schema(schema: JsonObject) -> JsonObject:
    """Gemini's schema as JSON Schema: lower-case types, null as a type, numbers as numbers."""
    found: dict[str, JsonValue] = {}
    for word, value in schema.items():
        key = _SNAKE.get(word, word)
        match value:
            case str() if key == "type":
                found[key] = value.lower()
            case str() if key in _NUMBERS and value.isdigit():
                found[key] = int(value)
            case Mapping() if key == "properties":
                found[key] = {
                    each: _json_schema(inner) if isinstance(inner, Mapping) else inner
                    for each, inner in value.items()
                }
            case Mapping() if key in ("items", "additionalProperties"):
                found[key] = _json_schema(value)
            case list() if key == "anyOf":
                found[key] = [
                    _json_schema(each) if isinstance(each, Mapping) else each for each in value
                ]
            case _ if key not in _GOOGLE_ONLY:
                found[key] = value
            case _:
                pass
    return _with_null(found) if schema.get("nullable") is True else found


def _with_null(schema: JsonObject) -> JsonObject:
    values = schema.get("enum")
    more = {"enum": [*values, None]} if isinstance(values, list) and None not in values else {}
    return {**schema, "type": [schema["type"], "null"], **more} if "type" in schema else schema


def _members(source: JsonObject) -> str:
    return f"members {', '.join(map(str, source))}" if source else "no members"


def _somebody_elses(name: str) -> Callable[..., Any]:
    def not_ours(**_: Any) -> None:
        raise ToolFailure(NOT_OURS.format(name=name))

    return not_ours
