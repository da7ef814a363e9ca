"""The state of a plan while it runs: its names, and the tainted branch that it is in.

Everything in a branch that untrusted text decided is chosen by that text. A container that was made
outside of such a branch can be changed inside it only if it was labelled before, whether the branch is
taken or not: nobody could tell afterwards what the branch that was not taken would have left in it.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from msgspec import Struct

from rightcall.plan.functions import put
from rightcall.plan.operations import Fails, iterated
from rightcall.plan.parse import ANSWER, EXTRACT, LOOK_FIRST, PlanProblem, shown
from rightcall.plan.types import Wanted
from rightcall.plan.value import NOTHING, Items, Label, Table, Value


class Function(Struct, frozen=True, eq=False):
    """A function that the plan defines, with the frame around it."""

    names: tuple[str, ...]
    defaults: tuple[Value, ...]
    body: list[ast.stmt] | ast.expr
    around: "Frame"
    own: frozenset[str]
    """The names that its body assigns."""


class Frame:
    """The names of one call of a function, or of the plan itself."""

    __slots__ = ("names", "outer", "own", "stopped")

    def __init__(self, own: frozenset[str] = frozenset(), outer: "Frame | None" = None) -> None:
        self.names: dict[str, Value] = {}
        self.own = own
        """The names that are assigned in this frame. Before that they have no value, even if an outer
        frame has them: untrusted text may have decided whether they are assigned."""
        self.outer = outer
        self.stopped: Label = NOTHING
        """The untrusted sources that decided whether the rest of it runs."""

    def find(self, name: str) -> Value | None:
        """The value of a name, in this frame or an outer one."""
        frame: Frame | None = self
        while frame is not None:
            if (value := frame.names.get(name)) is not None:
                return value
            if name in frame.own:
                raise Fails("NameError", f"{name} has no value here")
            frame = frame.outer
        return None


class ToolCall(Struct, frozen=True, kw_only=True, eq=False):
    """A tool call that a plan makes."""

    function: str
    """The tool, by its name in the plan."""
    args: tuple[Value, ...]
    named: Mapping[str, Value]
    branch: Label
    """The untrusted sources that decided whether the call is made."""
    line: int


class Extract(Struct, frozen=True, kw_only=True, eq=False):
    """A text for the reader, and what it should extract."""

    text: Value
    wanted: Wanted
    question: Value
    line: int


Wants: TypeAlias = ToolCall | Extract
Outside: TypeAlias = Callable[[Wants], Value]
"""Returns the result of a tool or the reader; raises if it is not known yet."""


class Failure(Exception):
    """The plan failed; the reason contains no value."""

    def __init__(self, problem: PlanProblem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Scope:
    """The names and the branch of a running plan."""

    def __init__(self, tools: frozenset[str]) -> None:
        self.tools = tools
        self.frame = Frame()
        self.branch: Label = NOTHING
        """The untrusted sources that decided whether the current code runs."""
        self.region = 0
        """The number of the current tainted branch; 0 outside of any."""
        self._regions = 0

    def look(self, node: ast.expr) -> Value:
        """The value of an expression."""
        raise NotImplementedError

    @contextmanager
    def under(self, label: Label) -> Iterator[None]:
        """Run the body as a branch that these untrusted sources decided."""
        before = self.branch, self.region
        self.enter(label)
        try:
            yield
        finally:
            self.branch, self.region = before

    def enter(self, label: Label) -> None:
        """Treat everything from here on as decided by these sources."""
        if not label <= self.branch:
            self.branch |= label
            self._regions += 1
            self.region = self._regions

    def failed(self, node: ast.AST, error: Fails) -> Failure:
        """The failure of a node, with its line."""
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
        """Assign a value to a name, an item, or several of them."""
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

    def expose(self, names: Iterable[str], label: Label) -> None:
        """Label what these names hold: a branch that the label decides could change it.

        This happens on the way into the branch, taken or not, so that the label tells nothing of which.
        """
        for name in names:
            try:
                held = self.frame.find(name)
            except Fails:
                continue
            if held is not None and isinstance(held.data, Items | Table) and self._may_change(held):
                held.data.label |= label

    def _may_change(self, container: Value) -> bool:
        """Whether a change here is covered by the container's label, or made where it was made.

        A container that was itself chosen by untrusted text which did not decide the branch is another
        one in another run.
        """
        data = container.data
        is_made_here = data.region == self.region or (data.region >= 0 and self.branch <= data.label)
        is_result = isinstance(data, Table) and data.is_record
        return is_made_here and not is_result and container.taint <= self.branch

    def check_change(self, container: Value) -> None:
        """Refuse to change a container that the branch not taken would have left unchanged.

        Results of tools can never be changed.
        """
        data = container.data
        if not isinstance(data, Items | Table):
            return
        if data.region < 0 or (isinstance(data, Table) and data.is_record):
            raise Fails("TypeError", "what a tool returned cannot be changed; make a new list or dict")
        if not self._may_change(container):
            raise Fails(
                "TaintError",
                "what was made outside of a branch or loop that hangs on outsiders' words can be "
                "changed inside it only by its own name; build a new one with a comprehension",
            )
