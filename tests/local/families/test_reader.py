"""What a reply says: answers, thoughts and calls, family by family, at every cut."""

# ruff: noqa: E501, ISC004, RUF001 - replies stand here as models write them

from typing import Any

import pytest

from local.families.replies import SPECS, at_every_cut, said
from rightcall.core.events import CallDelta, CallEnd, CallStart, ReasoningDelta, TextDelta
from rightcall.core.message import Reasoning, Unknown
from rightcall.core.parts import Call, Text
from rightcall.local.families.family_list import FAMILIES, find_family
from rightcall.local.families.reader import Reader, answering

PARIS = ("get_time", {"city": "Paris"})
ONE = ("add", {"a": 1})

CALLS: dict[str, tuple[str, str, list[tuple[str, Any]]]] = {
    "json in tags": ("hermes", '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>', [ONE]),
    "json, arguments first": ("hermes", '<tool_call>{"arguments": {"a": 1}, "name": "add"}</tool_call>', [ONE]),
    "json, arguments as text": ("hermes", '<tool_call>{"name": "add", "arguments": "{\\"a\\": 1}"}</tool_call>', [ONE]),
    "json, nothing but a name": ("hermes", '<tool_call>{"name": "add"}</tool_call>', [("add", {})]),
    "json, a misspelt key": (
        "hermes", '<tool_call>{"name": "add", "argumnets": {"a": 1}}</tool_call>', [("add", {"argumnets": {"a": 1}})],
    ),
    "json, a brace too few": ("hermes", '<tool_call>{"name": "add", "arguments": {"a": 1}</tool_call>', [ONE]),
    "json in an array": ("jamba", '<tool_calls>[{"name": "add", "arguments": {"a": 1}}]</tool_calls>', [ONE]),
    "json, one a line": (
        "minimax_m1",
        '<tool_calls>\n{"name": "add", "arguments": {"a": 1}}\n'
        '{"name": "get_time", "arguments": {"city": "Paris"}}\n</tool_calls>',
        [ONE, PARIS],
    ),
    "json as an api has it": (
        "generic", '{"type": "function", "function": {"name": "add", "parameters": {"a": 1}}}', [ONE],
    ),
    "json, bare": ("llama3", '{"name": "add", "parameters": {"a": 1}}', [ONE]),
    "json, bare, two": (
        "llama3",
        '{"name": "add", "parameters": {"a": 1}}; {"name": "get_time", "parameters": {"city": "Paris"}}',
        [ONE, PARIS],
    ),
    "json, bare, known and without arguments": ("generic", '{"name": "add"}', [("add", {})]),
    "json in a fence": ("generic", '```json\n{"name": "add", "arguments": {"a": 1}}\n```', [ONE]),
    "json in a fence, an array": (
        "generic", '```\n[{"name": "add", "arguments": {"a": 1}}]\n```', [ONE],
    ),
    "json after a python tag": ("llama3", '<|python_tag|>{"name": "add", "parameters": {"a": 1}}', [ONE]),
    "json keyed by the name": ("apertus", '<|tools_prefix|>[{"add": {"a": 1}}]<|tools_suffix|>', [ONE]),
    "json where tags were expected": (
        "qwen3_coder", '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>', [ONE],
    ),
    "a name and arguments": ("mistral", '[TOOL_CALLS]add[ARGS]{"a": 1}', [ONE]),
    "a name and a brace": ("mistral", '[TOOL_CALLS]add{"a": 1}', [ONE]),
    "an array where a name was expected": ("mistral", '[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1}}]', [ONE]),
    "a fence inside": (
        "deepseek_v3",
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n{"a": 1}\n```'
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        [ONE],
    ),
    "a call without its section": ("kimi_k2", '<|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"a": 1}', [ONE]),
    "an end that comes too early": (
        "kimi_k2",
        '<|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"a": 1<|tool_call_end|>'
        '<|tool_call_begin|>functions.add:1<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>',
        [("add", '{"a": 1'), ONE],
    ),
    "tags": (
        "qwen3_coder",
        "<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=note>\na\n\nb\n</parameter>\n"
        "</function>\n</tool_call>",
        [("add", {"a": 1, "note": "a\n\nb"})],
    ),
    "tags, a value that was not closed": (
        "qwen3_coder",
        "<tool_call>\n<function=add>\n<parameter=a>\n1\n<parameter=note>\nx\n</function>\n</tool_call>",
        [("add", {"a": 1, "note": "x"})],
    ),
    "tags, json between them": ("qwen3_coder", '<function=add>\n{"a": 1}\n</function>', [ONE]),
    "tags without a section": ("minimax_m2", '<invoke name="add"><parameter name="a">1</parameter></invoke>', [ONE]),
    "tags with attributes": (
        "deepseek_v4",
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="add">\n<｜DSML｜parameter name="note" string="true">1'
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
        [("add", {"note": "1"})],
    ),
    "an attribute that the schema knows better": (
        "deepseek_v4",
        '<｜DSML｜invoke name="add"><｜DSML｜parameter name="a" string="true">1</｜DSML｜parameter></｜DSML｜invoke>',
        [ONE],
    ),
    "a tag that closes itself": ("deepseek_v4", '<｜DSML｜invoke name="add"/>', [("add", {})]),
    "pairs of tags": ("glm", "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>", [ONE]),
    "pairs of tags, none": ("glm", "<tool_call>add</tool_call>", [("add", {})]),
    "a name with entities": (
        "kimi_k3",
        '<|open|>call tool="a&amp;b &quot;c&quot;" index="1"<|sep|><|open|>argument key="k&lt;" type="string"<|sep|>'
        "&amp;<|close|>argument<|sep|><|close|>call<|sep|>",
        [('a&b "c"', {"k<": "&amp;"})],
    ),
    "the name in the head, too": (
        "inkling", 'add<|content_invoke_tool_json|>{"name": "add", "args": {"a": 1}}<|end_message|>', [ONE],
    ),
    "cdata": (
        "minicpm5", '<function name="get_time"><param name="city"><![CDATA[a</param>]]></param></function>',
        [("get_time", {"city": "a</param>"})],
    ),
    "nested tags": (
        "minimax_m3",
        ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="add">]<]minimax[>[<tags>]<]minimax[>[<item>1]<]minimax[>[</item>'
        "]<]minimax[>[</tags>]<]minimax[>[<place>]<]minimax[>[<x>2]<]minimax[>[</x>]<]minimax[>[</place>"
        "]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        [("add", {"tags": ["1"], "place": {"x": 2}})],
    ),
    "arguments as one json text": (
        "kimi_k3",
        '<|open|>tools<|sep|><|open|>call tool="add" index="1"<|sep|><|open|>json type="object"<|sep|>{"a": 1}'
        "<|close|>json<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
        [ONE],
    ),
    "python": ("lfm2", "<|tool_call_start|>[add(a=1, tags=['x', \"y\"]), get_time(city='Paris')]<|tool_call_end|>",
               [("add", {"a": 1, "tags": ["x", "y"]}), PARIS]),
    "python, bare": ("pythonic", "[get_time(city='Paris'), add()]", [PARIS, ("add", {})]),
    "json where python was expected": ("llama4", '{"name": "add", "parameters": {"a": 1}}', [ONE]),
    "the same, marked": ("llama4", '<|python_start|>{"name": "add", "parameters": {"a": 1}}<|python_end|>', [ONE]),
    "python, one a line": ("olmo3", "<function_calls>add(a=1)\nget_time(city='Paris')</function_calls>", [ONE, PARIS]),
    "gemma": ("gemma4", '<|tool_call>call:add{a:1,tags:[<|"|>x<|"|>],place:{x:2}}<tool_call|>',
              [("add", {"a": 1, "tags": ["x"], "place": {"x": 2}})]),
    "a name that is written twice": (
        "muse_glimmer",
        ' to=add.add<|message|><atem:function_calls>\n<atem:invoke name="add.add">\n'
        '<atem:parameter name="a">1</atem:parameter>\n</atem:invoke>\n</atem:function_calls>',
        [ONE],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("family", "reply", "calls"), CALLS.values(), ids=CALLS)
def test_calls_are_read_at_every_cut(family: str, reply: str, calls: list[Any]):
    tail = answering(find_family(family))
    assert said(at_every_cut(find_family(family), reply, tail=tail)) == ("", "", calls)


HARMONY = {
    "recipient, then channel": ' to=functions.add<|channel|>commentary<|message|>{"a": 1}<|call|>',
    "channel, then recipient": '<|channel|>commentary to=functions.add<|message|>{"a": 1}<|call|>',
    "with a type": '<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a": 1}',
    "the type before the recipient": '<|channel|>commentary <|constrain|>json to=functions.add<|message|>{"a": 1}',
    "a bare type": '<|channel|>commentary to=functions.add json<|message|>{"a": 1}<|call|>',
    "no prefix": '<|channel|>commentary to=add<|message|>{"a": 1}',
    "in the thoughts": ' to=functions.add<|channel|>analysis<|message|>{"a": 1}',
}


@pytest.mark.parametrize("reply", HARMONY.values(), ids=HARMONY)
def test_a_head_may_have_its_parts_in_any_order(reply: str):
    assert said(at_every_cut(find_family("harmony"), reply, tail="<|start|>assistant")) == (
        "",
        "",
        [ONE],
    )


@pytest.mark.parametrize("reply", HARMONY.values(), ids=HARMONY)
def test_a_head_is_known_as_one_where_nothing_is_known_of_the_prompt(reply: str):
    assert said(at_every_cut(find_family("harmony"), reply)) == ("", "", [ONE])


def test_a_sentence_that_begins_like_a_head_is_not_held_up():
    reader = Reader(find_family("muse_glimmer"), SPECS)
    assert reader.feed("to=x is") == ()
    assert reader.feed(" the") == (TextDelta("to=x is the"),)


def test_a_call_to_a_tool_of_the_makers_is_a_call_where_tools_were_offered():
    reply = "<|channel|>commentary to=python<|message|>print(1)<|call|>"
    family = find_family("harmony")
    assert at_every_cut(family, reply) == (Call(id="", name="python", arguments="print(1)"),)
    kept = (Unknown({"local": {"to": "python", "text": "print(1)"}}),)
    assert at_every_cut(family, reply, specs=()) == kept


def test_a_message_to_a_tool_of_the_makers_is_kept_between_the_others():
    reply = (
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant to=browser.search<|channel|>commentary"
        '<|message|>{"query": "x"}<|call|><|start|>assistant<|channel|>final<|message|>Found.'
    )
    aside = Unknown({"local": {"to": "browser.search", "text": '{"query": "x"}'}})
    parts = at_every_cut(find_family("harmony"), reply, specs=())
    assert parts == (Reasoning("hm"), aside, Text("Found."))


def test_a_head_that_holds_a_sentence_is_text():
    reply = "<|start|>assistant said hello<|message|>Hi"
    assert said(at_every_cut(find_family("harmony"), reply)) == (reply, "", [])


def test_two_messages_to_the_user_are_two_lines():
    reply = "<|channel|>commentary<|message|>Let me see.<|end|><|start|>assistant<|channel|>final<|message|>Four."
    assert said(at_every_cut(find_family("harmony"), reply)) == ("Let me see.\nFour.", "", [])


THOUGHTS = {
    "a thought and an answer": ("hermes", "", "<think>\nhm\n</think>\n\nyes", ("yes", "hm")),
    "opened by the prompt": ("hermes", "<|im_start|>assistant\n<think>\n", "hm\n</think>\nyes", ("yes", "hm")),
    "opened and closed by the prompt": ("hermes", "<|im_start|>assistant\n<think>\n\n</think>\n\n", "yes", ("yes", "")),
    "opened by the prompt and never closed": ("hermes", "<|im_start|>assistant\n<think>\n", "hm", ("", "hm")),
    "never closed": ("hermes", "", "<think>hm</thin", ("", "hm</thin")),
    "closed at once": ("hermes", "<|im_start|>assistant\n<think>\n", "</think>yes", ("yes", "")),
    "closed without being opened": ("hermes", "", "</think>yes", ("yes", "")),
    "closed in the middle of an answer": ("hermes", "", "a</think>b", ("a</think>b", "")),
    "after some text": ("mistral", "", "Hm.[THINK]no[/THINK] Yes.", ("Hm. Yes.", "no")),
    "twice": ("hermes", "", "<think>a</think>b<think>c</think>d", ("bd", "ac")),
    "a family that begins inside": ("minimax_m2", "", "hm\n</think>\n\nyes", ("yes", "hm")),
    "a family that begins inside, and says so": ("minimax_m2", "", "\n<think>\nhm\n</think>\n\nyes", ("yes", "hm")),
    "a family that begins inside, with half a marker": ("minimax_m2", "", "<thin", ("", "<thin")),
    "a family that begins inside, and closes at once": ("step3", "", "</think>yes", ("yes", "")),
    "words that close": ("apriel", "<|begin_assistant|>\nSteps:\n", "1.\n[BEGIN FINAL RESPONSE]\nyes", ("yes", "Steps:\n1.")),
    "other words": ("granite3", "", "Here is my thought process:hm Here is my response:yes", ("yes", "hm")),
    "the beginning of the answer is in the prompt": ("hermes", "<|im_start|>assistant\nHello, ", "you", ("Hello, you", "")),
    "the beginning of a thought is in the prompt": ("hermes", "<|im_start|>assistant\n<think>h", "m</think>yes", ("yes", "hm")),
    "a template that is not known": ("generic", "### Answer:\n", "yes", ("yes", "")),
    "the same, with a thought": ("generic", "### Answer:\n<think>", "hm</think>yes", ("yes", "hm")),
    "a wrapper around the answer": ("hunyuan", "", "<think>\nhm\n</think>\n<answer>\nyes\n</answer>", ("yes\n", "hm")),
    "a wrapper ends a thought": ("kimi_k3", "", "<|open|>think<|sep|>hm<|open|>response<|sep|>yes", ("yes", "hm")),
    "citations": ("command_r7b", "", "<|START_RESPONSE|>It is <co>noon</co: 0:[1,2]>.<|END_RESPONSE|>", ("It is noon.", "")),
    "no citation": ("command_r7b", "", "a</co: b>c", ("a</co: b>c", "")),
    "no name in the head": ("inkling", "", "Hello there", ("Hello there", "")),
    "two thoughts in a row": (
        "muse_glimmer", "<|start|>assistant",
        " to=self<|message|>a<|eom|><|start|>assistant to=self<|message|>b<|eom|><|start|>assistant to=user<|message|>c",
        ("c", "a\nb"),
    ),
    "a label": ("gemma4", "", "<|channel>thought\nhm<channel|>yes<channel|>", ("yes", "hm")),
    "no label": ("gemma4", "", "<|channel>thousands<channel|>yes", ("yes", "thousands")),
    "the end of the turn": ("hermes", "", "yes<|im_end|>", ("yes", "")),
}  # fmt: skip


@pytest.mark.parametrize(("family", "tail", "reply", "expected"), THOUGHTS.values(), ids=THOUGHTS)
def test_thoughts_are_kept_apart_at_every_cut(
    family: str, tail: str, reply: str, expected: tuple[str, str]
):
    assert said(at_every_cut(find_family(family), reply, tail=tail)) == (*expected, [])


KEPT = {
    "in the reply": ("hermes", "", "<think>\nhm\n</think>\n\nyes", "<think>\nhm\n</think>\n\nyes"),
    "opened by the prompt": ("hermes", "<|im_start|>assistant\n<think>\n", "hm</think>yes", "<think>\nhm</think>yes"),
    "opened by the prompt and in the reply": ("ernie45", "", "<think>\nhm</think>yes", "<think>\nhm</think>yes"),
    "nothing thought": ("kimi_k3", '<|open|>message role="assistant"<|sep|><|open|>think<|sep|>', "<|open|>response<|sep|>yes", "yes"),
    "closed by the prompt": ("hermes", "<|im_start|>assistant\n<think>\n\n</think>\n\n", "yes", "yes"),
    "a message": ("harmony", "<|start|>assistant", "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>yes", "<|channel|>analysis<|message|>hm<|end|>yes"),
}  # fmt: skip


@pytest.mark.parametrize(("family", "tail", "reply", "text"), KEPT.values(), ids=KEPT)
def test_thoughts_stay_in_the_text_when_asked(family: str, tail: str, reply: str, text: str):
    assert said(at_every_cut(find_family(family), reply, tail=tail, reasoning=False)) == (text, "", [])


def test_a_call_inside_of_a_thought_is_thought():
    reply = '<think>Perhaps <tool_call>{"name": "add", "arguments": {"a": 2}}</tool_call>?</think>No.'
    thought = 'Perhaps <tool_call>{"name": "add", "arguments": {"a": 2}}</tool_call>?'
    assert said(at_every_cut(find_family("hermes"), reply)) == ("No.", thought, [])


def test_a_call_ends_the_thought_where_models_forget_to():
    reply = "<think>I must add.\n<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>"
    assert said(at_every_cut(find_family("qwen3_coder"), reply)) == ("", "I must add.", [ONE])


def test_what_only_looks_like_a_call_in_a_thought_stays_there():
    reply = "<think>the <tool_call> tag</think>yes"
    assert said(at_every_cut(find_family("qwen3_coder"), reply)) == ("yes", "the <tool_call> tag", [])


NO_CALLS = {
    "an answer in json": ("generic", '{"name": "Bob", "age": 3}'),
    "an answer in json with the same key": ("generic", '{"name": "Bob"}'),
    "a name with spaces": ("llama3", '{"name": "Bob Brown", "parameters": {"a": 1}}'),
    "a list": ("generic", "[1, 2] and [x]"),
    "code": ("generic", "if (a) { return [b]; } ```python\nprint({1})\n```"),
    "a link": ("pythonic", "See [Wikipedia](https://www.wikipedia.org) or [link text](url)."),
    "a function in a sentence": ("pythonic", "Then [f(x)] or [sin(x=1)] follow."),
    "a marker in a sentence": ("hermes", "It is <tool_call> followed by JSON."),
    "an empty fence": ("generic", "```json\n[]\n```"),
    "no json": ("hermes", "<tool_call>{add}</tool_call>"),
    "a prompt of python": ("functionary_v32", ">>> print(1)\n1"),
    "a tag of some other kind": ("qwen3_coder", "<function=\nfoo bar>"),
    "the beginning of a marker": ("hermes", "a <tool_ca"),
    "a name without an end": ("mistral", "[TOOL_CALLS]" + "a" * 600),
    "a closing tag": ("hermes", "text </tool_call> text"),
}


@pytest.mark.parametrize(("family", "reply"), NO_CALLS.values(), ids=NO_CALLS)
def test_what_is_no_call_is_text(family: str, reply: str):
    assert said(at_every_cut(find_family(family), reply)) == (reply, "", [])


def test_text_around_and_between_calls_stays_in_order():
    call = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
    parts = at_every_cut(find_family("hermes"), f"One:\n{call}\n Two: {call}\nDone.")
    one = Call(id="", name="add", arguments='{"a": 1}')
    assert parts == (Text("One:\n"), one, Text("\n Two: "), one, Text("\nDone."))


def test_a_call_to_a_tool_that_was_not_offered_is_a_call():
    reply = '<tool_call>{"name": "subtract", "arguments": {}}</tool_call>'
    assert said(at_every_cut(find_family("hermes"), reply)) == ("", "", [("subtract", {})])


TRUNCATED = {
    "in the arguments": ("hermes", '<tool_call>{"name": "add", "arguments": {"a": ', "add", '{"a": '),
    "after the name": ("command_r7b", '<|START_ACTION|>[{"tool_name": "add", ', "add", ""),
    "in a string": ("qwen3_coder", "<function=get_time>\n<parameter=city>\nPar", "get_time", '{"city": "Par'),
    "in a number": ("qwen3_coder", "<function=add>\n<parameter=a>\n12", "add", '{"a": 12'),
    "in python": ("lfm2", "<|tool_call_start|>[get_time(city='Par", "get_time", '{"city": "Par'),
    "in gemma": ("gemma4", '<|tool_call>call:get_time{city:<|"|>Par', "get_time", '{"city": "Par'),
    "in nested tags": (
        "minimax_m3", ']<]minimax[>[<invoke name="get_time">]<]minimax[>[<city>Par', "get_time", '{"city": "Par',
    ),
    "between tags": ("minimax_m2", '<invoke name="add"><parameter name="a">1</parameter>', "add", '{"a": 1'),
}  # fmt: skip


@pytest.mark.parametrize(("family", "reply", "name", "arguments"), TRUNCATED.values(), ids=TRUNCATED)
def test_a_reply_that_ends_inside_of_a_call_truncates_it(
    family: str, reply: str, name: str, arguments: str
):
    tail = "]~b]ai\n" if family == "minimax_m2" else ""
    parts = at_every_cut(find_family(family), reply, tail=tail)
    assert parts == (Call(id="", name=name, arguments=arguments, truncated=True),)


IDS = {
    "before the name": ("command_r7b", '<|START_ACTION|>[{"tool_call_id": "7", "tool_name": "add", "parameters": {}}]', "7"),
    "after the arguments": ("mistral_json", '[TOOL_CALLS][{"name": "add", "arguments": {}, "id": "123456789"}]', "123456789"),
    "between": ("mistral", "[TOOL_CALLS]add[CALL_ID]123456789[ARGS]{}", "123456789"),
    "of the name": ("kimi_k2", "<|tool_call_begin|>functions.add:3<|tool_call_argument_begin|>{}", "functions.add:3"),
    "none": ("hermes", '<tool_call>{"name": "add", "arguments": {}}</tool_call>', ""),
}  # fmt: skip


@pytest.mark.parametrize(("family", "reply", "identity"), IDS.values(), ids=IDS)
def test_an_id_is_the_one_that_the_model_wrote(family: str, reply: str, identity: str):
    assert at_every_cut(find_family(family), reply) == (Call(id=identity, name="add", arguments="{}"),)


def test_a_call_starts_when_its_name_is_known_and_its_arguments_stream():
    reader = Reader(find_family("hermes"), SPECS)
    assert reader.feed('<tool_call>\n{"name": "get_time"') == (CallStart(0, "get_time"),)
    (first,) = reader.feed(', "arguments": {"city": "Pa')
    assert isinstance(first, CallDelta)
    assert (first.index, first.text) == (0, '{"city": "Pa')
    assert reader.content == (Call(id="", name="get_time", arguments='{"city": "Pa', truncated=True),)
    second, end = reader.feed('ris"}}')
    assert isinstance(second, CallDelta)
    assert second.text == 'ris"}'
    assert end == CallEnd(0, Call(id="", name="get_time", arguments='{"city": "Paris"}'))
    assert reader.feed("</tool_call>") == ()
    assert reader.finish() == ()


def test_a_string_between_tags_streams_as_json():
    reader = Reader(find_family("qwen3_coder"), SPECS)
    reader.feed("<tool_call>\n<function=get_time>\n<parameter=city>\n")
    pieces = [
        event.text
        for piece in ('Pa"', "ri\n", "s")
        for event in reader.feed(piece)
        if isinstance(event, CallDelta)
    ]
    assert pieces == ['"', 'Pa\\"', "ri", "\\ns"]


def test_thoughts_and_text_stream_as_they_come():
    reader = Reader(find_family("hermes"))
    assert reader.feed("<think>a b") == (ReasoningDelta("a b"),)
    assert reader.feed(" c</think>\nd") == (ReasoningDelta(" c"), TextDelta("d"))
    assert reader.content == (Reasoning("a b c"), Text("d"))


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_plain_answer_is_one_in_every_family(family: Any):
    tail = "" if family.channels else answering(family)
    assert (
        said(at_every_cut(family, " Hello,\nworld! 1 < 2 ", tail=tail))[0].strip()
        == "Hello,\nworld! 1 < 2"
    )


FENCED = {
    "a fence": ('```json\n{"a": 1}\n```', '{"a": 1}'),
    "a fence and space": ('\n```json\n{"a": 1}\n```\n', '{"a": 1}'),
    "no fence": ('{"a": 1}', '{"a": 1}'),
    "a fence later": ("a ```json\n1\n```", "a ```json\n1\n```"),
    "a fence that stays open": ('```json\n{"a": 1}', '{"a": 1}'),
    "ticks inside": ("```\n`a`\n```", "`a`"),
}


@pytest.mark.parametrize(("reply", "text"), FENCED.values(), ids=FENCED)
def test_a_fence_around_an_answer_in_json_is_taken_off_when_asked(reply: str, text: str):
    assert said(at_every_cut(find_family("hermes"), reply, fenced=True)) == (text, "", [])
