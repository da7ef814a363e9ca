"""What is certain of a JSON text is shown as it arrives, however it is cut, for one reading's cost."""

import json
from copy import deepcopy
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rightcall.core.jsontext import MAX_DEPTH, JsonError, depth, parse
from rightcall.core.partial import PartialJson

SAMPLES = [
    r"{}",
    r"[]",
    r'""',
    r'{"city": "Paris", "unit": "celsius"}',
    r'{"a": {"b": [1, -2.5e3, true, false, null, {"c": [[], {}, ""]}]}, "d": 0}',
    r'["tab\tnew\nquote\"slash\/back\\bell\b\f\r", "\u00e9\u4E2D", "é中😀"]',
    r'{"\ud83d\ude00 key": "\uD83D\uDE00", "mixed": "a\ud83d\ude00b\ud83d\ude01"}',
    ' [ 1 , 2.0 ,\r\n\t{ "x" : "y" } ] \n',
    r'{"\\": "\\\\", "": "\u0000\u001f\u007f"}',
    "-0 ",
    "12345678901234567890123 ",
    "1.5E-3\n",
    "true ",
    "null ",
    '"just a string"',
]

BROKEN = [
    ("}", None),
    ("[1, 2, x", [1, 2]),
    ("[1,]", [1]),
    ("[1 2]", [1]),
    ("[1}", [1]),
    ("[12$", []),
    ("[01]", []),
    ("[1.]", []),
    ("[-]", []),
    ("[.5]", []),
    ("[+1]", []),
    ("[1e999]", []),
    ("[NaN]", []),
    ("[tru]", []),
    ("[True]", []),
    ("[nullx]", []),
    ('{"a": 1, "b" 2}', {"a": 1}),
    ('{"a": 1,}', {"a": 1}),
    ('{"a": 1, b: 2}', {"a": 1}),
    ('{"a": 1, "a": 2}', {"a": 1}),
    ("{'a': 1}", {}),
    ('{"a": "b\nc"}', {"a": "b"}),
    ('{"a": "good \\x41"}', {"a": "good "}),
    ('{"a": "good \\u12g4"}', {"a": "good "}),
    ('{"a": "half \\ud83d, no more"}', {"a": "half "}),
    ('{"a": "half \\ud83d\\n"}', {"a": "half "}),
    ('{"a": "half \\ud83d\\u0041"}', {"a": "half "}),
    ('{"a": "half \\ude00"}', {"a": "half "}),
    ('{"a": "half \ud83d"}', {"a": "half "}),
    ('{"a": 1} {"b": 2}', {"a": 1}),
    ("[1] x", [1]),
    ('\ufeff{"a": 1}', None),
    ("[1, 2] // done", [1, 2]),
]


def read(fragments):
    """The reader after all fragments, and what it showed after each."""
    partial = PartialJson()
    views = []
    for fragment in fragments:
        partial.feed(fragment)
        views.append(deepcopy(partial.value))
    return partial, views


def grows_into(view, final):
    """Whether ``view`` is a beginning of ``final``: only the last item of anything may be unfinished."""
    if type(view) is not type(final):
        return False
    match view:
        case str():
            return final.startswith(view)
        case list():
            done, last = view[:-1], view[-1:]
            return (
                len(view) <= len(final)
                and done == final[: len(done)]
                and all(grows_into(item, final[len(done)]) for item in last)
            )
        case dict():
            names = list(view)
            return names == list(final)[: len(names)] and (
                all(view[name] == final[name] for name in names[:-1])
                and all(grows_into(view[name], final[name]) for name in names[-1:])
            )
        case _:
            return view == final


def assert_reads(text, fragments):
    partial, views = read(fragments)
    final = json.loads(text)
    for view in views:
        assert view is None or grows_into(view, final), view
    for before, after in pairwise(views):
        assert before is None or grows_into(before, after), (before, after)
    assert (partial.value, partial.is_complete, partial.is_broken) == (final, True, False)
    # Python finds 1, 1.0 and True equal.
    assert repr(partial.value) == repr(final)
    assert partial.text == text


def cut(text, places):
    bounds = [0, *sorted(places), len(text)]
    return [text[start:stop] for start, stop in pairwise(bounds)]


@pytest.mark.parametrize(
    ("view", "final", "expected"),
    [
        ({"a": "he"}, {"a": "hello"}, True),
        ({"a": "x", "b": [1]}, {"a": "x", "b": [1, 2], "c": 0}, True),
        ({}, {"a": 1}, True),
        ([], [[]], True),
        ([[1], "a"], [[1], "ab", 3], True),
        ({"a": "he", "b": 1}, {"a": "hello", "b": 1}, False),
        ({"b": 1}, {"a": 1, "b": 1}, False),
        ([[1], 2], [[1, 5], 2], False),
        ([1, 2], [1], False),
        ([None], ["x"], False),
        (1, 12, False),
        ("ab", "a", False),
        ([], {}, False),
    ],
)
def test_the_predicate_of_these_tests_knows_a_beginning(view, final, expected):
    assert grows_into(view, final) is expected


@pytest.mark.parametrize("text", SAMPLES)
def test_a_text_may_be_cut_into_two_anywhere(text):
    for place in range(len(text) + 1):
        assert_reads(text, cut(text, [place]))


@pytest.mark.parametrize("text", SAMPLES)
def test_a_text_may_come_character_by_character(text):
    assert_reads(text, list(text))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=25,
)


@given(json_values, st.booleans(), st.sampled_from([None, 0, 2, "\t"]), st.data())
def test_any_value_cut_anywhere_comes_out_whole(value, ascii_only, indent, data):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent) + "\n"
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=30))
    assert_reads(text, cut(text, places))


@given(json_values, st.data())
def test_looking_seldom_shows_the_same_as_looking_always(value, data):
    text = json.dumps(value) + " "
    fragments = cut(text, data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
    _, views = read(fragments)
    partial = PartialJson()
    for fragment, view in zip(fragments, views, strict=True):
        partial.feed(fragment)
        if data.draw(st.booleans()):
            assert partial.value == view
    assert partial.value == views[-1]


@pytest.mark.parametrize(
    ("text", "view"),
    [
        ("", None),
        ("  ", None),
        ("{", {}),
        ('{"ci', {}),
        ('{"city"', {}),
        ('{"city":', {}),
        ('{"city": "', {"city": ""}),
        ('{"city": "Par', {"city": "Par"}),
        ('{"city": "Par\\', {"city": "Par"}),
        ('{"city": "Par\\u00', {"city": "Par"}),
        ('{"city": "\\ud83d', {"city": ""}),
        ('{"city": "\\ud83d\\ude0', {"city": ""}),
        ('{"days": 1', {}),
        ('{"days": 12,', {"days": 12}),
        ('{"days": 12 ', {"days": 12}),
        ('{"on": true', {}),
        ('{"on": true}', {"on": True}),
        ("[1, [2, {", [1, [2, {}]]),
        ("4", None),
        ("null", None),
        ('"open', "open"),
    ],
)
def test_only_what_is_certain_is_shown(text, view):
    partial, _ = read([text])
    assert (partial.value, partial.is_broken) == (view, False)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("{}", True),
        ('{"a": 1}', True),
        ('"a"', True),
        ("1 ", True),
        ("[]  ", True),
        ("", False),
        ("{", False),
        ('"a', False),
        ("1", False),
        ("[[]", False),
    ],
)
def test_it_says_whether_the_value_has_ended(text, complete):
    assert read([text])[0].is_complete is complete


def test_the_view_is_the_live_object():
    partial = PartialJson()
    partial.feed('{"a": [1,')
    view = partial.value
    partial.feed(' 2], "b": "x')
    assert partial.value is view
    assert view == {"a": [1, 2], "b": "x"}


@pytest.mark.parametrize(("text", "view"), BROKEN)
def test_a_broken_text_keeps_the_last_good_view(text, view):
    for place in range(len(text) + 1):
        partial, _ = read([*cut(text, [place]), ', "more": [1, 2]}'])
        assert (partial.value, partial.is_broken) == (view, True)
        assert partial.text == text + ', "more": [1, 2]}'
    assert read([*text, "]}"])[0].value == view


def test_a_value_that_ended_is_complete_whatever_follows():
    partial, _ = read(["[1] x"])
    assert (partial.is_complete, partial.is_broken) == (True, True)
    partial, _ = read(['"a\n'])
    assert (partial.is_complete, partial.is_broken) == (False, True)


@given(st.text(alphabet='{}[],:"\\ \n0123.-+eEtrufalsn\ud83d😀\x00', max_size=40), st.data())
@example('{"a": "\\ud83d\\u', None)
def test_no_text_raises_and_the_strict_reader_agrees(text, data):
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=5)) if data else []
    partial, views = read([*cut(text, places), " "])
    for before, after in pairwise(views):
        assert before is None or grows_into(before, after)
    try:
        value = parse(text)
    except JsonError:
        assert partial.is_broken or not partial.is_complete
    else:
        assert (partial.value, partial.is_complete, partial.is_broken) == (value, True, False)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_nesting_has_the_bottom_that_the_strict_reader_has(opening, closing):
    inner = opening[:1] + closing
    deepest = opening * (MAX_DEPTH - 1) + inner + closing * (MAX_DEPTH - 1)
    partial, _ = read([deepest])
    assert (partial.value, partial.is_broken) == (parse(deepest), False)
    partial, _ = read([opening * 100_000])
    assert partial.is_broken
    assert depth(partial.value) == MAX_DEPTH


@pytest.mark.parametrize(
    ("head", "fragment", "tail"),
    [
        ('{"text": "', "word \\n", '"}'),
        ("[", "12,", "0]"),
        ("[", '{"a": "b"}, ', "0]"),
        ("[", "\n    ", "]"),
        ('{"', "key", '": 1}'),
        ('"', "x", '"'),
    ],
    ids=["string", "array", "objects", "space", "key", "bare string"],
)
def test_looking_after_every_fragment_reads_every_character_once(head, fragment, tail):
    partial = PartialJson()
    pieces = [head, *[fragment] * 20_000, tail]
    for piece in pieces:
        partial.feed(piece)
        assert not partial.is_broken
        _ = partial.value
    text = "".join(pieces)
    assert (partial.value, partial.text) == (json.loads(text), text)
    assert partial._scanned == len(text)


def test_a_cut_escape_is_looked_at_again_but_nothing_else_is():
    text = '["' + "\\ud83d\\ude00" * 2_000 + '"]'
    partial, _ = read(list(text[:100]))
    assert partial._scanned < 100 * len("\\ud83d\\ude00")
    partial = PartialJson()
    for character in text:
        partial.feed(character)
        _ = partial.is_complete
    assert partial.value == json.loads(text)
    assert partial._scanned < len(text) * len("\\ud83d\\ude00")


def test_feeding_reads_nothing_until_somebody_looks():
    partial = PartialJson()
    for _ in range(1000):
        partial.feed("[")
    assert (partial._scanned, partial.text) == (0, "[" * 1000)


def test_nothing_more_is_read_of_a_broken_text():
    partial, _ = read(["{]"])
    partial.feed("x" * 1000)
    assert (partial.is_broken, partial._scanned) == (True, len("{]"))
