"""Turn an array of a few known values, each of which may come once, into its items.

A grammar knows what has been written only by the rule that it is in. Of a few values it follows which
are left, and needs a rule for each set of them. Of more it follows only the last one, which does not
come again at once.
"""

from collections.abc import Sequence

from rightcall.core.jsontext import JsonValue
from rightcall.local.grammar.flatten import Flat, as_types
from rightcall.local.grammar.nodes import EMPTY, NOTHING, Node, Reference, choice, optional, row
from rightcall.local.grammar.rulebook import Rules
from rightcall.local.grammar.scalars import listed, without

FOLLOWED = 5
"""So many values are followed, each of which doubles the rules."""
_MOST_LAST = 12
"""Of so many values the last one is followed; the rules grow with the square of it."""
_FEW = {"boolean": (True, False), "null": (None,)}


def few_values(flat: Flat) -> list[JsonValue] | None:
    """All values that a schema admits, each once; None where they are many or cannot be listed."""
    if flat.choices or flat.conditions or flat.unheld or flat.is_false:
        return None
    if "enum" in flat.keywords:
        values, unjudged = listed(flat.keywords)
        if unjudged:
            return None
    else:
        kinds = as_types(flat.keywords.get("type", ()))
        if not kinds or any(kind not in _FEW for kind in kinds):
            return None
        values = without(
            [each for kind in kinds for each in _FEW[kind]], flat.keywords.get("excluded", ())
        )
    once: list[JsonValue] = []
    for value in values:
        once += without([value], once)
    return once if len(once) <= _MOST_LAST else None


class Distinct:
    """Items that are written as these nodes, none of them twice."""

    def __init__(self, values: Sequence[Node], separator: Node, rules: Rules, hint: str) -> None:
        self._values = values
        self._separator = separator
        self._rules = rules
        self._hint = hint
        self._known: dict[int, Node] = {}

    def can_be_held(self, between: tuple[int, int | None]) -> bool:
        """Whether these values and such a number of items can be followed, at least a little."""
        least, most = between
        is_counted = least > 1 or (most is not None and most < len(self._values))
        return len(self._values) <= FOLLOWED or not is_counted

    @property
    def is_whole(self) -> bool:
        """Whether no value at all can come twice."""
        return len(self._values) <= FOLLOWED

    def node(self, between: tuple[int, int | None]) -> Node:
        """From so many items to so many."""
        least, most = between
        if not self._values or most == 0:
            return NOTHING if least else EMPTY
        if self.is_whole:
            found = self._from((1 << len(self._values)) - 1, between)
        else:
            found = choice(*[row(*pair) for pair in self._after_each()])
        return found if least else optional(found)

    def _from(self, left: int, between: tuple[int, int | None]) -> Node:
        """What begins with an item, where these are left. A set is a number, with a bit for each."""
        if left not in self._known:
            options = [
                row(value, self._after(left & ~(1 << at), between))
                for at, value in enumerate(self._values)
                if left & 1 << at
            ]
            self._known[left] = self._rules.define(f"{self._hint} rest", choice(*options))
        return self._known[left]

    def _after(self, left: int, between: tuple[int, int | None]) -> Node:
        least, most = between
        written = len(self._values) - left.bit_count()
        is_due = written < least
        if not left or written == most:
            return NOTHING if is_due else EMPTY
        onward = row(self._separator, self._from(left, between))
        return onward if is_due else optional(onward)

    def _after_each(self) -> list[tuple[Node, Node]]:
        """Each value, and what may follow it: nothing, or another value and what may follow that."""
        names = [self._rules.reserve(f"{self._hint} rest") for _ in self._values]
        pairs: list[tuple[Node, Node]] = list(zip(self._values, map(Reference, names), strict=True))
        for at, name in enumerate(names):
            others = [row(*pair) for pair in pairs[:at] + pairs[at + 1 :]]
            self._rules.complete(name, optional(row(self._separator, choice(*others))))
        return pairs
