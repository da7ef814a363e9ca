"""Expressions of a plan into values, each with the label of the branch that it is in."""

import ast
from collections.abc import Callable, Mapping
from typing import Any, Literal

from rightcall.plan.functions import BUILTINS, Calling, made_date, put
from rightcall.plan.methods import called_on, changes
from rightcall.plan.operations import (
    Fails,
    as_text,
    binary,
    bounded,
    compare,
    field_of,
    item_of,
    iterated,
    quiet,
    sliced,
    truth,
    unary,
    unique,
)
from rightcall.plan.parse import DATES, DEEPEST
from rightcall.plan.scope import Extract, Frame, Function, Outside, Scope, ToolCall
from rightcall.plan.syntax import assigned, names_in
from rightcall.plan.types import wanted
from rightcall.plan.value import NOTHING, Items, Label, Table, Value, in_part, plain, size

MOST_NODES = 200_000
MOST_WORK = 20_000_000
"""Characters and items, over all values that a plan computes."""
_DEEPEST = 120
"""Nesting depth of expressions, including calls of functions; Python's own stack must hold them."""
_WIDEST = 999


class Evaluator(Scope):
    """Evaluates expressions."""

    def __init__(
        self, tools: frozenset[str], classes: Mapping[str, ast.ClassDef], outside: Outside
    ) -> None:
        super().__init__(tools)
        self.classes = classes
        self.outside = outside
        self.answer: Value | None = None
        """The plan's latest answer."""
        self._nodes = 0
        self._work = 0
        self._depth = 0
        self._calls = 0

    def look(self, node: ast.expr) -> Value:
        """The value of an expression."""
        self._nodes += 1
        self._depth += 1
        try:
            self._check_bounds()
            value = _LOOKS[type(node)](self, node)
        except Fails as error:
            raise self.failed(node, error) from None
        finally:
            self._depth -= 1
        self._work += size(value)
        return value

    def _check_bounds(self) -> None:
        if self._nodes > MOST_NODES or self._work > MOST_WORK:
            raise Fails("LimitError", "it takes more steps, items or text than a plan may")
        if self._depth > _DEEPEST:
            raise Fails("LimitError", "it is nested too deeply")

    def name(self, node: ast.Name) -> Value:
        """The value of a name."""
        found = self.frame.find(node.id)
        if found is None:
            if node.id in self.tools or node.id in BUILTINS:
                raise Fails("NameError", f"{node.id} can only be called")
            raise Fails("NameError", f"there is no {node.id}")
        return found

    def listed(self, node: ast.List | ast.Tuple | ast.Set) -> Value:
        """A list, tuple or set display."""
        items = [self.look(each) for each in node.elts]
        if isinstance(node, ast.Set):
            return unique(items, NOTHING, self.region)
        form: Literal["list", "tuple"] = "list" if isinstance(node, ast.List) else "tuple"
        return Value(Items(items, form=form, region=self.region))

    def dict(self, node: ast.Dict) -> Value:
        """A dict display."""
        table = Table({}, region=self.region)
        for key, value in zip(node.keys, node.values, strict=True):
            assert key is not None
            put(table, self.look(key), self.look(value))
        return Value(table)

    def field(self, node: ast.Attribute) -> Value:
        """``value.field``."""
        return field_of(self.look(node.value), node.attr)

    def item(self, node: ast.Subscript) -> Value:
        """``value[at]``, or a slice."""
        value = self.look(node.value)
        if isinstance(at := node.slice, ast.Slice):
            bounds = [
                None if each is None else self.look(each) for each in (at.lower, at.upper, at.step)
            ]
            return sliced(value, bounds, self.region)
        return item_of(value, self.look(at))

    def either(self, node: ast.IfExp) -> Value:
        """``a if condition else b``."""
        test = truth(self.look(node.test))
        with self.under(test.taint):
            return self.look(node.body if test.data else node.orelse).chosen_by(test.taint)

    def logic(self, node: ast.BoolOp) -> Value:
        """``and``, ``or``: each operand is evaluated under the label of those before it."""
        label, is_and = NOTHING, isinstance(node.op, ast.And)
        value = Value(None)
        for each in node.values:
            with self.under(label):
                value = self.look(each)
            test = truth(value)
            value = value.chosen_by(label)
            label |= test.taint
            if bool(test.data) != is_and:
                break
        # The value also reveals at which operand the evaluation stopped.
        return value.chosen_by(label)

    def compared(self, node: ast.Compare) -> Value:
        """``a < b``, ``a < b < c``."""
        left, found, label = self.look(node.left), Value(data=True), NOTHING
        for kind, side in zip(node.ops, node.comparators, strict=True):
            with self.under(label):
                right = self.look(side)
            one = compare(type(kind), left, right)
            found = Value(one.data, found.sources | one.sources, found.chosen | one.chosen)
            if not one.data:
                break
            label, left = found.taint, right
        return found

    def text(self, node: ast.JoinedStr) -> Value:
        """An f-string."""
        parts = [
            self._formatted(each) if isinstance(each, ast.FormattedValue) else self.look(each)
            for each in node.values
        ]
        sources = NOTHING.union(*(part.sources for part in parts))
        chosen = NOTHING.union(*(part.chosen for part in parts))
        made = bounded(Value("".join([part.data for part in parts]), sources, chosen))
        return made if len(parts) == 1 else in_part(made)

    def _formatted(self, node: ast.FormattedValue) -> Value:
        value = self.look(node.value)
        if node.format_spec is None:
            words = as_text(value)
            if node.conversion != ord("r"):
                return words
            return in_part(Value(repr(words.data), words.sources, words.chosen))
        spec = node.format_spec
        assert isinstance(spec, ast.JoinedStr)
        if not all(isinstance(each, ast.Constant) for each in spec.values):
            raise Fails("TypeError", "what stands after : in an f-string is written out")
        form = "".join([str(each.value) for each in spec.values if isinstance(each, ast.Constant)])
        digits = "".join(each if each.isdigit() else " " for each in form).split()
        if any(int(each) > _WIDEST for each in digits):
            raise Fails("ValueError", "it would be too wide")
        text = quiet(lambda: format(plain(value), form), "this format")
        words = as_text(value)
        return in_part(Value(text, words.sources, words.chosen))

    def function(self, node: ast.Lambda) -> Value:
        """A lambda."""
        return self.closure(node.args, node.body)

    def closure(self, args: ast.arguments, body: "list[ast.stmt] | ast.expr") -> Value:
        """A function of the plan, with the frame that it is defined in."""
        names = tuple([each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs)])
        given = [*args.defaults, *(each for each in args.kw_defaults if each is not None)]
        defaults = tuple([self.look(each) for each in given])
        own = frozenset(names) | (assigned(body) if isinstance(body, list) else frozenset())
        return Value(Function(names, defaults, body, self.frame, own))

    def comprehension(
        self, node: "ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp"
    ) -> Value:
        """A comprehension. A condition taints the result for items that it drops, too."""
        table, items = Table({}, region=self.region), list[Value]()

        def element() -> None:
            if isinstance(node, ast.DictComp):
                put(table, self.look(node.key), self.look(node.value))
            else:
                items.append(self.look(node.elt))

        own = frozenset().union(*(names_in(each.target) for each in node.generators))
        outer, self.frame = self.frame, Frame(own, self.frame)
        try:
            label = self._clause(node.generators, element)
        finally:
            self.frame = outer
        if isinstance(node, ast.DictComp):
            table.label |= label
            return bounded(Value(table))
        if isinstance(node, ast.SetComp):
            return unique(items, label, self.region)
        return bounded(Value(Items(items, label, region=self.region)))

    def _clause(self, generators: "list[ast.comprehension]", element: Callable[[], None]) -> Label:
        if not generators:
            element()
            return NOTHING
        first, *rest = generators
        items, label = iterated(self.look(first.iter))
        for item in items:
            with self.under(label):
                self.bind(first.target, item)
                decided = self._conditions(first.ifs)
                label |= decided[1]
                if decided[0]:
                    with self.under(decided[1]):
                        label |= self._clause(rest, element)
        return label

    def _conditions(self, conditions: "list[ast.expr]") -> tuple[bool, Label]:
        label = NOTHING
        for each in conditions:
            with self.under(label):
                test = truth(self.look(each))
            label |= test.taint
            if not test.data:
                return False, label
        return True, label

    def called(self, node: ast.Call) -> Value:
        """A call of a tool, the reader, a function or a method."""
        match node.func:
            case ast.Name(id="extract"):
                return self._extract(node)
            case ast.Name(id="answer"):
                (value,) = self._calling(node).only("answer", 1, 1)
                self.answer = value.chosen_by(self.branch)
                return Value(None)
            case ast.Name(id=name) if name in self.tools:
                call = self._calling(node)
                return self.outside(
                    ToolCall(
                        function=name,
                        args=tuple(call.args),
                        named=call.named,
                        branch=self.branch,
                        line=node.lineno,
                    )
                )
            case ast.Name(id=name) if self.frame.find(name) is None:
                if name in DATES:
                    return made_date(name, self._calling(node))
                if name in BUILTINS:
                    return bounded(BUILTINS[name](self._calling(node)))
                raise Fails("NameError", f"there is no function {name}")
            case ast.Attribute(value=inner, attr=name):
                return self._method(node, inner, name)
            case _:
                pass
        function = self.look(node.func)
        call = self._calling(node)
        return self.apply(function, call.args, call.named)

    def _method(self, node: ast.Call, inner: ast.expr, name: str) -> Value:
        dotted = ast.unparse(inner).removeprefix("datetime.") if _is_dates(inner, self.frame) else ""
        if dotted:
            whole = name if dotted == "datetime" and name in DATES else f"{dotted}.{name}"
            return made_date(whole, self._calling(node))
        value = self.look(inner)
        data = value.data
        if isinstance(data, Table) and data.is_record and name in data.entries:
            raise Fails("TypeError", f"the field {name} cannot be called")
        call = self._calling(node)
        if changes(value, name):
            self.check_change(value)
        return called_on(value, name, call)

    def _calling(self, node: ast.Call) -> Calling:
        args = [self.look(each) for each in node.args]
        named = {str(each.arg): self.look(each.value) for each in node.keywords}
        return Calling(args, named, self.region, self._apply_under)

    def _apply_under(self, function: Value, args: list[Value], label: Label) -> Value:
        with self.under(label):
            return self.apply(function, args, {})

    def _extract(self, node: ast.Call) -> Value:
        names = {str(each.arg): each.value for each in node.keywords}
        given = dict(zip(("text", "type", "question"), node.args, strict=False)) | names
        if not {"text", "type"} <= set(given) <= {"text", "type", "question"}:
            raise Fails("TypeError", "it is extract(text, Type), or extract(text, Type, question)")
        question = self.look(given["question"]) if "question" in given else Value("")
        if not isinstance(question.data, str):
            raise Fails("TypeError", "a question is a text")
        text, kind = self.look(given["text"]), wanted(given["type"], self.classes)
        return self.outside(Extract(text=text, wanted=kind, question=question, line=node.lineno))

    def apply(self, function: Value, args: list[Value], named: Mapping[str, Value]) -> Value:
        """Call a function that the plan defines."""
        made = function.data
        if not isinstance(made, Function):
            raise Fails("TypeError", "this is no function")
        if self._calls >= DEEPEST:
            raise Fails("LimitError", f"functions call each other more than {DEEPEST} deep")
        self._calls += 1
        before = self.branch, self.region, self.frame
        self.enter(function.taint)
        self.frame = Frame(made.own, made.around)
        try:
            for name, value in _arguments(made, args, named).items():
                self.frame.names[name] = value
            given = self.run_body(made.body)
            return given.chosen_by(self.frame.stopped | function.taint)
        finally:
            self._calls -= 1
            self.branch, self.region, self.frame = before

    def run_body(self, body: "list[ast.stmt] | ast.expr") -> Value:
        """The value that a function's body returns."""
        raise NotImplementedError


def _is_dates(node: ast.expr, frame: Frame) -> bool:
    """Whether it is ``datetime``, ``date``… themselves, and not a name that the plan assigned."""
    match node:
        case ast.Name(id=name):
            return name in DATES and frame.find(name) is None
        case ast.Attribute(value=ast.Name(id="datetime"), attr=name):
            return name in DATES and frame.find("datetime") is None
        case _:
            return False


def _arguments(function: Function, args: list[Value], named: Mapping[str, Value]) -> dict[str, Value]:
    names = function.names
    if len(args) > len(names) or not set(named) <= set(names[len(args) :]):
        raise Fails("TypeError", "the function is not called so")
    filled = dict(zip(names[len(names) - len(function.defaults) :], function.defaults, strict=True))
    filled |= dict(zip(names, args, strict=False)) | dict(named)
    if set(filled) != set(names):
        raise Fails("TypeError", "the function needs more arguments")
    return filled


_LOOKS: Mapping[type[ast.expr], Callable[[Evaluator, Any], Value]] = {
    ast.Constant: lambda _, node: Value(node.value),
    ast.Name: Evaluator.name,
    ast.List: Evaluator.listed,
    ast.Tuple: Evaluator.listed,
    ast.Set: Evaluator.listed,
    ast.Dict: Evaluator.dict,
    ast.Attribute: Evaluator.field,
    ast.Subscript: Evaluator.item,
    ast.IfExp: Evaluator.either,
    ast.BoolOp: Evaluator.logic,
    ast.Compare: Evaluator.compared,
    ast.JoinedStr: Evaluator.text,
    ast.Lambda: Evaluator.function,
    ast.ListComp: Evaluator.comprehension,
    ast.SetComp: Evaluator.comprehension,
    ast.GeneratorExp: Evaluator.comprehension,
    ast.DictComp: Evaluator.comprehension,
    ast.Call: Evaluator.called,
    ast.BinOp: lambda self, node: binary(
        type(node.op), self.look(node.left), self.look(node.right), self.region
    ),
    ast.UnaryOp: lambda self, node: unary(type(node.op), self.look(node.operand)),
}
