"""Thoughts between markers: kept apart from the answer, wherever they stand, at every cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.wire import ThinkFilter
from rightcall.wire.think import Piece


def filtered(*chunks: str, cut: bool = False) -> list[Piece]:
    """The pieces, those of one kind that follow each other put together."""
    think = ThinkFilter()
    pieces = [piece for chunk in chunks for piece in think.feed(chunk)] + think.finish(cut=cut)
    assert all(text for _, text in pieces)
    joined: list[Piece] = []
    for kind, text in pieces:
        if joined and joined[-1][0] == kind:
            joined[-1] = (kind, joined[-1][1] + text)
        else:
            joined.append((kind, text))
    return joined


def parted(pieces: list[Piece]) -> tuple[str, str]:
    """The thoughts and the text."""
    return (
        "".join(text for kind, text in pieces if kind == "thought"),
        "".join(text for kind, text in pieces if kind == "text"),
    )


CASES = {
    "a thought and an answer": ("<think>hm</think>yes", "hm", "yes"),
    "space around the markers": ("\n<think>\nhm\n</think>\n\nyes ", "\nhm\n", "yes "),
    "no thought": ("just text", "", "just text"),
    "an empty thought": ("<think></think>yes", "", "yes"),
    "an unfinished thought": ("<think>hm</thi", "hm</thi", ""),
    "a marker that is none": ("<thin air>", "", "<thin air>"),
    "the beginning of a marker, and the end": ("<thi", "", "<thi"),
    "after text": ("so <think>x</think> yes", "x", "so yes"),
    "a second thought": ("<think>a</think>b<think>c</think>d", "ac", "bd"),
    "two thoughts before the answer": ("<think>a</think>\n<think>b", "ab", ""),
    "between paragraphs": ("One.\n\n<think>\nhm\n</think>\n\nTwo.", "\nhm\n", "One.\n\nTwo."),
    "a lone closing marker": ("a</think>b", "", "a</think>b"),
    "markers inside of a thought": ("<think>a<think>b</thin></think>c", "a<think>b</thin>", "c"),
    "opened after text and never closed": ("The <think> tag opens.", "", "The <think> tag opens."),
    "quoted in a line": ("Write `<think>` first. <think>x</think>ok", "x", "Write `<think>` first. ok"),
    "quoted between two ticks": ("``a ` <think>`` b</think>", "", "``a ` <think>`` b</think>"),
    "in a fence": ("```xml\n<think>a</think>\n```\nend", "", "```xml\n<think>a</think>\n```\nend"),
    "after a fence": ("```\na\n```\n<think>b</think>c", "b", "```\na\n```\nc"),
    "a fence inside of a larger one": ("````\n```\n<think>a</think>\n````", "",
                                       "````\n```\n<think>a</think>\n````"),
    "a lone backtick ends with its line": ("it`s\n<think>a</think>b", "a", "it`s\nb"),
    "code in a thought": ("<think>`</think>`b`", "`", "`b`"),
    "only space": ("  \n", "", "  \n"),
    "nothing": ("", "", ""),
}  # fmt: skip


@pytest.mark.parametrize(("body", "thought", "text"), CASES.values(), ids=CASES)
def test_thoughts_are_kept_apart_at_every_cut(body, thought, text):
    whole = filtered(body)
    assert parted(whole) == (thought, text)
    assert filtered(*body) == whole
    for at in range(len(body)):
        assert filtered(body[:at], body[at:]) == whole


WORDS = ["<think>", "</think>", "<", "th", "ink>", "`", "```", " ", "\n", "a"]


@given(st.lists(st.sampled_from(WORDS)), st.booleans())
def test_nothing_is_lost_and_no_cut_matters(chunks, cut):
    pieces = filtered(*chunks, cut=cut)
    assert "".join(text for _, text in pieces) == "".join(chunks)
    assert pieces == filtered("".join(chunks), cut=cut) == filtered(*"".join(chunks), cut=cut)


def test_a_thought_at_the_beginning_is_given_as_it_comes():
    think = ThinkFilter()
    assert think.feed("<think>a") == [("open", "<think>"), ("thought", "a")]
    assert think.feed("b") == [("thought", "b")]


def test_a_reply_that_was_cut_off_in_a_late_thought_ends_in_a_thought():
    assert filtered("so <think>hm", cut=True) == [
        ("text", "so "),
        ("open", "<think>"),
        ("thought", "hm"),
    ]


def test_other_markers():
    think = ThinkFilter(("[THINK]", "[/THINK]"))
    opened, closed = ("open", "[THINK]"), ("close", "[/THINK]")
    found = [opened, ("thought", "a"), closed, ("close", " "), ("text", "b")]
    assert think.feed("[THINK]a[/THINK] b") == found


def test_after_finishing_it_begins_anew():
    think = ThinkFilter()
    assert think.feed("a <thi") == [("text", "a ")]
    assert think.finish() == [("text", "<thi")]
    assert think.feed("<think>b") == [("open", "<think>"), ("thought", "b")]
