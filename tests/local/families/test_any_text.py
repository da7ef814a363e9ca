"""Any text at all, in any family, cut anywhere: no exception, the same result, and nothing lost."""

# ruff: noqa: E501, RUF001 - replies stand here as models write them

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import often
from local.families.replies import everything, markers_of, read
from rightcall.local.families.family import Family
from rightcall.local.families.family_list import FAMILIES

BITS = [
    "{", "}", "[", "]", "(", ")", '"', "'", ":", ",", "\n", " ", "=", "\\", "<", ">", "</", "|", "```", "```json", "1",
    "true", "add", "a", "é", "🙂", '"name": "add"', '"arguments": {', '{"name": "add", "arguments": {"a": 1}}',
    "add(a=1)", "add(note='x", "functions.", "add:0", '{"a": 1}', 'string="true"', '"arguments": "{\\"a\\": 1}"',
]  # fmt: skip


def replies(family: Family) -> st.SearchStrategy[str]:
    bit = st.one_of(
        st.sampled_from(markers_of(family)),
        st.sampled_from(BITS),
        st.text(max_size=4),
        st.just(" WORD "),
    )
    return st.lists(bit, max_size=14).map("".join)


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_any_text_is_read_the_same_at_any_cut_and_no_word_is_lost(family: Family):
    @settings(max_examples=often(25))
    @given(
        replies(family),
        st.lists(st.integers(0, 400), max_size=5),
        st.sampled_from(["", *family.turn]),
        st.booleans(),
    )
    def check(text: str, places: list[int], tail: str, reasoning: bool) -> None:
        options: dict[str, Any] = {"tail": tail, "reasoning": reasoning}
        whole = read(family, [text], **options)
        assert read(family, text, **options) == whole
        assert read(family, cut(text, places), **options) == whole
        # Markers, the space around them and what stands inside of a marker may go. A word may not.
        assert everything(whole).count("WORD") >= text.count(" WORD ")

    check()


RECORDED = {
    "hermes": 'Hi.\n<tool_call>\n{"name": "add", "arguments": {"a": 1, "note": "x"}}\n</tool_call>',
    "llama3": '{"name": "add", "parameters": {"a": 1}}; {"name": "add", "parameters": {}}',
    "generic": 'So:\n```json\n[{"name": "add", "arguments": {"a": 1}}]\n```\nDone.',
    "qwen3_coder": "<think>\nhm\n</think>\n\n<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
    "glm": "<think>hm</think><tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
    "deepseek_v3": '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n{"a": 1}\n```<｜tool▁call▁end｜>',
    "deepseek_v4": '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="add">\n<｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter>\n</｜DSML｜invoke>',
    "kimi_k2": '<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>',
    "harmony": '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.add<|message|>{"a": 1}<|call|>',
    "lfm2": "Hi.<|tool_call_start|>[add(a=1, note='it\\'s', tags=[\"x\"], place={'x': None})]<|tool_call_end|>",
    "gemma4": '<|channel>thought\nhm<channel|><|tool_call>call:add{a:1,tags:[<|"|>x<|"|>]}<tool_call|>',
    "minimax_m3": ']<]minimax[>[<invoke name="add">]<]minimax[>[<tags>]<]minimax[>[<item>x]<]minimax[>[</item>]<]minimax[>[</tags>]<]minimax[>[</invoke>',
    "mistral": '[THINK]hm[/THINK][TOOL_CALLS]add[CALL_ID]123456789[ARGS]{"a": 1}',
    "minicpm5": '<function name="add"><param name="note"><![CDATA[x]]></param></function>',
}  # fmt: skip


@pytest.mark.parametrize(("name", "reply"), RECORDED.items(), ids=RECORDED)
def test_a_damaged_reply_is_read_the_same_at_any_cut(name: str, reply: str):
    family = FAMILIES[name]
    change = st.tuples(
        st.integers(0, len(reply)),
        st.integers(0, 12),
        st.one_of(st.just(""), st.sampled_from(BITS + markers_of(family)), st.text(max_size=3)),
    )

    @settings(max_examples=often(40))
    @given(st.lists(change, max_size=4), st.lists(st.integers(0, 400), max_size=4))
    def check(changes: list[tuple[int, int, str]], places: list[int]) -> None:
        text = reply
        for at, size, new in changes:
            text = text[:at] + new + text[at + size :]
        whole = read(family, [text])
        assert read(family, text) == whole
        assert read(family, cut(text, places)) == whole

    check()
