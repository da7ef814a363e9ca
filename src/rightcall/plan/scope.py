"""Where a plan stands while it is run: its names, and the tainted branch that it is in.

What stands in a branch that outsiders' words decided for is chosen by those words. Containers that were
made outside of such a branch cannot be changed inside it: nobody could tell afterwards what the branch
that was not taken would have left in them.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from msgspec import Struct

from rightcall.plan.functions import put
from rightcall.plan.operations import Fails, iterated
from rightcall.plan.parse import ANSWER, EXTRACT, LOOK_FIRST, PlanProblem, shown
from rightcall.plan.types import Wanted
from rightcall.plan.value import NOTHING, Items, Label, Table, Value


class Function(Struct, frozen=True, eq=False):
    """A function of the plan's own, with the names around it."""

    names: tuple[str, ...]
    defaults: tuple[Value, ...]
    body: list[ast.stmt] | ast.expr
    around: "Frame"
    own: frozenset[str]
    """The names that its body gives a value."""


class Frame:
    """The names of one call of a function, or of the plan."""

    __slots__ = ("names", "outer", "own", "stopped")

    def __init__(self, own: frozenset[str] = frozenset(), outer: "Frame | None" = None) -> None:
        self.names: dict[str, Value] = {}
        self.own = own
        """The names that are given a value in here. Before that they have none, whatever is around:
        whether one was given may be an outsider's decision."""
        self.outer = outer
        self.stopped: Label = NOTHING
        """What outsiders wrote that decided whether the rest of it is run."""

    def find(self, name: str) -> Value | None:
        """The value of a name, here or around."""
        frame: Frame | None = self
        while frame is not None:
            if (value := frame.names.get(name)) is not None:
                return value
            if name in frame.own:
                raise Fails("NameError", f"{name} has no value here")
            frame = frame.outer
        return None


class ToolCall(Struct, frozen=True, kw_only=True, eq=False):
    """A call of a tool that a plan comes to."""

    function: str
    """The tool, by its name in the plan."""
    args: tuple[Value, ...]
    named: Mapping[str, Value]
    branch: Label
    """What outsiders wrote that decided whether it is made."""
    line: int


class Extract(Struct, frozen=True, kw_only=True, eq=False):
    """A text that the reader is to read."""

    text: Value
    wanted: Wanted
    question: Value
    line: int


Wants: TypeAlias = ToolCall | Extract
Outside: TypeAlias = Callable[[Wants], Value]
"""Gives what a tool or the reader gave; raises where that is not known yet."""


class Failure(Exception):
    """The plan failed, for a reason that tells no value."""

    def __init__(self, problem: PlanProblem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Scope:
    """The names and the branch that a plan is in."""

    def __init__(self, tools: frozenset[str]) -> None:
        self.tools = tools
        self.frame = Frame()
        self.branch: Label = NOTHING
        """What outsiders wrote that decided whether this is run."""
        self.region = 0
        """The tainted branch, by number; 0 outside of any."""
        self._regions = 0

    def look(self, node: ast.expr) -> Value:
        """The value of an expression."""
        raise NotImplementedError

    @contextmanager
    def under(self, label: Label) -> Iterator[None]:
        """What is done in here is done because of these outsiders' words."""
        before = self.branch, self.region
        self.enter(label)
        try:
            yield
        finally:
            self.branch, self.region = before

    def enter(self, label: Label) -> None:
        """From here on, what is done is done because of these."""
        if not label <= self.branch:
            self.branch |= label
            self._regions += 1
            self.region = self._regions

    def failed(self, node: ast.AST, error: Fails) -> Failure:
        """What went wrong, with its place."""
        return Failure(
            PlanProblem(
                kind=error.kind,
                reason=error.reason,
                line=getattr(node, "lineno", 0),
                expression=shown(node),
                tool=error.tool,
            )
        )

    def bind(self, target: ast.expr, value: Value) -> None:
        """Give a name, or several, what they stand for from now on."""
        if isinstance(target, ast.Name):
            if target.id in self.tools or target.id in (ANSWER, EXTRACT, LOOK_FIRST):
                raise Fails("NameError", f"{target.id} is taken; use another name")
            self.frame.names[target.id] = value.chosen_by(self.branch)
            return
        if isinstance(target, ast.Subscript):
            if isinstance(target.slice, ast.Slice):
                raise Fails("TypeError", "a slice cannot be assigned to")
            self.set_item(self.look(target.value), self.look(target.slice), value)
            return
        assert isinstance(target, ast.Tuple | ast.List)
        items, label = iterated(value)
        if len(items) != len(target.elts):
            raise Fails("ValueError", "there are not as many values as names")
        for each, item in zip(target.elts, items, strict=True):
            self.bind(each, item.chosen_by(label))

    def set_item(self, container: Value, at: Value, value: Value) -> None:
        """``container[at] = value``."""
        self.check_change(container)
        data = container.data
        if isinstance(data, Table):
            put(data, at, value)
        elif isinstance(data, Items) and data.form == "list" and type(at.data) is int:
            if not -len(data.items) <= at.data < len(data.items):
                raise Fails("IndexError", "there are not so many")
            data.items[at.data] = value
            data.label |= at.taint
        else:
            raise Fails("TypeError", "only dicts and lists have items that can be set")

    def check_change(self, container: Value) -> None:
        """Refuse to change what a branch that was not taken would have left as it was.

        Under a tainted branch only what was made in it may be changed; elsewhere nothing whose very
        choice hangs on outsiders' words. What tools gave back stays as it is.
        """
        data = container.data
        if not isinstance(data, Items | Table):
            return
        if data.region < 0 or (isinstance(data, Table) and data.is_record):
            raise Fails("TypeError", "what a tool returned cannot be changed; make a new list or dict")
        if data.region != self.region or (self.region == 0 and container.taint):
            raise Fails(
                "TaintError",
                "what was made outside of a branch or loop that hangs on outsiders' words cannot be "
                "changed inside it; build a new one with a comprehension",
            )
