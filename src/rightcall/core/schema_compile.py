"""Compiles a JSON Schema into the library's validator, with the regex engine that its patterns need."""

from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs

from rightcall.core.jsontext import JsonObject
from rightcall.core.schema_patterns import BACKTRACKS, hold_patterns


def compiled(
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
    registry = jsonschema_rs.Registry(_items(resources)) if resources else None
    return jsonschema_rs.validator_for(
        dict(document),
        registry=registry,
        validate_formats=formats,
        offline=True,
        pattern_options=engine,
    )


def _items(resources: Mapping[str, JsonObject]) -> Iterator[tuple[str, Any]]:
    """Yields the resources, each under its own ``$id``: its references are relative to that."""
    for uri, document in resources.items():
        own = document.get("$id")
        if isinstance(own, str) and own != uri:
            yield own, dict(document)
            yield uri, {"$ref": own}
        else:
            yield uri, dict(document)
