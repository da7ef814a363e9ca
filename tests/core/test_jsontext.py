import json
import math
import sys
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.core.jsontext import (
    MAX_DEPTH,
    MAX_PARTS,
    JsonError,
    check_parts,
    depth,
    dump,
    kind_of,
    parse,
    shorten,
)
from rightcall.errors import ProtocolError

CUT_OFF = "the text stops before the JSON is complete"
TOO_DEEP = "nested more than 64 levels deep"
TOO_LARGE = "a number is too large to be held exactly"
HALF_ESCAPE = "half of a surrogate pair in a \\u escape"

text_without_surrogates = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text_without_surrogates,
    lambda inner: st.lists(inner) | st.dictionaries(text_without_surrogates, inner),
)


def refusal(text: str) -> tuple[str, bool]:
    with pytest.raises(JsonError) as caught:
        parse(text)
    return str(caught.value), caught.value.cut_off


def exactly(value: Any) -> Any:
    """The value with its types, so that 1, 1.0 and True are three different things."""
    if isinstance(value, dict):
        return {key: exactly(item) for key, item in value.items()}
    if isinstance(value, list):
        return [exactly(item) for item in value]
    return type(value), math.copysign(1, value) if isinstance(value, float) else None, value


@given(values, st.booleans(), st.sampled_from([None, 2, "\t"]))
def test_every_value_that_json_can_write_is_read_back(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert exactly(parse(text)) == exactly(value)


@given(values)
def test_what_is_dumped_is_read_back(value):
    assert exactly(parse(dump(value))) == exactly(value)


fragments = st.sampled_from(
    [
        *'{}[]:,"\\-.0e \n\t\x00',
        '"a"',
        '"\\u0061"',
        "\\ud83d",
        "\\ude00",
        "true",
        "nul",
        "1e999",
        "9" * 4400,
    ]
) | st.sampled_from(["NaN", "-Infinity", "\ufeff", "\ud800", "\u2028", "😀", "//", "[" * 70, "]" * 70])


@given(st.text() | st.lists(fragments, max_size=12).map("".join))
def test_any_text_is_read_or_refused_and_nothing_else_happens(text):
    try:
        value = parse(text)
    except JsonError:
        return
    assert value == json.loads(text)


def duplicated(key: str, *, escaped: bool, first: Any, second: Any, between: Any) -> str:
    again = "".join(f"\\u{ord(unit):04x}" for unit in key) if escaped else dump(key)[1:-1]
    members = [f"{dump(key)}: {dump(first)}", f'"{again}": {dump(second)}']
    if between is not None:
        members.insert(1, f'"{"x" * (len(key) + 1)}": {dump(between)}')
    return "{" + ", ".join(members) + "}"


@given(
    st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])),
    st.booleans(),
    values,
    values,
    st.none() | values,
    st.lists(st.sampled_from(["[%s]", "[1, %s]", '{"k": %s}', '{"k\\n": %s, "l": "{}"}']), max_size=5),
)
def test_an_object_with_a_repeated_key_is_always_refused(key, escaped, first, second, between, around):
    text = duplicated(key, escaped=escaped, first=first, second=second, between=between)
    for wrapper in around:
        text = wrapper.replace("%s", text)
    assert refusal(text) == (f"the key {shorten(key)} appears twice in one object", False)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"a": 1, "a": 1}', '"a"'),
        ('{"a": 1, "\\u0061": 2}', '"a"'),
        ('{"\\n": 1, "\\u000a": 2}', '"\\n"'),
        ('[{"b": {"c": {}, "c": 1}}]', '"c"'),
        ('{"": 1, "": 2}', '""'),
        ('{"a": "x", "a": "\\u0022\\u0022\\u0022\\u0022"}', '"a"'),
        ('{"a": {"a": 1}, "b": "\\"a\\"", "a": []}', '"a"'),
    ],
)
def test_a_repeated_key_is_refused_by_name(text, key):
    assert refusal(text) == (f"the key {key} appears twice in one object", False)


def test_the_same_key_in_different_objects_is_fine():
    assert parse('{"a": {"a": 1}, "b": [{"a": "\\u0061"}, {"a": 2}]}') == {
        "a": {"a": 1},
        "b": [{"a": "a"}, {"a": 2}],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": NaN}', "NaN is not a JSON number"),
        ("Infinity", "Infinity is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ("1e999", TOO_LARGE),
        ('{"a": [-1e999]}', TOO_LARGE),
        ("9" * 5000, TOO_LARGE),
        ("[" + "9" * 5000 + "e", TOO_LARGE),
        ("[" + "9" * 5000 + ' "', TOO_LARGE),
        ('{"a": 1} x', 'extra data at character 9, near "x"'),
        ('{"a": 1}{"b": 2}', 'extra data at character 8, near "{\\"b\\": 2}"'),
        ("[1, 2", CUT_OFF),
        ("[tx]", 'expecting value at character 1, near "tx]"'),
        ('{"a": nu}', 'expecting value at character 6, near "nu}"'),
        ('["\\u12"]', 'invalid \\uXXXX escape at character 3, near "u12\\"]"'),
        ('["\\x"]', 'invalid \\escape at character 2, near "\\\\x\\"]"'),
        ("[01]", "expecting ',' delimiter at character 2, near \"1]\""),
        ("[1.]", "expecting ',' delimiter at character 2, near \".]\""),
        ("[1 .", "expecting ',' delimiter at character 3, near \".\""),
        ("[+1]", 'expecting value at character 1, near "+1]"'),
        pytest.param(
            "[1,]",
            'expecting value at character 3, near "]"'
            if sys.version_info < (3, 13)
            else 'illegal trailing comma before end of array at character 2, near ",]"',
            id="a trailing comma",
        ),
        ('{"a": 1 "b', 'expecting \',\' delimiter at character 8, near "\\"b"'),
        (
            "{'a': 1}",
            "expecting property name enclosed in double quotes at character 1, near \"'a': 1}\"",
        ),
        ("{} // done", 'extra data at character 3, near "// done"'),
        ("\u00a0{}", 'expecting value at character 0, near "\u00a0{}"'),
        ('"a\nb"', 'invalid control character at character 2, near "\\nb\\""'),
        ('{"\x00": 1}', 'invalid control character at character 2, near "\\u0000\\": 1}"'),
        ("{}\x00", 'extra data at character 2, near "\\u0000"'),
        ("\ufeff{}", "the text begins with a byte order mark, which is not part of JSON"),
        ('"\\ud800"', HALF_ESCAPE),
        ('{"a": "\\udc00 and on"}', HALF_ESCAPE),
        ('{"\\ud800\\u0041": 1}', HALF_ESCAPE),
        ('{"\\ud83d and on" ', HALF_ESCAPE),
        ('{"a": "\ud800"}', "half of a surrogate pair at character 7"),
        ('{"\udc00": 1}', "half of a surrogate pair at character 2"),
    ],
)
def test_what_cannot_be_trusted_is_refused_with_words(text, message):
    assert refusal(text) == (message, message == CUT_OFF)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (str(2**63), 2**63),
        (str(-(2**200)), -(2**200)),
        ("9" * 4000, int("9" * 4000)),
        ("-0", 0),
        ("1e5", 100000.0),
        ("1e-999", 0.0),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\x7f\u2028"', "\x7f\u2028"),
        (" \t\r\n{} ", {}),
        ("null", None),
    ],
)
def test_corners_that_are_json_are_read(text, value):
    assert exactly(parse(text)) == exactly(value)


WHOLE = (
    r'{"a b": [1, -2.5e+3, 0.1, true, false, null], '
    r'"é": {"d": {}, "😀": "x\n\ud83d\ude00\u00e9"}, "e": -1E5}'
)


@pytest.mark.parametrize("end", range(len(WHOLE)))
def test_every_beginning_of_an_object_is_told_to_be_cut_off(end):
    assert refusal(WHOLE[:end]) == (CUT_OFF, True)


def test_the_whole_object_is_not():
    assert parse(WHOLE) == json.loads(WHOLE)


def nested(levels: int, opening: str = "[", inside: str = "", closing: str = "]") -> str:
    return opening * levels + inside + closing * levels


@pytest.mark.parametrize(
    ("opening", "inside", "closing", "levels"),
    [
        ("[", "", "]", 64),
        ('{"a":', "1", "}", 64),
        ('{"\\u0061":', "1", "}", 64),
        ('[{"a":', "1", "}]", 32),
    ],
    ids=["arrays", "objects", "escaped keys", "both"],
)
def test_nesting_is_read_down_to_64_levels_and_refused_below(opening, inside, closing, levels):
    assert depth(parse(nested(levels, opening, inside, closing))) == MAX_DEPTH == 64
    assert refusal(nested(levels + 1, opening, inside, closing)) == (TOO_DEEP, False)


def test_many_brackets_side_by_side_are_not_deep():
    assert parse("[" + ",".join(["[]"] * 100) + "]") == [[]] * 100


@pytest.mark.parametrize(
    "text",
    [nested(100_000), "[" * 100_000, nested(100_000, '{"a":', "1", "}"), "[" * 100_000 + "x"],
    ids=["whole", "cut off", "objects", "broken"],
)
def test_a_bomb_of_brackets_is_refused_fast(text):
    started = time.perf_counter()
    assert refusal(text) == (TOO_DEEP, False)
    assert time.perf_counter() - started < 1


def test_no_depth_of_broken_text_is_too_much_for_explaining_it():
    said = {refusal("[" * levels + "x")[0].split(" at ")[0] for levels in range(800, 1100)}
    assert said <= {TOO_DEEP, "expecting value"}


@pytest.mark.parametrize(
    ("value", "levels"),
    [
        (1, 0),
        ("[[]]", 0),
        ([], 1),
        ({"a": 1}, 1),
        ([1, {"a": [2]}], 3),
        ({"a": [], "b": {"c": [[]]}}, 4),
    ],
)
def test_depth_counts_containers(value, levels):
    assert depth(value) == levels


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "null"),
        (True, "a boolean"),
        (1, "an integer"),
        (1.0, "a number"),
        ("", "a string"),
        ([], "an array"),
        ((), "an array"),
        ({}, "an object"),
        (object(), "a value that is not JSON"),
    ],
)
def test_every_kind_of_value_has_its_word(value, words):
    assert kind_of(value) == words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("short", '"short"'),
        ("x" * 60, '"' + "x" * 60 + '"'),
        ("x" * 61, '"' + "x" * 50 + '…" (61 characters)'),
        ("é" * 1_000_000, '"' + "é" * 50 + '…" (1,000,000 characters)'),
        ([1] * 100, "[" + "1," * 29 + "…"),
        ({"a": "x" * 1000}, '{"a":"' + "x" * 53 + "…"),
        ({"a": [object()]}, '{"a":["object"]}'),
        (10**30, str(10**30)),
    ],
    ids=["short", "just fits", "a little long", "huge", "array", "object", "not JSON", "big number"],
)
def test_a_value_is_shortened_to_fit_a_sentence(value, text):
    assert shorten(value) == text


@pytest.mark.parametrize("piece", [b"[],", b"{},", b"a,,", b'",",'])
def test_parts_are_counted_up_to_a_bound(piece):
    data = piece * (MAX_PARTS // 2)
    check_parts(data, "it")
    with pytest.raises(ProtocolError, match="it has more than 1,000,000 parts"):
        check_parts(data + b"[", "it")
    check_parts(b"x" * (3 * MAX_PARTS), "it")
