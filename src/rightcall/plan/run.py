"""A plan and the results so far into its next call, or its answer. Pure: a rerun does the same.

A branch that untrusted text decided taints everything that either side of it could have assigned or
changed; a ``return``, ``break`` or ``continue`` in it taints everything that comes after, taken or not.
"""

import ast
from typing import TypeAlias

from msgspec import Struct

from rightcall.plan.evaluate import Evaluator
from rightcall.plan.operations import Fails, binary, item_of, iterated, truth
from rightcall.plan.parse import PlanProblem
from rightcall.plan.scope import Extract, Failure, Frame, Outside, ToolCall, Wants
from rightcall.plan.syntax import assigned, changed, leaves_loop, names_in, returns
from rightcall.plan.value import Label, Value, outside


class Answered(Struct, frozen=True, eq=False):
    """The plan ended with an answer."""

    value: Value


class Broken(Struct, frozen=True, eq=False):
    """The plan cannot continue."""

    problem: PlanProblem


Step: TypeAlias = ToolCall | Extract | Answered | Broken


class Unknown(Exception):
    """The result of a call is not known yet."""

    def __init__(self, wants: Wants) -> None:
        super().__init__("a call without a result")
        self.wants = wants


class _Left(Struct, frozen=True, eq=False):
    """A function returned a value."""

    value: Value


_Signal: TypeAlias = _Left | ast.Break | ast.Continue | None


def step(tree: ast.Module, tools: frozenset[str], outside: Outside) -> Step:
    """Run a plan up to the first call whose result ``outside`` does not have."""
    try:
        return Answered(_Interpreter(tree, tools, outside).run())
    except Unknown as unknown:
        return unknown.wants
    except Failure as failure:
        return Broken(failure.problem)
    except RecursionError:
        return Broken(PlanProblem(kind="LimitError", reason="it is nested too deeply"))


class _Interpreter(Evaluator):
    """Runs statements."""

    def __init__(self, tree: ast.Module, tools: frozenset[str], outside: Outside) -> None:
        classes = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
        super().__init__(tools, classes, outside)
        self._body = tree.body
        self.frame = Frame(assigned(tree.body))
        self._last = Value(None)
        """The value of the last statement, if that is an expression."""
        self._in_loop: frozenset[str] = frozenset()
        """What the innermost loop could change: a turn that ends early decides what the rest does."""
        self._in_function = changed(tree.body)
        """The same for the function, and for an early return."""

    def run(self) -> Value:
        """The plan's answer, else its return value, else the value of its last line."""
        signal = self._block(self._body)
        if self.answer is not None:
            return self.answer
        if isinstance(signal, _Left):
            return signal.value
        is_expression = bool(self._body) and isinstance(self._body[-1], ast.Expr)
        return self._last.chosen_by(self.branch) if is_expression else Value(None, chosen=self.branch)

    def run_body(self, body: list[ast.stmt] | ast.expr) -> Value:
        """The value that a function's body returns."""
        if isinstance(body, ast.expr):
            return self.look(body)
        before = self._in_loop, self._in_function
        self._in_loop, self._in_function = frozenset(), changed(body)
        try:
            signal = self._block(body)
        finally:
            self._in_loop, self._in_function = before
        value = signal.value if isinstance(signal, _Left) else Value(None)
        return value.chosen_by(self.branch)

    def _block(self, body: list[ast.stmt]) -> _Signal:
        for each in body:
            try:
                signal = self._statement(each)
            except Fails as error:
                raise self.failed(each, error) from None
            if signal is not None:
                return signal
        return None

    def _statement(self, node: ast.stmt) -> _Signal:
        match node:
            case ast.Expr(value=expression):
                self._last = self.look(expression)
            case ast.Assign(targets=[target], value=expression):
                self.bind(target, self.look(expression))
            case ast.AnnAssign(target=target, value=expression) if expression is not None:
                self.bind(target, self.look(expression))
            case ast.AugAssign():
                self._add_to(node)
            case ast.If():
                return self._if(node)
            case ast.For():
                return self._for(node)
            case ast.Return(value=expression):
                value = Value(None) if expression is None else self.look(expression)
                return _Left(value.chosen_by(self.branch))
            case ast.Break() | ast.Continue():
                return node
            case ast.FunctionDef(name=name, args=args, body=body):
                if name in self.tools:
                    raise Fails("NameError", f"{name} is a tool; use another name")
                self.frame.names[name] = self.closure(args, body).chosen_by(self.branch)
            case _:
                pass
        return None

    def _add_to(self, node: ast.AugAssign) -> None:
        """``x += y`` makes a new value, also for a list."""
        target = node.target
        if isinstance(target, ast.Subscript):
            container, at = self.look(target.value), self.look(target.slice)
            before = item_of(container, at)
            after = binary(type(node.op), before, self.look(node.value), self.region)
            self.set_item(container, at, after)
            return
        if not isinstance(target, ast.Name):
            raise Fails("TypeError", "only names and items can be assigned to")
        before = self.name(target)
        self.bind(target, binary(type(node.op), before, self.look(node.value), self.region))

    def _if(self, node: ast.If) -> _Signal:
        test = truth(self.look(node.test))
        body, label = (node.body if test.data else node.orelse), test.taint
        if not label:
            return self._block(body)
        outer, both = self.branch, [*node.body, *node.orelse]
        self.expose(changed(both), label)
        self.expose(self._in_loop if leaves_loop(both) else (), label)
        self.expose(self._in_function if returns(both) else (), label)
        with self.under(label):
            signal = self._block(body)
            # Also what decided, inside it, whether the rest of it runs.
            decided = self.branch - outer
        self._taint(assigned(both), label)
        if returns(both):
            self.frame.stopped |= label
        if returns(both) or leaves_loop(both):
            self.enter(decided)
        return signal

    def _for(self, node: ast.For) -> _Signal:
        items, label = iterated(self.look(node.iter))
        branch, region, around = self.branch, self.region, self._in_loop
        self._in_loop = changed(node.body)
        self.expose(self._in_function if returns(node.body) else self._in_loop, label)
        self.enter(label)
        for item in items:
            self.bind(node.target, item)
            signal = self._block(node.body)
            if isinstance(signal, _Left):
                return signal
            if isinstance(signal, ast.Break):
                break
        decided = label | outside(self.branch - branch)
        self.branch, self.region, self._in_loop = branch, region, around
        if decided and returns(node.body):
            # An iteration that ended early may have skipped a return that comes after it.
            self.frame.stopped |= decided
        if decided:
            self._taint(assigned(node.body) | names_in(node.target), decided)
        self.enter(self.frame.stopped)
        return None

    def _taint(self, names: frozenset[str], label: Label) -> None:
        for name in names:
            if (value := self.frame.names.get(name)) is not None:
                self.frame.names[name] = value.chosen_by(label)
