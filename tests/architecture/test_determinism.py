"""The loop comes to the same steps on every attempt: no clock, chance, environment or unordered waiting.

A durable engine runs loop code again from the start and gives it what the steps came to. Whatever that
code finds out for itself may differ the second time, and then the keys of the steps do, or what is put
into them. Only what runs inside a step may look: its outcome is recorded. So everything that looks is
either gone, or in the list below with the reason why it does no harm. See docs/durable-engines.md.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import rightcall

SOURCE = Path(rightcall.__file__).parent
LOOP = ["loop/*.py", "gate/*.py", "trust/**/*.py", "plan/*.py", "record/steps.py"]
LOOP += ["durable/segment.py"]
FILES = sorted({path for pattern in LOOP for path in SOURCE.glob(pattern)})

CHANCE = {"random", "secrets", "uuid"}
CLOCKS = {"time", "datetime"}
OUTSIDE = {"os", "platform", "socket", "subprocess", "sys"}
LOOKING = {
    **dict.fromkeys(("monotonic", "perf_counter", "time_ns", "now", "utcnow", "today"), "clock"),
    **dict.fromkeys(("uuid1", "uuid4", "urandom", "token_hex", "shuffle", "choice"), "chance"),
    **dict.fromkeys(("getenv", "getpid", "gethostname", "expandvars", "cwd", "home"), "environment"),
    **dict.fromkeys(("as_completed", "create_task", "ensure_future", "run_in_executor"), "unordered"),
    **dict.fromkeys(("TaskGroup", "gather", "wait", "Queue", "SimpleQueue"), "unordered"),
}
"""What is called, and what it makes of the loop that calls it."""
CLOCK_NAMES = {"monotonic", "perf_counter"}
ORDERED = {"sorted", "len", "any", "all", "max", "min", "sum", "set", "frozenset", "isdisjoint"}
"""What may be given a set: its answer does not depend on the order."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

IN_A_STEP = "runs inside a step's body, whose outcome is recorded"
ONE_PROCESS = (
    "keys of a table that is made anew from the transcript in every process, and never leaves it"
)
NO_ORDER = "goes into a set, a dict or a test of membership again, where the order is lost"
FAIRNESS = "only says when the event loop gets a turn; nothing of it is kept"
ALLOWED = {
    (
        "durable/segment.py",
        "clock",
    ): "around the loop: what is left until the run's deadline ends the segment",
    ("gate/attempt.py", "clock"): IN_A_STEP,
    ("gate/attempt.py", "unordered"): IN_A_STEP,
    ("gate/attempt.py", "environment"): "tells a forked child from the process that called the tool",
    ("gate/executor.py", "clock"): IN_A_STEP,
    ("gate/executor.py", "unordered"): "run_calls, which is no part of a run",
    ("gate/concurrency.py", "environment"): IN_A_STEP,
    ("gate/concurrency.py", "unordered"): IN_A_STEP,
    ("loop/ask.py", "clock"): IN_A_STEP,
    ("loop/calls.py", "clock"): "what a call that waits inside took so far: part of the state that is "
    "stored with the pause, and of no key",
    ("loop/calls.py", "unordered"): "each branch has a step of its own key; results go by position",
    (
        "loop/events.py",
        "unordered",
    ): "carries live events to whoever reads a stream; the run is one task",
    ("loop/run_guard.py", "clock"): FAIRNESS,
    ("loop/delivery.py", "clock"): IN_A_STEP,
    ("loop/delivery.py", "unordered"): "cuts off the model's reply or a call inside its own step",
    ("loop/time_limits.py", "clock"): IN_A_STEP,
    ("loop/speculate.py", "clock"): "when an early call began and was dropped: only told in the record",
    (
        "loop/speculate.py",
        "unordered",
    ): "runs inside the step of the model's reply; what is taken of it is "
    "taken inside the call's own step",
    ("plan/run.py", "a set's order"): NO_ORDER,
    (
        "trust/ledger.py",
        "chance",
    ): "the name of a new ledger's file, which is looked at before a run begins",
    ("record/steps.py", "clock"): FAIRNESS + ", and how long a held run is waited for before it begins",
}


def looks(source: str) -> Iterator[tuple[int, str]]:
    """Where a module looks at something that may differ on another attempt, and at what."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in LOOKING:
                yield node.lineno, LOOKING[name]
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module))) if module in CHANCE:
                yield node.lineno, "chance"
            case ast.Call(func=ast.Attribute(value=ast.Name("time"), attr="time") | ast.Name("time")):
                yield node.lineno, "clock"
            case ast.Call(func=ast.Attribute(value=ast.Name("loop"), attr="time")):
                yield node.lineno, "clock"
            case ast.Assign(value=ast.Name(id=name) | ast.Attribute(attr=name)) if name in CLOCK_NAMES:
                yield node.lineno, LOOKING[name]
            case ast.Attribute(attr="environ"):
                yield node.lineno, "environment"
            case ast.ImportFrom(module=str(module), names=names):
                yield from ((node.lineno, kind) for kind in _imported(module, names))
            case ast.Call(func=ast.Name(id="hash"), args=[_]):
                yield node.lineno, "a hash"
    attributes = frozenset(name for name in _known_sets(tree) if "." in name)
    inner: set[int] = set()
    # From the innermost function outwards: a name is a set where its own function says so.
    for scope in reversed([tree, *(n for n in ast.walk(tree) if isinstance(n, FUNCTIONS))]):
        sets = attributes | frozenset(_known_sets(scope))
        nodes = [node for node in ast.walk(scope) if id(node) not in inner]
        inner |= {id(node) for node in nodes}
        yield from ((line, "a set's order") for line in _orders_of_sets(nodes, sets))


def _imported(module: str, names: list[ast.alias]) -> Iterator[str]:
    """Functions that are called by their bare names are found where they are called."""
    if module in CHANCE and any(each.name[0].islower() for each in names):
        yield "chance"


def _known_sets(tree: ast.AST) -> Iterator[str]:
    """The names, attributes and parameters that hold sets, as far as the module says so itself."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[target], value=value) if _makes_set(value):
                yield ast.unparse(target)
            case ast.AnnAssign(target=target, annotation=kind) if _names_set(kind):
                yield ast.unparse(target)
            case ast.arg(arg=name, annotation=ast.expr() as kind) if _names_set(kind):
                yield name


def _names_set(kind: ast.expr) -> bool:
    return ast.unparse(kind).partition("[")[0] in {"set", "frozenset", "AbstractSet", "Set"}


def _makes_set(value: ast.expr, sets: frozenset[str] = frozenset()) -> bool:
    match value:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor(), right=right):
            return _makes_set(left, sets) or _makes_set(right, sets)
        case ast.Name() | ast.Attribute():
            return ast.unparse(value) in sets
    return False


def _orders_of_sets(nodes: list[ast.AST], known: frozenset[str]) -> Iterator[int]:
    harmless = {
        id(argument)
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name | ast.Attribute)
        and (node.func.id if isinstance(node.func, ast.Name) else node.func.attr) in ORDERED
        for argument in node.args
    }
    for node in nodes:
        match node:
            case ast.For(iter=source) if _makes_set(source, known):
                yield node.lineno
            case ast.ListComp() | ast.GeneratorExp() | ast.DictComp() if id(node) not in harmless:
                yield from (node.lineno for each in node.generators if _makes_set(each.iter, known))
            case ast.Call(func=ast.Name(id="list" | "tuple" | "iter" | "enumerate"), args=[source, *_]):
                yield from [node.lineno] * _makes_set(source, known)
            case ast.Call(func=ast.Attribute(attr="join" | "fromkeys" | "extend"), args=[source, *_]):
                yield from [node.lineno] * _makes_set(source, known)
            case ast.Call(func=ast.Attribute(value=source, attr="pop"), args=[]):
                yield from [node.lineno] * _makes_set(source, known)
            case ast.Starred(value=source) if _makes_set(source, known):
                yield node.lineno


@cache
def found_in(path: Path) -> tuple[tuple[int, str], ...]:
    return tuple(looks(path.read_text()))


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def test_loop_code_looks_at_nothing_that_may_differ():
    found = [
        f"{name_of(path)}, line {at}: {what}"
        for path in FILES
        for at, what in found_in(path)
        if (name_of(path), what) not in ALLOWED
    ]
    assert found == [], "put it into a step, or say in ALLOWED why it does no harm"


def test_what_is_allowed_is_still_there():
    found = {(name_of(path), what) for path in FILES for _, what in found_in(path)}
    assert set(ALLOWED) - found == set()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time\nt = time.monotonic()", ["clock"]),
        ("self.clock.now()", ["clock"]),
        ("from time import time\ntime()", ["clock"]),
        ("now = staticmethod(x)\nnow = monotonic", ["clock"]),
        ("uuid4()", ["chance"]),
        ("import random\nrandom.random()", ["chance"]),
        ("from secrets import token_bytes", ["chance"]),
        ("os.environ['X']", ["environment"]),
        ("os.getenv('X')", ["environment"]),
        ("await asyncio.wait(tasks)", ["unordered"]),
        ("for each in asyncio.as_completed(tasks): pass", ["unordered"]),
        ("for each in {1, 2}: pass", ["a set's order"]),
        ("def f(names: set[str]):\n    return ', '.join(names)", ["a set's order"]),
        ("self.x: set[int] = set()\ndef f(self):\n    return list(self.x)", ["a set's order"]),
        ("x = {1}\nx.pop()", ["a set's order"]),
        ("x = a - {b}\nt = (*x, 1)", ["a set's order"]),
        ("def f():\n    x = {1}\ndef g(x):\n    return list(x)", []),
        ("x = {1}\ny = sorted(x)\nz = len(x)\nw = any(n for n in x)\nv = 1 in x", []),
        ("hash(x)", ["a hash"]),
    ],
)
def test_the_lint_finds_what_it_looks_for(source, found):
    assert [what for _, what in looks(source)] == found
