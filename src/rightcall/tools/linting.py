"""Lints tool definitions."""

from collections.abc import Callable, Collection, Iterator, Sequence

from rightcall.core.options import checked
from rightcall.core.tool import Spec
from rightcall.declare.finding import Finding
from rightcall.declare.stranger import in_own_words
from rightcall.declare.suspicion import suspicions
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import UsageError
from rightcall.tools.description_rules import description_findings
from rightcall.tools.pair_rules import pair_findings
from rightcall.tools.parameter_rules import parameter_findings
from rightcall.wire.anthropic.tables import RULES as ANTHROPIC
from rightcall.wire.strict import OPENAI, Rules
from rightcall.wire.strictness import judged

LINT_RULES = {
    "empty": "a description without words",
    "vague": "a description that says no more than the name",
    "not-imperative": "a description that does not begin with what to do",
    "no-when": "not said when to use it, where others work on the same thing",
    "no-when-not": "not said when another that is like it is the better one",
    "near-duplicate": "two tools that could be one with a mode",
    "one-letter": "names that differ in one letter",
    "no-description": "a parameter without a description",
    "no-example": "a parameter in some notation, without an example",
    "cryptic-enum": "values that only their author understands",
    "long-short": "a short line of more than 80 characters",
    "long-manual": "a description of more than 2,000 characters",
    "strict": "a schema that a vendor's strict mode cannot express",
    "orders": "words of a stranger that speak to the model",
}
"""The rules, by the names that suppress them."""

_VENDORS: Sequence[tuple[str, Rules]] = (("OpenAI", OPENAI), ("Anthropic", ANTHROPIC))


@checked("rc.lint", say="rc.lint(…, {}=…)")
def lint(tools: ToolSource, *, ignore: Collection[str] = ()) -> tuple[Finding, ...]:
    """Find what makes tools hard to choose or to call, with why it matters and what to write.

    ``tools`` are whatever an agent takes: functions, schemas, toolboxes, those of a manifest or of an
    MCP server. ``ignore`` lists rules to ignore: ``"no-when"`` for all tools, or
    ``"no-when:send_email"`` for one.
    """
    box = tools if isinstance(tools, Toolbox) else Toolbox(tools)
    ignored = frozenset([ignore] if isinstance(ignore, str) else ignore)
    for each in ignored:
        rule, _, name = each.partition(":")
        if rule not in LINT_RULES:
            raise UsageError(f"lint finds no {each!r} to ignore; it finds {', '.join(LINT_RULES)}")
        if name and name not in box:
            raise UsageError(
                f"ignore={each!r}: there is no tool {name!r}; there is {', '.join(box.names())}"
            )
    specs = [in_own_words(each.spec) for each in box]
    places = {spec.name: place for place, spec in enumerate(specs)}
    found = [
        each
        for each in _findings(specs)
        if each.rule not in ignored and f"{each.rule}:{each.tool}" not in ignored
    ]
    return tuple(sorted(found, key=lambda each: places[each.tool]))


def _findings(specs: Sequence[Spec]) -> Iterator[Finding]:
    looks: Sequence[Callable[[Spec], Iterator[Finding]]] = (
        _orders,
        description_findings,
        parameter_findings,
        _not_strict,
    )
    for look in looks:
        for spec in specs:
            yield from look(spec)
    yield from pair_findings(specs)


def _orders(spec: Spec) -> Iterator[Finding]:
    """Untrusted text that speaks to the model. A developer's own text may well give orders."""
    if spec.origin:
        words = {"name": spec.name, "description": spec.description}
        for each in suspicions(spec.name, words, spec.parameters):
            why = "whoever writes a description can try to lead the model; read it before you trust it"
            instead = "say what the tool does, and leave to the developer what the model does"
            yield Finding(
                *(each.tool, each.where, each.weight, each.what, each.excerpt, "orders", why, instead)
            )


def _not_strict(spec: Spec) -> Iterator[Finding]:
    if spec.native or spec.strict is False or spec.input == "text":
        return
    reasons: dict[tuple[str, str], list[str]] = {}
    for vendor, rules in _VENDORS:
        found = judged(spec.parameters, rules)
        if found.reason:
            reasons.setdefault((found.place, found.reason), []).append(vendor)
    for (place, reason), vendors in reasons.items():
        yield Finding(
            *(spec.name, f"parameters at {place}", "advice"),
            f"{' and '.join(vendors)} cannot hold a model to this schema: {reason}",
            "",
            "strict",
            "without it a model may write arguments that the gate refuses, and each costs a turn",
            "change the schema as it says, or say strict=False of the tool",
        )
