"""Splits what a description says a tool is for from what it says the tool is not for.

"Does not cancel orders" has the words of a question about cancelling, and is the opposite of a match.
"""

import re
from functools import lru_cache

_CLAUSE = re.compile(r"[.;:!?](?=\s|$)|\n|,\s+(?=not\b)|[,(]?\s+\bbut\b|\s[-\u2013\u2014]\s|[)]")
_CONDITION = re.compile(
    r"\b(?:that|which|who|whose|whom|whether|if|when|where|why|how)\b", re.IGNORECASE
)
"""Words before a denial that is part of what the tool is for: "tasks that are not done"."""
_DENIED_THING = re.compile(
    r"\b(?:is|are|was|were)(?:\s+not|n['\u2019]t)\b"
    r"|\b(?:can(?:\s*not|['\u2019]t)|will\s+not|won['\u2019]t|must\s+not)\s+be\b",
    re.IGNORECASE,
)
"""What is denied comes before: "returns are not booked here"."""
_DENIED_REST = re.compile(
    r"\b(?:not|never|cannot|(?:do(?:es)?|can|wo)n?['\u2019]t|neither|instead\s+of|rather\s+than|other\s+than"
    r"|except|unlike|no\s+longer)\b",
    re.IGNORECASE,
)
_ANOTHER = re.compile(
    r"\b(?:use|see|call|try|prefer)\s+(?:the\s+)?[`'\"]?[a-z]+(?:_[a-z]+)+", re.IGNORECASE
)
"""Another tool, by its name: "for refunds, use pay_back"."""


@lru_cache(maxsize=1 << 10)
def said_of(description: str) -> tuple[str, str]:
    """What a tool is for, and what it is not for, in the description's words."""
    kept: list[str] = []
    denied: list[str] = []
    for clause in _CLAUSE.split(description):
        at = _denied_from(clause)
        kept.append(clause[:at])
        denied.append(clause[at:])
    return " ".join(kept), " ".join(denied)


def _denied_from(clause: str) -> int:
    """The position in a clause from which on it says what the tool is not for."""
    if _ANOTHER.search(clause):
        return 0
    found = _DENIED_THING.search(clause) or _DENIED_REST.search(clause)
    if found is None or _CONDITION.search(clause, 0, found.start()):
        return len(clause)
    return 0 if found.re is _DENIED_THING else found.start()
