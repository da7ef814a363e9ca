"""Every family: what is admitted reads back as legal calls, and what the family writes is admitted."""

import json
import random

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from effort import often
from local.grammar.sample import LarkJudge, Sampler
from local.grammar.schemas import SCHEMAS, breaches, closed, spec
from rightcall.core.jsontext import JsonError, parse
from rightcall.core.message import Reasoning
from rightcall.core.parts import Call
from rightcall.core.schema import Schema
from rightcall.local.families.call_text import write
from rightcall.local.families.family_list import FAMILIES
from rightcall.local.families.reader import Reader
from rightcall.local.grammar.build import MOST_CALLS, PromptEnd, ReplyRules, find_prompt_end
from rightcall.local.grammar.call_rules import CallRules
from rightcall.local.grammar.printers import print_lark
from rightcall.local.grammar.rulebook import GrammarRules

WEATHER = spec(
    "get_weather",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "when": {"type": "string", "format": "date"},
            "code": {"type": "string", "pattern": "^[A-Z]{2}$"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "mixed": {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 5}]},
            "flag": {"type": "boolean"},
            "ratio": {"type": "number", "minimum": 0, "maximum": 1},
        },
        "required": ["city"],
        "additionalProperties": False,
    },
)
BOOK = spec(
    "book",
    # A member that is named twice is no JSON to a reader, so names are not left open here.
    closed(
        {
            "type": "object",
            "properties": {
                "who": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "age": {"type": ["integer", "null"]},
                        "tags": {"type": "array", "items": {"type": "string", "maxLength": 6}},
                    },
                    "required": ["name"],
                },
                "seats": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
                "rows": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"k": {"type": "string"}, "v": {"type": "number"}},
                        "required": ["k"],
                    },
                },
                "short": {"type": "string", "minLength": 1, "maxLength": 4},
                "any": {},
            },
            "required": ["who", "seats"],
        }
    ),
)
NOW = spec("now", {"type": "object", "properties": {}})
SPECS = (WEATHER, BOOK, NOW)
CHECKED = {each.name: Schema(each.parameters) for each in SPECS}

WRITTEN = {
    "get_weather": {
        "city": 'Paris, "F"',
        "unit": "celsius",
        "days": 3,
        "when": "2024-02-29",
        "code": "FR",
        "note": None,
        "mixed": 7,
        "flag": True,
        "ratio": 0.5,
    },
    "book": {
        "who": {"name": "A <b> é", "age": None, "tags": ["x", "y"]},
        "seats": [1, 2],
        "rows": [{"k": "z", "v": 1.5}],
        "short": "abcd",
    },
    "now": {},
}
ONE_AT_A_TIME = {"llama3", "internlm2", "gigachat3", "gigachat31", "harmony", "muse_glimmer"}
"""They write one call in a turn."""
IDS = {
    "kimi_k2": "functions.{0}:{1}",
    "mistral": "abcdefghi",
    "mistral_json": "abcdefghi",
    "command_r7b": "{1}",
}
"""Ids as some families want them."""
ENDS_THE_TURN = {"gigachat3"}
"""What it writes before a call is, to the engine, the end of the turn."""


EACH_FORM = (
    "hermes",
    "mistral",
    "lfm2",
    "gemma4",
    "qwen3_coder",
    "glm",
    "deepseek_v32",
    "kimi_k3",
    "minimax_m3",
)
MEMBERS = st.dictionaries(
    st.sampled_from(["a", "b", "title", "x_y"]),
    SCHEMAS.map(lambda schema: {key: value for key, value in schema.items() if key != "$defs"}),
    min_size=1,
    max_size=3,
)


def tail_of(family):
    return family.turn[0] if family.channels is not None else ""


def reply(family, tail=None, specs=SPECS):
    rules = GrammarRules()
    calls = CallRules(family, rules)
    nodes = {each.name: calls.call(each) for each in specs}
    where = find_prompt_end(family, tail_of(family) if tail is None else tail)
    return rules, ReplyRules(family, rules, nodes, where)


def read(family, text, tail=None):
    reader = Reader(family, SPECS, tail=tail_of(family) if tail is None else tail)
    reader.feed(text)
    reader.finish()
    return reader.content


def is_legal(call):
    try:
        return not call.truncated and not CHECKED[call.name].problems(parse(call.arguments))
    except JsonError as error:
        # Names of members that the schema leaves open cannot be kept apart.
        return "twice" in str(error)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_what_a_forced_reply_may_be_reads_back_as_legal_calls(family):
    rules, found = reply(family)
    book = rules.book(found.forced_reply(several=True))
    judge, sampler = LarkJudge(print_lark(book)), Sampler(book, random.Random(5))
    for _ in range(12):
        text = sampler.sentence()
        assert judge.accepts(text), text
        parts = [part for part in read(family, text) if not isinstance(part, Reasoning)]
        assert parts, text
        assert all(isinstance(part, Call) and is_legal(part) for part in parts), (text, parts)


@pytest.mark.parametrize("name", EACH_FORM)
@given(
    members=MEMBERS, definitions=SCHEMAS.map(lambda schema: schema["$defs"]), chosen=st.integers(0, 999)
)
@example(
    members={"a": {"type": "object", "properties": {"a b": {"type": "string"}}}},
    definitions={"one": {"type": "string"}, "two": {"type": "object", "properties": {}}},
    chosen=1,
)
@example(
    members={"a": {"type": "object", "properties": {'a"b': {"type": "string"}, "a-b": {}}}},
    definitions={"one": {"type": "string"}, "two": {"type": "object", "properties": {}}},
    chosen=3,
)
@settings(max_examples=often(15))
def test_arguments_read_back_as_what_any_schema_admits(name, members, definitions, chosen):
    family = FAMILIES[name]
    tool = spec("tool", {"type": "object", "properties": members, "$defs": definitions})
    rules = GrammarRules()
    calls = CallRules(family, rules)
    found = ReplyRules(family, rules, {"tool": calls.call(tool)}, PromptEnd(is_thought_over=True))
    book = rules.book(found.forced_reply(several=False))
    assume(book.rules)
    unheld = calls.findings["tool"].unheld
    judge, checked = LarkJudge(print_lark(book)), Schema(tool.parameters, formats=True)
    sampler = Sampler(book, random.Random(chosen))
    for _ in range(3):
        text = sampler.sentence()
        assert judge.accepts(text), text
        reader = Reader(family, (tool,))
        reader.feed(text)
        reader.finish()
        (call,) = reader.content
        value = json.loads(call.arguments)
        # An object that names a member twice is no JSON to the reader, and stays text.
        is_odd = any(isinstance(each, str) and each[:1] in {"[", "{"} for each in value.values())
        assert is_odd or breaches(checked, value, unheld) == [], (text, unheld)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_what_follows_a_trigger_reads_back_as_legal_calls(family):
    rules, found = reply(family)
    book = rules.book(found.lazy_reply(several=True))
    judge, sampler = LarkJudge(print_lark(book)), Sampler(book, random.Random(6))
    assert all(judge.may_begin(trigger) for trigger in found.triggers())
    begin = "Sure.\n"
    if family.channels is not None:
        begin = f"{family.channels.channel}commentary" if family.channels.channel else ""
    elif end := find_prompt_end(family, "").thought_end:
        begin = f"Hm.{end}\n"
    for _ in range(8):
        text = sampler.sentence()
        assert judge.accepts(text), text
        assert any(text.startswith(trigger) for trigger in found.triggers()), text
        calls = [part for part in read(family, begin + text) if isinstance(part, Call)]
        assert calls, text
        assert all(map(is_legal, calls)), (text, calls)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_reply_that_decides_calls_or_answers(family):
    rules, found = reply(family)
    book = rules.book(found.call_or_answer(several=True))
    judge, sampler = LarkJudge(print_lark(book)), Sampler(book, random.Random(7))
    before = (
        f"Hm.{end}\n"
        if (end := find_prompt_end(family, "").thought_end) and family.channels is None
        else ""
    )
    if family.channels is None:
        assert judge.accepts(f"{before}It is 18 degrees.\n<b>{{}}</b>")
    assert not judge.accepts(f'{before}{{"name": "get_weather", "arguments": {{}}}}')
    for _ in range(6):
        assert judge.accepts(sampler.sentence())


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("count", [1, 3])
def test_what_a_family_writes_is_admitted(family, count):
    calls = [
        Call(
            id=IDS.get(family.name, "abcdefghi0").format(name, index),
            name=name,
            arguments=json.dumps(value),
        )
        for index, (name, value) in enumerate(list(WRITTEN.items())[:count])
    ]
    rules, found = reply(family)
    judge = LarkJudge(print_lark(rules.book(found.forced_reply(several=True))))
    end = find_prompt_end(family, "").thought_end if family.channels is None else ""
    text = (f"Hm.{end}" if end else "") + write(family, calls, SPECS)
    expected = family.name not in ENDS_THE_TURN and (count == 1 or family.name not in ONE_AT_A_TIME)
    assert judge.accepts(text) is expected, text


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_one_call_is_the_end_where_several_are_not_wanted(family):
    rules, found = reply(family, specs=(NOW,))
    book = rules.book(found.forced_reply(several=False))
    sampler = Sampler(book, random.Random(8))
    for _ in range(8):
        parts = read(family, sampler.sentence())
        assert [part.name for part in parts if isinstance(part, Call)] == ["now"]


@pytest.mark.parametrize("name", [name for name in EACH_FORM if name != "minimax_m3"])
def test_a_tool_that_takes_anything_may_be_given_anything(name):
    family = FAMILIES[name]
    tool = spec("tool", {"type": "object"})
    rules, found = reply(family, specs=(tool,))
    book = rules.book(found.forced_reply(several=False))
    judge, sampler = LarkJudge(print_lark(book)), Sampler(book, random.Random(2))
    text = write(family, [Call(id="abcdefghi", name="tool", arguments='{"a": 1, "b": "x y"}')], (tool,))
    assert judge.accepts(text), text
    for _ in range(10):
        sentence = sampler.sentence()
        assert judge.accepts(sentence), sentence
        calls = [part for part in read(family, sentence) if isinstance(part, Call)]
        assert [(call.name, isinstance(json.loads(call.arguments), dict)) for call in calls] == [
            ("tool", True)
        ]


def test_a_reply_holds_only_so_many_calls():
    family = FAMILIES["hermes"]
    rules, found = reply(family, specs=(NOW,))
    judge = LarkJudge(print_lark(rules.book(found.forced_reply(several=True))))
    one = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
    assert judge.accepts("\n".join([one] * MOST_CALLS))
    assert not judge.accepts("\n".join([one] * (MOST_CALLS + 1)))


THINK = "<|im_start|>assistant\n"


@pytest.mark.parametrize(
    ("name", "tail", "expected"),
    [
        ("hermes", "", PromptEnd()),
        ("hermes", THINK, PromptEnd()),
        ("hermes", f"{THINK}<think>\n", PromptEnd(thought_end="</think>")),
        ("hermes", f"{THINK}<think>\n\n</think>\n\n", PromptEnd(is_thought_over=True)),
        ("ernie45", "", PromptEnd(thought_end="</think>")),
        (
            "apriel",
            "<|begin_assistant|>\nHere are my steps:\n",
            PromptEnd(thought_end="[BEGIN FINAL RESPONSE]"),
        ),
        (
            "granite3",
            "<|start_of_role|>assistant<|end_of_role|><think>",
            PromptEnd(thought_end="</think>"),
        ),
        (
            "functionary_v32",
            "<|start_header_id|>assistant<|end_header_id|>\n\n>>>",
            PromptEnd(is_call_begun=True),
        ),
        ("harmony", "<|start|>assistant", PromptEnd()),
        (
            "harmony",
            "<|start|>assistant<|channel|>analysis<|message|>",
            PromptEnd(thought_end="<|end|>"),
        ),
        ("llama3", "", PromptEnd()),
    ],
)
def test_where_the_prompt_leaves_off_is_told_by_its_tail(name, tail, expected):
    assert find_prompt_end(FAMILIES[name], tail) == expected


CALL = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'


@pytest.mark.parametrize(
    ("tail", "text", "expected"),
    [
        ("", CALL, True),
        ("", f"<think>So.</think>\n\n{CALL}", True),
        ("", f"So. {CALL}", False),
        (f"{THINK}<think>\n", f"So <b>.\n</think>\n\n{CALL}", True),
        (f"{THINK}<think>\n", CALL, False),
        (f"{THINK}<think>\n\n</think>\n\n", CALL, True),
        (f"{THINK}<think>\n\n</think>\n\n", f"<think></think>{CALL}", False),
    ],
)
def test_a_forced_call_may_come_after_a_thought(tail, text, expected):
    rules, found = reply(FAMILIES["hermes"], tail, (NOW,))
    assert LarkJudge(print_lark(rules.book(found.forced_reply(several=True)))).accepts(text) is expected


def test_a_call_whose_mark_is_in_the_prompt_goes_on_without_it():
    tail = "<|start_header_id|>assistant<|end_header_id|>\n\n>>>"
    rules, found = reply(FAMILIES["functionary_v32"], tail, (NOW,))
    judge = LarkJudge(print_lark(rules.book(found.forced_reply(several=True))))
    assert judge.accepts("now\n{}")
    assert judge.accepts("now\n{}>>>now\n{}")
    assert found.triggers() == (">>>now\n", "now\n")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hermes", ("<tool_call>",)),
        ("llama3", ("<|python_tag|>", '{"name": "now"', '{"name":"now"')),
        ("pythonic", ("<|python_tag|>", "[now(")),
        ("xlam", ("[TOOL_CALLS]", '[{"name": "now"', '[{"name":"now"')),
        ("functools", ("functools[",)),
        ("mistral", ("[TOOL_CALLS]",)),
        ("harmony", (" to=functions.now ", " to=functions.now<")),
        ("gigachat3", ("function call<|role_sep|>\n",)),
        ("inkling", ("<|content_invoke_tool_json|>",)),
        ("glm", ("<tool_call>",)),
    ],
)
def test_triggers_are_what_a_familys_calls_begin_with(name, expected):
    assert reply(FAMILIES[name], specs=(NOW,))[1].triggers() == expected


def test_markers_that_may_be_tokens_are_named_with_their_parts():
    family = FAMILIES["deepseek_v3"]
    special = reply(family)[1].special()
    assert family.call.close[0] in special
    assert family.call.close[0].removeprefix("\n```") in special
    assert {*family.section.open[:1], *family.thoughts.close} <= set(special)
