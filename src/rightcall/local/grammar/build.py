"""Builds the grammar of a reply from a request's tools, its tool choice and the family.

Grammars are cached by structure, a digest of what a schema allows: two toolboxes that differ only in
descriptions share a grammar. A schema's digest is cached by its identity, so that a repeated request
costs a lookup.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from hashlib import blake2b
from threading import Lock
from typing import Generic, TypeVar

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.options import checked
from rightcall.core.request import Named, ToolChoice
from rightcall.core.tool import Spec
from rightcall.errors import DeclarationError, UsageError
from rightcall.local.engine import Grammar, Syntax
from rightcall.local.families.family import Family
from rightcall.local.grammar.compiler import Compiler
from rightcall.local.grammar.forms import CallRules, fitted
from rightcall.local.grammar.nodes import Node, Reference
from rightcall.local.grammar.notation import JSON
from rightcall.local.grammar.plain import SubSchema, structure
from rightcall.local.grammar.printers import print_grammar
from rightcall.local.grammar.reply_rules import Place, ReplyRules, place
from rightcall.local.grammar.rulebook import Findings, Rules

T = TypeVar("T")

MOST_CACHED = 256
"""How many grammars are cached; the least recently used is dropped first."""
_MOST_DIGESTS = 4096


class Cache(Generic[T]):
    """A bounded, thread-safe LRU cache."""

    def __init__(self, most: int = MOST_CACHED) -> None:
        self._most = most
        self._cached: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The cached value of a key; made now if there is none. Two threads may make it at once."""
        with self._lock:
            if key in self._cached:
                self._cached.move_to_end(key)
                return self._cached[key]
        made = make()
        with self._lock:
            cached = self._cached.setdefault(key, made)
            self._cached.move_to_end(key)
            while len(self._cached) > self._most:
                self._cached.popitem(last=False)
        return cached

    def __len__(self) -> int:
        with self._lock:
            return len(self._cached)

    def clear(self) -> None:
        """Clear the cache."""
        with self._lock:
            self._cached.clear()


_grammars: Cache[Grammar] = Cache()
_digests: Cache[tuple[JsonObject, bytes]] = Cache(_MOST_DIGESTS)


def digest(schema: JsonObject) -> bytes:
    """A digest: equal for schemas that allow the same, in the same words and order."""

    def make() -> tuple[JsonObject, bytes]:
        return schema, blake2b(dump(structure(schema)).encode(), digest_size=16).digest()

    # The schema is cached with its digest, so that no other object can get its identity meanwhile.
    return _digests.get(id(schema), make)[1]


@checked("rc.local.grammar_for")
def grammar_for(
    specs: Sequence[Spec],
    family: Family,
    choice: ToolChoice,
    *,
    syntax: Syntax,
    parallel: bool = True,
    tail: str = "",
    decide: bool = False,
) -> Grammar | None:
    """The grammar that restricts a reply to valid calls; None if the model must call nothing.

    ``auto`` leaves the text unrestricted up to a family's opening marker; with ``decide`` it is
    restricted from the start to either a call or an answer, which helps small models. ``tail`` is the
    end of the prompt: it may have opened a thought. Raises DeclarationError for a tool that no arguments
    can satisfy.
    """
    offered = _offered(specs, choice)
    if choice == "none" or not offered:
        return None
    where = place(family, tail)
    several = parallel and not isinstance(choice, Named)
    way = "lazy" if choice == "auto" and not decide else "decided" if choice == "auto" else "forced"
    structures = tuple([(spec.name, digest(spec.parameters)) for spec in offered])
    key = (syntax, family.name, family.form, where, several, way, structures)

    def make() -> Grammar:
        return _make(offered, family, where, way, syntax, several=several)

    return _grammars.get(key, make)


@checked("rc.local.grammar_for_output")
def grammar_for_output(schema: JsonObject, *, syntax: Syntax) -> Grammar:
    """The grammar that restricts a whole reply to JSON that satisfies a schema."""

    def make() -> Grammar:
        rules = Rules()
        node, _ = _compiled(schema, rules)
        book = rules.book(node)
        if not book.rules:
            raise UsageError("no JSON value satisfies the output schema, so no answer could be given")
        return Grammar(syntax=syntax, text=print_grammar(book, syntax))

    return _grammars.get((syntax, "output", digest(schema)), make)


def unheld(schema: JsonObject) -> tuple[str, ...]:
    """What a grammar does not enforce of a schema, as paths to keywords; the gate checks it afterwards.

    Last comes what it enforces beyond the schema, each as ``(stricter: …)``: the order of members, white
    space, how a value is spelt. In nothing else does a grammar refuse what the schema allows.
    """
    findings = _compiled(schema, Rules())[1]
    return (*dict.fromkeys(findings.unheld), *[f"(stricter: {each})" for each in findings.stricter])


def _compiled(schema: JsonObject, rules: Rules) -> tuple[Node, Findings]:
    def write(known: SubSchema, into: Rules, findings: Findings) -> Node:
        return Compiler(known, into, JSON, findings).value(known, "$")

    return fitted(schema, {}, rules, write)


def _offered(specs: Sequence[Spec], choice: ToolChoice) -> tuple[Spec, ...]:
    if not isinstance(choice, Named):
        if choice == "required" and not specs:
            raise UsageError("a call is required, but no tools are offered")
        return tuple(specs)
    found = tuple(spec for spec in specs if spec.name == choice.name)
    if not found:
        raise UsageError(f"the model must call {choice.name!r}, which is not among the tools offered")
    return found


def _make(
    specs: Sequence[Spec], family: Family, where: Place, way: str, syntax: Syntax, *, several: bool
) -> Grammar:
    rules = Rules()
    calls = CallRules(family, rules)
    nodes = {spec.name: calls.call(spec) for spec in specs}
    reply = ReplyRules(family, rules, nodes, where)
    match way:
        case "lazy":
            root, triggers = reply.lazy(several=several), reply.triggers()
        case "decided":
            root, triggers = reply.decided(several=several), ()
        case _:
            root, triggers = reply.forced(several=several), ()
    book = rules.book(root)
    for name, node in nodes.items():
        if not isinstance(node, Reference) or node.name not in book.rules:
            raise _uncallable(name, family, calls.findings[name])
    return Grammar(
        syntax=syntax, text=print_grammar(book, syntax), triggers=triggers, special=reply.special()
    )


def _uncallable(name: str, family: Family, findings: Findings) -> DeclarationError:
    where = f"parameters at {findings.impossible[0]}" if findings.impossible else "parameters"
    return DeclarationError(
        name,
        f"no arguments can satisfy it as models of the family {family.name!r} write them.",
        where=where,
        fix="Give what is required a schema that some value fits, and a name that can be written.",
    )
