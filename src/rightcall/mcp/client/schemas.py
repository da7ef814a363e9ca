"""A server's JSON Schema into the reason to refuse it, or None. The schema is somebody else's text."""

from collections.abc import Iterator, Mapping

from rightcall.core.jsontext import JsonObject, JsonValue, depth, dump, shorten
from rightcall.core.schema import Schema, SchemaError

MOST_BYTES = 64 * 1024
MOST_DEPTH = 40
_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_IN_PLACE = ("not", "if", "then", "else")


def refuse(schema: JsonObject) -> str | None:
    """Why a schema cannot be used: too large, too deep, reaching outside, going in circles, or wrong."""
    # The depth first: what is too deep cannot safely be written, either.
    if depth(dict(schema)) > MOST_DEPTH:
        return f"is nested more than {MOST_DEPTH} levels deep"
    if len(dump(schema)) > MOST_BYTES:
        return f"has more than {MOST_BYTES:,} bytes"
    for reference in references(schema):
        if not reference.startswith("#"):
            return f"refers to {shorten(reference)}, outside of itself"
    if circle := _circle(schema):
        return f"refers in a circle to {shorten(circle)}"
    try:
        Schema(schema)
    except SchemaError as error:
        return f"is not a JSON Schema: {error.problem}"
    return None


def references(node: JsonValue) -> Iterator[str]:
    """What a schema refers to."""
    if isinstance(node, Mapping):
        for key, child in node.items():
            if key in _REFERENCES and isinstance(child, str):
                yield child
            yield from references(child)
    elif isinstance(node, list):
        for child in node:
            yield from references(child)


def _circle(schema: JsonObject) -> str | None:
    """A reference that leads to itself without going into the value: there is no end to checking it."""
    targets = {each for each in references(schema) if each.startswith(("#/", "#")) and each != "#"}
    known: set[str] = set()
    for start in sorted(targets):
        trail: list[str] = [start]
        seen: set[str] = set()
        while trail:
            reference = trail.pop()
            for onward in _in_place(_resolve(schema, reference)):
                if onward == start:
                    return start
                if onward not in seen and onward not in known:
                    seen.add(onward)
                    trail.append(onward)
        known.add(start)
    return None


def _in_place(node: JsonValue) -> Iterator[str]:
    """What a schema refers to for the same value."""
    if not isinstance(node, Mapping):
        return
    reference = node.get("$ref")
    if isinstance(reference, str):
        yield reference
    for key in _IN_PLACE:
        yield from _in_place(node.get(key))
    for key in _IN_PLACE_LISTS:
        listed = node.get(key)
        for child in listed if isinstance(listed, list) else ():
            yield from _in_place(child)


def _resolve(schema: JsonObject, reference: str) -> JsonValue:
    """What a JSON pointer within the schema leads to; None for nothing, and for other references."""
    if not reference.startswith("#/"):
        return None
    node: JsonValue = schema
    for step in reference[2:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, Mapping) or key not in node:
            return None
        node = node[key]
    return node
