"""Inline thoughts: kept apart from the answer, at every cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.wire.openai_chat.fragments import ThinkFilter


def filtered(*chunks: str) -> tuple[str, str, ThinkFilter]:
    think = ThinkFilter()
    pieces = [piece for chunk in chunks for piece in think.feed(chunk)] + think.finish()
    assert all(text for _, text in pieces)
    thought = "".join(text for kind, text in pieces if kind == "thought")
    text = "".join(text for kind, text in pieces if kind == "text")
    return thought, text, think


CASES = {
    "a thought and an answer": ("<think>hm</think>yes", "hm", "yes"),
    "space around the markers": ("\n<think>\nhm\n</think>\n\nyes ", "\nhm\n", "yes "),
    "no thought": ("just text", "", "just text"),
    "an empty thought": ("<think></think>yes", "", "yes"),
    "an unfinished thought": ("<think>hm</thi", "hm</thi", ""),
    "a marker that is none": ("<thin air>", "", "<thin air>"),
    "the beginning of a marker, and the end": ("<thi", "", "<thi"),
    "a marker later on": ("so <think>x</think>", "", "so <think>x</think>"),
    "a second thought is text": ("<think>a</think>b<think>c</think>", "a", "b<think>c</think>"),
    "a lone closing marker": ("a</think>b", "", "a</think>b"),
    "markers inside of a thought": ("<think>a<think>b</thin></think>c", "a<think>b</thin>", "c"),
    "only space": ("  \n", "", "  \n"),
    "nothing": ("", "", ""),
}


@pytest.mark.parametrize(("body", "thought", "text"), CASES.values(), ids=CASES)
def test_thoughts_are_kept_apart_at_every_cut(body, thought, text):
    assert filtered(body)[:2] == (thought, text)
    assert filtered(*body)[:2] == (thought, text)
    for at in range(len(body)):
        assert filtered(body[:at], body[at:])[:2] == (thought, text)


@given(st.lists(st.sampled_from(["<think>", "</think>", "<", "th", "ink>", " ", "\n", "a"])))
def test_nothing_is_lost(chunks):
    thought, text, think = filtered(*chunks)
    assert think.opening + thought + think.closing + text == "".join(chunks)


def test_other_markers():
    think = ThinkFilter(("[THINK]", "[/THINK]"))
    assert think.feed("[THINK]a[/THINK] b") == [("thought", "a"), ("text", "b")]
    assert (think.opening, think.closing) == ("[THINK]", "[/THINK] ")


def test_after_finishing_nothing_is_a_thought():
    think = ThinkFilter()
    assert think.feed("<thi") == []
    assert think.finish() == [("text", "<thi")]
    assert think.feed("<think>") == [("text", "<think>")]
