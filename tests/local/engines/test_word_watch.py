"""Words that are waited for, in text that comes in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.local.engines.huggingface import WordWatch


def watched(words, pieces):
    watch = WordWatch(words)
    before = "".join(watch.feed(piece) for piece in pieces)
    return before + watch.finish(), watch.met, watch.rest


@pytest.mark.parametrize(
    ("words", "text", "expected"),
    [
        (("stop",), "go on", ("go on", "", "")),
        (("stop",), "go stop now", ("go ", "stop", "stop now")),
        (("b", "abc"), "xabc", ("x", "abc", "abc")),
        (("<a", "<ab>"), "x<ab>", ("x", "<ab>", "<ab>")),
        (("aab",), "aaab", ("a", "aab", "aab")),
        (("stop",), "almost sto", ("almost sto", "", "")),
        ((), "anything", ("anything", "", "")),
        (("",), "anything", ("anything", "", "")),
    ],
    ids=["never", "amid", "first", "longest", "again", "half", "none", "empty"],
)
def test_the_text_before_the_first_word_is_given_out(words, text, expected):
    assert watched(words, [text]) == expected


@given(st.lists(st.text("ab<>", max_size=6), max_size=8))
def test_one_word_is_found_alike_however_the_text_is_cut(pieces):
    assert watched(("<ab>",), pieces) == watched(("<ab>",), ["".join(pieces)])


@given(st.lists(st.text("ab<>", max_size=6), max_size=8))
def test_no_more_is_held_back_than_may_begin_the_word(pieces):
    watch = WordWatch(("<ab>",))
    whole = given_out = ""
    for piece in pieces:
        whole += piece
        given_out += watch.feed(piece)
        held = whole.removeprefix(given_out)
        assert "<ab>" not in given_out
        assert watch.met or held in {"", "<", "<a", "<ab"}
