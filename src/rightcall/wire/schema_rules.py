"""A vendor's schema language as data, the rewritten schema, and what was lost in rewriting."""

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import JsonObject
from rightcall.errors import EncodeError
from rightcall.wire.keywords import ANNOTATIONS, SILENT, is_null, only, say, sentence, without

TypeLists: TypeAlias = Literal["keep", "any_of", "nullable"]
"""``"type": ["string", "null"]`` stays, becomes an ``anyOf``, or becomes ``"nullable": true``."""


class Rules(Struct, frozen=True, kw_only=True):
    """One vendor's schema language. A limit of zero means no limit."""

    dialect: str
    keywords: frozenset[str]
    """Keywords that may be sent, apart from type, properties, required, items, anyOf and $ref, which
    have settings of their own. Other keywords are moved into the description as text."""
    formats: frozenset[str] | None = None
    """The values of ``format`` that may be sent; None for any, if ``format`` is among the keywords."""
    closed: bool = True
    """Objects must have ``additionalProperties: false``; an object that is declared open is refused."""
    all_required: bool = False
    """Every member must be required; an optional one becomes a union with null."""
    typed: bool = True
    """A schema must state its type."""
    refs: Literal["keep", "inline"] = "keep"
    recursion: bool = False
    any_of: bool = True
    root_union: bool = False
    """The root schema may be a union."""
    one_of: Literal["keep", "any_of"] = "any_of"
    all_of: Literal["keep", "merge"] = "merge"
    const: Literal["keep", "enum"] = "keep"
    string_enums: bool = False
    """``enum`` may list only strings."""
    plain_enums: bool = False
    """``enum`` and ``const`` may not hold objects or arrays."""
    type_lists: TypeLists = "keep"
    min_items: int | None = None
    """The largest ``minItems`` that may be sent; None for any."""
    max_depth: int = 0
    """The deepest nesting of objects, including the root."""
    max_properties: int = 0
    max_enum_values: int = 0
    max_string_length: int = 0
    """The most characters of all property names, definition names, enum and const values together."""
    large_enum: tuple[int, int] = (0, 0)
    """An enum with more than the first number of strings may have at most the second number of
    characters."""
    max_strict_tools: int = 0
    max_optional: int = 0
    """The most optional parameters in all strict tools of one request."""
    max_unions: int = 0
    """The most parameters of a union type in all strict tools of one request."""


class Strict(Struct, frozen=True, kw_only=True):
    """A schema in a vendor's language."""

    schema: JsonObject
    is_exact: bool = True
    """Whatever the vendor accepts also fits the original, after removing the nulls at ``nulled``."""
    dropped: tuple[str, ...] = ()
    """What was moved into descriptions, as path and keyword: ``$.age: minimum``."""
    nulled: tuple[str, ...] = ()
    """Optional members that accept null only so that they can be required."""
    lost: tuple[tuple[str, str], ...] = ()
    """The path and the kind of each loss. A bound on a value, which words express as well, is no
    loss."""


STRING_FORMATS = frozenset([
    "date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid",
])  # fmt: skip
"""The values of ``format`` that both OpenAI and Anthropic accept."""

_OPENAI_KEYWORDS = frozenset([
    "title", "description", "enum", "const", "pattern", "format", "multipleOf", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "additionalProperties",
])  # fmt: skip

# OpenAI's guide "Structured outputs, supported schemas", by way of its February 2026 copy at
# https://jsonschemaprofiles.unitvectorylabs.com/schemas/openai. That depth counts objects only is our
# assumption.
OPENAI = Rules(
    dialect="openai",
    keywords=_OPENAI_KEYWORDS,
    formats=STRING_FORMATS,
    all_required=True,
    recursion=True,
    max_depth=10,
    max_properties=5000,
    max_enum_values=1000,
    max_string_length=120_000,
    large_enum=(250, 15_000),
)


STRUCTURE = frozenset([
    "not", "if", "then", "else", "oneOf", "anyOf", "allOf", "$ref", "$dynamicRef", "dependentRequired",
    "dependentSchemas", "dependencies", "prefixItems", "additionalItems", "unevaluatedItems", "contains",
    "minContains", "maxContains", "patternProperties", "additionalProperties", "unevaluatedProperties",
    "enum", "contentSchema",
])  # fmt: skip
"""Keywords that text in a description cannot fully replace. The others are bounds on one value
(``minLength``, ``maximum``, ``format``), which a model understands as well there, or annotations."""

_TWO_MEANINGS = "it may be left out or be null, and in a strict schema null would mean both"


class Losses:
    """Records what one schema lost."""

    def __init__(self, rules: Rules, tool: str) -> None:
        self.dropped: list[str] = []
        self.nulled: list[str] = []
        self.lost: list[tuple[str, str]] = []
        self.is_exact = True
        self._rules = rules
        self._tool = tool

    def refuse(self, path: str, reason: str) -> EncodeError:
        """The error to raise where the rules cannot be met."""
        where = f"tool {self._tool!r} at {path}" if self._tool else path
        return EncodeError(self._rules.dialect, reason, where=where)

    def drop(self, keywords: Iterable[str], node: JsonObject, path: str, words: list[str]) -> None:
        """Describe these keywords in words instead."""
        for keyword in keywords:
            if keyword in SILENT or keyword in self._rules.keywords & {"title"}:
                continue
            self.note(path, keyword, is_exact=keyword in ANNOTATIONS)
            words.append(f"{keyword}: {say(node[keyword])}")

    def note(self, path: str, keyword: str, *, is_exact: bool) -> None:
        """Record that a keyword was dropped, and whether the schema still accepts only what it did."""
        self.dropped.append(f"{path}: {keyword}")
        self.is_exact = self.is_exact and is_exact
        if keyword in STRUCTURE:
            self.lost.append((path, f"strict schemas have no {keyword}; say it without."))

    def merge_null(self, path: str) -> None:
        """Record that null is a value of its own here, besides standing for an omitted member."""
        self.lost.append((path, f"{_TWO_MEANINGS}; require it, give it the default null, or no null."))

    def or_null(self, schema: dict[str, Any], path: str) -> dict[str, Any]:
        """The schema of an optional member that must be required."""
        kind = schema.get("type")
        kinds = [kind] if isinstance(kind, str) else list(kind or ())
        if "null" in kinds or any(is_null(branch) for branch in schema.get("anyOf", ())):
            return schema
        self.nulled.append(path)
        words = only(schema, "description")
        if "anyOf" in schema:
            return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
        if "$ref" in schema or "const" in schema or self._rules.type_lists != "keep":
            bare = without(schema, "description")
            return {"anyOf": [bare, {"type": "null"}], **words}
        values = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
        return {**schema, "type": [*kinds, "null"], **values}


def described(result: dict[str, Any], node: JsonObject, words: list[str]) -> dict[str, Any]:
    """A rewritten schema with the original's description and these additional words."""
    text = sentence(node.get("description"), words)
    rest = {key: value for key, value in result.items() if key != "description"}
    return {**rest, "description": text} if text else rest
