"""Markers in a grammar that are tokens of a vocabulary."""

import pytest

from rightcall.local.engines.huggingface import with_special_tokens

TOKENS = {"<tool_call>": 7, "</tool_call>": 8}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('start: "<tool_call>" body', "start: <[7]> body"),
        ('start: "<tool_call>\\n{" body', 'start: (<[7]> "\\n{") body'),
        ('start: "a</tool_call>"', 'start: ("a" <[8]>)'),
        ('start: a\n  | "<tool_call>"', "start: a\n  | <[7]>"),
        ('start: "plain"', 'start: "plain"'),
        ('start: /"<tool_call>"/', 'start: /"<tool_call>"/'),
        ('T_TEXT: "<tool_call>"', 'T_TEXT: "<tool_call>"'),
        ('head[lazy]: "<tool_call>"', "head[lazy]: <[7]>"),
    ],
    ids=["alone", "before", "after", "next line", "none", "expression", "lexer", "options"],
)
def test_quoted_markers_of_rules_become_tokens(text, expected):
    assert with_special_tokens(text, TOKENS) == expected


def test_without_special_tokens_nothing_is_touched():
    assert with_special_tokens('start: "<tool_call>"', {}) == 'start: "<tool_call>"'
