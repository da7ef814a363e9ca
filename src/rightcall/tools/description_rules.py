"""Lint rules for a tool's description by itself."""

import re
from collections.abc import Iterator

from rightcall.core.tool import Spec
from rightcall.declare.finding import Finding
from rightcall.declare.manual import first_sentence
from rightcall.declare.words import terms

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
_NO_VERB = frozenset(
    word
    for line in (
        "a an the this that these it its tool function method api endpoint allows provides enables lets",
        "helper utility wrapper you used useful",
    )
    for word in line.split()
)
# Words with the ending of a third person or a gerund that are neither.
_NOT_INFLECTED = frozenset(
    word
    for line in (
        "access across address alias always bring bypass canvas compress cross discuss dismiss express",
        "focus pass ping plus press process ring sing spring status string swing thing",
    )
    for word in line.split()
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
        yield from _vague(spec, text)
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


def _vague(spec: Spec, text: str) -> Iterator[Finding]:
    own = set(terms(text)) - set(terms(spec.name)) - _SAYS_NOTHING
    vague = _VAGUE.search(text) if len(text) <= _SHORT_TEXT else None
    if vague is not None or not own:
        said = f"is vague ({vague[0]})" if vague is not None else "says no more than the name"
        yield _finding(
            spec,
            "vague",
            f"the description {said}",
            "a model cannot tell from it what it gets, nor what the tool is not for",
            "name the thing it works on, what comes back, and when to use it",
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
