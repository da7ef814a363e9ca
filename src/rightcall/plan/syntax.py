"""What a part of a plan could do, from its syntax alone, whether it runs or not."""

import ast
from collections.abc import Iterator, Sequence

_LOOPS = (ast.Break, ast.Continue)
CHANGING = frozenset({"append", "extend", "insert", "remove", "pop", "add", "update"})
"""The methods that change a list, a set or a dict."""


def names_in(target: ast.expr) -> frozenset[str]:
    """The names that an assignment target assigns."""
    return frozenset(
        each.id for each in ast.walk(target) if isinstance(each, ast.Name) and _is_set(each)
    )


def _is_set(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement inside some others, except those of nested function definitions."""
    for each in body:
        yield each
        if isinstance(each, ast.If | ast.For):
            yield from statements(each.body)
            yield from statements(each.orelse)


def assigned(body: Sequence[ast.stmt]) -> frozenset[str]:
    """The names that some statements could assign."""
    found: set[str] = set()
    for each in statements(body):
        match each:
            case ast.Assign(targets=targets):
                found.update(name for target in targets for name in names_in(target))
            case ast.AnnAssign(target=target, value=value) if value is not None:
                found |= names_in(target)
            case ast.AugAssign(target=target) | ast.For(target=target):
                found |= names_in(target)
            case ast.FunctionDef(name=name):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def changed(body: Sequence[ast.stmt]) -> frozenset[str]:
    """The names whose lists, sets and dicts some statements could change in place."""
    found: set[str] = set()
    for each in statements(body):
        match each:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method))):
                found |= {name} if method in CHANGING else set()
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
                found.add(name)
            case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name))):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def returns(body: Sequence[ast.stmt]) -> bool:
    """Whether some statements could return from their function."""
    return any(isinstance(each, ast.Return) for each in statements(body))


def leaves_loop(body: Sequence[ast.stmt]) -> bool:
    """Whether some statements could break or continue their loop."""
    for each in body:
        if isinstance(each, _LOOPS):
            return True
        if isinstance(each, ast.If) and (leaves_loop(each.body) or leaves_loop(each.orelse)):
            return True
    return False
