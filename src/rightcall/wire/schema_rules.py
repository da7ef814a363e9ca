"""A vendor's schema language as data, the rewritten schema, and what was lost in rewriting."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import JsonObject, at, dump, nodes
from rightcall.errors import EncodeError
from rightcall.wire.payload import without

SILENT = frozenset(
    ["title", "$comment", "$schema", "$id", "$anchor", "$defs", "definitions", "$vocabulary"]
)
"""Dropped silently where a vendor does not accept them: they tell a model nothing."""

_OWN = {
    "object": "properties required additionalProperties patternProperties unevaluatedProperties "
    "propertyNames minProperties maxProperties dependentRequired dependentSchemas",
    "array": "items prefixItems minItems maxItems uniqueItems contains minContains maxContains "
    "unevaluatedItems additionalItems",
    "string": "minLength maxLength pattern format contentEncoding contentMediaType contentSchema",
    "number": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf format",
}
_KEYWORDS = {kind: frozenset(words.split()) for kind, words in _OWN.items()}
_KEYWORDS["integer"] = _KEYWORDS["number"]
TYPED = frozenset[str]().union(*_KEYWORDS.values())
"""Keywords that apply to values of one type only."""

HANDLED = frozenset([
    "type", "properties", "required", "additionalProperties", "patternProperties",
    "unevaluatedProperties", "items", "prefixItems", "anyOf", "enum", "const", "format", "description",
    "minItems", "nullable",
])  # fmt: skip
"""Keywords that a rewriter handles individually."""


def applies(keyword: str, kinds: Sequence[str]) -> bool:
    """Whether a keyword constrains values of these types."""
    return any(keyword in _KEYWORDS.get(kind, ()) for kind in kinds)


def kinds_in(node: JsonObject) -> list[str]:
    """The types that a schema accepts: as declared, or as implied by its other keywords."""
    said = node.get("type")
    if isinstance(said, str):
        if node.get("nullable") is True and said != "null":
            return [said, "null"]
        return [said]
    if isinstance(said, list | tuple):
        return [str(kind) for kind in said]
    listed = node.get("enum")
    if "const" in node:
        listed = [node["const"]]
    if listed and isinstance(listed, list | tuple):
        return list(dict.fromkeys(kinds_of(value)[0] for value in listed))
    for kind, keywords in _KEYWORDS.items():
        if kind != "integer" and any(keyword in keywords for keyword in node):
            return [kind]
    return []


def kinds_of(value: Any) -> tuple[str, ...]:
    """The JSON Schema types of a value."""
    match value:
        case None:
            return ("null",)
        case bool():
            return ("boolean",)
        case int():
            return ("integer", "number")
        case float():
            return ("number",)
        case str():
            return ("string",)
        case Mapping():
            return ("object",)
        case _:
            return ("array",)


def is_null(node: Any) -> bool:
    """Whether a schema accepts only null."""
    return isinstance(node, Mapping) and kinds_in(node) == ["null"]


def takes_null(node: Any, target: Callable[[str], Any], seen: Sequence[str] = ()) -> bool:
    """Whether a schema accepts null. ``target`` resolves a reference."""
    if not isinstance(node, Mapping):
        return node is not False
    reference = node.get("$ref")
    listed = node.get("enum")
    if isinstance(reference, str) and (
        reference in seen or not takes_null(target(reference), target, (*seen, reference))
    ):
        return False
    if "type" in node and "null" not in kinds_in(node):
        return False
    if node.get("const") is not None or (isinstance(listed, list | tuple) and None not in listed):
        return False
    for keyword, enough in (("anyOf", any), ("oneOf", any), ("allOf", all)):
        branches = node.get(keyword)
        if branches and not enough([takes_null(branch, target, seen) for branch in branches]):
            return False
    return True


_EXOTIC = re.compile(r"\\[1-9AbBkpPzZ]|\(\?(?!:)")


def is_plain_pattern(pattern: object) -> bool:
    """Whether a regular expression uses only what vendors compile.

    Vendors refuse a request with lookahead, lookbehind, backreferences or word boundaries.
    """
    return isinstance(pattern, str) and not _EXOTIC.search(pattern)


def are_disjoint(branches: Sequence[Any]) -> bool:
    """Whether no value can match two of these, because of its type or a discriminating member."""
    return all(_differ(one, two) for one, two in combinations(branches, 2))


def _differ(one: JsonObject, two: JsonObject) -> bool:
    first = {"number" if kind == "integer" else kind for kind in kinds_in(one)}
    second = {"number" if kind == "integer" else kind for kind in kinds_in(two)}
    if first and second and not first & second:
        return True
    if _excludes(one, two):
        return True
    members = _members(one)
    others = _members(two)
    return any(_excludes(members[name], others[name]) for name in members if name in others)


def _excludes(one: JsonObject, two: JsonObject) -> bool:
    first = _allowed_values(one)
    second = _allowed_values(two)
    return bool(first and second and not first & second)


def _allowed_values(node: JsonObject) -> set[str]:
    values = node.get("enum")
    if "const" in node:
        return {dump(node["const"])}
    if isinstance(values, list | tuple):
        return {dump(value) for value in values}
    return set()


def _members(node: JsonObject) -> dict[str, JsonObject]:
    """The members that an object schema requires."""
    properties = node.get("properties")
    required = node.get("required")
    if not isinstance(properties, Mapping) or not isinstance(required, list | tuple):
        return {}
    members = {}
    for name, member in properties.items():
        if name in required and isinstance(member, Mapping):
            members[name] = member
    return members


def only(node: JsonObject, *keywords: str) -> dict[str, Any]:
    """The named members of a schema, those that it has."""
    return {key: value for key, value in node.items() if key in keywords}


def keyword_text(value: Any) -> str:
    """A keyword's value as text for a description."""
    if isinstance(value, str) and value:
        return value
    return dump(value)


def sentence(description: Any, words: Sequence[str]) -> str:
    """A description with these words appended."""
    text = description if isinstance(description, str) else ""
    if not words:
        return text
    if text:
        return f"{text} ({'; '.join(words)})"
    return "; ".join(words)


ANNOTATIONS = SILENT | {"description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
"""Keywords that do not restrict values."""


class Conflict(ValueError):
    """No single schema can express both; the message is the keyword."""


def merge(first: JsonObject, second: JsonObject) -> dict[str, Any]:
    """A schema that requires both; an annotation of the second overrides one of the first."""
    merged: dict[str, Any] = dict(first)
    for keyword, value in second.items():
        if keyword not in merged or keyword in ANNOTATIONS:
            merged[keyword] = value
        elif dump(merged[keyword]) != dump(value):
            if keyword not in _BOTH:
                raise Conflict(keyword)
            merged[keyword] = _BOTH[keyword](merged[keyword], value)
    # Close the merged schema if either is closed; raise Conflict if the other lists more members.
    for closed, other in ((first, second), (second, first)):
        if closed.get("additionalProperties") is False:
            known = _names(closed)
            if any(name not in known for name in _names(other)):
                raise Conflict("additionalProperties")
            merged["additionalProperties"] = False
    return merged


def merge_target(target: Any, beside: JsonObject) -> Any:
    """The target of a reference, merged with the keywords beside the reference."""
    if not isinstance(target, Mapping):
        if target is True and beside:
            return beside
        return target
    try:
        return merge(target, beside)
    except Conflict:
        return {"allOf": [target], **beside}


def _names(schema: JsonObject) -> list[str]:
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        return list(properties)
    return []


def _merge_schemas(first: Any, second: Any) -> Any:
    if isinstance(first, bool):
        if first:
            return second
        return False
    if isinstance(second, bool):
        if second:
            return first
        return False
    if "$ref" in first or "$ref" in second:
        return {"allOf": [first, second]}
    return merge(first, second)


def _merge_members(first: Any, second: Any) -> Any:
    shared = {}
    for name in first:
        if name in second:
            shared[name] = _merge_schemas(first[name], second[name])
    return {**first, **second, **shared}


def _merge_types(first: Any, second: Any) -> Any:
    one = [first] if isinstance(first, str) else list(first)
    two = [second] if isinstance(second, str) else list(second)
    if "number" in two:
        two.append("integer")
    found = []
    for kind in one:
        if kind in two:
            found.append(kind)
    if "number" in one and "integer" in two and "integer" not in found and "number" not in found:
        found.append("integer")
    if not found:
        raise Conflict("type")
    if len(found) == 1:
        return found[0]
    return found


def _merge_enums(first: Any, second: Any) -> Any:
    admitted = {dump(value) for value in second}
    found = [value for value in first if dump(value) in admitted]
    if not found:
        raise Conflict("enum")
    return found


def _merge_required(first: Any, second: Any) -> Any:
    return list(dict.fromkeys([*first, *second]))


def _merge_additional(first: Any, second: Any) -> Any:
    if first is False or second is False:
        return False
    return _merge_schemas(first, second)


_BOTH: dict[str, Callable[[Any, Any], Any]] = {
    "type": _merge_types,
    "enum": _merge_enums,
    "required": _merge_required,
    "properties": _merge_members,
    "items": _merge_schemas,
    "additionalProperties": _merge_additional,
    "unevaluatedProperties": _merge_additional,
    "allOf": lambda first, second: [*first, *second],
    "uniqueItems": lambda first, second: first or second,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}


class DocumentReferences:
    """The references of one document. References to other documents are never resolved."""

    def __init__(self, document: JsonObject) -> None:
        self._document = document
        self._anchors: dict[str, Any] = {}
        for node in nodes(document):
            if isinstance(node.get("$anchor"), str):
                self._anchors[f"#{node['$anchor']}"] = node
        self._names: dict[str, str] = {}

    def target(self, reference: str) -> Any:
        """The target of a reference; None if there is none in this document."""
        if reference in self._anchors:
            return self._anchors[reference]
        if not reference.startswith("#"):
            own = self._document.get("$id")
            if not (isinstance(own, str) and own and reference.startswith(own + "#")):
                return None
            reference = reference.removeprefix(own)
        return at(self._document, reference)

    def is_recursive(self, reference: str) -> bool:
        """Whether the target contains, directly or not, a reference to itself."""
        seen: set[str] = set()
        waiting = [reference]
        while waiting:
            for node in nodes(self.target(waiting.pop())):
                inner = node.get("$ref")
                if not isinstance(inner, str):
                    continue
                if inner == reference or self.target(inner) is self.target(reference):
                    return True
                if inner not in seen:
                    seen.add(inner)
                    waiting.append(inner)
        return False

    def name(self, reference: str) -> str:
        """A name for a definition, unique per reference."""
        if reference not in self._names:
            wanted = reference.rpartition("/")[2].strip("#") or "root"
            taken = set(self._names.values())
            name = wanted
            number = 2
            while name in taken:
                name = f"{wanted}_{number}"
                number += 1
            self._names[reference] = name
        return self._names[reference]


TypeLists: TypeAlias = Literal["keep", "any_of", "nullable"]
"""``"type": ["string", "null"]`` stays, becomes an ``anyOf``, or becomes ``"nullable": true``."""


class SchemaRules(Struct, frozen=True, kw_only=True):
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


class StrictSchema(Struct, frozen=True, kw_only=True):
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
OPENAI = SchemaRules(
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


CLAUDE = SchemaRules(
    dialect="claude",
    keywords=frozenset(
        ["title", "description", "enum", "const", "format", "minItems", "additionalProperties"]
    ),
    formats=STRING_FORMATS | {"uri"},
    min_items=1,
    plain_enums=True,
    max_strict_tools=20,
    max_optional=24,
    max_unions=16,
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


class SchemaLosses:
    """Records what one schema lost."""

    def __init__(self, rules: SchemaRules, tool: str) -> None:
        self.dropped: list[str] = []
        self.nulled: list[str] = []
        self.lost: list[tuple[str, str]] = []
        self.is_exact = True
        self._rules = rules
        self._tool = tool

    def refuse(self, path: str, reason: str) -> EncodeError:
        """The error to raise where the rules cannot be met."""
        if self._tool:
            where = f"tool {self._tool!r} at {path}"
        else:
            where = path
        return EncodeError(self._rules.dialect, reason, where=where)

    def drop(self, keywords: Iterable[str], node: JsonObject, path: str, words: list[str]) -> None:
        """Describe these keywords in words instead."""
        for keyword in keywords:
            if keyword in SILENT or keyword in self._rules.keywords & {"title"}:
                continue
            self.note(path, keyword, is_exact=keyword in ANNOTATIONS)
            words.append(f"{keyword}: {keyword_text(node[keyword])}")

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
        kinds = schema.get("type", ())
        if isinstance(kinds, str):
            kinds = [kinds]
        if "null" in kinds or any(is_null(branch) for branch in schema.get("anyOf", ())):
            return schema
        self.nulled.append(path)
        words = only(schema, "description")
        if "anyOf" in schema:
            return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
        if "$ref" in schema or "const" in schema or self._rules.type_lists != "keep":
            bare = without(schema, "description")
            return {"anyOf": [bare, {"type": "null"}], **words}
        schema = {**schema, "type": [*kinds, "null"]}
        if "enum" in schema:
            schema["enum"] = [*schema["enum"], None]
        return schema


def describe_schema(result: dict[str, Any], node: JsonObject, words: list[str]) -> dict[str, Any]:
    """A rewritten schema with the original's description and these additional words."""
    text = sentence(node.get("description"), words)
    rest = without(result, "description")
    if text:
        rest["description"] = text
    return rest
