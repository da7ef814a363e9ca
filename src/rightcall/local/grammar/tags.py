"""Arguments between tags: each by its schema, as text if it is a string and otherwise as JSON.

The reader determines a value's type by the schema; if a string is one of several types, text that parses
as another of them is that other type. So text may not begin like a value that the schema would refuse.
"""

from collections.abc import Mapping
from typing import Any

from rightcall.local.families.family import NestedForm, TagForm
from rightcall.local.families.shapes import ANY, STRING, Shapes, Types
from rightcall.local.grammar.compiler import Compiler
from rightcall.local.grammar.flatten import Flat, References, as_types, flatten
from rightcall.local.grammar.nodes import (
    ANY_CHAR,
    EMPTY,
    NOTHING,
    Node,
    chars,
    choice,
    optional,
    other_than,
    repeat,
    row,
    word,
)
from rightcall.local.grammar.notation import JSON, Notation, free_name, json_without, up_to
from rightcall.local.grammar.objects import Layout, Names
from rightcall.local.grammar.plain import SubSchema
from rightcall.local.grammar.regex import ALL_SPACES
from rightcall.local.grammar.rulebook import Findings, Rules

_OTHERS = ("object", "array", "number", "boolean", "null")
_SAID = {"number": frozenset(["number", "integer"])}
_BEGIN = {
    "number": "-0123456789",
    "integer": "-0123456789",
    "object": "{[(",
    "array": "{[(",
    "boolean": "tf",
}
_MOST_NESTED = 6


def tagged_arguments(
    schema: SubSchema, rules: Rules, findings: Findings, form: TagForm, name: str
) -> Node:
    """A name in its tag, and the arguments, each in tags of its own."""
    values = _Values(schema, rules, findings)

    def argument(key: Node, types: Types, sub: SubSchema, path: str) -> Node:
        quote, line = ('"' if form.is_quoted else ""), ("\n" if form.is_on_lines else "")
        options: list[Node] = []
        for attribute, wanted in _attributes(form, types):
            key_tag = row(word(form.key_open + quote), key, word(quote + attribute + form.key_close))
            head = row(key_tag, _spaced(form.gap), word(form.value_open + line))
            value = values.value(sub, path, form.value_close, line=line, types=wanted)
            options.append(row(head, value, _spaced(form.after)))
        return choice(*options)

    def member(key: str, sub: SubSchema, path: str) -> Node:
        if form.key_close in key or '"' in key or key != key.strip():
            return NOTHING
        return argument(word(key), values.shapes.types(values.shapes.parameter(key)), sub, path)

    def free_member(names: Names, sub: SubSchema, path: str) -> Node:
        name = rules.define("name", free_name(names.taken, ".-"), token=True)
        return argument(name, ANY, sub, path)

    counter = row(word(f' {form.counter}="'), repeat(chars("0123456789"), 1, 3), word('"'))
    head = row(word(f'"{name}"' if form.is_quoted else name), counter if form.counter else EMPTY)
    node = values.json.object(schema, "$", Layout(EMPTY, EMPTY, EMPTY, member, free_member))
    return row(head, _spaced(form.name_close), _spaced(form.head), node)


def _spaced(text: str) -> Node:
    """Text that is optional if it is only white space: models of one family differ in that."""
    return optional(word(text)) if text.isspace() else word(text)


def _attributes(form: TagForm, types: Types) -> list[tuple[str, Types]]:
    """The type attributes that a value's tag may have, and the types that the value may then have."""
    match form.attribute:
        case "":
            return [("", types)]
        case "string":
            split = [("true", types & STRING), ("false", types - STRING)]
        case "type":
            split = [(kind, types & _SAID.get(kind, frozenset([kind]))) for kind in ("string", *_OTHERS)]
    return [(f' {form.attribute}="{said}"', wanted) for said, wanted in split if wanted]


def nested_arguments(
    schema: SubSchema, rules: Rules, findings: Findings, form: NestedForm, name: str
) -> Node:
    """A name in its tag, and tags named after the keys, down to the scalars."""
    nested = _Nested(schema, rules, findings, form)
    node = nested.values.json.object(schema, "$", nested.layout(0))
    return row(word(f'"{name}"{form.name_close}'), node)


class _Values:
    """Values as text or JSON, up to a mark."""

    def __init__(
        self, document: SubSchema, rules: Rules, findings: Findings, *, is_nested: bool = False
    ) -> None:
        self._document = document
        self._rules = rules
        self._findings = findings
        self._is_nested = is_nested
        """Whether a value may be made of tags, so that text must not begin like one."""
        self._compilers: dict[Notation, Compiler] = {}
        self.references = References(document)
        self.shapes = Shapes(document if isinstance(document, Mapping) else {})
        self.json = Compiler(document, rules, JSON, findings)

    def value(self, schema: SubSchema, path: str, mark: str, *, line: str = "", types: Types) -> Node:
        """A value and its end mark, for a reader that takes it for one of these types."""
        options: list[Node] = []
        if "string" in types:
            first = self._beginning(schema, types)
            text = self._in(up_to(mark, line=line, first=first))
            options.append(text.value(_of(schema, ["string"]), path))
        others = [kind for kind in _OTHERS if kind in types or (kind == "number" and "integer" in types)]
        if others:
            value = self._in(json_without(mark)).value(_of(schema, others), path)
            ended = row(value, word(line + mark))
            # Text includes its line break in one token, so a scalar beside it must as well.
            is_one = bool(line) and self._rules.is_token(ended)
            options.append(self._rules.define("value", ended, token=True) if is_one else ended)
        return choice(*options)

    def _beginning(self, schema: SubSchema, types: Types) -> Node:
        """What text may begin with, so that it does not parse as another type that might be refused."""
        letters = "".join(
            _BEGIN[kind] for kind in sorted(types) if kind in _BEGIN and not self._is_free(schema, kind)
        )
        if not letters and not (self._is_nested and types != STRING):
            return ANY_CHAR
        return other_than(ALL_SPACES, other_than(chars(letters), ANY_CHAR))

    def _is_free(self, schema: SubSchema, kind: str) -> bool:
        """Whether every value of a type satisfies a schema, as far as is easily seen."""
        schema = self.references.follow(schema)
        if isinstance(schema, bool):
            return schema
        if set(schema) <= {"type"}:
            said = as_types(schema.get("type", kind))
            return kind in said or (kind == "integer" and "number" in said)
        return set(schema) == {"anyOf"} and any(self._is_free(each, kind) for each in schema["anyOf"])

    def _in(self, notation: Notation) -> Compiler:
        if notation not in self._compilers:
            self._compilers[notation] = Compiler(self._document, self._rules, notation, self._findings)
        return self._compilers[notation]


class _Nested:
    """Objects and arrays as nested tags."""

    def __init__(self, document: SubSchema, rules: Rules, findings: Findings, form: NestedForm) -> None:
        self.values = _Values(document, rules, findings, is_nested=True)
        self._form = form

    def layout(self, depth: int) -> Layout:
        """The members of an object, each in a tag of its name."""

        def member(key: str, schema: SubSchema, path: str) -> Node:
            if not key or set(key) & set("<>/\"'") or key != key.strip():
                return NOTHING
            return row(word(f"{self._form.prefix}<{key}>"), self._value(key, schema, path, depth))

        return Layout(EMPTY, EMPTY, EMPTY, member)

    def _value(self, key: str, schema: SubSchema, path: str, depth: int) -> Node:
        """A value and its closing tag."""
        mark = f"{self._form.prefix}</{key}>"
        types = self.values.shapes.types(schema)
        flat = flatten(schema, path, self.values.references.target, Flat())
        if depth < _MOST_NESTED and not flat.choices and "enum" not in flat.keywords:
            if types == frozenset(["object"]) and "properties" in flat.keywords:
                inside = self.values.json.object(schema, path, self.layout(depth + 1))
                return row(inside, word(mark))
            if types == frozenset(["array"]) and "prefixItems" not in flat.keywords:
                return row(self._items(flat.keywords, path, depth), word(mark))
        return self.values.value(schema, path, mark, types=types)

    def _items(self, keywords: Mapping[str, Any], path: str, depth: int) -> Node:
        tag = self._form.item
        value = self._value(tag, keywords.get("items", True), f"{path}.items", depth + 1)
        item = row(word(f"{self._form.prefix}<{tag}>"), value)
        return self.values.json.repeated(item, keywords, path)


def _of(schema: SubSchema, kinds: list[str]) -> SubSchema:
    """A schema restricted to values of these types."""
    return {"allOf": [schema, {"type": kinds}]}
