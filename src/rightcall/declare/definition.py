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
from rightcall.declare.plain import is_model
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
    definitions = list(_each(_plain(source)))
    if len(definitions) != 1:
        names = ", ".join([str(each.get("name")) for each in definitions])
        raise DeclarationError(
            names or "definition",
            f"{len(definitions)} functions in one definition.",
            fix="Give each its handler: rc.tool(declaration, handler=…).",
        )
    definition = definitions[0]
    name = definition.get("name")
    if not isinstance(name, str):
        raise DeclarationError("definition", "it has no name.", where=_members(definition))
    description = definition.get("description")
    settings: dict[str, Any] = {
        "name": name,
        "description": description if isinstance(description, str) else "",
        **_facts(definition),
        **options,
    }
    if handler is None:
        handler = _somebody_elses(settings["name"])
        settings["approval"] = True
    return Tool(parameters=_schema(name, definition), handler=handler, **settings)


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
            yield from map(_plain, declared)
            return
    definition = source.get("function", source.get("toolSpec"))
    if not isinstance(definition, Mapping):
        definition = source
    kind = source.get("type")
    is_known = any(member in definition for member in _SCHEMAS)
    # A function may have no parameters; a custom tool without a schema takes text, and is no function.
    is_known = is_known or ("name" in definition and kind != "custom")
    if kind in ("function", None) and not is_known:
        raise DeclarationError(
            "definition",
            f"a definition has a name, and this has {_members(definition)}.",
            where="name",
            fix='Write {"name": …, "description": …, "input_schema": {…}}.',
        )
    if kind not in _FUNCTION_TYPES or not is_known:
        raise DeclarationError(
            str(definition.get("name") or kind or "definition"),
            f"no shape of a function that is known here: {_members(source)}.",
            fix="A vendor's own tool goes into options={'vendor_tools': […]}; "
            "a tool of LangChain's through rightcall.langchain.from_langchain.",
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
    for member in _SCHEMAS:
        schema = definition.get(member)
        if schema is None:
            continue
        if isinstance(schema, Mapping) and set(schema) == {"json"}:
            # Bedrock nests the schema under its format.
            schema = schema["json"]
        if not isinstance(schema, Mapping):
            raise DeclarationError(name, "a schema is an object.", where=member)
        if schema.get("type") in _GOOGLE_TYPES:
            converted: JsonObject = _json_schema(schema)
            return converted
        return schema
    return {"type": "object", "properties": {}}


def _json_schema(schema: JsonValue) -> Any:
    """Gemini's own dialect as JSON Schema: lower-case types, null as a type, numbers as numbers."""
    if not isinstance(schema, Mapping):
        return schema
    result: dict[str, Any] = {}
    for word, value in schema.items():
        key = _SNAKE.get(word, word)
        match value:
            case str() if key == "type":
                result[key] = value.lower()
            case str() if key in _NUMBERS and value.isdigit():
                result[key] = int(value)
            case Mapping() if key == "properties":
                result[key] = {name: _json_schema(inner) for name, inner in value.items()}
            case Mapping() if key in ("items", "additionalProperties"):
                result[key] = _json_schema(value)
            case list() if key == "anyOf":
                result[key] = [_json_schema(each) for each in value]
            case _ if key not in _GOOGLE_ONLY:
                result[key] = value
            case _:
                pass
    if schema.get("nullable") is True and "type" in result:
        result["type"] = [result["type"], "null"]
        values = result.get("enum")
        if isinstance(values, list) and None not in values:
            result["enum"] = [*values, None]
    return result


def _members(source: JsonObject) -> str:
    if source:
        return f"members {', '.join(map(str, source))}"
    return "no members"


def _somebody_elses(name: str) -> Callable[..., Any]:
    def not_ours(**_: Any) -> None:
        raise ToolFailure(NOT_OURS.format(name=name))

    return not_ours
