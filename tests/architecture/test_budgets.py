"""A function is read at one sitting, a module says what it is for, and nothing is a drawer.

How long a file is, is nobody's business but its idea's. The figures of the whole tree are held by
``bench/house.py``.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import rightcall

SOURCE = Path(rightcall.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
MOST_LINES_IN_A_FUNCTION = 80
NO_HOMES = {"utils", "util", "helpers", "helper", "common", "base", "misc"}


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines from def to the end; decorators are not the function's own."""
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


# One test for all files names those that fail: one for each costs seconds to collect and report.
def test_every_function_is_under_its_budget_and_every_module_says_what_it_is_for():
    too_long, unexplained = [], []
    for path in FILES:
        tree = ast.parse(path.read_text())
        too_long += [
            f"{name_of(path)}: {each.name}"
            for each in functions(tree)
            if lines_of(each) > MOST_LINES_IN_A_FUNCTION
        ]
        unexplained += [name_of(path)] * (not ast.get_docstring(tree))
    assert (too_long, unexplained) == ([], [])


def test_nothing_lives_in_a_drawer_for_everything():
    assert [name_of(path) for path in FILES if NO_HOMES & {path.stem, *path.parts}] == []


def test_the_budgets_see_the_code():
    assert len(FILES) > 20
    tree = ast.parse("@decorator\ndef f():\n    async def g():\n        pass\n")
    assert [(each.name, lines_of(each)) for each in functions(tree)] == [("f", 3), ("g", 2)]
