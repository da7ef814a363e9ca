"""A schema into rules of a bearable size: all of it, or less of it, or only its form."""

from collections.abc import Callable
from itertools import islice
from typing import TypeAlias

from rightcall.local.grammar.findings import Findings
from rightcall.local.grammar.flatten import SubSchema
from rightcall.local.grammar.nodes import Node, size
from rightcall.local.grammar.rules import Rules, nesting
from rightcall.local.grammar.schema import TooLarge
from rightcall.local.grammar.structure import loosened, structure

MOST_PARTS = 100_000
"""How large the rules of one schema may be, with every repetition written out."""
MOST_NESTED = 300
"""How many rules may refer to each other in a row. Engines follow them by recursion: llguidance (1.9)
was seen to overflow its stack at 4,000."""
_FEW = 64
"""What is still counted in a schema that would be too large otherwise."""

Write: TypeAlias = Callable[[SubSchema, Rules, Findings], Node]
"""A schema into a node, its rules and what was found out."""


def fitted(
    schema: SubSchema, form: SubSchema, rules: Rules, write: Write, *, room: int = MOST_PARTS
) -> tuple[Node, Findings]:
    """What a schema admits, in a bearable size.

    When that would be too large, what it admits without its longer counts; and when that is too large as
    well, what ``form`` admits.
    """
    known = structure(schema)
    attempts = ((known, ()), (loosened(known, _FEW), (f"$ (counts over {_FEW})",)))
    for attempt, unheld in attempts:
        findings = Findings()
        findings.unheld += unheld
        before = len(rules.rules)
        try:
            node = write(attempt, rules, findings)
            deep = nesting(node, rules.rules)
        except (TooLarge, RecursionError):
            continue
        added = islice(rules.rules.values(), before, None)
        findings.parts = size(node) + sum(size(rule.node) for rule in added)
        if findings.parts <= min(room, MOST_PARTS) and deep <= MOST_NESTED:
            return node, findings
    findings = Findings()
    node = write(form, rules, findings)
    findings.unheld = ["$ (too large)"]
    return node, findings
