"""Parses ``--schema`` to a JSON Schema: a file, the schema itself, or a short list of names.

The short form is ``name, age int, bio: in one sentence``: a name, optionally a type, optionally a colon
and a description; separated by commas or, if there are several lines, one on each.
"""

import re
from pathlib import Path

from rightcall.core.jsontext import JsonError, JsonObject, JsonValue, parse
from rightcall.errors import UsageError

MOST_BYTES = 1024 * 1024
_TYPES: dict[str, JsonObject] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
}
_FIELD = re.compile(
    r"(?P<name>[A-Za-z_]\w*)(?:\s+(?P<type>\w+)(?P<many>\[\])?)?\s*(?::\s*(?P<words>.+))?"
)


def read_schema(given: str) -> JsonObject:
    """The JSON Schema of an option's value."""
    text = given.strip()
    if text.startswith("{"):
        return _parsed(text, "--schema")
    path = Path(text).expanduser()
    if text.endswith(".json") or ("\n" not in text and path.is_file()):
        try:
            data = path.read_bytes()[: MOST_BYTES + 1]
        except OSError as error:
            raise UsageError(f"--schema {text}: {error.strerror}") from error
        if len(data) > MOST_BYTES:
            raise UsageError(f"--schema {text}: has more than {MOST_BYTES:,} bytes")
        return _parsed(data.decode(errors="replace"), text)
    return _listed(text)


def _parsed(text: str, where: str) -> JsonObject:
    try:
        found = parse(text)
    except JsonError as error:
        raise UsageError(f"{where} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"{where} is no JSON Schema: one is an object")
    return found


def _listed(text: str) -> JsonObject:
    properties: dict[str, JsonValue] = {}
    for each in filter(None, map(str.strip, text.split("\n" if "\n" in text else ","))):
        found = _FIELD.fullmatch(each)
        kind = None if found is None else _TYPES.get(found["type"] or "str")
        if found is None or kind is None:
            known = ", ".join(_TYPES)
            raise UsageError(
                f"--schema: {each!r} is no name with a type; write it as 'age int', of {known}, or "
                "'tags str[]' for several; or give a file or a JSON Schema"
            )
        described: dict[str, JsonValue] = (
            {"type": "array", "items": kind} if found["many"] else dict(kind)
        )
        if found["words"]:
            described["description"] = found["words"]
        properties[found["name"]] = described
    if not properties:
        raise UsageError("--schema: names no fields")
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
