"""Compiles a JSON Schema to rules that accept every value which satisfies it, and few others.

What no grammar can enforce (``not``, ``if``, ``uniqueItems``, …) is left to the gate, which checks
arguments anyway, and is listed in the findings. So are the few points in which the rules are stricter
than the schema: members in one order, single spaces, a limited number of digits.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import Any

from rightcall.core.jsontext import dump
from rightcall.local.grammar.conditions import cases, exclusions
from rightcall.local.grammar.containers import (
    DistinctItems,
    Layout,
    NamePatterns,
    Names,
    ObjectMembers,
    counts,
    few_values,
    is_distinct,
    items,
    resolve_property_names,
)
from rightcall.local.grammar.flat_schema import (
    EVALUATED,
    FlatSchema,
    SchemaReferences,
    SubSchema,
    as_types,
    flatten_schema,
)
from rightcall.local.grammar.notation import SPELLING, Notation, bracket_items, colon, comma, free_name
from rightcall.local.grammar.rulebook import (
    NOTHING,
    Findings,
    GrammarRules,
    Node,
    OtherNameNode,
    Reference,
    WordNode,
    any_word,
    choice,
    optional,
    repeat,
    row,
    size,
    word,
)
from rightcall.local.grammar.scalars import (
    MOST_DIGITS,
    MOST_PLACES,
    TYPES,
    enum_values,
    is_a,
    numeric,
    string,
    types_of,
    without,
)

MOST_SCHEMAS = 4000
"""The most schemas that are compiled for one tool."""
_MOST_COMBINATIONS = 64
_LARGE = 16
_UNCOMPARED = ("object", "array", "number", "integer")
"""Types from which a grammar cannot exclude single values."""
_BARE_KEY = re.compile(r"[A-Za-z_][\w.-]*")

_UNHELD = ("contains", "minContains", "maxContains", "$dynamicRef", "$recursiveRef")
_EVALUATING = (EVALUATED, "contains", "$dynamicRef", "$recursiveRef")
"""Keywords by which a member or an item may be known though it is not declared."""
SPACES = "no white space but a single blank after a comma or a colon"
DIGITS = f"numbers have up to {MOST_DIGITS} digits, {MOST_PLACES} after the point, few exponents"


class GrammarTooLarge(ValueError):
    """A schema whose grammar would be too large to use."""


class Compiler:
    """Compiles the schemas of one document to rules, in one notation."""

    def __init__(
        self, document: SubSchema, rules: GrammarRules, notation: Notation, findings: Findings
    ) -> None:
        self._references = SchemaReferences(document)
        self._rules = rules
        self._notation = notation
        self._patterns = NamePatterns(notation, rules, findings)
        self._known: dict[str, Node] = {}
        self._noticed: dict[str, tuple[list[str], str]] = {}
        """What was not enforced of each schema, and where."""
        self._waiting: dict[str, str] = {}
        """Schemas that are being compiled to a rule, with the rule's name."""
        self._needed: set[str] = set()
        """Of those, the ones that contain themselves."""
        self._at_once: frozenset[str] = frozenset()
        """Of those, the ones from which no text has been written since."""
        self._is_wide = False
        """Whether conditions are left out."""
        self._may_be_nothing = False
        """Whether there are alternatives, so that an unsatisfiable one can be left out."""
        self._seen = 0
        self._findings = findings
        self.separator = comma(rules)
        self.colon = colon(rules)

    def value(self, schema: SubSchema, path: str) -> Node:
        """A value that satisfies a schema."""
        schema = self._references.follow(schema)
        if schema is True or schema == {}:
            return self._free(path)
        key = dump(schema)
        # An unsatisfiable schema may be tried again without its conditions.
        if key in self._known and not (self._is_wide and self._known[key] == NOTHING):
            self._findings.repeat(*self._noticed[key], path)
            return self._known[key]
        if key in self._waiting:
            if key in self._at_once:
                # Left recursion, which no finite text satisfies and on which engines would hang.
                return NOTHING
            self._needed.add(key)
            return Reference(self._waiting[key])
        self._seen += 1
        if self._seen > MOST_SCHEMAS:
            raise GrammarTooLarge
        hint = path.rpartition(".")[2]
        # A name is reserved before it is known whether the schema contains itself; if it does not, the
        # name is released, and small nodes are inlined.
        self._waiting[key] = name = self._rules.reserve(hint)
        before = self._at_once
        self._at_once = self._at_once | {key}
        noted = len(self._findings.unheld)
        node = self._whole(schema, path)
        self._noticed[key] = (self._findings.unheld[noted:], path)
        self._at_once = before
        del self._waiting[key]
        if key in self._needed:
            self._rules.complete(name, node)
            node = Reference(name)
        else:
            del self._rules.rules[name]
            if size(node, _LARGE) > _LARGE:
                node = self._rules.define(hint, node)
        self._known[key] = node
        return node

    def object(self, schema: SubSchema, path: str, layout: Layout) -> Node:
        """An object that satisfies a schema, in a layout of its own."""
        return self._whole(schema, path, layout)

    def _whole(self, schema: SubSchema, path: str, layout: Layout | None = None) -> Node:
        """What a schema accepts. Unsatisfiable conditions are left to the gate, which reports them."""
        flat = self._flat(schema, path)
        node = self._node(flat, path, layout)
        is_settled = flat.is_false or self._is_wide or self._may_be_nothing
        if node == NOTHING and not is_settled:
            self._is_wide = True
            node = self._node(self._flat(schema, path), path, layout)
            self._is_wide = False
        return node

    def _flat(self, schema: SubSchema, path: str) -> FlatSchema:
        return self._move_findings(flatten_schema(schema, path, self._references.target, FlatSchema()))

    def _move_findings(self, flat: FlatSchema) -> FlatSchema:
        self._findings.unheld += flat.unheld
        flat.unheld = []
        return flat

    def _node(self, flat: FlatSchema, path: str, layout: Layout | None = None) -> Node:
        if flat.is_false:
            return NOTHING
        if flat.conditions:
            # The cases of the conditions, each combined with everything else.
            found, unheld = cases(flat, self._references.target, are_left_out=self._is_wide)
            self._findings.unheld += unheld
            return choice(*[self._node(self._move_findings(case), path, layout) for case in found])
        if flat.choices:
            return self._compile_choices(flat, layout)
        keywords = flat.keywords
        self._note(path, [keyword for keyword in _UNHELD if keyword in keywords])
        if layout is not None:
            types = as_types(keywords.get("type", "object"))
            if "object" in types:
                return self._object(keywords, path, layout)
            return NOTHING
        if not set(keywords).difference(_UNHELD, [EVALUATED]):
            return self._free(path)
        if "enum" in keywords:
            return self._compile_enum(keywords, path)
        return choice(*[self._compile_type(kind, keywords, path) for kind in types_of(keywords)])

    def _compile_choices(self, flat: FlatSchema, layout: Layout | None) -> Node:
        """The alternatives of the first choice, each combined with everything else."""
        first, *others = flat.choices
        beside: dict[int, list[SubSchema]] = {}
        if first.exactly_one:
            types = flat.keywords.get("type", TYPES)
            beside, is_whole = exclusions(first.branches, types, self._references.target)
            if self._is_wide:
                beside = {}
                is_whole = False
            if not is_whole:
                self._findings.unheld.append(first.path)
        if prod(len(each.branches) for each in flat.choices) > _MOST_COMBINATIONS:
            self._findings.unheld += [each.path for each in others]
            others = []
        if not flat.keywords and not others and not beside and layout is None:
            before = self._may_be_nothing
            self._may_be_nothing = True
            found = [self.value(each, f"{first.path}[{at}]") for at, each in enumerate(first.branches)]
            self._may_be_nothing = before
            return choice(*found)
        nodes: list[Node] = []
        for index, branch in enumerate(first.branches):
            path = f"{first.path}[{index}]"
            option = flat.after(first)
            if not first.exactly_one:
                # What another alternative declares is evaluated as well, if that one holds, too.
                self._note(first.path, option.forget_unevaluated())
            for schema in (branch, *beside.get(index, ())):
                flatten_schema(schema, path, self._references.target, option, is_part=True)
            option.add_choices(first, others)
            nodes.append(self._node(self._move_findings(option), path, layout))
        return choice(*nodes)

    def _compile_type(self, kind: str, keywords: Mapping[str, Any], path: str) -> Node:
        notation = self._notation
        if kind in _UNCOMPARED and any(is_a(kind, each) for each in keywords.get("excluded", ())):
            self._note(path, ["not"])
        match kind:
            case "object":
                return self._object(keywords, path, self.layout())
            case "array":
                return self._array(keywords, path)
            case "string":
                body, unheld = string(keywords, notation)
                self._note(path, unheld)
                if body is not None:
                    self._findings.stricter[SPELLING] = None
                return self._string(body)
            case "boolean":
                values = without((True, False), keywords.get("excluded", ()))
                return choice(*[self.literal(value) for value in values])
            case "null":
                values = without((None,), keywords.get("excluded", ()))
                return choice(*[self.literal(value) for value in values])
            case _:
                self._findings.stricter[DIGITS] = None
                node, unheld = numeric(kind, keywords)
                self._note(path, unheld)
                return self._rules.define(kind, node, token=True)

    def _note(self, path: str, unheld: Iterable[str]) -> None:
        """Keywords that are left to the gate."""
        self._findings.unheld += [f"{path}.{keyword}" for keyword in unheld]

    def _string(self, body: Node | None) -> Node:
        """A string with that body. Marks stay outside of its token: they may be tokens of the model."""
        notation = self._notation
        if not notation.is_raw:
            return self._rules.define("string", notation.string(body), token=True)
        if body is None:
            return self._rules.define("text", notation.string())
        if notation.close != notation.mark:
            # The first character of the line break before the mark cannot be told from one in the text.
            return row(
                word(notation.open),
                self._rules.define("text", row(body, word(notation.close)), token=True),
            )
        text = self._rules.define("text", body, token=True)
        return row(word(notation.open), text, word(notation.close))

    def _compile_enum(self, keywords: Mapping[str, Any], path: str) -> Node:
        """The values of an ``enum`` that the other keywords allow."""
        self._findings.stricter[SPELLING] = None
        values, unjudged = enum_values(keywords)
        self._note(path, unjudged)
        # Strings of a raw notation, which have no quotes; values that are one text; and all others.
        strings: list[str] = []
        texts: list[str] = []
        others: list[Node] = []
        for value in values:
            option = self.literal(value)
            if self._notation.is_raw and isinstance(value, str):
                if option != NOTHING:
                    strings.append(value)
            elif isinstance(option, WordNode):
                texts.append(option.text)
            else:
                others.append(option)
        options: list[Node] = []
        if strings:
            options.append(self._string(any_word(strings)))
        if texts:
            options.append(self._rules.define("enum", any_word(texts), token=True))
        return choice(*options, *others)

    def literal(self, value: Any) -> Node:
        """Exactly this value."""
        notation = self._notation
        match value:
            case None:
                return any_word(notation.null)
            case bool():
                return any_word(notation.true if value else notation.false)
            case str():
                return notation.spell(value)
            case list() | tuple():
                return bracket_items([self.literal(item) for item in value], self.separator, "[", "]")
            case dict():
                members = [
                    row(self._key(key), self.colon, self.literal(each)) for key, each in value.items()
                ]
                return bracket_items(members, self.separator, "{", "}")
            case _:
                return word(dump(value))

    def _object(self, keywords: Mapping[str, Any], path: str, layout: Layout) -> Node:
        rest = self._unevaluated_schema("unevaluatedProperties", keywords, path)
        keywords = {**keywords, "additionalProperties": keywords.get("additionalProperties", rest)}
        if "propertyNames" in keywords:
            keywords["propertyNames"] = resolve_property_names(
                keywords["propertyNames"], self._references.follow
            )
        self._findings.stricter[SPACES] = None
        with self._inside():
            members = ObjectMembers(keywords, path, self._rules, self._findings)
            return members.node(layout, self._patterns.matching, self._patterns.unlike)

    def _unevaluated_schema(self, keyword: str, keywords: Mapping[str, Any], path: str) -> SubSchema:
        """The schema of the members or items that no other keyword covers."""
        others: SubSchema = keywords.get(keyword, True)
        if others is True or not any(each in keywords for each in _EVALUATING):
            return others
        self._note(path, [keyword])
        return True

    def _array(self, keywords: Mapping[str, Any], path: str) -> Node:
        between = counts(keywords, path, self._findings)
        with self._inside():
            prefix: list[Node] = []
            for index, schema in enumerate(keywords.get("prefixItems", ())):
                prefix.append(self.value(schema, f"{path}.prefixItems[{index}]"))
            rest = self._unevaluated_schema("unevaluatedItems", keywords, path)
            inside: Node | None = None
            if is_distinct(keywords):
                # The items, each value once, where that can be followed.
                values = None
                if "prefixItems" not in keywords:
                    schema = keywords.get("items", True)
                    flat = flatten_schema(schema, path, self._references.target, FlatSchema())
                    values = few_values(flat)
                nodes = [self._compile_enum({"enum": [each]}, path) for each in values or ()]
                distinct = DistinctItems(nodes, self.separator, self._rules, path.rpartition(".")[2])
                is_held = values is not None and distinct.can_be_held(between)
                if not is_held or not distinct.is_whole:
                    self._note(path, ["uniqueItems"])
                if is_held:
                    inside = distinct.node(between)
            if inside is None:
                item = self.value(keywords.get("items", rest), f"{path}.items")
                inside = items(prefix, item, self.separator, between)
        self._findings.stricter[SPACES] = None
        return row(word("["), inside, word("]"))

    def repeat_item(self, item: Node, keywords: Mapping[str, Any], path: str) -> Node:
        """An item as often as an array's keywords want it, without anything around or between."""
        if is_distinct(keywords):
            self._note(path, ["uniqueItems"])
        return repeat(item, *counts(keywords, path, self._findings))

    def layout(self) -> Layout:
        """How an object is written within a value."""

        def member(name: str, schema: SubSchema, path: str) -> Node:
            return row(self._key(name), self.colon, self.value(schema, path))

        def free_member(names: Names, schema: SubSchema, path: str) -> Node:
            return row(self._any_key(names), self.colon, self.value(schema, path))

        return Layout(word("{"), word("}"), self.separator, member, free_member)

    def _key(self, name: str) -> Node:
        if self._notation.has_bare_keys:
            if _BARE_KEY.fullmatch(name):
                return word(name)
            return NOTHING
        return self._notation.spell(name)

    def _any_key(self, names: Names) -> Node:
        notation = self._notation
        if notation.has_bare_keys:
            return self._rules.define("key", free_name(names.taken), token=True)
        if names.body is not None or not names.taken:
            return self._rules.define("key", notation.string(names.body), token=True)
        # A name with an escape has two spellings, so it is not excluded.
        taken = [name for name in names.taken if notation.spell(name) == word(f'"{name}"')]
        body = OtherNameNode(tuple(sorted(taken)), notation.letter, close=notation.close)
        return self._rules.define("key", row(word(notation.open), body), token=True)

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Inside of brackets: text has been written, so that a schema may contain itself."""
        before = self._at_once
        self._at_once = frozenset()
        yield
        self._at_once = before

    def _free(self, path: str) -> Node:
        """Any value."""
        self._findings.unheld.append(f"{path} (distinct names)")
        self._findings.stricter |= {SPACES: None, DIGITS: None}

        def make(itself: Node) -> Node:
            options: list[Node] = []
            for kind in ("string", "number", "boolean", "null"):
                options.append(self._compile_type(kind, {}, path))
            member = row(self._any_key(Names()), self.colon, itself)
            for left, item, right in (("{", member, "}"), ("[", itself, "]")):
                inside = optional(row(item, repeat(row(self.separator, item))))
                options.append(row(word(left), inside, word(right)))
            return choice(*options)

        return self._rules.recursive(self._notation.name, "any", make)
