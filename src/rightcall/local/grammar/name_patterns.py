"""Names that patterns match, and names that they do not, as a notation writes them."""

from collections.abc import Callable

from rightcall.local.grammar.derivatives import except_for, unlike
from rightcall.local.grammar.nodes import Node
from rightcall.local.grammar.notation import SPELLING, Notation
from rightcall.local.grammar.plain import SubSchema
from rightcall.local.grammar.regex import Inexpressible, matching
from rightcall.local.grammar.rulebook import Findings, Rules


def followed(said: SubSchema, follow: Callable[[SubSchema], SubSchema]) -> SubSchema:
    """What ``propertyNames`` says, with schemas in place of references to them."""
    said = follow(said)
    if isinstance(said, bool):
        return said
    return {
        keyword: [followed(each, follow) for each in value] if keyword in {"anyOf", "oneOf"} else value
        for keyword, value in said.items()
    }


class NamePatterns:
    """What patterns for members' names come to in one notation."""

    def __init__(self, notation: Notation, rules: Rules, findings: Findings) -> None:
        self._notation = notation
        self._rules = rules
        self._findings = findings

    def matching(self, pattern: str, names: tuple[str, ...]) -> Node | None:
        """The names that a pattern matches, without these; None where that cannot be said."""
        try:
            if names:
                return except_for(pattern, names, self._notation)
            return matching(pattern, self._notation.one_of).node
        except Inexpressible:
            return None

    def unlike(self, patterns: tuple[str, ...], names: tuple[str, ...]) -> Node | None:
        """The names that no pattern matches, without these; None where that cannot be said."""
        if self._notation.has_bare_keys:
            return None
        try:
            found = unlike(patterns, names, self._notation, self._shared)
        except Inexpressible:
            return None
        self._findings.stricter[SPELLING] = None
        return found

    def _shared(self, node: Node) -> Node:
        return self._rules.define("name", node, token=True)
