"""Lints tool definitions."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from rightcall.core.jsontext import dump
from rightcall.core.options import check_keywords
from rightcall.core.problem import json_path
from rightcall.core.references import local_target
from rightcall.core.tool import Spec
from rightcall.declare.findings import Finding, suspicions
from rightcall.declare.manual import first_sentence, original_spec
from rightcall.declare.search_words import terms
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import UsageError
from rightcall.tools.pair_rules import pair_findings
from rightcall.wire.anthropic.tables import RULES as ANTHROPIC
from rightcall.wire.strict_schema import OPENAI, SchemaRules
from rightcall.wire.strictness import convert_strict


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LONGEST_SHORT = 80
LONGEST_MANUAL = 2_000
"""The longest description, in characters; some 500 tokens, on every turn."""

_SAYS_NOTHING = frozenset(
    terms(
        "tool function method helper utility handle handler manage manager process perform execute do "
        "work thing stuff data information info various item object value operation action task get set "
        "run provide allow enable support input output result return given specified some "
        "new existing specific single multiple available details detailed current particular"
    )
)
_VAGUE = re.compile(
    r"\b(various|stuff|things|misc(ellaneous)?|somehow|and so on|and more|deals? with|helper|utility)\b",
    re.IGNORECASE,
)
_SHORT_TEXT = 80
"""The length, in characters, up to which a vague word makes the whole text vague."""
_NO_VERB = _words(
    "a an the this that these it its tool function method api endpoint allows provides enables lets "
    "helper utility wrapper you used useful"
)
# Words with the ending of a third person or a gerund that are neither.
_NOT_INFLECTED = _words(
    "access across address alias always bring bypass canvas compress cross discuss dismiss express "
    "focus pass ping plus press process ring sing spring status string swing thing"
)
_INFLECTED = re.compile(r"[a-z]{2,}(?:[^sui]s|ies|ing)")
_WORD = re.compile(r"[A-Za-z]+")


def description_findings(spec: Spec) -> Iterator[Finding]:
    """The findings on a description, most important first."""
    text = spec.description.strip()
    if not text:
        yield _finding(
            spec,
            "empty",
            "the description is empty",
            "the name is all that a model can choose by",
            'say in the imperative what it does and when: "Send an email. Use it when …"',
        )
    else:
        own = set(terms(text)) - set(terms(spec.name)) - _SAYS_NOTHING
        fault = ""
        if not own:
            fault = "says no more than the name"
        if len(text) <= _SHORT_TEXT and (vague := _VAGUE.search(text)):
            fault = f"is vague ({vague[0]})"
        if fault:
            yield _finding(
                spec,
                "vague",
                f"the description {fault}",
                "a model cannot tell from it what it gets, nor what the tool is not for",
                "name the thing it works on, what comes back, and when to use it",
            )
        yield from _not_imperative(spec, text)
    if len(text) > LONGEST_MANUAL:
        yield _finding(
            spec,
            "long-manual",
            f"the description has {len(text):,} characters",
            f"it is sent on every turn, and beyond {LONGEST_MANUAL:,} characters it buries the others",
            'keep what a choice needs, and give the rest by look-up: descriptions="short"',
        )
    if len(spec.short) > LONGEST_SHORT:
        yield Finding(
            *(spec.name, "short", "advice"),
            f"the short line has {len(spec.short)} characters",
            spec.short[:LONGEST_SHORT],
            "long-short",
            "it stands in a list of many, where each must be read at a glance",
            f"say what it does in {LONGEST_SHORT} characters or fewer",
        )


def _not_imperative(spec: Spec, text: str) -> Iterator[Finding]:
    found = _WORD.search(text)
    if found is None:
        return
    first = found[0].lower()
    is_inflected = _INFLECTED.fullmatch(first) is not None and first not in _NOT_INFLECTED
    if first in _NO_VERB or is_inflected:
        yield _finding(
            spec,
            "not-imperative",
            f"the description begins with {found[0]!r}, and not with what to do",
            "the first words are what a model matches to a request, and what short lists keep",
            'begin with the verb: "Search …", and not "Searches …" or "This tool searches …"',
        )


def _finding(spec: Spec, rule: str, what: str, why: str, instead: str) -> Finding:
    excerpt = first_sentence(spec.description)
    return Finding(spec.name, "description", "advice", what, excerpt, rule, why, instead)


_DEPTH = 6
# Short values that everybody knows.
_KNOWN = _words(
    "asc desc and or not on off yes no up down in out to cc bcc put csv tsv xml json html pdf png "
    "jpg gif svg webp md txt px em pt cm mm km mi kg lb kb mb gb tb ms hr b i u h1 h2 h3 h4 h5 h6 "
    "en de fr es it pt ja zh usd eur gbp ip id url uri utc http https sql tcp udp us uk eu eq ne lt "
    "gt le ge lte gte neq xhr css js ts"
)
_SAYS_ALL = frozenset(("title", "body", "content", "message", "text", "subject", "page", "url", "email"))
"""Parameters whose names need no description; nor do values that are words."""
_LIKE_A_WORD = re.compile(r"(?=.*[aeiouyAEIOUY]).{3,}|.*[\s_./:-].*|\d+ ?[a-z]{1,2}", re.DOTALL)
# Parameters that need a certain notation, so a model should see an example.
_NOTATION = re.compile(
    r"\b(jql|cql|cron|regex|regular expression|glob|selector|xpath|jmespath|jsonpath|expression|"
    r"dsl|syntax|query language|filter (string|object)|pipeline|rrule)\b",
    re.IGNORECASE,
)
_SHOWN = re.compile(
    r"\be\.?g\b|\bi\.e\b|example|\bsuch as\b|\blike\b|[\"'`“].+?[\"'`”]|\bfor instance\b|https?://|"
    r"yyyy|\d{4}-\d\d",
    re.IGNORECASE | re.DOTALL,
)


def parameter_findings(spec: Spec) -> Iterator[Finding]:
    """The findings on the parameters, in their order."""
    if spec.native:
        return
    shown = frozenset(name for example in spec.examples for name in example)
    for name, member in _members(spec.parameters):
        where = f"parameters at {json_path([name])}"
        says_all = name in _SAYS_ALL or "enum" in member
        if not says_all and not _says(member, spec.parameters, "description"):
            yield Finding(
                *(spec.name, where, "advice", "the parameter has no description", "", "no-description"),
                "a model fills it in by its name alone, and guesses the unit, the form and the default",
                "say what it means, in which form, and what is taken when it is left out",
            )
        if name not in shown and _is_notation(name, member) and not _is_shown(member, spec):
            yield Finding(
                *(spec.name, where, "advice", "the parameter has a notation and no example"),
                str(member.get("description", member.get("pattern", "")))[:80],
                "no-example",
                "models write what they have seen; one example is worth more than its rules",
                "give the tool examples=[{…}], or add one to the description: (e.g. …)",
            )
    yield from _enums(spec, spec.parameters, (), "", _DEPTH)


def _members(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for name, each in properties.items():
            if isinstance(each, Mapping):
                yield name, each


def _says(member: Mapping[str, Any], root: Mapping[str, Any], key: str) -> bool:
    """Whether the property has a description, itself or in what it refers to."""
    if member.get(key):
        return True
    if "$ref" in member:
        target = local_target(root, member["$ref"])
        return isinstance(target, Mapping) and bool(target.get(key))
    for several in ("anyOf", "oneOf", "allOf"):
        for each in _list(member.get(several)):
            if isinstance(each, Mapping) and _says(each, root, key):
                return True
    return False


def _list(value: Any) -> Sequence[Any]:
    if isinstance(value, list | tuple):
        return value
    return ()


def _is_notation(name: str, member: Mapping[str, Any]) -> bool:
    """Whether a value has a notation that its type does not tell."""
    if "enum" in member or "const" in member or member.get("type") in ("boolean", "integer", "number"):
        return False
    if member.get("type") == "object" and not member.get("properties"):
        return True
    words = f"{name.replace('_', ' ')} {member.get('description', '')}"
    return "pattern" in member or _NOTATION.search(words) is not None


def _is_shown(member: Mapping[str, Any], spec: Spec) -> bool:
    """Whether a model sees a value: an example, a default, or one in the description."""
    if any(member.get(key) for key in ("examples", "example", "default")):
        return True
    return _SHOWN.search(f"{member.get('description', '')}") is not None or (
        re.search(r"\bexamples?\b", spec.description, re.IGNORECASE) is not None
    )


def _enums(
    spec: Spec, schema: Any, steps: tuple[str | int, ...], told: str, depth: int
) -> Iterator[Finding]:
    """The enum values that are not self-explanatory and not explained."""
    if not isinstance(schema, Mapping) or depth < 0:
        return
    told = f"{told} {schema.get('description', '')}"
    cryptic = [each for each in _list(schema.get("enum")) if _is_cryptic(each, told)]
    if cryptic:
        yield Finding(
            *(spec.name, f"parameters at {json_path(steps)}", "advice"),
            "values that only their author understands",
            ", ".join(map(dump, cryptic[:8])),
            "cryptic-enum",
            "a model chooses among them by what they seem to mean",
            "use words as values, or say in the description what each one means",
        )
    for name, member in _members(schema):
        yield from _enums(spec, member, (*steps, name), told, depth - 1)
    for key in ("items", "anyOf", "oneOf", "allOf"):
        inner = schema.get(key)
        for each in inner if isinstance(inner, list | tuple) else (inner,):
            yield from _enums(spec, each, steps, told, depth - 1)


def _is_cryptic(value: Any, told: str) -> bool:
    if value is None or isinstance(value, bool):
        return False
    text = str(value)
    if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", told):
        return False
    if not isinstance(value, str):
        return True
    return bool(text) and text.lower() not in _KNOWN and _LIKE_A_WORD.fullmatch(text) is None


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

_VENDORS: Sequence[tuple[str, SchemaRules]] = (("OpenAI", OPENAI), ("Anthropic", ANTHROPIC))


@check_keywords("rc.tools.lint", say="rc.tools.lint(…, {}=…)")
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
    specs = [original_spec(each.spec) for each in box]
    places = {spec.name: place for place, spec in enumerate(specs)}
    findings = []
    for finding in _findings(specs):
        if finding.rule not in ignored and f"{finding.rule}:{finding.tool}" not in ignored:
            findings.append(finding)
    return tuple(sorted(findings, key=lambda finding: places[finding.tool]))


def _findings(specs: Sequence[Spec]) -> Iterator[Finding]:
    for look in (_orders, description_findings, parameter_findings, _not_strict):
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
        found = convert_strict(spec.parameters, rules)
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
