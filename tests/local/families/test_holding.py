"""Text is given out as soon as it cannot be part of a marker any more, at a cost that does not grow."""

# ruff: noqa: RUF001 - replies stand here as models write them

import time

import pytest

from local.families.replies import SPECS, markers_of
from rightcall.core.events import CallDelta, ReasoningDelta, TextDelta
from rightcall.local.families.family import Family
from rightcall.local.families.family_list import FAMILIES, find_family
from rightcall.local.families.reader import Reader, answering

PROSE = (
    "if a < b and c[0] > d: return {x: [1, 2]}\n"
    "for (int i = 0; i < n; i++) { v[i] <<= 2; }\n"
    "<div class='x'><p>Tables</p></div> [a](b) `{}` \"q\" 'r' <|x|> [T] <｜y｜>\n"
    'template<typename T> {"key": [1, {"b": null}]}, functions. f(x) ->>> y\n'
)


def withheld(family: Family, text: str) -> int:
    """The most letters, space aside, that were fed and not given out yet."""
    reader = Reader(family, SPECS, tail="" if family.channels else answering(family))
    given, most = 0, 0
    for at, letter in enumerate(text, 1):
        given += sum(len(event.text) for event in reader.feed(letter) if isinstance(event, TextDelta))
        most = max(most, len(text[given:at].strip()))
    return most


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_no_more_is_held_back_than_a_marker_is_long(family: Family):
    longest = max(len(marker) for marker in markers_of(family))
    assert withheld(family, PROSE) < longest


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_comparison_is_not_delayed(family: Family):
    reader = Reader(family, SPECS, tail="" if family.channels else answering(family))
    given = [
        "".join(event.text for event in reader.feed(piece) if isinstance(event, TextDelta))
        for piece in ("if a ", "<", " b")
    ]
    assert given[0] == "if a "
    assert given[1] + given[2] == "< b"


def test_an_object_is_held_only_while_it_could_be_a_call():
    reader = Reader(find_family("generic"), SPECS)
    assert reader.feed('{"na') == ()
    assert reader.feed("ti") == (TextDelta("{"), TextDelta('"nati'))
    assert reader.feed('on": {"name": "') == (TextDelta('on": '),)
    assert reader.feed("Bob B") == (TextDelta("{"), TextDelta('"name": "Bob B'))


def fed(family: Family, opening: str, size: int) -> tuple[float, int]:
    """Seconds of work for so many small pieces inside of something, and the letters given out."""
    reader = Reader(family, SPECS)
    reader.feed(opening)
    start = time.process_time()
    count = 0
    for _ in range(size):
        for event in reader.feed("abc "):
            if isinstance(event, TextDelta | ReasoningDelta | CallDelta):
                count += len(event.text)
    return time.process_time() - start, count


LONG = {
    "text": ("hermes", "a"),
    "a thought": ("hermes", "<think>a"),
    "json arguments": ("hermes", '<tool_call>{"name": "get_time", "arguments": {"city": "'),
    "a string between tags": ("qwen3_coder", "<function=get_time>\n<parameter=city>\n"),
    "a python string": ("lfm2", "<|tool_call_start|>[get_time(city='"),
    "a gemma string": ("gemma4", '<|tool_call>call:get_time{city:<|"|>'),
}


@pytest.mark.parametrize(("family", "opening"), LONG.values(), ids=LONG)
def test_the_cost_of_a_piece_does_not_grow(family: str, opening: str):
    fed(find_family(family), opening, 200)
    short = min(fed(find_family(family), opening, 2_000)[0] for _ in range(3))
    long, count = fed(find_family(family), opening, 20_000)
    assert count >= 4 * 20_000 - 4
    assert long < 40 * short


def test_one_huge_piece_with_many_calls_costs_no_more_than_many():
    call = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>\n'

    def seconds(count: int) -> float:
        reader = Reader(find_family("hermes"), SPECS)
        start = time.process_time()
        reader.feed(call * count)
        return time.process_time() - start

    seconds(50)
    assert seconds(4_000) < 40 * max(seconds(400), 0.001)
