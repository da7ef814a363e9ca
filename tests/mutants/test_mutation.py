"""Faults are put where they could matter, one at a time, and only into a copy."""

import ast
from queue import SimpleQueue

import pytest

from mutants import draw
from mutants.mutation import make_mutants


def variants(code: str) -> set[str]:
    """The code with each of its faults, as Python writes it."""
    return {ast.unparse(ast.parse(each.source)) for each in make_mutants("a.py", code.encode())}


FAULTS = {
    "a comparison": ("x = a < b", {"x = a <= b"}),
    "an identity": ("x = a is None", {"x = a is not None"}),
    "and": ("x = a and b", {"x = a or b"}),
    "not": ("x = not a", {"x = a"}),
    "a truth": ("x = True", {"x = False"}),
    "a small number": ("x = 3", {"x = 4", "x = 2"}),
    "a large number": ("x = f(4000)", {"x = f(8000)", "x = f(2000)"}),
    "a fraction": ("x = f(0.5)", {"x = f(1.0)", "x = f(0.25)"}),
    "a sum": ("x = a + b", {"x = a - b"}),
    "a sum of text": ("x = 'a' + b", set()),
    "a slice": ("x = y[a:b]", {"x = y[:b]", "x = y[a:]"}),
    "a keyword": ("x = f(a, b=c, d=e)", {"x = f(a, b=c)", "x = f(a, d=e)"}),
    "a call": ("f(a)", {"pass"}),
    "an awaited call": ("async def g():\n    await f(a)", {"async def g():\n    pass"}),
    "an attribute": ("a.b = c", {"pass"}),
    "a deletion": ("del a[b]", {"pass"}),
    "a count": ("a += b", {"pass", "a -= b"}),
    "a condition": ("if a:\n    b = c", {"if not a:\n    b = c"}),
    "a comprehension": ("x = [a for a in b if c]", {"x = [a for a in b if not c]"}),
    "a value returned": ("def f():\n    return a", {"def f():\n    return None"}),
    "nothing returned": ("def f():\n    return None", set()),
    "nothing but its truth returned": ("def f():\n    return False", {"def f():\n    return True"}),
    "an exception": ("raise a", {"pass"}),
    "a loop": (
        "while a:\n    break",
        {"while not a:\n    break", "while a:\n    continue"},
    ),
    "letters of several bytes": ("x = ('é', a < b)", {"x = ('é', a <= b)"}),
    "several lines": ("x = (\n    a\n    < b\n)", {"x = a <= b"}),
}


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_of_a_place_is_found(name):
    code, faults = FAULTS[name]
    assert variants(code) == faults


SILENT = {
    "a docstring": "def f():\n    '''At most 3.'''",
    "an annotation": "def f(a: Literal[3]) -> Literal[4]:\n    b: Literal[5]",
    "a log": "run_logger.info('so many: %s', a + b)",
    "an assert": "assert a < b",
    "an assert of lengths": "c = zip(a, b, strict=True)",
    "what is public": "__all__ = ['a'] + b",
    "a protocol": "class A(Protocol):\n\n    def f(self):\n        return a < b",
    "for type checkers": "if TYPE_CHECKING:\n    from a import b",
    "a limit": "MOST = 64 * 1024\nSECONDS: float = 1.5",
    "a decorator": "@f(a=3)\ndef g():\n    pass",
    "an alias": "A: TypeAlias = B[3]",
}


@pytest.mark.parametrize("name", SILENT)
def test_what_only_says_something_is_left_alone(name):
    assert variants(SILENT[name]) == set()


def test_a_fault_says_where_it_is_and_what_it_changes():
    code = b"a = 0\n\n\ndef f(b):\n    return b\n"
    (fault,) = [each for each in make_mutants("a.py", code) if each.about == "None returned"]
    assert (fault.path, fault.line) == ("a.py", 5)
    assert fault.show_change(code) == "@@ -4,2 +4,2 @@\n def f(b):\n-    return b\n+    return None"


def test_a_seed_draws_the_same_faults_again_each_of_another_line():
    found = [each for path in "abc" for each in make_mutants(path, b"x = a < 3\ny = b > 4\nz = 5\n")]
    drawn = draw.draw(found, 6, seed=3)
    assert drawn == draw.draw(found, 6, seed=3)
    assert len({(each.path, each.line) for each in drawn}) == 6
    assert len(draw.draw(found, 100, seed=3)) == 9
    assert {tuple(draw.draw(found, 6, seed)) for seed in range(9)} != {tuple(drawn)}


@pytest.mark.parametrize("room", draw.ROOMS)
def test_a_room_has_faults_and_tests(room):
    for folder in draw.ROOMS[room]:
        place = draw.ROOT / folder
        assert place.is_file() or any(place.rglob("test_*.py"))
    assert any((draw.ROOT / draw.SOURCE / room).glob("*.py"))


def test_the_tests_of_a_faults_own_file_are_run_first():
    path = str(draw.SOURCE / "gate/call_check.py")
    fault = make_mutants(path, b"x = 3")[0]
    tests = draw.tests_of(fault, draw.ROOT)
    assert tests[0] == "tests/gate/test_check.py"
    assert tests[-2:] == list(draw.ROOMS["gate"])


WATCHED = """
from pathlib import Path
from subject import larger, wait


def test_larger():
    assert larger(3, 2) == 3
    wait()


def test_machine():
    once = Path("once")
    is_first = not once.exists()
    once.touch()
    assert not is_first
"""
SUBJECT = """
import time


def larger(a, b):
    if a > b:
        return a
    return b


def wait():
    while time.time() < 3:
        pass
"""


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of a small tree: one module, and a test that fails the first time in any case."""
    root = tmp_path / "tree"
    for name, text in {"src/subject.py": SUBJECT, "tests/test_subject.py": WATCHED}.items():
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(text)
    monkeypatch.setattr(draw, "ROOT", root)
    monkeypatch.setattr(draw, "tests_of", lambda *_: ["tests"])
    place = tmp_path / "copy"
    for name in ("src/subject.py", "tests/test_subject.py"):
        (place / name).parent.mkdir(parents=True)
        (place / name).write_text((root / name).read_text())
    return draw.TreeCopy(place)


def judge(copy, about: str, line: int, seconds: float = 60) -> draw.Verdict:
    source = (draw.ROOT / "src/subject.py").read_bytes()
    faults = make_mutants("src/subject.py", source)
    (fault,) = [each for each in faults if (each.about, each.line) == (about, line)]
    verdict = draw.judge(fault, copy, seconds)
    # Neither tree has the fault any more.
    assert (draw.ROOT / "src/subject.py").read_bytes() == source
    assert (copy.place / "src/subject.py").read_bytes() == source
    return verdict


def test_a_fault_is_noticed_by_a_test_that_fails_for_it_and_not_by_one_that_failed_once(copy):
    noticed = judge(copy, "condition negated", 6)
    assert (noticed.noticed, noticed.by) == (True, "tests/test_subject.py::test_larger")
    survived = judge(copy, "comparison swapped", 6)
    assert (survived.noticed, survived.by) == (False, "")
    (copy.place / "once").unlink()
    assert not judge(copy, "comparison swapped", 6).noticed


def test_a_fault_that_hangs_is_noticed_by_its_time_limit(copy):
    verdict = judge(copy, "condition negated", 12, seconds=3)
    assert (verdict.noticed, verdict.by) == (True, "its time limit")


def test_a_test_that_fails_without_a_fault_ends_the_program(copy, monkeypatch):
    """It would seem to notice every fault."""
    monkeypatch.setitem(draw.ROOMS, "room", ("tests",))
    (copy.place / "tests/test_broken.py").write_text("def test_broken():\n    assert False\n")
    copies = SimpleQueue()
    copies.put(copy)
    with pytest.raises(SystemExit, match=r"of room fail without a fault: .*test_broken"):
        draw.time_rooms(["room"], copies, 1)
