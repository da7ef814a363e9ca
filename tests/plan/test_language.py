"""The language of plans: what is in it does what Python does, and what is not is refused."""

import gc

import pytest

from plan.kit import evaluated
from rightcall.plan.parse import PlanProblem, PlanSyntaxError, parse
from rightcall.plan.run import Frame
from rightcall.plan.value import plain

IN_THE_LANGUAGE = [
    ("return 1 + 2 * 3 - 4 // 3 % 2", 6),
    ("return [x * 2 for x in range(5) if x != 2]", [0, 2, 6, 8]),
    ("return {k: v + 1 for k, v in {'a': 1}.items()}", {"a": 2}),
    ("a, (b, c) = 1, (2, 3)\nreturn a + b + c", 6),
    ("d = {'k': []}\nd['k'].append(1)\nd['k'] += [2]\nreturn d", {"k": [1, 2]}),
    ("def f(x, y=2):\n    if x > 1:\n        return y\n    return f(x + 1)\nreturn f(0)", 2),
    ("return sorted(['b', 'a', 'c'], key=lambda x: x, reverse=True)[0:2]", ["c", "b"]),
    ("t = 0\nfor x in [1, 2, 3]:\n    if x == 2:\n        continue\n    t += x\nreturn t", 4),
    ("return f'{3.14159:.2f} {1:>3} {\"a\"!r}'", "3.14   1 'a'"),
    ("return ', '.join(w.upper() for w in 'a b'.split())", "A, B"),
    ("return max([{'n': 1}, {'n': 3}], key=lambda r: r['n'])['n']", 3),
    ("return 1 if [] or None else 2", 2),
    ("return (datetime(2024, 5, 2) - timedelta(days=1)).isoformat()", "2024-05-01T00:00:00"),
    ("import datetime\nreturn datetime.date.fromisoformat('2024-05-02').day", 2),
    ("return len({1, 2} | {2, 3}), 2 in {1, 2}, 1 < 2 < 2", (3, True, False)),
    ("return sum([1, 2]), round(2.567, 1), abs(-1), any([0, 1]), all([])", (3, 2.6, 1, True, True)),
    ("return list(zip([1, 2], ['a', 'b'])), list(enumerate(['x']))", ([(1, "a"), (2, "b")], [(0, "x")])),
    ("answer('first')\nanswer('last')", "last"),
    ("x = 2\nx + 1", 3),
]


@pytest.mark.parametrize(("source", "value"), IN_THE_LANGUAGE)
def test_what_is_in_the_language_does_what_python_does(source, value):
    answer, _ = evaluated(source)
    assert plain(answer) == value


def test_what_a_plan_with_functions_used_is_given_back():
    def left() -> int:
        gc.collect()
        return sum(type(each) is Frame for each in gc.get_objects())

    before = left()
    for _ in range(20):
        evaluated(
            "def f(x):\n    return [y for y in range(x) if f(y - 1)] if x > 0 else [1]\nreturn f(3)"
        )
    assert left() == before


REFUSED = [
    ("while True: pass", 1, "for"),
    ("x = 1\ntry:\n    x\nexcept Exception: pass", 2, "fail"),
    ("import os", 1, "datetime"),
    ("from os import path", 1, "datetime"),
    ("x = ().__class__", 1, "another"),
    ("class A(B):\n    x: int", 1, "without bases"),
    ("class A:\n    def f(self): pass", 2, "name: type"),
    ("f(*xs)", 1, "name each"),
    ("f(**xs)", 1, "name each"),
    ("(y := 2)", 1, "line of its own"),
    ("x.y = 1", 1, "new value"),
    ("@f\ndef g(): pass", 1, "call"),
    ("async def f(): pass", 1, "def"),
    ("x = await f()", 1, "without it"),
    ("del x", 1, "comprehension"),
    ("2 ** 9", 1, "multiply"),
    ("for x in y:\n    pass\nelse:\n    pass", 4, "keep a value"),
    ("x = (", 1, ""),
    ("x" * 20_001, 0, "20,000"),
]


@pytest.mark.parametrize(("source", "line", "remedy"), REFUSED)
def test_what_is_not_in_the_language_is_refused_with_its_line_and_a_remedy(source, line, remedy):
    with pytest.raises(PlanSyntaxError) as refused:
        parse(source)
    problem = refused.value.problems[0]
    assert problem.line == line
    assert remedy in problem.reason


BIG = """
x, many = 'aaaaaaaaaa', []
for i in range(16):
    x = x + x
many = [x]
for i in range(13):
    many = many + many
"""
"""A text, and a list of it, that together would fill any memory."""
BREAKS = [
    ("return [1][3]", "IndexError"),
    ("return {}['k']", "KeyError"),
    ("return missing", "NameError"),
    ("return 'a' + 1", "TypeError"),
    ("return 'a' * 9", "TypeError"),
    ("return int('x')", "ValueError"),
    ("return 'x'.format()", "AttributeError"),
    ("return 'a'.encode()", "AttributeError"),
    ("return say.x", "NameError"),
    ("say = 1", "NameError"),
    ("return range(20000)", "LimitError"),
    ("x = 'a' * 1", "TypeError"),
    ("def f(x):\n    return f(x)\nreturn f(1)", "LimitError"),
    ("x = 'aaaaaaaaaa'\nfor i in range(30):\n    x = x + x\n", "LimitError"),
    (f"{BIG}return x.replace('', x)", "LimitError"),
    (f"{BIG}return x.replace('a', x, 100000)", "LimitError"),
    (f"{BIG}return x.join(many)", "LimitError"),
    (f"{BIG}return ''.join(many)", "LimitError"),
    (f"{BIG}return str(many)", "LimitError"),
    (f"{BIG}return f'{{many}}'", "LimitError"),
    ("for i in range(5000):\n    for j in range(5000):\n        i + j", "LimitError"),
    ("return extract('x', open)", "TypeError"),
    ("return look()[0].body.nothing", "AttributeError"),
    ("x = look()\nx.append(1)", "TypeError"),
    ("return f'{1:>99999}'", "ValueError"),
]


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("return 'a-b-c'.replace('-', '--', 1)", "a--b-c"),
        ("return 'a-b-c'.replace('-', '--')", "a--b--c"),
        ("return 'ab'.replace('', '.')", ".a.b."),
        ("return ', '.join([])", ""),
        ("return ', '.join(['a', 'b'])", "a, b"),
    ],
)
def test_what_fits_is_made(source, result):
    assert evaluated(source)[0].data == result


@pytest.mark.parametrize(("source", "kind"), BREAKS)
def test_what_goes_wrong_tells_the_line_and_the_kind_and_no_value(source, kind):
    problem, _ = evaluated(source, {"look": [{"body": "SECRET"}]})
    assert isinstance(problem, PlanProblem)
    assert problem.kind == kind
    assert problem.line > 0
    assert "SECRET" not in str(problem)
