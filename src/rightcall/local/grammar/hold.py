"""The tools, the family and the tool choice of a request into the grammar that its reply is held to."""

from collections.abc import Sequence

from rightcall.core.jsontext import JsonObject
from rightcall.core.request import Named, ToolChoice
from rightcall.core.tool import Spec
from rightcall.errors import DeclarationError, UsageError
from rightcall.local.engine import Grammar, Syntax
from rightcall.local.families.family import Family
from rightcall.local.grammar.cache import Memory, digest
from rightcall.local.grammar.findings import Findings
from rightcall.local.grammar.fit import fitted
from rightcall.local.grammar.flatten import SubSchema
from rightcall.local.grammar.forms import Calls
from rightcall.local.grammar.gbnf import print_gbnf
from rightcall.local.grammar.lark import print_lark
from rightcall.local.grammar.nodes import Node, Reference
from rightcall.local.grammar.notation import JSON
from rightcall.local.grammar.reply import Reply
from rightcall.local.grammar.rules import Rulebook, Rules
from rightcall.local.grammar.schema import Compiler
from rightcall.local.grammar.thought import Place, place

_grammars: Memory[Grammar] = Memory()


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
    """The grammar that holds a reply to legal calls; None when the model is to call nothing.

    ``auto`` leaves the text free up to a family's opening marker; with ``decide`` it is held from the
    start to either a call or an answer, which helps small models. ``tail`` is how the prompt ends: it
    may have opened a thought. A tool that no arguments could satisfy is a DeclarationError.
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


def grammar_for_output(schema: JsonObject, *, syntax: Syntax) -> Grammar:
    """The grammar that holds a whole reply to JSON that satisfies a schema."""

    def make() -> Grammar:
        rules = Rules()
        node, _ = _compiled(schema, rules)
        book = rules.book(node)
        if not book.rules:
            raise UsageError("no JSON value satisfies the output schema, so no answer could be given")
        return Grammar(syntax=syntax, text=_printed(book, syntax))

    return _grammars.get((syntax, "output", digest(schema)), make)


def unheld(schema: JsonObject) -> tuple[str, ...]:
    """What a grammar does not hold of a schema, as paths to keywords; the gate checks it afterwards."""
    return tuple(dict.fromkeys(_compiled(schema, Rules())[1].unheld))


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
    calls = Calls(family, rules)
    nodes = {spec.name: calls.call(spec) for spec in specs}
    reply = Reply(family, rules, nodes, where)
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
        syntax=syntax, text=_printed(book, syntax), triggers=triggers, special=reply.special()
    )


def _uncallable(name: str, family: Family, findings: Findings) -> DeclarationError:
    where = f"parameters at {findings.impossible[0]}" if findings.impossible else "parameters"
    return DeclarationError(
        name,
        f"no arguments can satisfy it as models of the family {family.name!r} write them.",
        where=where,
        fix="Give what is required a schema that some value fits, and a name that can be written.",
    )


def _printed(book: Rulebook, syntax: Syntax) -> str:
    return print_gbnf(book) if syntax == "gbnf" else print_lark(book)
