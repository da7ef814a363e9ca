"""Builds the rule for a call of one tool in a family's format, with arguments of limited size."""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeAlias, assert_never

from rightcall.core.tool import Spec
from rightcall.local.families.family import (
    Family,
    Form,
    GemmaForm,
    JsonForm,
    NamedForm,
    NestedForm,
    PythonForm,
    Slot,
    TagForm,
)
from rightcall.local.grammar.compiler import Compiler, TooLarge
from rightcall.local.grammar.nodes import (
    EMPTY,
    NOTHING,
    Node,
    chars,
    choice,
    optional,
    references,
    repeat,
    row,
    size,
    word,
)
from rightcall.local.grammar.notation import JSON, PYTHON, Notation, between, colon, comma, free_name
from rightcall.local.grammar.objects import Layout, Names
from rightcall.local.grammar.plain import SubSchema, loosened, structure
from rightcall.local.grammar.regex import matching
from rightcall.local.grammar.rulebook import Findings, Rule, Rules, nesting
from rightcall.local.grammar.tags import nested_arguments, tagged_arguments

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

Write: TypeAlias = Callable[[SubSchema, Rules, Findings], Node]
"""Compiles a schema to a node, its rules and the findings."""


class CallRules:
    """The calls of one family. ``findings`` has what was found about each tool."""

    def __init__(self, family: Family, rules: Rules) -> None:
        self._family = family
        self._rules = rules
        self.findings: dict[str, Findings] = {}

    def call(self, spec: Spec) -> Node:
        """One call of a tool, without what is around it."""
        return self._rules.define(f"call {spec.name}", self._call(spec, self._family.form))

    def _call(self, spec: Spec, form: Form) -> Node:
        match form:
            case JsonForm():
                return self._object(spec, form)
            case NamedForm() if self._family.channels is not None:
                return self._arguments(spec, _object_in(JSON))
            case NamedForm():
                return self._slots(spec, form, form.first, frozenset())
            case PythonForm():
                return row(word(spec.name), self._arguments(spec, _python))
            case GemmaForm():
                return row(word(spec.name), self._arguments(spec, _object_in(between(form.quote))))
            case TagForm():
                return self._arguments(spec, lambda s, r, u: tagged_arguments(s, r, u, form, spec.name))
            case NestedForm():
                return self._arguments(spec, lambda s, r, u: nested_arguments(s, r, u, form, spec.name))
            case _:
                assert_never(form)

    def _object(self, spec: Spec, form: JsonForm) -> Node:
        """The call as a JSON object."""
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
            before, after = row(key, comma(self._rules)), row(comma(self._rules), key)
            inside = row(optional(before), inside) if form.is_id_first else row(inside, optional(after))
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
        return row(self._slot(spec, form, slot), choice(*onward.values()))

    def _slot(self, spec: Spec, form: NamedForm, slot: Slot) -> Node:
        match slot:
            case "kind":
                return word(form.kind)
            case "id":
                return self._id()
            case _:
                number = row(word(":"), repeat(chars("0123456789"), 1, 3)) if form.is_numbered else EMPTY
                return row(word(form.prefix + spec.name), number)

    def _id(self) -> Node:
        pattern = self._family.id_pattern or _ANY_ID
        return self._rules.define("id", matching(f"^({pattern})$", JSON.one_of).node, token=True)

    def _arguments(self, spec: Spec, write: Write) -> Node:
        """The arguments by their schema; if that is too large, only by their format."""
        room = MOST_PARTS_OF_ALL - sum(each.parts for each in self.findings.values())
        node, findings = fitted(spec.parameters, _ANYTHING, self._rules, write, room=room)
        self.findings[spec.name] = findings
        return self._rules.define(f"{spec.name} arguments", node)


def _object_in(notation: Notation) -> Write:
    def write(schema: SubSchema, rules: Rules, findings: Findings) -> Node:
        compiler = Compiler(schema, rules, notation, findings)
        return compiler.object(schema, "$", compiler.layout())

    return write


def _python(schema: SubSchema, rules: Rules, findings: Findings) -> Node:
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


def fitted(
    schema: SubSchema, form: SubSchema, rules: Rules, write: Write, *, room: int = MOST_PARTS
) -> tuple[Node, Findings]:
    """The rules of a schema, limited in size.

    If they would be too large, the rules without longer counts; and if those are too large as well, the
    rules of ``form``.
    """
    known = structure(schema)
    before = len(rules.rules)
    for most, unheld in ((None, ()), (_FEW, (f"$ (counts over {_FEW})",))):
        attempt = known if most is None else loosened(known, most)
        findings = Findings(unheld=[*unheld])
        try:
            node = write(attempt, rules, findings)
            deep = nesting(node, rules.rules)
        except (TooLarge, RecursionError):
            continue
        added = islice(rules.rules.items(), before, None)
        # Rules left by an earlier attempt do not count, unless this one refers to them as well.
        needed = added if most is None else _led_to(node, dict(added))
        findings.parts = size(node) + sum(size(rule.node) for _, rule in needed)
        if findings.parts <= min(room, MOST_PARTS) and deep <= MOST_NESTED:
            return node, findings
    findings = Findings()
    node = write(form, rules, findings)
    findings.unheld = ["$ (too large)"]
    return node, findings


def _led_to(node: Node, rules: dict[str, Rule]) -> Iterator[tuple[str, Rule]]:
    """The rules that a node refers to, directly or not, each once."""
    waiting = references(node)
    while waiting:
        name = waiting.pop()
        if (rule := rules.pop(name, None)) is not None:
            yield name, rule
            waiting += rule.references
