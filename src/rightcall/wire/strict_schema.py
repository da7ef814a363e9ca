"""Converts a tool's schema for a vendor's strict mode, and checks the limits of a request.

The original schema always validates what comes back; these are only sent to the vendor. Optional members
that had to be required accept null instead, which must be removed again: ``Strict.nulled``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import JsonObject, dump, shorten
from rightcall.core.problem import json_path
from rightcall.core.references import local_target
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.payload import mapping, without
from rightcall.wire.schema_rules import (
    ANNOTATIONS,
    HANDLED,
    OPENAI,
    SILENT,
    TYPED,
    Conflict,
    DocumentReferences,
    SchemaLosses,
    SchemaRules,
    StrictSchema,
    applies,
    are_disjoint,
    describe_schema,
    is_null,
    is_plain_pattern,
    kinds_in,
    kinds_of,
    merge,
    merge_target,
    only,
    takes_null,
)

__all__ = [
    "OPENAI", "Rewriter", "SchemaRules", "StrictCost", "StrictSchema", "check_ceilings", "cost_of",
    "strict_schema", "structure", "subset_schema",
]  # fmt: skip


_Node: TypeAlias = Mapping[str, Any]
_Schema: TypeAlias = dict[str, Any]

MAX_LEVELS = 100
MAX_NODES = 50_000
"""Expanded references may multiply without limit; no vendor accepts a schema of this size."""


class Rewriter:
    """Rewrites one document into the subset of JSON Schema that a vendor's rules describe.

    Strict languages refuse what they cannot express exactly. For those that are only smaller,
    ``lenient`` refuses nothing: descriptions say what has no keyword.
    """

    def __init__(self, document: JsonObject, rules: SchemaRules, tool: str, *, lenient: bool) -> None:
        self.losses = SchemaLosses(rules, tool)
        self._refuse = self.losses.refuse
        self._document = document
        self._rules = rules
        self._lenient = lenient
        self._references = DocumentReferences(document)
        self._definitions: dict[str, JsonObject] = {}
        self._open: list[str] = []
        self._levels = 0
        self._nodes = 0

    def rewrite(self) -> _Schema:
        """The rewritten document with the definitions that it needs."""
        rewritten = self._schema(self._document, "$")
        if self._definitions:
            rewritten["$defs"] = self._definitions
        return rewritten

    def _schema(self, node: Any, path: str) -> _Schema:
        self._levels += 1
        self._nodes += 1
        if self._levels > MAX_LEVELS or self._nodes > MAX_NODES:
            raise self._refuse(path, "the schema is too large or too deep; make it smaller.")
        try:
            if not isinstance(node, Mapping):
                if node is False and not self._lenient:
                    raise self._refuse(path, "no value fits it; leave the member out.")
                return self._anything({}, path)
            if isinstance(node.get("$ref"), str):
                reference: str = node["$ref"]
                beside = without(node, "$ref", *SILENT)
                target = self._references.target(reference)
                if target is None:
                    if not self._lenient:
                        raise self._refuse(
                            path, f"{shorten(reference)} is not in the schema; write it out."
                        )
                    return self._anything(beside, path)
                recursive = self._references.is_recursive(reference)
                if recursive and not self._rules.recursion and not self._lenient:
                    raise self._refuse(
                        path, f"{shorten(reference)} leads back to itself; end it after some levels."
                    )
                if (
                    self._rules.refs == "keep"
                    and (recursive or not beside)
                    and self._rules.recursion >= recursive
                ):
                    return self._keep_reference(reference, target, beside, path)
                if reference in self._open:
                    return self._cut(reference, target, beside, path)
                return self._inline_target([reference], merge_target(target, beside), path)
            if node.get("allOf") and self._rules.all_of == "merge":
                return self._all_of(node, path)
            words: list[str] = []
            if node.get("oneOf") and self._rules.one_of == "any_of":
                rest = without(node, "oneOf", "discriminator")
                if node.get("anyOf"):
                    self.losses.drop(("oneOf",), node, path, words)
                    node = rest
                else:
                    branches = []
                    for branch in node["oneOf"]:
                        target = branch
                        if isinstance(branch, Mapping) and "$ref" in branch:
                            target = self._references.target(branch["$ref"])
                        branches.append(mapping(target))
                    if not are_disjoint(branches):
                        self.losses.note(path, "oneOf", is_exact=False)
                        words.append("fits exactly one of the alternatives")
                    node = {**rest, "anyOf": node["oneOf"]}
            if node.get("anyOf"):
                return self._union(node, path, words)
            return self._rewrite_typed(node, path, words)
        finally:
            self._levels -= 1

    def _keep_reference(self, reference: str, target: Any, beside: _Schema, path: str) -> _Schema:
        if target is self._document:
            pointer = "#"
        else:
            name = self._references.name(reference)
            pointer = f"#/$defs/{name}"
            if name not in self._definitions:
                self._definitions[name] = {}
                self._definitions[name] = self._schema(target, pointer)
        if not beside:
            return {"$ref": pointer}
        # OpenAI: "$ref cannot have keywords" beside it.
        words: list[str] = []
        self.losses.drop(without(beside, "description"), beside, path, words)
        return describe_schema({"anyOf": [{"$ref": pointer}]}, beside, words)

    def _cut(self, reference: str, target: Any, beside: _Schema, path: str) -> _Schema:
        """The schema that ends a recursion which the vendor cannot express."""
        if not self._lenient:
            raise self._refuse(path, f"{shorten(reference)} leads back to itself; end it somewhere.")
        self.losses.note(path, "$ref", is_exact=False)
        kinds = mapping(target).get("type")
        result: dict[str, Any] = {}
        if isinstance(kinds, str):
            result = {"type": kinds}
        name = reference.rpartition("/")[2].strip("#") or "the whole"
        return describe_schema(result, beside, [f"again of the form of {name}"])

    def _inline_target(self, references: list[str], node: Any, path: str) -> _Schema:
        self._open += references
        try:
            return self._schema(node, path)
        finally:
            del self._open[len(self._open) - len(references) :]

    def _all_of(self, node: _Node, path: str) -> _Schema:
        base = without(node, "allOf")
        first, *more = node["allOf"]
        if (
            not more
            and isinstance(first, Mapping)
            and set(first) == {"$ref"}
            and set(base) <= ANNOTATIONS
        ):
            return self._schema({**base, **first}, path)
        merged = base
        opened = list[str]()
        words = list[str]()
        for branch in (first, *more):
            flat = branch
            while isinstance(flat, Mapping) and isinstance(flat.get("$ref"), str):
                if flat["$ref"] in (*self._open, *opened):
                    return self._cut(flat["$ref"], self._references.target(flat["$ref"]), base, path)
                opened.append(flat["$ref"])
                flat = merge_target(self._references.target(flat["$ref"]), without(flat, "$ref"))
            try:
                if isinstance(flat, Mapping):
                    merged = merge(merged, flat)
            except Conflict as conflict:
                if str(conflict) in ("type", "enum", "additionalProperties") and not self._lenient:
                    raise self._refuse(path, f"allOf: the branches disagree on {conflict}.") from None
                self.losses.note(path, "allOf", is_exact=False)
                words.append(f"also: {dump(flat)}")
        # The description beside an allOf is more specific to this place than those of its branches.
        whole = describe_schema({**merged, **only(base, *ANNOTATIONS)}, {**merged, **base}, words)
        return self._inline_target(opened, whole, path)

    def _union(self, node: _Node, path: str, words: list[str]) -> _Schema:
        base = without(node, "anyOf")
        around = without(base, *ANNOTATIONS)
        is_root = path == "$" and not self._rules.root_union
        if is_root or not self._rules.any_of:
            if not self._lenient and not around.get("properties"):
                reason = "is a union."
                if is_root:
                    reason = "is a union at the top; wrap it in a member."
                raise self._refuse(path, reason)
            self.losses.drop(("anyOf",), node, path, words)
            return self._rewrite_typed(base, path, words)
        branches = []
        for branch in node["anyOf"]:
            if not around:
                branches.append(branch)
                continue
            flat = branch
            if isinstance(branch, Mapping) and isinstance(branch.get("$ref"), str):
                target = self._references.target(branch["$ref"])
                if isinstance(target, Mapping) and not self._references.is_recursive(branch["$ref"]):
                    flat = merge_target(target, without(branch, "$ref"))
            try:
                branches.append(merge_target(flat, around))
            except Conflict:
                continue
        if not branches:
            raise self._refuse(path, "no alternative of anyOf fits what stands around it.")
        rewritten = []
        takes_null = False
        for branch in branches:
            if self._rules.type_lists == "nullable" and is_null(branch):
                takes_null = True
            else:
                rewritten.append(self._schema(branch, path))
        if len(rewritten) == 1:
            result = rewritten[0]
            if "description" in base and "$ref" in result:
                result = {"anyOf": [result]}
        elif rewritten:
            result = {"anyOf": rewritten}
        else:
            result = {"type": "null"}
        if takes_null and rewritten:
            result = {**result, "nullable": True}
        self.losses.drop(without(only(base, *ANNOTATIONS), "description"), base, path, words)
        return describe_schema(result, {**result, **only(base, "description")}, words)

    def _rewrite_typed(self, node: _Node, path: str, words: list[str]) -> _Schema:
        kinds = kinds_in(node)
        if not kinds and not only(node, "enum", "const"):
            return self._anything(node, path, words)
        if len(kinds) > 1 and self._rules.type_lists != "keep":
            # An alternative for each type, with the keywords that apply to it.
            outside = only(node, *ANNOTATIONS)
            alternatives = []
            for kind in kinds:
                branch = {}
                for key, value in node.items():
                    if key not in ANNOTATIONS and (key not in TYPED or applies(key, [kind])):
                        branch[key] = value
                if "enum" in branch:
                    branch["enum"] = [value for value in branch["enum"] if kind in kinds_of(value)]
                    if not branch["enum"]:
                        continue
                alternatives.append({**branch, "type": kind})
            return self._union({**outside, "anyOf": alternatives}, path, words)
        result: dict[str, Any] = {}
        if len(kinds) == 1:
            result["type"] = kinds[0]
        elif kinds:
            result["type"] = kinds
        self._values(node, result, path, words)
        if "object" in kinds:
            self._object(node, result, path, words)
        if "array" in kinds:
            self._array(node, result, path, words)
        for key, value in node.items():
            if key in HANDLED or (key in TYPED and not applies(key, kinds)):
                continue
            if key in self._rules.keywords and (key != "pattern" or is_plain_pattern(value)):
                result[key] = value
            else:
                self.losses.drop((key,), node, path, words)
        return describe_schema(result, node, words)

    def _values(self, node: _Node, result: _Schema, path: str, words: list[str]) -> None:
        values = node.get("enum")
        listed = list(values or ())
        if "const" in node:
            listed.append(node["const"])
        if self._rules.plain_enums and any(isinstance(each, Mapping | list | tuple) for each in listed):
            raise self._refuse(path, "it lists objects or arrays; describe them by their members.")
        if "const" in node:
            if self._rules.const == "keep" and "const" in self._rules.keywords:
                result["const"] = node["const"]
            else:
                values = [node["const"]]
        if values is not None:
            if self._rules.string_enums and not all(isinstance(value, str) for value in values):
                self.losses.drop(("enum",), {"enum": values}, path, words)
            else:
                result["enum"] = list(values)
        if "format" in node and applies("format", kinds_in(node)):
            known = self._rules.formats
            if "format" in self._rules.keywords and (known is None or node["format"] in known):
                result["format"] = node["format"]
            else:
                self.losses.drop(("format",), node, path, words)
        if node.get("nullable") is True and self._rules.type_lists == "nullable":
            result["nullable"] = True

    def _object(self, node: _Node, result: _Schema, path: str, words: list[str]) -> None:
        members = dict(node.get("properties") or {})
        required = list(node.get("required") or ())
        if self._rules.closed:
            rest = node.get("additionalProperties", node.get("unevaluatedProperties"))
            nothing_listed = rest is None and "properties" not in node and path != "$"
            if rest not in (None, False) or node.get("patternProperties") or nothing_listed:
                listed = "members of any name"
                if members:
                    listed = "more members than it lists"
                raise self._refuse(
                    path,
                    f"it takes {listed}, and strict objects are closed; list the members, take an array "
                    "of name and value, or let the tool be non-strict.",
                )
            for name in required:
                members.setdefault(name, True)
        rewritten = {}
        for name, member in members.items():
            place = path + json_path([name])[1:]
            rewritten[name] = self._schema(member, place)
            if self._rules.all_required and name not in required:
                has_default_null = isinstance(member, Mapping) and member.get("default", "") is None
                if takes_null(member, self._references.target) and not has_default_null:
                    self.losses.merge_null(place)
                rewritten[name] = self.losses.or_null(rewritten[name], place)
        result["properties"] = rewritten
        wanted = [name for name in rewritten if self._rules.all_required or name in required]
        if wanted or self._rules.all_required:
            result["required"] = wanted
        if self._rules.closed:
            result["additionalProperties"] = False
            return
        if not rewritten:
            del result["properties"]
        self._additional(node, result, path, words)

    def _additional(self, node: _Node, result: _Schema, path: str, words: list[str]) -> None:
        for key in ("additionalProperties", "patternProperties", "unevaluatedProperties"):
            rest = node.get(key)
            if rest is None or rest is True:
                continue
            if key not in self._rules.keywords:
                if rest is False:
                    self.losses.note(path, key, is_exact=False)
                else:
                    self.losses.drop((key,), node, path, words)
            elif key == "patternProperties":
                result[key] = {name: self._schema(member, path + ".*") for name, member in rest.items()}
            elif rest is False:
                result[key] = False
            else:
                result[key] = self._schema(rest, path + ".*")

    def _array(self, node: _Node, result: _Schema, path: str, words: list[str]) -> None:
        items = node.get("items")
        first = node.get("prefixItems") or (items if isinstance(items, list | tuple) else None)
        if "minItems" in node:
            largest = self._rules.min_items
            if "minItems" in self._rules.keywords and (largest is None or node["minItems"] <= largest):
                result["minItems"] = node["minItems"]
            else:
                self.losses.drop(("minItems",), node, path, words)
        if first and "prefixItems" not in self._rules.keywords:
            self.losses.drop(("prefixItems",), {"prefixItems": first}, path, words)
            listed = list(first)
            if items and isinstance(items, Mapping):
                listed.append(items)
            unique = {dump(item): item for item in listed}
            if len(unique) > 1:
                items = {"anyOf": list(unique.values())}
            else:
                items = first[0]
        elif first:
            result["prefixItems"] = [self._schema(item, f"{path}[*]") for item in first]
        if items is not None and items is not False:
            result["items"] = self._schema(items, f"{path}[*]")
        elif self._rules.typed and not self._lenient and not first:
            raise self._refuse(path, "it is an array of anything; say what its items are.")

    def _anything(self, node: _Node, path: str, words: list[str] | None = None) -> _Schema:
        if self._rules.typed and not self._lenient:
            raise self._refuse(
                path, "it takes any value; give it a type, or let the tool be non-strict."
            )
        if words is None:
            words = []
        result = {}
        for key, value in node.items():
            if key in self._rules.keywords:
                result[key] = value
            elif key not in HANDLED:
                self.losses.drop((key,), node, path, words)
        return describe_schema(result, node, words)


_WORDS = frozenset(("description", "title"))
_SCHEMAS = frozenset(("properties", "$defs", "patternProperties"))
"""Keywords that map names to schemas, so that a member may be called ``description``."""


class StrictCost(Struct, frozen=True, kw_only=True):
    """What a strict tool uses of a request's limits."""

    tools: int = 1
    optional: int = 0
    """Optional parameters."""
    unions: int = 0
    """Parameters of a union type."""

    def plus(self, other: "StrictCost") -> "StrictCost":
        """The sum of both."""
        return StrictCost(
            tools=self.tools + other.tools,
            optional=self.optional + other.optional,
            unions=self.unions + other.unions,
        )


def cost_of(schema: JsonObject) -> StrictCost:
    """What a schema, as it is sent, uses of the limits."""
    optional = 0
    unions = 0
    for _, is_required, member in _members(schema):
        if not is_required:
            optional += 1
        if isinstance(member, Mapping) and ("anyOf" in member or isinstance(member.get("type"), list)):
            unions += 1
    return StrictCost(optional=optional, unions=unions)


def strict_schema(schema: JsonObject, rules: SchemaRules, *, tool: str = "") -> StrictSchema:
    """The schema for the vendor's strict mode. Raises EncodeError that says what to loosen."""
    rewriter = Rewriter(schema, rules, tool, lenient=False)
    rewritten = rewriter.rewrite()
    if rules.closed and rewritten.get("type") != "object":
        raise rewriter.losses.refuse(
            "$", "a strict schema is an object at the top; wrap it in a member."
        )
    member_names = [name for name, _, _ in _members(rewritten)]
    listed: list[Sequence[Any]] = []
    for node in _nodes(rewritten):
        if "enum" in node:
            listed.append(node["enum"])
        elif "const" in node:
            listed.append([node["const"]])
    characters = sum(map(len, member_names)) + sum(map(_characters, listed))
    characters += sum(map(len, rewritten.get("$defs", ())))
    for what, limit, count in (
        ("levels of objects", rules.max_depth, _depth(rewritten, rewritten, ())),
        ("members", rules.max_properties, len(member_names)),
        ("values in enums", rules.max_enum_values, sum(map(len, listed))),
        ("characters in names and values", rules.max_string_length, characters),
    ):
        if limit and count > limit:
            raise rewriter.losses.refuse(
                "$", f"{count:,} {what} are more than the {limit:,} allowed; loosen it."
            )
    many, most = rules.large_enum
    for values in listed:
        if many and len(values) > many and _characters(values) > most:
            raise rewriter.losses.refuse(
                "$",
                f"an enum of {len(values)} values has {_characters(values):,} characters, more than the "
                f"{most:,} allowed for one of over {many} values; take a plain string.",
            )
    return _strict(rewritten, rewriter)


def subset_schema(schema: JsonObject, rules: SchemaRules, *, tool: str = "") -> StrictSchema:
    """The schema in a smaller language; what it cannot express is put into descriptions."""
    rewriter = Rewriter(schema, rules, tool, lenient=True)
    return _strict(rewriter.rewrite(), rewriter)


def structure(schema: JsonObject) -> JsonObject:
    """The schema without its descriptions. A vendor's compiled grammar depends on this alone."""
    return {key: _structure(key, value) for key, value in schema.items() if key not in _WORDS}


def check_ceilings(specs: Sequence[Spec], schemas: Sequence[JsonObject], rules: SchemaRules) -> None:
    """Raise EncodeError if the strict tools of one request together exceed the limits.

    ``schemas`` are those that will be sent, in the order of ``specs``.
    """
    names = [spec.name for spec in specs]
    costs = [cost_of(schema) for schema in schemas]
    for what, limit, counts in (
        ("strict tools", rules.max_strict_tools, [cost.tools for cost in costs]),
        ("optional parameters in strict tools", rules.max_optional, [cost.optional for cost in costs]),
        ("parameters of a union type in strict tools", rules.max_unions, [c.unions for c in costs]),
    ):
        if limit and sum(counts) > limit:
            worst = max(range(len(counts)), key=lambda at: (counts[at], at))
            share = ""
            if counts[worst] > 1:
                share = f", which has {counts[worst]} of them"
            raise EncodeError(
                rules.dialect,
                f"{sum(counts)} {what} are more than the {limit} of one request; let some tool be "
                f"non-strict, first {names[worst]!r}{share}.",
                where=f"tool {names[worst]!r}",
            )


def _strict(rewritten: JsonObject, rewriter: Rewriter) -> StrictSchema:
    return StrictSchema(
        schema=rewritten,
        is_exact=rewriter.losses.is_exact,
        dropped=tuple(rewriter.losses.dropped),
        nulled=tuple(rewriter.losses.nulled),
        lost=tuple(rewriter.losses.lost),
    )


def _structure(key: str, value: Any) -> Any:
    if key in _SCHEMAS and isinstance(value, Mapping):
        return {name: _structure("", member) for name, member in value.items()}
    if key in ("enum", "const", "required"):
        return value
    if isinstance(value, Mapping):
        return structure(value)
    if isinstance(value, list | tuple):
        return [_structure("", item) for item in value]
    return value


def _characters(values: Sequence[Any]) -> int:
    return sum(len(value if isinstance(value, str) else dump(value)) for value in values)


def _nodes(node: Any) -> Iterator[Mapping[str, Any]]:
    """Every schema in a rewritten schema, definitions included."""
    if not isinstance(node, Mapping):
        return
    yield node
    for key, value in node.items():
        if key in _SCHEMAS:
            for member in value.values():
                yield from _nodes(member)
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for branch in value:
                yield from _nodes(branch)
        elif key in ("items", "additionalProperties"):
            yield from _nodes(value)


def _members(schema: JsonObject) -> Iterator[tuple[str, bool, Any]]:
    """Every member of every object: its name, whether it is required, its schema."""
    for node in _nodes(schema):
        required = node.get("required", ())
        for name, member in (node.get("properties") or {}).items():
            yield name, name in required, member


def _depth(node: Any, root: JsonObject, seen: tuple[str, ...]) -> int:
    """The deepest nesting of objects; a recursion is counted once."""
    if not isinstance(node, Mapping):
        return 0
    reference = node.get("$ref")
    if isinstance(reference, str):
        if reference in (*seen, "#"):
            return 0
        return _depth(local_target(root, reference), root, (*seen, reference))
    inner = [*(node.get("properties") or {}).values(), *node.get("anyOf", ()), node.get("items")]
    below = max((_depth(child, root, seen) for child in inner), default=0)
    return below + ("properties" in node)
