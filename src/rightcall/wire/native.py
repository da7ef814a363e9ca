"""A tool's spec into the vendor's own definition of it, where its models are trained on such a tool."""

from typing import Any

from rightcall.core.tool import Spec
from rightcall.errors import EncodeError


def native_of(spec: Spec, dialect: str) -> dict[str, Any]:
    """The vendor's own definition, as it was given; empty for a tool without one.

    Calls of such a tool have the name that the definition has, or, where it has none, its type.
    """
    definition = dict(spec.native.get(dialect, {}))
    named = definition.get("name", definition.get("type"))
    if definition and named != spec.name:
        raise EncodeError(
            dialect,
            f"the native definition is for {named!r}, and calls of that would not find the tool "
            f"{spec.name!r}; give both the same name, or leave the definition out.",
            where=f"tool {spec.name!r}",
        )
    return definition
