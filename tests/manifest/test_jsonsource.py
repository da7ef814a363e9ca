"""JSON that knows where everything in it stands, and what is wrong with JSON that is none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifest.kit import Layout, manifest, named, plain
from rightcall.core.jsontext import MAX_DEPTH
from rightcall.manifest.diagnostics import Diagnostics, Finding, Spot, UnusableValue, read_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.text() | st.floats(-1e6, 1e6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
GOOD = Layout(manifest(plain(), plain(name="other", timeout_ms=5, approval=True))).text


def read(text: str) -> tuple[Spot | None, list[Finding]]:
    """What the text holds, and what in it is not JSON."""
    notes = Diagnostics("")
    try:
        return read_json(text, notes), notes.problems
    except UnusableValue:
        return None, notes.problems


def places(spot: Spot, path=()):
    yield path, spot.place
    if isinstance(spot.content, tuple):
        for index, item in enumerate(spot.content):
            yield from places(item, (*path, index))
    elif isinstance(spot.content, dict):
        for key, item in spot.content.items():
            yield from places(item, (*path, key))


def keys(spot: Spot, path=()):
    for key, place in spot.keys.items():
        yield (*path, key), place
        yield from keys(spot.content[key], (*path, key))
    if isinstance(spot.content, tuple):
        for index, item in enumerate(spot.content):
            yield from keys(item, (*path, index))


@given(JSON)
def test_every_value_and_key_is_found_where_it_stands(value):
    layout = Layout(value)
    spot, slips = read(layout.text)
    assert slips == []
    assert spot.value == value
    assert dict(places(spot)) == layout.values
    assert dict(keys(spot)) == layout.keys


def test_every_value_is_called_by_its_path():
    layout = Layout(manifest(plain()))
    spot, _ = read(layout.text)
    assert [spot.below(path).path for path in layout.values] == [*map(named, layout.values)]


@given(JSON, st.sampled_from([None, 1, "\t", "\r\n "]))
def test_json_from_anywhere_is_read_as_everybody_reads_it(value, indent):
    text = json.dumps(value, indent=indent)
    spot, slips = read(text)
    assert (spot.value, slips) == (json.loads(text), [])


@given(st.text(alphabet="{}[]:,\"\\/*#ntfu0123456789eE.+-' \n\tabc\u00e9"))
def test_whatever_is_no_json_is_said_to_be_none_and_the_other_way_round(text):
    spot, slips = read(text)
    try:
        json.loads(text, object_pairs_hook=refuse_twice, parse_float=finite)
    except (ValueError, RecursionError):
        assert slips != []
    else:
        assert (spot is not None, slips) == (True, [])


def refuse_twice(pairs):
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError
    return dict(pairs)


def finite(text):
    if float(text) in (float("inf"), float("-inf")):
        raise ValueError
    return float(text)


@pytest.mark.parametrize(
    ("text", "slips"),
    [
        pytest.param("@", ['the file is empty; write {"version": 1, "tools": []}'], id="empty"),
        pytest.param(" \n\t@", ['the file is empty; write {"version": 1, "tools": []}'], id="blank"),
        pytest.param(
            '{"a": 1@', ["the file stops here; the { of line 1 is not closed; write }"], id="cut"
        ),
        pytest.param(
            "[1,\n@", ["the file stops here; the [ of line 1 is not closed; write ]"], id="cut-array"
        ),
        pytest.param(
            '{"a":@', ["the file stops here; the { of line 1 is not closed; write }"], id="cut-value"
        ),
        pytest.param("[1@, ]", ["a comma before ]; remove it"], id="comma-too-many"),
        pytest.param('{"a": 1@,}', ["a comma before }; remove it"], id="comma-too-many-in-object"),
        pytest.param(
            "[1 @2]", ["a comma is missing before this; write , between the two"], id="no-comma"
        ),
        pytest.param(
            '{"a": 1\n@"b": 2}',
            ["a comma is missing before this; write , between the two"],
            id="no-comma-line",
        ),
        pytest.param(
            "[1,@,2]", [", does not belong here, within the [ of line 1; write ]"], id="two-commas"
        ),
        pytest.param(
            '{"a": [1@}', ["} does not belong here, within the [ of line 1; write ]"], id="crossed"
        ),
        pytest.param('{"a"@ 1}', None, id="no-colon"),
        pytest.param("{@a: 1}", ['a key is wanted here, in double quotes; write "a"'], id="bare-key"),
        pytest.param(
            "{@'a': 1}", ["a key is wanted here, in double quotes; write \" instead of '"], id="single"
        ),
        pytest.param("[@'a']", ["a value is wanted here; write \" instead of '"], id="single-value"),
        pytest.param("[@True]", ["True is not JSON; write true"], id="True"),
        pytest.param("[@None]", ["None is not JSON; write null"], id="None"),
        pytest.param("[@NaN]", ["NaN is not JSON; write null"], id="NaN"),
        pytest.param("[@hello]", ['hello is not JSON; write "hello"'], id="bare-word"),
        pytest.param("[@01]", ['01 is not JSON; write "01"'], id="leading-zero"),
        pytest.param("[@.5]", ['.5 is not JSON; write ".5"'], id="no-digit-before-point"),
        pytest.param("[@+1]", ['+1 is not JSON; write "+1"'], id="plus"),
        pytest.param(
            "[@1e999]", ["the number 1e999 is too long or too large; write another"], id="infinite"
        ),
        pytest.param("{} @x", ["there is text after the end of the JSON; remove it"], id="trailing"),
        pytest.param(
            "[1, @// one\n2]", ["a comment, which JSON does not have; remove it"], id="comment"
        ),
        pytest.param(
            "[1, @/* one\n */ 2]", ["a comment, which JSON does not have; remove it"], id="block"
        ),
        pytest.param("@# x\n[]", ["a comment, which JSON does not have; remove it"], id="hash"),
        pytest.param(
            '{"a": 1,\n "b": 2,\n @"a": 3}',
            ['the key "a" is there twice; the first is in line 1'],
            id="twice",
        ),
        pytest.param(
            '[@"a\\x"]',
            ["a \\ escape that JSON does not have; write \\\\ for a backslash itself"],
            id="x",
        ),
        pytest.param(
            '[@"\\ud800"]',
            ["half of a surrogate pair in a \\u escape; write the character itself"],
            id="surrogate",
        ),
        pytest.param(
            '[@"abc\n"]',
            ['the string that begins here does not end in its line; write " at its end'],
            id="open",
        ),
        pytest.param('["a@\tb"]', ["a control character inside a string; write \\u0009"], id="tab"),
        pytest.param(
            "@\ufeff[]",
            ["the file begins with a byte order mark; save it as UTF-8 without one"],
            id="mark",
        ),
    ],
)
def test_what_is_not_json_is_said_where_it_is_with_what_to_write(text, slips):
    at = text.index("@")
    text = text.replace("@", "")
    line, column = text[:at].count("\n") + 1, at - text.rfind("\n", 0, at)
    if slips is None:
        column += 1
        slips = ['a colon is missing after the key "a"; write : before its value']
    found = read(text)[1]
    assert [(each.line, each.column) for each in found] == [(line, column)] * len(slips)
    assert [f"{each.message}; {each.fix}".removesuffix("; ") for each in found] == slips


def test_a_file_that_stops_anywhere_is_refused_where_it_stops():
    for end in range(len(GOOD.rstrip())):
        _, slips = read(GOOD[:end])
        lines = GOOD[:end].split("\n")
        last = slips[-1]
        assert 1 <= last.line <= len(lines), end
        assert 1 <= last.column <= len(lines[last.line - 1]) + 1, end
        assert last.fix, end


def test_depth_has_an_end():
    assert read("[" * MAX_DEPTH + "]" * MAX_DEPTH)[1] == []
    _, slips = read("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))
    words = "nested more than 64 levels deep"
    assert slips == [Finding(file="", line=1, column=MAX_DEPTH + 1, message=words)]
    assert len(read("[" * 100_000)[1]) == 1


def test_the_list_of_slips_has_an_end():
    assert len(read("[" + "1 " * 10_000 + "]")[1]) == 100
