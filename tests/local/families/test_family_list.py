"""Which family a template or a name belongs to."""

# ruff: noqa: RUF001 - replies stand here as models write them

import re

import msgspec
import pytest

from rightcall.errors import UsageError
from rightcall.local.families.family import Family
from rightcall.local.families.family_list import FAMILIES, detect, find_family

SNIPPETS = {
    "hermes": "{{- '<tool_call>\\n{\"name\": \"' + tool_call.name }}",
    "qwen3_coder": "<tool_call>\n<function=example>\n<parameter=x>\n1\n</parameter>\n</function>",
    "llama3": '{{- "<|python_tag|>" + tool_call.name }} <|start_header_id|>',
    "llama4": "<|header_start|>assistant<|header_end|> <|python_start|>[f(a=1)]<|python_end|>",
    "pythonic": "in the format of [func_name1(params_name1=params_value1)] <|python_tag|>",
    "olmo3": "<function_calls>f(a=1)</function_calls> <|im_start|>",
    "lfm2": "{{- 'List of tools: <|tool_list_start|>[' }}",
    "mistral_json": "{{- '[TOOL_CALLS][' }}",
    "mistral": "{{- '[TOOL_CALLS]' + name + '[ARGS]' + arguments }}",
    "deepseek_v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n",
    "deepseek_v31": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}",
    "deepseek_v32": "{%- set dsml = '｜DSML｜' %}<｜DSML｜function_calls>",
    "deepseek_v4": "<｜DSML｜tool_calls>",
    "harmony": "<|start|>assistant<|channel|>analysis<|message|>",
    "command_r": 'Action:\n```json\n[{"tool_name": title of the tool}]',
    "command_r7b": '<|START_THINKING|><|START_ACTION|>[{"tool_name": ',
    "granite3": "<|start_of_role|>assistant<|end_of_role|> respond only with <|tool_call|> and a list",
    "granite_20b_fc": '<function_call> {"name": ',
    "functools": ' functools[{"name": ',
    "functionary_v31": "<|start_header_id|> <function=example_function_name>{}</function>",
    "functionary_v32": "<|start_header_id|> >>>all\n",
    "gemma4": "<|tool_call>call:",
    "functiongemma": "<start_function_call>call:",
    "glm": "<tool_call>{{ name }}\n<arg_key>",
    "kimi_k2": "<|tool_calls_section_begin|>",
    "kimi_k3": "{{- '<|open|>' + tag + '<|sep|>' }} <|close|>",
    "minimax_m1": "<beginning_of_sentence>ai <tool_calls>",
    "minimax_m2": "<minimax:tool_call>",
    "minimax_m3": "]<]minimax[>[<tool_call>",
    "nemotron_v2": "<TOOLCALL>[",
    "hunyuan": "<|extra_0|> <tool_calls>",
    "jamba": '<tool_calls>[{"name": ',
    "seed_oss": "<seed:tool_call>\n<function=f>\n<parameter=a>1</parameter>",
    "apertus": "<|tools_prefix|>",
    "apriel": "<|begin_assistant|> [BEGIN FINAL RESPONSE] <tool_calls>[",
    "gigachat3": "function call<|role_sep|>\n",
    "gigachat31": '<|function_call|>{"name"',
    "minicpm5": '<function name="f"><param name="a">',
    "muse_glimmer": "<atem:invoke name=",
    "internlm2": "<|action_start|><|plugin|>",
    "ernie45": "<tool_call>\n{} </tool_call> <response>",
    "longcat": "<longcat_tool_call>",
    "step3": "<steptml:invoke name=",
    "hy_v3_opensource": "{%- set HYTK = ':opensource' %}'<tool_sep{}>'.format(HYTK)",
    "hy_v3": "<tool_calls><tool_call>f<tool_sep><arg_key>",
    "solar": "<|tool_call:begin|>",
    "dots": "<dots_function_call>",
    "inkling": "<|content_invoke_tool_json|>",
    "xlam": "You are xLAM, a model for function calling",
    "generic": "{{ bos_token }}{% for m in messages %}<start_of_turn>{{ m.role }}",
}  # fmt: skip


@pytest.mark.parametrize(("name", "template"), SNIPPETS.items(), ids=SNIPPETS)
def test_a_template_is_known_by_its_markers(name: str, template: str):
    assert detect(template).name == name


def test_every_family_is_looked_for_and_has_a_snippet():
    assert {family.name for family in FAMILIES.values() if family.signs} | {"generic"} == set(SNIPPETS)
    assert set(FAMILIES) == set(SNIPPETS)


def test_signs_that_need_more_markers_are_looked_for_first():
    ranks = {name: family.rank for name, family in FAMILIES.items()}
    for first, second in [
        ("deepseek_v32", "deepseek_v4"),
        ("deepseek_v3", "deepseek_v31"),
        ("mistral", "mistral_json"),
        ("qwen3_coder", "hermes"),
        ("hy_v3", "glm"),
        ("functionary_v32", "functionary_v31"),
        ("ernie45", "hermes"),
        ("hunyuan", "jamba"),
        ("pythonic", "llama3"),
        ("gigachat31", "gigachat3"),
    ]:
        assert ranks[first] < ranks[second]
    assert max(ranks.values()) == ranks["llama3"]


def test_a_template_without_any_marker_is_told_about_tools_by_us():
    assert detect("").name == "generic"
    assert [name for name, family in FAMILIES.items() if family.shows_specs == "ours"] == ["generic"]


@pytest.mark.parametrize(
    ("written", "name"),
    [("hermes", "hermes"), ("Qwen3-Coder", "qwen3_coder"), ("gpt-oss", "harmony"), ("GLM-4.7", "glm")],
)
def test_a_name_is_found_whatever_its_punctuation(written: str, name: str):
    assert find_family(written).name == name


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(
        UsageError, match=re.escape("there is no model family 'hermse'; did you mean 'hermes'?")
    ):
        find_family("hermse")
    with pytest.raises(UsageError, match="known are apertus, "):
        find_family("???")


def test_every_alias_leads_somewhere_and_hides_nothing():
    aliases = [alias for family in FAMILIES.values() for alias in family.aliases]
    assert len(aliases) == len(set(aliases))
    assert not set(aliases) & set(FAMILIES)
    assert all(alias in find_family(alias).aliases for alias in aliases)


@pytest.mark.parametrize("text", [
    '{"name": "f", "rnak": 1, "form": {"type": "json"}}',
    '{"name": "f", "form": {"type": "json", "is_arry": true}}',
    '{"name": "f", "form": {"type": "json"}, "call": {"start": ["<c>"]}}',
])  # fmt: skip
def test_a_member_that_a_family_does_not_have_is_refused(text: str):
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.json.decode(text, type=Family)
