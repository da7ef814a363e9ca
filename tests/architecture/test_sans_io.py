"""Values and pure steps touch nothing: no file, no screen, no clock, no chance, no event loop."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rightcall

SOURCE = Path(rightcall.__file__).parent

PURE = [
    "core/**/*.py",
    "declare/**/*.py",
    "wire/**/*.py",
    "batching/formats.py",
    "batching/openai.py",
    "batching/anthropic.py",
    "batching/gemini.py",
    "gate/call_check.py",
    "gate/render.py",
    "gate/repair.py",
    "transport/http1.py",
    "transport/http1.py",
]
PURE_FILES = sorted({path for pattern in PURE for path in SOURCE.glob(pattern)})
ALL_FILES = sorted(SOURCE.rglob("*.py"))
TALKS_TO_PEOPLE = {"cli", "serve", "studio"}

IMPURE_MODULES = {
    "aiohttp",
    "asyncio",
    "concurrent",
    "http",
    "logging",
    "multiprocessing",
    "os",
    "random",
    "requests",
    "secrets",
    "select",
    "selectors",
    "shutil",
    "signal",
    "socket",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "urllib",
}
IMPURE_CALLS = {"open", "print", "input", "breakpoint", "exec", "eval", "__import__"}
IMPURE_METHODS = {
    "now",
    "utcnow",
    "today",
    "read_text",
    "read_bytes",
    "write_text",
    "write_bytes",
    "uuid1",
    "uuid4",
    "getenv",
    "urandom",
}


def impurities(source: str) -> Iterator[str]:
    """What a module does that a pure one may not."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names if _is_impure(each.name))
            case ast.ImportFrom(module=str(module), level=0) if _is_impure(module):
                yield module
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_CALLS:
                yield f"{name}()"
            case ast.Call(func=ast.Attribute(attr=name)) if name in IMPURE_METHODS:
                yield f".{name}()"
            case ast.AsyncFunctionDef(name=name) if not _is_stub(node):
                yield f"async def {name}"
            case ast.Await():
                yield "await"
            case _:
                pass


def _is_stub(function: ast.AsyncFunctionDef) -> bool:
    """A Protocol says what others await; its own body is a docstring and an ellipsis."""
    return all(
        isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) for line in function.body
    )


def _is_impure(module: str) -> bool:
    # Taking a URL apart reaches for nothing.
    return module.partition(".")[0] in IMPURE_MODULES and module != "urllib.parse"


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def test_a_pure_module_touches_nothing():
    found = {name_of(path): list(impurities(path.read_text())) for path in PURE_FILES}
    assert {name: each for name, each in found.items() if each} == {}


def printed(source: str) -> list[int]:
    # To parse every file takes seconds, and most hold none of the words.
    if not re.search(r"\b(print|input|breakpoint)\b", source):
        return []
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"print", "input", "breakpoint"}
    ]


def test_only_what_talks_to_people_prints_or_asks():
    silent = [path for path in ALL_FILES if not TALKS_TO_PEOPLE & set(path.parts)]
    found = {name_of(path): printed(path.read_text()) for path in silent}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time", ["time"]),
        ("import os.path", ["os.path"]),
        ("from asyncio import sleep", ["asyncio"]),
        ("def f():\n    import random", ["random"]),
        ("open('x')", ["open()"]),
        ("datetime.now()", [".now()"]),
        ("async def f():\n    await g()", ["async def f", "await"]),
        ("class P(Protocol):\n    async def f(self) -> int:\n        'Wait.'\n        ...", []),
        ("from urllib.request import urlopen", ["urllib.request"]),
        ("from .time import x\nimport timeit, urllib.parse\nopening()", []),
    ],
)
def test_the_check_finds_what_it_looks_for(source, found):
    assert list(impurities(source)) == found


def test_the_check_finds_the_pure_modules():
    assert {"core/parts.py", "core/schema.py", "gate/call_check.py", "gate/render.py"} <= {
        name_of(path) for path in PURE_FILES
    }
    assert printed("print(1)\nx.print()") == [1]
