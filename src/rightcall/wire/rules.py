"""What a vendor's schema language can say, as data, and what a schema became in it."""

from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import JsonObject

TypeLists: TypeAlias = Literal["keep", "any_of", "nullable"]
"""``"type": ["string", "null"]`` stays, becomes an ``anyOf``, or becomes ``"nullable": true``."""


class Rules(Struct, frozen=True, kw_only=True):
    """One vendor's schema language. Zero as a ceiling means that there is none."""

    dialect: str
    keywords: frozenset[str]
    """The keywords that may be sent, apart from type, properties, required, items, anyOf and $ref,
    which have settings of their own. The rest is moved into the description, in words."""
    formats: frozenset[str] | None = None
    """The values of ``format`` that may be sent; None for any, if ``format`` is among the keywords."""
    closed: bool = True
    """Objects must say ``additionalProperties: false``; one that is meant to be open is refused."""
    all_required: bool = False
    """Every member must be required; an optional one becomes a union with null."""
    typed: bool = True
    """A schema must say which type it takes."""
    refs: Literal["keep", "inline"] = "keep"
    recursion: bool = False
    any_of: bool = True
    root_union: bool = False
    """The outermost schema may be a union."""
    one_of: Literal["keep", "any_of"] = "any_of"
    all_of: Literal["keep", "merge"] = "merge"
    const: Literal["keep", "enum"] = "keep"
    string_enums: bool = False
    """Only strings may be listed in ``enum``."""
    type_lists: TypeLists = "keep"
    min_items: int | None = None
    """The largest ``minItems`` that may be sent; None for any."""
    max_depth: int = 0
    """Objects inside of objects, the outermost counted."""
    max_properties: int = 0
    max_enum_values: int = 0
    max_string_length: int = 0
    """Characters of all property names, definition names, enum and const values together."""
    large_enum: tuple[int, int] = (0, 0)
    """An enum of more than so many strings may have at most so many characters."""
    max_strict_tools: int = 0
    max_optional: int = 0
    """Optional parameters in all strict tools of one request."""
    max_unions: int = 0
    """Parameters of a union type in all strict tools of one request."""


class Strict(Struct, frozen=True, kw_only=True):
    """A schema in a vendor's language."""

    schema: JsonObject
    is_exact: bool = True
    """Whatever the vendor lets through fits the original, once the nulls at ``nulled`` are left out."""
    dropped: tuple[str, ...] = ()
    """What was moved into descriptions, as path and keyword: ``$.age: minimum``."""
    nulled: tuple[str, ...] = ()
    """The optional members that take null only so that they can be required."""


# OpenAI's guide "Structured outputs, supported schemas", by way of its February 2026 copy at
# https://jsonschemaprofiles.unitvectorylabs.com/schemas/openai. That depth counts objects only is ours.
OPENAI = Rules(
    dialect="openai",
    keywords=frozenset(
        [
            "title",
            "description",
            "enum",
            "const",
            "pattern",
            "format",
            "multipleOf",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "minItems",
            "maxItems",
            "additionalProperties",
        ]
    ),
    formats=frozenset(
        ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]
    ),
    all_required=True,
    recursion=True,
    max_depth=10,
    max_properties=5000,
    max_enum_values=1000,
    max_string_length=120_000,
    large_enum=(250, 15_000),
)
