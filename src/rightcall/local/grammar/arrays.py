"""Compiles an array's keywords to its items."""

from collections.abc import Mapping
from typing import Any

from rightcall.local.grammar.nodes import EMPTY, MOST_REPEATS, NOTHING, Node, optional, repeat, row
from rightcall.local.grammar.rulebook import Findings


def counts(keywords: Mapping[str, Any], path: str, findings: Findings) -> tuple[int, int | None]:
    """The minimum and maximum number of items, as far as a grammar can enforce them."""
    least, most = keywords.get("minItems", 0), keywords.get("maxItems")
    for keyword, limit in (("minItems", least), ("maxItems", most or 0)):
        if limit > MOST_REPEATS:
            findings.unheld.append(f"{path}.{keyword}")
    most = most if most is None or most <= MOST_REPEATS else None
    return (least if least <= MOST_REPEATS else 0), most


def is_distinct(keywords: Mapping[str, Any]) -> bool:
    """Whether no item may come twice, where there could be two."""
    most = keywords.get("maxItems")
    return bool(keywords.get("uniqueItems")) and (most is None or most > 1)


def items(prefix: list[Node], item: Node, separator: Node, between: tuple[int, int | None]) -> Node:
    """Between two numbers of items: first those of ``prefixItems``, then all others."""
    least, most = between
    if most == 0:
        return NOTHING if least else EMPTY
    another = row(separator, item)
    if not prefix:
        found = row(item, repeat(another, max(least - 1, 0), None if most is None else most - 1))
        return found if least else optional(found)
    if most is not None and most < len(prefix):
        prefix, another = prefix[:most], NOTHING
    after = repeat(another, max(least - len(prefix), 0), None if most is None else most - len(prefix))
    for index in range(len(prefix) - 1, -1, -1):
        here = row(separator if index else EMPTY, prefix[index], after)
        after = here if index < least else optional(here)
    return after
