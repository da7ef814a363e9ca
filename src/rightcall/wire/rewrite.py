"""Rewrites a JSON Schema into the subset that a vendor's rules describe.

The same walk serves strict languages, which refuse what they cannot express exactly, and languages that
are only smaller, where it is moved into the description.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from rightcall.core.jsontext import JsonObject, dump, shorten
from rightcall.core.problem import json_path
from rightcall.wire.keywords import (
    ANNOTATIONS,
    HANDLED,
    SILENT,
    TYPED,
    Conflict,
    References,
    applies,
    are_disjoint,
    is_null,
    is_plain_pattern,
    kinds_in,
    kinds_of,
    merge,
    only,
    takes_null,
    together,
    without,
)
from rightcall.wire.schema_rules import Losses, Rules, described

_Node: TypeAlias = Mapping[str, Any]
_Schema: TypeAlias = dict[str, Any]

MAX_LEVELS = 100
MAX_NODES = 50_000
"""Expanded references may multiply without limit; no vendor accepts a schema of this size."""


class Rewriter:
    """Rewrites one document. ``lenient`` refuses nothing; descriptions say what has no keyword."""

    def __init__(self, document: JsonObject, rules: Rules, tool: str, *, lenient: bool) -> None:
        self.losses = Losses(rules, tool)
        self._refuse = self.losses.refuse
        self._document = document
        self._rules = rules
        self._lenient = lenient
        self._references = References(document)
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
            return self._read(node, path)
        finally:
            self._levels -= 1

    def _read(self, node: Any, path: str) -> _Schema:
        if not isinstance(node, Mapping):
            if node is False and not self._lenient:
                raise self._refuse(path, "no value fits it; leave the member out.")
            return self._anything({}, path)
        if isinstance(node.get("$ref"), str):
            return self._reference(node, path)
        if node.get("allOf") and self._rules.all_of == "merge":
            return self._all_of(node, path)
        words: list[str] = []
        if node.get("oneOf") and self._rules.one_of == "any_of":
            node = self._one_of(node, path, words)
        if node.get("anyOf"):
            return self._union(node, path, words)
        return self._typed(node, path, words)

    # References.

    def _reference(self, node: _Node, path: str) -> _Schema:
        reference: str = node["$ref"]
        beside = without(node, "$ref", *SILENT)
        target = self._references.target(reference)
        if target is None:
            if not self._lenient:
                raise self._refuse(path, f"{shorten(reference)} is not in the schema; write it out.")
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
            return self._kept(reference, target, beside, path)
        if reference in self._open:
            return self._cut(reference, target, beside, path)
        return self._opened([reference], together(target, beside), path)

    def _kept(self, reference: str, target: Any, beside: _Schema, path: str) -> _Schema:
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
        self.losses.drop((key for key in beside if key != "description"), beside, path, words)
        return described({"anyOf": [{"$ref": pointer}]}, beside, words)

    def _cut(self, reference: str, target: Any, beside: _Schema, path: str) -> _Schema:
        """The schema that ends a recursion which the vendor cannot express."""
        if not self._lenient:
            raise self._refuse(path, f"{shorten(reference)} leads back to itself; end it somewhere.")
        self.losses.note(path, "$ref", is_exact=False)
        kinds = target.get("type") if isinstance(target, Mapping) else None
        result: dict[str, Any] = {"type": kinds} if isinstance(kinds, str) else {}
        name = reference.rpartition("/")[2].strip("#") or "the whole"
        return described(result, beside, [f"again of the form of {name}"])

    def _opened(self, references: list[str], node: Any, path: str) -> _Schema:
        """The target schema that replaces these references."""
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
        merged, opened, words = base, list[str](), list[str]()
        for branch in (first, *more):
            flat = branch
            while isinstance(flat, Mapping) and isinstance(flat.get("$ref"), str):
                if flat["$ref"] in (*self._open, *opened):
                    return self._cut(flat["$ref"], self._references.target(flat["$ref"]), base, path)
                opened.append(flat["$ref"])
                flat = together(self._references.target(flat["$ref"]), without(flat, "$ref"))
            try:
                merged = merge(merged, flat) if isinstance(flat, Mapping) else merged
            except Conflict as conflict:
                if str(conflict) in ("type", "enum", "additionalProperties") and not self._lenient:
                    raise self._refuse(path, f"allOf: the branches disagree on {conflict}.") from None
                self.losses.note(path, "allOf", is_exact=False)
                words.append(f"also: {dump(flat)}")
        # The description beside an allOf is more specific to this place than those of its branches.
        whole = described({**merged, **only(base, *ANNOTATIONS)}, {**merged, **base}, words)
        return self._opened(opened, whole, path)

    # Unions.

    def _one_of(self, node: _Node, path: str, words: list[str]) -> Mapping[str, Any]:
        rest = without(node, "oneOf", "discriminator")
        if node.get("anyOf"):
            self.losses.drop(("oneOf",), node, path, words)
            return rest
        branches = [self._resolved(branch) for branch in node["oneOf"]]
        if not are_disjoint(branches):
            self.losses.note(path, "oneOf", is_exact=False)
            words.append("fits exactly one of the alternatives")
        return {**rest, "anyOf": node["oneOf"]}

    def _resolved(self, node: Any) -> Any:
        target = (
            self._references.target(node["$ref"])
            if isinstance(node, Mapping) and "$ref" in node
            else node
        )
        return target if isinstance(target, Mapping) else {}

    def _union(self, node: _Node, path: str, words: list[str]) -> _Schema:
        base = without(node, "anyOf")
        around = without(base, *ANNOTATIONS)
        is_root = path == "$" and not self._rules.root_union
        if is_root or not self._rules.any_of:
            if not self._lenient and not around.get("properties"):
                reason = "is a union at the top; wrap it in a member." if is_root else "is a union."
                raise self._refuse(path, reason)
            self.losses.drop(("anyOf",), node, path, words)
            return self._typed(base, path, words)
        branches = []
        for branch in node["anyOf"]:
            try:
                branches.append(together(self._flat(branch), around) if around else branch)
            except Conflict:
                continue
        if not branches:
            raise self._refuse(path, "no alternative of anyOf fits what stands around it.")
        nullable = self._rules.type_lists == "nullable"
        kept = [branch for branch in branches if not (nullable and is_null(branch))]
        rewritten = [self._schema(branch, path) for branch in kept]
        if len(rewritten) == 1:
            result = rewritten[0]
            if "description" in base and "$ref" in result:
                result = {"anyOf": [result]}
        else:
            result = {"anyOf": rewritten} if rewritten else {"type": "null"}
        if len(kept) < len(branches) and rewritten:
            result = {**result, "nullable": True}
        self.losses.drop(
            (key for key in base if key in ANNOTATIONS and key != "description"), base, path, words
        )
        return described(result, {**result, **only(base, "description")}, words)

    def _flat(self, branch: Any) -> Any:
        """A branch in a form that the surrounding schema can be merged into."""
        if isinstance(branch, Mapping) and isinstance(branch.get("$ref"), str):
            target = self._references.target(branch["$ref"])
            if isinstance(target, Mapping) and not self._references.is_recursive(branch["$ref"]):
                return together(target, without(branch, "$ref"))
        return branch

    # Schemas with a type.

    def _typed(self, node: _Node, path: str, words: list[str]) -> _Schema:
        kinds = kinds_in(node)
        if not kinds and not only(node, "enum", "const"):
            return self._anything(node, path, words)
        if len(kinds) > 1 and self._rules.type_lists != "keep":
            return self._split(node, kinds, path, words)
        result: dict[str, Any] = {"type": kinds[0] if len(kinds) == 1 else kinds} if kinds else {}
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
        return described(result, node, words)

    def _split(self, node: _Node, kinds: list[str], path: str, words: list[str]) -> _Schema:
        """An alternative for each type, with the keywords that apply to it."""
        outside = only(node, *ANNOTATIONS)
        alternatives = []
        for kind in kinds:
            branch = {
                key: value
                for key, value in node.items()
                if key not in ANNOTATIONS and (key not in TYPED or applies(key, [kind]))
            }
            if "enum" in branch:
                branch["enum"] = [value for value in branch["enum"] if kind in kinds_of(value)]
                if not branch["enum"]:
                    continue
            alternatives.append({**branch, "type": kind})
        return self._union({**outside, "anyOf": alternatives}, path, words)

    def _values(self, node: _Node, result: _Schema, path: str, words: list[str]) -> None:
        values = node.get("enum")
        listed = [*(values or ()), *([node["const"]] if "const" in node else ())]
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
            self._refuse_open(node, members, path)
            members = {**members, **{name: True for name in required if name not in members}}
        rewritten = {}
        for name, member in members.items():
            place = path + json_path([name])[1:]
            rewritten[name] = self._schema(member, place)
            if self._rules.all_required and name not in required:
                if takes_null(member, self._references.target) and not _is_null_unless_said(member):
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

    def _refuse_open(self, node: _Node, members: _Node, path: str) -> None:
        rest = node.get("additionalProperties", node.get("unevaluatedProperties"))
        nothing_listed = rest is None and "properties" not in node and path != "$"
        if rest not in (None, False) or node.get("patternProperties") or nothing_listed:
            listed = "more members than it lists" if members else "members of any name"
            raise self._refuse(
                path,
                f"it takes {listed}, and strict objects are closed; list the members, take an array "
                "of name and value, or let the tool be non-strict.",
            )

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
            else:
                result[key] = False if rest is False else self._schema(rest, path + ".*")

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
            after = items if isinstance(items, Mapping) else None
            unique = {dump(item): item for item in (*first, *([after] if after else ()))}
            items = {"anyOf": list(unique.values())} if len(unique) > 1 else first[0]
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
        words = [] if words is None else words
        result = {}
        for key, value in node.items():
            if key in HANDLED or key in self._rules.keywords:
                result.update({key: value} if key in self._rules.keywords else {})
            else:
                self.losses.drop((key,), node, path, words)
        return described(result, node, words)


def _is_null_unless_said(member: Any) -> bool:
    return isinstance(member, Mapping) and "default" in member and member["default"] is None
