"""Patterns whose time grows only with the text."""

from time import perf_counter

import pytest

from rightcall.builtin.files.grep import glob_pattern, line_pattern
from rightcall.errors import ToolFailure

TOO_LARGE = (
    "The pattern is too large: at most 500 characters, and counts like {3} that multiply to no more "
    "than 500."
)
GLOBS = [
    ("*.py", ["a.py", "b/c/a.py"], ["a.pyc", "a.py/x", "py"]),
    ("./*.py", ["a.py", "b/a.py"], ["a.txt"]),
    ("src/*.py", ["src/a.py"], ["a.py", "src/b/a.py", "x/src/a.py"]),
    ("src/**", ["src/a", "src/a/b"], ["src", "srcs/a"]),
    ("**/test_*.py", ["test_a.py", "a/b/test_b.py"], ["atest_a.py"]),
    ("src/**/*.py", ["src/a.py", "src/b/c/a.py"], ["a.py", "src/a.txt"]),
    ("a/**/b/**/c", ["a/b/c", "a/x/b/y/z/c"], ["a/c", "ab/b/c"]),
    ("**", ["a", "a/b/c"], [""]),
    ("?.txt", ["a.txt", "é.txt"], [".txt", "ab.txt"]),
    ("[a-c].txt", ["b.txt"], ["d.txt"]),
    ("[!a-c].txt", ["d.txt"], ["b.txt"]),
    ("x/[!a]/y", ["x/b/y"], ["x/a/y", "x///y"]),
    ("[", ["["], ["a"]),
    ("[]]", ["]"], ["["]),
    ("*.{py,js}", ["a.py", "a.js"], ["a.ts"]),
    ("{src,test/unit}/*.py", ["src/a.py", "test/unit/a.py"], ["test/a.py"]),
    ("{a,{b,c}d}", ["a", "bd", "cd"], ["b", "ad"]),
    ("{a", ["{a"], ["a"]),
    ("a}", ["a}"], ["a"]),
    ("a.b+c(d)|e^f$", ["a.b+c(d)|e^f$"], ["aXb+c(d)|e^f$"]),
    ("new\nline", ["new\nline"], ["new"]),
    ("a,b", ["a,b"], ["a"]),
    ("a**b", ["ab", "axyb"], ["a/b"]),
]


@pytest.mark.parametrize(("glob", "matching", "others"), GLOBS, ids=[glob for glob, _, _ in GLOBS])
def test_globs(glob, matching, others):
    pattern = glob_pattern(glob)
    assert [path for path in matching if not pattern.is_in(path)] == []
    assert [path for path in others if pattern.is_in(path)] == []


@pytest.mark.parametrize("glob", ["", "/", "./", "x" * 501])
def test_a_glob_has_a_length(glob):
    with pytest.raises(ToolFailure, match="1 to 500 characters"):
        glob_pattern(glob)


@pytest.mark.parametrize("expression", ["(a+)+$", "(a|a)*$", "(.*a){20}b", r"(\w+\s?)*!"])
def test_no_expression_hangs(expression):
    pattern = line_pattern(expression)
    started = perf_counter()
    pattern.is_in("a" * 10_000 + "b")
    assert perf_counter() - started < 1


def test_no_glob_hangs():
    pattern = glob_pattern("*a" * 200 + "b")
    started = perf_counter()
    assert not pattern.is_in("a" * 4000)
    assert perf_counter() - started < 1


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("(a", "The pattern is not valid: regex parse error:\n    (a\n    ^\nerror: unclosed group"),
        (
            "(?=a)",
            (
                "The pattern is not valid: regex parse error:\n    (?=a)\n    ^^^\n"
                "error: look-around, including look-ahead and look-behind, is not supported"
            ),
        ),
        (
            "a{600}",
            TOO_LARGE,
        ),
        (
            "(?x)(a{30}){ 3 0 }",
            TOO_LARGE,
        ),
        (
            "x" * 501,
            TOO_LARGE,
        ),
    ],
)
def test_an_expression_that_cannot_be_taken_is_explained(expression, words):
    with pytest.raises(ToolFailure) as caught:
        line_pattern(expression)
    assert caught.value.message == words


def test_case_counts_unless_said():
    assert not line_pattern("todo").is_in("TODO")
    assert line_pattern("todo", ignore_case=True).is_in("TODO")
    assert line_pattern("^b$").is_in("a\nb\nc")
