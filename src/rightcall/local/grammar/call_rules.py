"""Builds the rule for a call of one tool in a family's format, with arguments of limited size.

Arguments between tags are written each by its schema, as text if it is a string and otherwise as JSON.
The reader determines a value's type by the schema; if a string is one of several types, text that
parses as another of them is that other type. So text may not begin like a value that the schema would
refuse.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias, assert_never

from rightcall.core.tool import Spec
from rightcall.local.families.family import (
    Family,
    GemmaForm,
    JsonForm,
    NamedForm,
    NestedForm,
    PythonForm,
    Slot,
    TagForm,
)
from rightcall.local.families.shapes import ANY, STRING, Shapes, Types
from rightcall.local.grammar.compiler import Compiler, GrammarTooLarge
from rightcall.local.grammar.containers import Layout, Names
from rightcall.local.grammar.flat_schema import (
    FlatSchema,
    SchemaReferences,
    SubSchema,
    as_types,
    drop_large_counts,
    flatten_schema,
    structure,
)
from rightcall.local.grammar.notation import (
    JSON,
    PYTHON,
    Notation,
    between,
    colon,
    comma,
    free_name,
    json_without,
    up_to,
)
from rightcall.local.grammar.regex import ALL_SPACES, matching
from rightcall.local.grammar.rulebook import (
    ANY_CHAR,
    EMPTY,
    NOTHING,
    Findings,
    GrammarRule,
    GrammarRules,
    Node,
    chars,
    choice,
    nesting,
    optional,
    other_than,
    references,
    repeat,
    row,
    size,
    word,
)

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
    schema: SubSchema, rules: GrammarRules, findings: Findings, form: TagForm, name: str
) -> Node:
    """A name in its tag, and the arguments, each in tags of its own."""
    values = _Values(schema, rules, findings)

    def argument(key: Node, types: Types, sub: SubSchema, path: str) -> Node:
        quote = '"' if form.is_quoted else ""
        line = "\n" if form.is_on_lines else ""
        options: list[Node] = []
        for attribute, wanted in _attributes(form, types):
            key_tag = row(word(form.key_open + quote), key, word(quote + attribute + form.key_close))
            head = row(key_tag, _optional_space(form.gap), word(form.value_open + line))
            value = values.value(sub, path, form.value_close, line=line, types=wanted)
            options.append(row(head, value, _optional_space(form.after)))
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
    return row(head, _optional_space(form.name_close), _optional_space(form.head), node)


def _optional_space(text: str) -> Node:
    """Text that is optional if it is only white space: models of one family differ in that."""
    if text.isspace():
        return optional(word(text))
    return word(text)


def _attributes(form: TagForm, types: Types) -> list[tuple[str, Types]]:
    """The type attributes that a value's tag may have, and the types that the value may then have."""
    match form.attribute:
        case "":
            return [("", types)]
        case "string":
            split = [("true", types & STRING), ("false", types - STRING)]
        case "type":
            split = []
            for kind in ("string", *_OTHERS):
                split.append((kind, types & _SAID.get(kind, frozenset([kind]))))
    attributes = []
    for value, value_types in split:
        if value_types:
            attributes.append((f' {form.attribute}="{value}"', value_types))
    return attributes


def nested_arguments(
    schema: SubSchema, rules: GrammarRules, findings: Findings, form: NestedForm, name: str
) -> Node:
    """A name in its tag, and tags named after the keys, down to the scalars."""
    nested = _Nested(schema, rules, findings, form)
    node = nested.values.json.object(schema, "$", nested.layout(0))
    return row(word(f'"{name}"{form.name_close}'), node)


class _Values:
    """Values as text or JSON, up to a mark."""

    def __init__(
        self, document: SubSchema, rules: GrammarRules, findings: Findings, *, is_nested: bool = False
    ) -> None:
        self._document = document
        self._rules = rules
        self._findings = findings
        self._is_nested = is_nested
        """Whether a value may be made of tags, so that text must not begin like one."""
        self._compilers: dict[Notation, Compiler] = {}
        self.references = SchemaReferences(document)
        self.shapes = Shapes(document if isinstance(document, Mapping) else {})
        self.json = Compiler(document, rules, JSON, findings)

    def value(self, schema: SubSchema, path: str, mark: str, *, line: str = "", types: Types) -> Node:
        """A value and its end mark, for a reader that takes it for one of these types."""
        options: list[Node] = []
        if "string" in types:
            # What text may begin with, so that it does not parse as another type that might be
            # refused.
            refused = [kind for kind in sorted(types & _BEGIN.keys()) if not self._is_free(schema, kind)]
            letters = "".join([_BEGIN[kind] for kind in refused])
            first: Node = ANY_CHAR
            if letters or (self._is_nested and types != STRING):
                first = other_than(ALL_SPACES, other_than(chars(letters), ANY_CHAR))
            text = self._in(up_to(mark, line=line, first=first))
            options.append(text.value(_of(schema, ["string"]), path))
        others = []
        for kind in _OTHERS:
            if kind in types or (kind == "number" and "integer" in types):
                others.append(kind)
        if others:
            value = self._in(json_without(mark)).value(_of(schema, others), path)
            ended = row(value, word(line + mark))
            # Text includes its line break in one token, so a scalar beside it must as well.
            is_one = bool(line) and self._rules.is_token(ended)
            options.append(self._rules.define("value", ended, token=True) if is_one else ended)
        return choice(*options)

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

    def __init__(
        self, document: SubSchema, rules: GrammarRules, findings: Findings, form: NestedForm
    ) -> None:
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
        flat = flatten_schema(schema, path, self.values.references.target, FlatSchema())
        if depth < _MOST_NESTED and not flat.choices and "enum" not in flat.keywords:
            if types == frozenset(["object"]) and "properties" in flat.keywords:
                inside = self.values.json.object(schema, path, self.layout(depth + 1))
                return row(inside, word(mark))
            if types == frozenset(["array"]) and "prefixItems" not in flat.keywords:
                tag = self._form.item
                value = self._value(tag, flat.keywords.get("items", True), f"{path}.items", depth + 1)
                item = row(word(f"{self._form.prefix}<{tag}>"), value)
                return row(self.values.json.repeat_item(item, flat.keywords, path), word(mark))
        return self.values.value(schema, path, mark, types=types)


def _of(schema: SubSchema, kinds: list[str]) -> SubSchema:
    """A schema restricted to values of these types."""
    return {"allOf": [schema, {"type": kinds}]}


MOST_PARTS = 100_000
"""The largest size of one schema's rules, with every repetition expanded."""
MOST_NESTED = 300
"""The longest chain of references between rules. Engines follow them by recursion: llguidance (1.9) was
observed to overflow its stack at 4,000."""
_FEW = 64
"""The largest count that is kept in a schema that would be too large otherwise."""
MOST_PARTS_OF_ALL = 300_000
"""The largest size of all tools' rules; for later tools only the format is enforced."""

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_ANY_ID = "[A-Za-z0-9_-]{1,40}"
_ANYTHING: SubSchema = {"type": "object"}

Write: TypeAlias = Callable[[SubSchema, GrammarRules, Findings], Node]
"""Compiles a schema to a node, its rules and the findings."""


class CallRules:
    """The calls of one family. ``findings`` has what was found about each tool."""

    def __init__(self, family: Family, rules: GrammarRules) -> None:
        self._family = family
        self._rules = rules
        self.findings: dict[str, Findings] = {}

    def call(self, spec: Spec) -> Node:
        """One call of a tool, without what is around it."""
        form = self._family.form
        match form:
            case JsonForm():
                node = self._object(spec, form)
            case NamedForm() if self._family.channels is not None:
                node = self._arguments(spec, _object_in(JSON))
            case NamedForm():
                node = self._slots(spec, form, form.first, frozenset())
            case PythonForm():
                node = row(word(spec.name), self._arguments(spec, _python))
            case GemmaForm():
                node = row(word(spec.name), self._arguments(spec, _object_in(between(form.quote))))
            case TagForm():
                node = self._arguments(spec, lambda s, r, u: tagged_arguments(s, r, u, form, spec.name))
            case NestedForm():
                node = self._arguments(spec, lambda s, r, u: nested_arguments(s, r, u, form, spec.name))
            case _:
                assert_never(form)
        return self._rules.define(f"call {spec.name}", node)

    def _object(self, spec: Spec, form: JsonForm) -> Node:
        arguments = self._arguments(spec, _object_in(JSON))
        if form.is_keyed:
            return row(word("{"), JSON.spell(spec.name), colon(self._rules), arguments, word("}"))
        members = [
            row(JSON.spell(form.name_keys[0]), colon(self._rules), JSON.spell(spec.name)),
            row(JSON.spell(form.arguments_keys[0]), colon(self._rules), arguments),
        ]
        inside = row(members[0], comma(self._rules), members[1])
        if self._family.ids == "written":
            key = row(JSON.spell(form.id_keys[0]), colon(self._rules), JSON.string(self._id()))
            if form.is_id_first:
                inside = row(optional(row(key, comma(self._rules))), inside)
            else:
                inside = row(inside, optional(row(comma(self._rules), key)))
        return row(word("{"), inside, word("}"))

    def _slots(self, spec: Spec, form: NamedForm, slot: Slot, seen: frozenset[Slot]) -> Node:
        """A slot and what may follow it, up to the arguments."""
        if slot == "arguments":
            return self._arguments(spec, _object_in(JSON))
        seen = seen | {slot}
        onward: dict[Slot, Node] = {}
        for mark, target in form.marks:
            is_due = target != "arguments" or "name" in seen
            is_written = target != "id" or self._family.ids == "written"
            if is_due and is_written and target not in seen and target not in onward:
                onward[target] = row(word(mark), self._slots(spec, form, target, seen))
        match slot:
            case "kind":
                written = word(form.kind)
            case "id":
                written = self._id()
            case _:
                written = word(form.prefix + spec.name)
                if form.is_numbered:
                    written = row(written, word(":"), repeat(chars("0123456789"), 1, 3))
        return row(written, choice(*onward.values()))

    def _id(self) -> Node:
        pattern = self._family.id_pattern or _ANY_ID
        return self._rules.define("id", matching(f"^({pattern})$", JSON.one_of).node, token=True)

    def _arguments(self, spec: Spec, write: Write) -> Node:
        """The arguments by their schema; if that is too large, only by their format."""
        room = MOST_PARTS_OF_ALL - sum(each.parts for each in self.findings.values())
        node, findings = compile_within_limits(spec.parameters, _ANYTHING, self._rules, write, room=room)
        self.findings[spec.name] = findings
        return self._rules.define(f"{spec.name} arguments", node)


def _object_in(notation: Notation) -> Write:
    def write(schema: SubSchema, rules: GrammarRules, findings: Findings) -> Node:
        compiler = Compiler(schema, rules, notation, findings)
        return compiler.object(schema, "$", compiler.layout())

    return write


def _python(schema: SubSchema, rules: GrammarRules, findings: Findings) -> Node:
    """Arguments as Python keyword arguments."""

    def member(name: str, schema: SubSchema, path: str) -> Node:
        if not _IDENTIFIER.fullmatch(name):
            return NOTHING
        return row(word(name), word("="), compiler.value(schema, path))

    def free_member(names: Names, schema: SubSchema, path: str) -> Node:
        name = rules.define("name", free_name(names.taken), token=True)
        return row(name, word("="), compiler.value(schema, path))

    compiler = Compiler(schema, rules, PYTHON, findings)
    layout = Layout(word("("), word(")"), compiler.separator, member, free_member)
    return compiler.object(schema, "$", layout)


def compile_within_limits(
    schema: SubSchema, form: SubSchema, rules: GrammarRules, write: Write, *, room: int = MOST_PARTS
) -> tuple[Node, Findings]:
    """The rules of a schema, limited in size.

    If they would be too large, the rules without longer counts; and if those are too large as well, the
    rules of ``form``.
    """
    known = structure(schema)
    before = len(rules.rules)
    for most, unheld in ((None, ()), (_FEW, (f"$ (counts over {_FEW})",))):
        attempt = known if most is None else drop_large_counts(known, most)
        findings = Findings(unheld=[*unheld])
        try:
            node = write(attempt, rules, findings)
            deep = nesting(node, rules.rules)
        except (GrammarTooLarge, RecursionError):
            continue
        added = islice(rules.rules.items(), before, None)
        # Rules left by an earlier attempt do not count, unless this one refers to them as well.
        needed = added if most is None else _reachable_rules(node, dict(added))
        findings.parts = size(node) + sum(size(rule.node) for _, rule in needed)
        if findings.parts <= min(room, MOST_PARTS) and deep <= MOST_NESTED:
            return node, findings
    findings = Findings()
    node = write(form, rules, findings)
    findings.unheld = ["$ (too large)"]
    return node, findings


def _reachable_rules(node: Node, rules: dict[str, GrammarRule]) -> Iterator[tuple[str, GrammarRule]]:
    """The rules that a node refers to, directly or not, each once."""
    waiting = references(node)
    while waiting:
        name = waiting.pop()
        if (rule := rules.pop(name, None)) is not None:
            yield name, rule
            waiting += rule.references
