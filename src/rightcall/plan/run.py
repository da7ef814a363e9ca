"""A plan and the results so far into its next call, or its answer. Pure: a rerun does the same.

Everything in a branch that untrusted text decided is chosen by that text: the branch taints everything
that either side of it could have assigned or changed; a ``return``, ``break`` or ``continue`` in it
taints everything that comes after, taken or not. A container that was made outside of such a branch
can be changed inside it only if it was labelled before, whether the branch is taken or not: nobody
could tell afterwards what the branch that was not taken would have left in it.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from msgspec import Struct

from rightcall.plan import value as ops
from rightcall.plan.functions import BUILTINS, Calling, called_on, changes, made_date, put
from rightcall.plan.parse import (
    ANSWER,
    DATES,
    DEEPEST,
    EXTRACT,
    LOOK_FIRST,
    ExtractType,
    PlanProblem,
    PlanRuntimeError,
    assigned_names,
    changed_names,
    format_node,
    leaves_loop,
    names_in,
    parse_extract_type,
    returns,
)
from rightcall.plan.value import NONE, NOTHING, Items, LabelledValue, Table, TaintLabel

MOST_NODES = 200_000
MOST_WORK = 20_000_000
"""Characters and items, over all values that a plan computes."""
_DEEPEST = 120
"""Nesting depth of expressions, including calls of functions; Python's own stack must hold them."""
_WIDEST = 999


class PlanFunction(Struct, frozen=True, eq=False):
    """A function that the plan defines, with the frame around it."""

    names: tuple[str, ...]
    defaults: tuple[LabelledValue, ...]
    body: list[ast.stmt] | ast.expr
    around: "Frame"
    own: frozenset[str]
    """The names that its body assigns."""


class Frame:
    """The names of one call of a function, or of the plan itself."""

    __slots__ = ("names", "outer", "own", "stopped")

    def __init__(self, own: frozenset[str] = frozenset(), outer: "Frame | None" = None) -> None:
        self.names: dict[str, LabelledValue] = {}
        self.own = own
        """The names that are assigned in this frame. Before that they have no value, even if an outer
        frame has them: untrusted text may have decided whether they are assigned."""
        self.outer = outer
        self.stopped: TaintLabel = NOTHING
        """The untrusted sources that decided whether the rest of it runs."""

    def find(self, name: str) -> LabelledValue | None:
        """The value of a name, in this frame or an outer one."""
        frame: Frame | None = self
        while frame is not None:
            if (value := frame.names.get(name)) is not None:
                return value
            if name in frame.own:
                raise PlanRuntimeError("NameError", f"{name} has no value here")
            frame = frame.outer
        return None


class PlanToolCall(Struct, frozen=True, kw_only=True, eq=False):
    """A tool call that a plan makes."""

    function: str
    """The tool, by its name in the plan."""
    args: tuple[LabelledValue, ...]
    named: Mapping[str, LabelledValue]
    branch: TaintLabel
    """The untrusted sources that decided whether the call is made."""
    line: int


class Extract(Struct, frozen=True, kw_only=True, eq=False):
    """A text for the reader, and what it should extract."""

    text: LabelledValue
    wanted: ExtractType
    question: LabelledValue
    line: int


Wants: TypeAlias = PlanToolCall | Extract
Outside: TypeAlias = Callable[[Wants], LabelledValue]
"""Returns the result of a tool or the reader; raises MissingResult if it is not known yet."""


class PlanAnswer(Struct, frozen=True, eq=False):
    """The plan ended with an answer."""

    value: LabelledValue


class PlanFailure(Struct, frozen=True, eq=False):
    """The plan cannot continue."""

    problem: PlanProblem


Step: TypeAlias = PlanToolCall | Extract | PlanAnswer | PlanFailure


class MissingResult(Exception):
    """The result of a call is not known yet."""

    def __init__(self, wants: Wants) -> None:
        super().__init__("a call without a result")
        self.wants = wants


class _Failed(Exception):
    """The plan failed; the reason contains no value."""

    def __init__(self, problem: PlanProblem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class _FunctionReturn(Struct, frozen=True, eq=False):
    value: LabelledValue


_Signal: TypeAlias = _FunctionReturn | ast.Break | ast.Continue | None


def step(tree: ast.Module, tools: frozenset[str], outside: Outside) -> Step:
    """Run a plan up to the first call whose result ``outside`` does not have."""
    try:
        return PlanAnswer(_PlanInterpreter(tree, tools, outside).run())
    except MissingResult as unknown:
        return unknown.wants
    except _Failed as failure:
        return PlanFailure(failure.problem)
    except RecursionError:
        return PlanFailure(PlanProblem(kind="LimitError", reason="it is nested too deeply"))


class _PlanInterpreter:
    """Runs a plan: its names, and the tainted branch that it is in."""

    def __init__(self, tree: ast.Module, tools: frozenset[str], outside: Outside) -> None:
        self._tools = tools
        self._outside = outside
        self._classes = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
        self._body = tree.body
        self._frame = Frame(assigned_names(tree.body))
        self._branch: TaintLabel = NOTHING
        """The untrusted sources that decided whether the current code runs."""
        self._region = 0
        """The number of the current tainted branch; 0 outside of any."""
        self._regions = 0
        self._answer: LabelledValue | None = None
        """The plan's latest answer."""
        self._last = NONE
        """The value of the last statement, if that is an expression."""
        self._in_loop: frozenset[str] = frozenset()
        """What the innermost loop could change: a turn that ends early decides what the rest does."""
        self._in_function = changed_names(tree.body)
        """The same for the function, and for an early return."""
        self._nodes = 0
        self._work = 0
        self._depth = 0
        self._calls = 0

    def run(self) -> LabelledValue:
        """The plan's answer, else its return value, else the value of its last line."""
        signal = self._block(self._body)
        if self._answer is not None:
            return self._answer
        if isinstance(signal, _FunctionReturn):
            return signal.value
        if self._body and isinstance(self._body[-1], ast.Expr):
            return self._last.chosen_by(self._branch)
        return NONE.chosen_by(self._branch)

    def _block(self, body: list[ast.stmt]) -> _Signal:
        for each in body:
            try:
                signal = self._statement(each)
            except PlanRuntimeError as error:
                raise _failure_at(each, error) from None
            if signal is not None:
                return signal
        return None

    def _statement(self, node: ast.stmt) -> _Signal:
        match node:
            case ast.Expr(value=expression):
                self._last = self._look(expression)
            case ast.Assign(targets=[target], value=expression):
                self._bind(target, self._look(expression))
            case ast.AnnAssign(target=target, value=expression) if expression is not None:
                self._bind(target, self._look(expression))
            case ast.AugAssign(target=ast.Subscript() as target):
                # ``x += y`` makes a new value, also for a list.
                container = self._look(target.value)
                at = self._look(target.slice)
                after = self._add(node, ops.item_of(container, at))
                self._set_item(container, at, after)
            case ast.AugAssign(target=ast.Name() as target):
                self._bind(target, self._add(node, self.name(target)))
            case ast.AugAssign():
                raise PlanRuntimeError("TypeError", "only names and items can be assigned to")
            case ast.If():
                return self._if(node)
            case ast.For():
                return self._for(node)
            case ast.Return(value=expression):
                value = NONE if expression is None else self._look(expression)
                return _FunctionReturn(value.chosen_by(self._branch))
            case ast.Break() | ast.Continue():
                return node
            case ast.FunctionDef(name=name, args=args, body=body):
                if name in self._tools:
                    raise PlanRuntimeError("NameError", f"{name} is a tool; use another name")
                self._frame.names[name] = self._closure(args, body).chosen_by(self._branch)
            case _:
                pass
        return None

    def _add(self, node: ast.AugAssign, before: LabelledValue) -> LabelledValue:
        return ops.binary(type(node.op), before, self._look(node.value), self._region)

    def _if(self, node: ast.If) -> _Signal:
        test = ops.truth(self._look(node.test))
        body = node.orelse
        if test.data:
            body = node.body
        label = test.taint
        if not label:
            return self._block(body)
        outer = self._branch
        both = [*node.body, *node.orelse]
        self._expose(changed_names(both), label)
        if leaves_loop(both):
            self._expose(self._in_loop, label)
        if returns(both):
            self._expose(self._in_function, label)
        with self._under(label):
            signal = self._block(body)
            # Also what decided, inside it, whether the rest of it runs.
            decided = self._branch - outer
        self._taint(assigned_names(both), label)
        if returns(both):
            self._frame.stopped |= label
        if returns(both) or leaves_loop(both):
            self._enter(decided)
        return signal

    def _for(self, node: ast.For) -> _Signal:
        items, label = ops.iterate_items(self._look(node.iter))
        branch = self._branch
        region = self._region
        around = self._in_loop
        self._in_loop = changed_names(node.body)
        if returns(node.body):
            self._expose(self._in_function, label)
        else:
            self._expose(self._in_loop, label)
        self._enter(label)
        for item in items:
            self._bind(node.target, item)
            signal = self._block(node.body)
            if isinstance(signal, _FunctionReturn):
                return signal
            if isinstance(signal, ast.Break):
                break
        decided = label | ops.outside(self._branch - branch)
        self._branch = branch
        self._region = region
        self._in_loop = around
        if decided and returns(node.body):
            # An iteration that ended early may have skipped a return that comes after it.
            self._frame.stopped |= decided
        if decided:
            self._taint(assigned_names(node.body) | names_in(node.target), decided)
        self._enter(self._frame.stopped)
        return None

    def _taint(self, names: frozenset[str], label: TaintLabel) -> None:
        for name in names:
            if (value := self._frame.names.get(name)) is not None:
                self._frame.names[name] = value.chosen_by(label)

    @contextmanager
    def _under(self, label: TaintLabel) -> Iterator[None]:
        """Run the body as a branch that these untrusted sources decided."""
        branch = self._branch
        region = self._region
        self._enter(label)
        try:
            yield
        finally:
            self._branch = branch
            self._region = region

    def _enter(self, label: TaintLabel) -> None:
        """Treat everything from here on as decided by these sources."""
        if not label <= self._branch:
            self._branch |= label
            self._regions += 1
            self._region = self._regions

    def _expose(self, names: Iterable[str], label: TaintLabel) -> None:
        """Label what these names hold: a branch that the label decides could change it.

        This happens on the way into the branch, taken or not, so that the label tells nothing of which.
        """
        for name in names:
            try:
                held = self._frame.find(name)
            except PlanRuntimeError:
                continue
            if held is not None and isinstance(held.data, Items | Table) and self._may_change(held):
                held.data.label |= label

    def _may_change(self, container: LabelledValue) -> bool:
        """Whether a change here is covered by the container's label, or made where it was made.

        A container that was itself chosen by untrusted text which did not decide the branch is another
        one in another run.
        """
        data = container.data
        is_made_here = data.region == self._region or (data.region >= 0 and self._branch <= data.label)
        is_result = isinstance(data, Table) and data.is_record
        return is_made_here and not is_result and container.taint <= self._branch

    def _check_change(self, container: LabelledValue) -> None:
        """Refuse to change a container that the branch not taken would have left unchanged.

        Results of tools can never be changed.
        """
        data = container.data
        if not isinstance(data, Items | Table):
            return
        if data.region < 0 or (isinstance(data, Table) and data.is_record):
            raise PlanRuntimeError(
                "TypeError", "what a tool returned cannot be changed; make a new list or dict"
            )
        if not self._may_change(container):
            raise PlanRuntimeError(
                "TaintError",
                "what was made outside of a branch or loop that hangs on outsiders' words can be "
                "changed inside it only by its own name; build a new one with a comprehension",
            )

    def _bind(self, target: ast.expr, value: LabelledValue) -> None:
        """Assign a value to a name, an item, or several of them."""
        if isinstance(target, ast.Name):
            if target.id in self._tools or target.id in (ANSWER, EXTRACT, LOOK_FIRST):
                raise PlanRuntimeError("NameError", f"{target.id} is taken; use another name")
            self._frame.names[target.id] = value.chosen_by(self._branch)
            return
        if isinstance(target, ast.Subscript):
            if isinstance(target.slice, ast.Slice):
                raise PlanRuntimeError("TypeError", "a slice cannot be assigned to")
            self._set_item(self._look(target.value), self._look(target.slice), value)
            return
        assert isinstance(target, ast.Tuple | ast.List)
        items, label = ops.iterate_items(value)
        if len(items) != len(target.elts):
            raise PlanRuntimeError("ValueError", "there are not as many values as names")
        for each, item in zip(target.elts, items, strict=True):
            self._bind(each, item.chosen_by(label))

    def _set_item(self, container: LabelledValue, at: LabelledValue, value: LabelledValue) -> None:
        self._check_change(container)
        data = container.data
        if isinstance(data, Table):
            put(data, at, value)
        elif isinstance(data, Items) and data.form == "list" and type(at.data) is int:
            if not -len(data.items) <= at.data < len(data.items):
                raise PlanRuntimeError("IndexError", "there are not so many")
            data.items[at.data] = value
            data.label |= at.taint
        else:
            raise PlanRuntimeError("TypeError", "only dicts and lists have items that can be set")

    def _look(self, node: ast.expr) -> LabelledValue:
        self._nodes += 1
        self._depth += 1
        try:
            self._check_bounds()
            value = _LOOKS[type(node)](self, node)
        except PlanRuntimeError as error:
            raise _failure_at(node, error) from None
        finally:
            self._depth -= 1
        self._work += ops.size(value)
        return value

    def _check_bounds(self) -> None:
        if self._nodes > MOST_NODES or self._work > MOST_WORK:
            raise PlanRuntimeError("LimitError", "it takes more steps, items or text than a plan may")
        if self._depth > _DEEPEST:
            raise PlanRuntimeError("LimitError", "it is nested too deeply")

    def name(self, node: ast.Name) -> LabelledValue:
        found = self._frame.find(node.id)
        if found is None:
            if node.id in self._tools or node.id in BUILTINS:
                raise PlanRuntimeError("NameError", f"{node.id} can only be called")
            raise PlanRuntimeError("NameError", f"there is no {node.id}")
        return found

    def display(self, node: ast.List | ast.Tuple | ast.Set) -> LabelledValue:
        items = list(map(self._look, node.elts))
        if isinstance(node, ast.Set):
            return ops.unique(items, NOTHING, self._region)
        if isinstance(node, ast.Tuple):
            return LabelledValue(Items(items, form="tuple", region=self._region))
        return LabelledValue(Items(items, region=self._region))

    def dict_display(self, node: ast.Dict) -> LabelledValue:
        table = Table({}, region=self._region)
        for key, value in zip(node.keys, node.values, strict=True):
            assert key is not None
            put(table, self._look(key), self._look(value))
        return LabelledValue(table)

    def item(self, node: ast.Subscript) -> LabelledValue:
        value = self._look(node.value)
        at = node.slice
        if not isinstance(at, ast.Slice):
            return ops.item_of(value, self._look(at))
        bounds = []
        for each in (at.lower, at.upper, at.step):
            bounds.append(NONE if each is None else self._look(each))
        return ops.slice_items(value, bounds, self._region)

    def either(self, node: ast.IfExp) -> LabelledValue:
        test = ops.truth(self._look(node.test))
        with self._under(test.taint):
            branch = node.orelse
            if test.data:
                branch = node.body
            return self._look(branch).chosen_by(test.taint)

    def logic(self, node: ast.BoolOp) -> LabelledValue:
        """``and``, ``or``: each operand is evaluated under the label of those before it."""
        label = NOTHING
        is_and = isinstance(node.op, ast.And)
        value = NONE
        for each in node.values:
            with self._under(label):
                value = self._look(each)
            test = ops.truth(value)
            value = value.chosen_by(label)
            label |= test.taint
            if test.data != is_and:
                break
        # The value also reveals at which operand the evaluation stopped.
        return value.chosen_by(label)

    def compare_chain(self, node: ast.Compare) -> LabelledValue:
        """``a < b``, ``a < b < c``."""
        left = self._look(node.left)
        found = LabelledValue(data=True)
        label = NOTHING
        for kind, side in zip(node.ops, node.comparators, strict=True):
            with self._under(label):
                right = self._look(side)
            one = ops.compare(type(kind), left, right)
            found = LabelledValue(one.data, found.sources | one.sources, found.chosen | one.chosen)
            if not one.data:
                break
            label = found.taint
            left = right
        return found

    def text(self, node: ast.JoinedStr) -> LabelledValue:
        parts = []
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                parts.append(self._format_field(each))
            else:
                parts.append(self._look(each))
        made = ops.check_size(ops.made_of("".join(ops.data_of(parts)), *parts))
        if len(parts) == 1:
            return made
        return ops.in_part(made)

    def _format_field(self, node: ast.FormattedValue) -> LabelledValue:
        value = self._look(node.value)
        spec = node.format_spec
        if spec is None:
            words = ops.as_text(value)
            if node.conversion != ord("r"):
                return words
            return ops.in_part(LabelledValue(repr(words.data), words.sources, words.chosen))
        assert isinstance(spec, ast.JoinedStr)
        form = ""
        for each in spec.values:
            if not isinstance(each, ast.Constant):
                raise PlanRuntimeError("TypeError", "what stands after : in an f-string is written out")
            form += str(each.value)
        for digits in re.findall(r"\d+", form):
            if int(digits) > _WIDEST:
                raise PlanRuntimeError("ValueError", "it would be too wide")
        text = ops.quiet(lambda: format(ops.plain(value), form), "this format")
        words = ops.as_text(value)
        return ops.in_part(LabelledValue(text, words.sources, words.chosen))

    def _closure(self, args: ast.arguments, body: list[ast.stmt] | ast.expr) -> LabelledValue:
        """A function of the plan, with the frame that it is defined in."""
        names = tuple([each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs)])
        defaults = [self._look(each) for each in (*args.defaults, *args.kw_defaults) if each is not None]
        own = frozenset(names)
        if isinstance(body, list):
            own |= assigned_names(body)
        return LabelledValue(PlanFunction(names, tuple(defaults), body, self._frame, own))

    def comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> LabelledValue:
        """A comprehension. A condition taints the result for items that it drops, too."""
        table = Table({}, region=self._region)
        items = list[LabelledValue]()

        def element() -> None:
            if isinstance(node, ast.DictComp):
                put(table, self._look(node.key), self._look(node.value))
            else:
                items.append(self._look(node.elt))

        outer = self._frame
        own: set[str] = set()
        for generator in node.generators:
            own |= names_in(generator.target)
        self._frame = Frame(frozenset(own), outer)
        try:
            label = self._clause(node.generators, element)
        finally:
            self._frame = outer
        if isinstance(node, ast.DictComp):
            table.label |= label
            return ops.check_size(LabelledValue(table))
        if isinstance(node, ast.SetComp):
            return ops.unique(items, label, self._region)
        return ops.check_size(LabelledValue(Items(items, label, region=self._region)))

    def _clause(self, generators: list[ast.comprehension], element: Callable[[], None]) -> TaintLabel:
        if not generators:
            element()
            return NOTHING
        first, *rest = generators
        items, label = ops.iterate_items(self._look(first.iter))
        for item in items:
            with self._under(label):
                self._bind(first.target, item)
                fits = True
                decided = NOTHING
                for condition in first.ifs:
                    with self._under(decided):
                        test = ops.truth(self._look(condition))
                    decided |= test.taint
                    fits = test.data
                    if not fits:
                        break
                label |= decided
                if fits:
                    with self._under(decided):
                        label |= self._clause(rest, element)
        return label

    def call(self, node: ast.Call) -> LabelledValue:
        """A call of a tool, the reader, a function or a method."""
        match node.func:
            case ast.Name(id="extract"):
                return self._extract(node)
            case ast.Name(id="answer"):
                (value,) = self._calling(node).only("answer", 1, 1)
                self._answer = value.chosen_by(self._branch)
                return NONE
            case ast.Name(id=name) if name in self._tools:
                call = self._calling(node)
                return self._outside(
                    PlanToolCall(
                        function=name,
                        args=tuple(call.args),
                        named=call.named,
                        branch=self._branch,
                        line=node.lineno,
                    )
                )
            case ast.Name(id=name) if self._frame.find(name) is None:
                if name in DATES:
                    return made_date(name, self._calling(node))
                if name in BUILTINS:
                    return ops.check_size(BUILTINS[name](self._calling(node)))
                raise PlanRuntimeError("NameError", f"there is no function {name}")
            case ast.Attribute(value=inner, attr=name):
                return self._method(node, inner, name)
            case _:
                function = self._look(node.func)
                call = self._calling(node)
                return self._apply(function, call.args, call.named)

    def _method(self, node: ast.Call, inner: ast.expr, name: str) -> LabelledValue:
        # ``datetime``, ``date``… themselves, and not names that the plan assigned.
        match inner:
            case ast.Name(id=first) if first in DATES:
                kind = first
            case ast.Attribute(value=ast.Name(id="datetime" as first), attr=kind) if kind in DATES:
                pass
            case _:
                first = ""
        if first and self._frame.find(first) is None:
            maker = f"{kind}.{name}"
            if kind == "datetime" and name in DATES:
                # The class of that name in the module ``datetime``.
                maker = name
            return made_date(maker, self._calling(node))
        value = self._look(inner)
        data = value.data
        if isinstance(data, Table) and data.is_record and name in data.entries:
            raise PlanRuntimeError("TypeError", f"the field {name} cannot be called")
        call = self._calling(node)
        if changes(value, name):
            self._check_change(value)
        return called_on(value, name, call)

    def _calling(self, node: ast.Call) -> Calling:
        args = list(map(self._look, node.args))
        named = {str(each.arg): self._look(each.value) for each in node.keywords}

        def apply(
            function: LabelledValue, args: list[LabelledValue], label: TaintLabel
        ) -> LabelledValue:
            with self._under(label):
                return self._apply(function, args, {})

        return Calling(args, named, self._region, apply)

    def _extract(self, node: ast.Call) -> LabelledValue:
        given = dict(zip(("text", "type", "question"), node.args, strict=False))
        given |= {str(each.arg): each.value for each in node.keywords}
        if not {"text", "type"} <= set(given) <= {"text", "type", "question"}:
            raise PlanRuntimeError(
                "TypeError", "it is extract(text, Type), or extract(text, Type, question)"
            )
        question = LabelledValue("")
        if "question" in given:
            question = self._look(given["question"])
        if not isinstance(question.data, str):
            raise PlanRuntimeError("TypeError", "a question is a text")
        text = self._look(given["text"])
        kind = parse_extract_type(given["type"], self._classes)
        return self._outside(Extract(text=text, wanted=kind, question=question, line=node.lineno))

    def _apply(
        self, function: LabelledValue, args: list[LabelledValue], named: Mapping[str, LabelledValue]
    ) -> LabelledValue:
        made = function.data
        if not isinstance(made, PlanFunction):
            raise PlanRuntimeError("TypeError", "this is no function")
        if self._calls >= DEEPEST:
            raise PlanRuntimeError("LimitError", f"functions call each other more than {DEEPEST} deep")
        self._calls += 1
        before = self._branch, self._region, self._frame, self._in_loop, self._in_function
        self._enter(function.taint)
        self._frame = Frame(made.own, made.around)
        try:
            names = made.names
            if len(args) > len(names) or not set(named) <= set(names[len(args) :]):
                raise PlanRuntimeError("TypeError", "the function is not called so")
            optional = names[len(names) - len(made.defaults) :]
            filled = dict(zip(optional, made.defaults, strict=True))
            filled |= dict(zip(names, args, strict=False)) | dict(named)
            if set(filled) != set(names):
                raise PlanRuntimeError("TypeError", "the function needs more arguments")
            self._frame.names.update(filled)
            if isinstance(made.body, ast.expr):
                result = self._look(made.body)
            else:
                self._in_loop = frozenset()
                self._in_function = changed_names(made.body)
                signal = self._block(made.body)
                result = NONE
                if isinstance(signal, _FunctionReturn):
                    result = signal.value
                result = result.chosen_by(self._branch)
            return result.chosen_by(self._frame.stopped | function.taint)
        finally:
            self._calls -= 1
            self._branch, self._region, self._frame, self._in_loop, self._in_function = before


def _failure_at(node: ast.AST, error: PlanRuntimeError) -> _Failed:
    return _Failed(
        PlanProblem(
            kind=error.kind,
            reason=error.reason,
            line=getattr(node, "lineno", 0),
            expression=format_node(node),
            tool=error.tool,
        )
    )


_LOOKS: Mapping[type[ast.expr], Callable[[_PlanInterpreter, Any], LabelledValue]] = {
    ast.Constant: lambda _, node: LabelledValue(node.value),
    ast.Name: _PlanInterpreter.name,
    ast.List: _PlanInterpreter.display,
    ast.Tuple: _PlanInterpreter.display,
    ast.Set: _PlanInterpreter.display,
    ast.Dict: _PlanInterpreter.dict_display,
    ast.Attribute: lambda self, node: ops.field_of(self._look(node.value), node.attr),
    ast.Subscript: _PlanInterpreter.item,
    ast.IfExp: _PlanInterpreter.either,
    ast.BoolOp: _PlanInterpreter.logic,
    ast.Compare: _PlanInterpreter.compare_chain,
    ast.JoinedStr: _PlanInterpreter.text,
    ast.Lambda: lambda self, node: self._closure(node.args, node.body),
    ast.ListComp: _PlanInterpreter.comprehension,
    ast.SetComp: _PlanInterpreter.comprehension,
    ast.GeneratorExp: _PlanInterpreter.comprehension,
    ast.DictComp: _PlanInterpreter.comprehension,
    ast.Call: _PlanInterpreter.call,
    ast.BinOp: lambda self, node: ops.binary(
        type(node.op), self._look(node.left), self._look(node.right), self._region
    ),
    ast.UnaryOp: lambda self, node: ops.unary(type(node.op), self._look(node.operand)),
}
