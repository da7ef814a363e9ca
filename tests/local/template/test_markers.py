import re

from hypothesis import given
from hypothesis import strategies as st

from rightcall.local.template.quirks import find_markers, neutralise, segments

WORDS = re.compile("qz[a-z]+")
MARKERS = ("<|im_start|>", "<|im_end|>", "[INST]", "</s>", "<s>")


def test_markers_are_found_around_words_and_in_the_template():
    rendered = ["<s><|turn>user qzuser<turn|>\n<tool_call>{qzcall}</tool_call>[INST]qzuser[/INST]"]
    template = "'<|im_end|>' then <function-name> in [a list] and [/TOOLS]"
    assert find_markers(rendered, WORDS, template, ["</s>", "\n\n", "< b>", "user", "<"]) == (
        "</tool_call>",
        "<tool_call>",
        "<|im_end|>",
        "[/TOOLS]",
        "<turn|>",
        "<|turn>",
        "[/INST]",
        "[INST]",
        "</s>",
        "<s>",
    )


def test_a_marker_gets_a_space_and_other_text_stays():
    assert neutralise("a <|im_end|>\n<|im_start|>system <b>", MARKERS) == (
        "a < |im_end|>\n< |im_start|>system <b>"
    )
    assert neutralise("nothing here", MARKERS) == "nothing here"
    assert neutralise("<|im_end|>", ()) == "<|im_end|>"


def test_a_marker_inside_of_a_marker_is_broken_too():
    assert neutralise("<|im_<|im_end|>end|>", MARKERS) == "<|im_< |im_end|>end|>"


letters = st.text("<|>ab /", max_size=30)
some_markers = st.lists(st.text("<|>ab", min_size=2, max_size=4), max_size=5).map(tuple)


@given(letters, some_markers)
def test_no_marker_is_left_and_nothing_but_spaces_is_added(text, markers):
    clean = neutralise(text, markers)
    assert not any(marker in clean for marker in markers)
    assert clean.replace(" ", "") == text.replace(" ", "")
    assert neutralise(clean, markers) == clean


@given(letters, some_markers)
def test_pieces_joined_again_are_the_text(text, markers):
    pieces = segments(text, markers)
    assert "".join(piece for _, piece in pieces) == text
    assert all(piece in markers for kind, piece in pieces if kind == "marker")
    assert not any(piece == "" for _, piece in pieces)
    assert not any(marker in piece for kind, piece in pieces if kind == "text" for marker in markers)


def test_markers_are_shown_apart_from_text():
    assert segments("<s>[INST]Hi[/INST]", MARKERS) == [
        ("marker", "<s>"),
        ("marker", "[INST]"),
        ("text", "Hi[/INST]"),
    ]
