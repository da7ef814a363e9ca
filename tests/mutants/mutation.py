"""Turns the source of a module into mutants: the same source with one small fault in it.

A fault is put where it could matter. What only says something is left alone: docstrings, annotations,
what is logged, asserts (``strict=`` of ``zip`` is one), protocols, and what is there for type checkers.
So is the value of a module's named limit, which somebody chose: whether the limit holds is in the code
that compares with it.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff

_SMALL = 100
"""A number up to this is made one larger or smaller; a larger one or a fraction, doubled or halved."""
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_LOG_METHODS = ("debug", "info", "warning", "error", "exception", "log")
_SILENT_NAMES = ("__all__", "__slots__", "__match_args__")


@dataclass(frozen=True)
class Mutant:
    """One fault in one file."""

    path: str
    line: int
    about: str
    source: bytes
    """The whole module with the fault in it."""

    def show_change(self, before: bytes) -> str:
        """What the fault changes, as a diff without its header."""
        old = before.decode().splitlines()
        new = self.source.decode().splitlines()
        lines = list(unified_diff(old, new, n=1, lineterm=""))[2:]
        return "\n".join(lines)


def make_mutants(path: str, source: bytes) -> list[Mutant]:
    """Every mutant of a module, in the order of its lines. Each of them compiles."""
    found = []
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for node, about, text in _find_faults(ast.parse(source)):
        begin = starts[node.lineno - 1] + node.col_offset
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        end = starts[node.end_lineno - 1] + node.end_col_offset
        changed = source[:begin] + text.encode() + source[end:]
        if _compiles(changed):
            found.append(Mutant(path, node.lineno, about, changed))
    return sorted(found, key=lambda each: (each.line, each.about, each.source))


def _compiles(source: bytes) -> bool:
    # `return` of a value in an asynchronous generator, or nothing left to bind: no fault to look for.
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def _find_faults(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    """Each place with what is done to it, and the text that takes its place."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if _is_silent(node):
            continue
        if isinstance(node, ast.expr):
            yield from _spoil_expression(node)
        elif isinstance(node, ast.stmt):
            yield from _spoil_statement(node)
        elif isinstance(node, ast.comprehension):
            for condition in node.ifs:
                yield condition, "condition negated", f"(not ({ast.unparse(condition)}))"
        todo.extend(_list_parts(node))


def _is_silent(node: ast.AST) -> bool:
    match node:
        case ast.Assert() | ast.Import() | ast.ImportFrom() | ast.JoinedStr():
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name in _SILENT_NAMES
        case ast.AnnAssign(annotation=annotation):
            return "TypeAlias" in ast.unparse(annotation)
        case ast.If(test=test):
            words = ast.unparse(test)
            return "TYPE_CHECKING" in words or "isEnabledFor" in words
        case ast.ClassDef(bases=bases):
            return any("Protocol" in ast.unparse(base) for base in bases)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            is_overload = any("overload" in ast.unparse(each) for each in node.decorator_list)
            return is_overload or name.startswith(("_log", "log")) or name == "__repr__"
        case ast.Call(func=ast.Name(id="cast" | "assert_never" | "TypeVar" | "ParamSpec")):
            return True
        case ast.Call(func=ast.Attribute(value=value, attr=method)):
            return method in _LOG_METHODS and "log" in ast.unparse(value).lower()
    return False


def _is_zip(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="zip")):
            return True
    return False


def _is_limit(node: ast.AST) -> bool:
    """Whether a statement names a large number or a fraction: ``MOST = 64 * 1024``."""
    match node:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            parts = list(ast.walk(value))
            arithmetic = (ast.Constant, ast.BinOp, ast.operator)
            if not all(isinstance(each, arithmetic) for each in parts):
                return False
            numbers = [each.value for each in parts if isinstance(each, ast.Constant)]
            return any(isinstance(each, float) for each in numbers) or any(
                isinstance(each, int) and each > _SMALL for each in numbers
            )
    return False


def _list_parts(node: ast.AST) -> Iterator[ast.AST]:
    """What a node consists of, without what has no say in how it runs."""
    if isinstance(node, ast.Module):
        yield from [each for each in node.body if not _is_limit(each)]
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "type_params", "pattern"):
            continue
        if isinstance(node, ast.ClassDef) and name == "keywords":
            continue
        if name == "keywords" and _is_zip(node):
            # That both have one length is asserted by it.
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                yield each


def _spoil_expression(node: ast.expr) -> Iterator[tuple[ast.expr, str, str]]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            swapped = ast.Compare(left, [_COMPARISONS[type(operator)]()], [right])
            yield node, "comparison swapped", f"({ast.unparse(swapped)})"
        case ast.BoolOp(op=operator, values=values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield node, "and, or swapped", f"({ast.unparse(ast.BoolOp(other, values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, "not removed", f"({ast.unparse(operand)})"
        case ast.IfExp(test=test):
            yield test, "condition negated", f"(not ({ast.unparse(test)}))"
        case ast.Constant(value=bool(value)):
            yield node, "truth swapped", str(not value)
        case ast.Constant(value=int(number) | float(number)):
            larger, smaller = _shift_number(number)
            yield node, "number made larger", larger
            yield node, "number made smaller", smaller
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _ARITHMETIC:
            if not _is_text(left) and not _is_text(right):
                swapped = ast.BinOp(left, _ARITHMETIC[type(operator)](), right)
                yield node, "arithmetic swapped", f"({ast.unparse(swapped)})"
        case ast.Subscript(value=value, slice=ast.Slice(lower, upper, step)):
            if lower is not None:
                rest = ast.Subscript(value, ast.Slice(None, upper, step))
                yield node, "slice's beginning removed", ast.unparse(rest)
            if upper is not None:
                rest = ast.Subscript(value, ast.Slice(lower, None, step))
                yield node, "slice's end removed", ast.unparse(rest)
        case ast.Call(func=function, args=arguments, keywords=keywords) if not _is_zip(node):
            for keyword in keywords:
                left_over = [each for each in keywords if each is not keyword]
                shorter = ast.Call(function, arguments, left_over)
                yield node, f"{keyword.arg or '**'}= removed", ast.unparse(shorter)


def _shift_number(number: float) -> tuple[str, str]:
    if abs(number) <= _SMALL and isinstance(number, int):
        # In brackets, since -1 may stand behind an operator.
        return str(number + 1), f"({number - 1})"
    half = number // 2 if isinstance(number, int) else number / 2
    return str(number * 2), str(half)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _spoil_statement(node: ast.stmt) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    match node:
        case ast.Expr(value=ast.Call() as call) if not _is_silent(call):
            yield node, "call removed", "pass"
        case ast.Expr(value=ast.Await()):
            yield node, "awaited call removed", "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield node, "assignment removed", "pass"
        case ast.AugAssign(target=target, op=operator, value=value):
            yield node, "assignment removed", "pass"
            if type(operator) in _ARITHMETIC and not _is_text(value):
                swapped = ast.AugAssign(target, _ARITHMETIC[type(operator)](), value)
                yield node, "arithmetic swapped", ast.unparse(swapped)
        case ast.Delete(targets=[ast.Attribute() | ast.Subscript()]):
            yield node, "deletion removed", "pass"
        case ast.Return(value=ast.expr() as value):
            # False is as good as None to nearly everybody, and has a fault of its own.
            if ast.unparse(value) not in ("None", "False"):
                yield node, "None returned", "return None"
        case ast.Raise():
            yield node, "exception not raised", "pass"
        case ast.If(test=test) | ast.While(test=test):
            yield test, "condition negated", f"(not ({ast.unparse(test)}))"
        case ast.Break():
            yield node, "break made continue", "continue"
        case ast.Continue():
            yield node, "continue made break", "break"
