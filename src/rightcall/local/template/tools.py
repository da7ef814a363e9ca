"""Specs into the ``tools`` that a chat template is given.

Templates that write schemas in a language of their own know only some of JSON Schema, and fail at the
rest: a list of types, a number among the values, a property that is just ``true``. What one cannot
write is said in words.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.local.template.chat import ChatTemplate
from rightcall.local.template.markers import neutralise

_DESCRIBING = {"description", "title"}
_NAMED = ("$defs", "definitions")
_KINDS: Mapping[str, JsonObject] = {
    "string": {},
    "integer": {},
    "number": {},
    "boolean": {},
    "array": {"items": {"type": "string"}},
    "object": {"properties": {}, "additionalProperties": {"type": "string"}},
}
"""Types that every template can write, with the members without which some fail."""
_USER = {"role": "user", "content": "Hello"}


def neutral_spec(spec: Spec, markers: Sequence[str]) -> Spec:
    """The spec, its words neutralised: a server that offers tools may have written them."""
    described = _described(spec.parameters, markers)
    return replace(spec, description=neutralise(spec.description, markers), parameters=described)


def tool_fields(spec: Spec) -> dict[str, Any]:
    """The tool as templates know it."""
    description = spec.description
    if spec.examples:
        examples = "\n".join(dump(example) for example in spec.examples)
        description = f"{description}\n\nExamples of arguments:\n{examples}".strip()
    function = {"name": spec.name, "description": description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


def unshowable(template: ChatTemplate, specs: Sequence[Spec]) -> tuple[str, ...]:
    """The names of the tools that the template fails at."""
    return tuple([spec.name for spec in specs if not _is_shown(template, spec)])


def in_words(spec: Spec) -> Spec:
    """The spec with properties of nothing but a type and a description, which holds the rest."""
    properties = spec.parameters.get("properties")
    simple = {
        name: _simple(schema)
        for name, schema in (properties.items() if isinstance(properties, Mapping) else ())
    }
    required = spec.parameters.get("required")
    names = list(required) if isinstance(required, list | tuple) else []
    named = {key: spec.parameters[key] for key in _NAMED if key in spec.parameters}
    return replace(
        spec,
        description=f"{spec.description}\n\n{dump(named)}" if named else spec.description,
        parameters={"type": "object", "properties": simple, "required": names},
    )


def _is_shown(template: ChatTemplate, spec: Spec) -> bool:
    try:
        template.render([_USER], tools=[tool_fields(spec)])
    except EncodeError:
        return False
    return True


def _simple(schema: Any) -> JsonObject:
    if not isinstance(schema, Mapping):
        return {"type": "string", "description": "any JSON value"}
    words = schema.get("description")
    kinds = schema.get("type")
    listed = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list | tuple) else []
    kind = next((each for each in listed if each in _KINDS), "string")
    rest = {key: value for key, value in schema.items() if key != "description"}
    is_plain = rest == {"type": kind}
    said = [words if isinstance(words, str) else "", "" if is_plain else dump(rest)]
    return {"type": kind, **_KINDS[kind], "description": " ".join(said).strip()}


def _described(schema: Any, markers: Sequence[str]) -> Any:
    """The same for a schema. Names and values stay: a model must write them as they are."""
    match schema:
        case Mapping():
            return {
                key: neutralise(each, markers)
                if key in _DESCRIBING and isinstance(each, str)
                else _described(each, markers)
                for key, each in schema.items()
            }
        case list() | tuple():
            return [_described(each, markers) for each in schema]
        case _:
            return schema
