import pytest

from rightcall.core.parts import Call, Result, Text
from rightcall.local.guided.telling import is_question, told

MOMENT = '{"date": "2026-11-15", "time": "21:32:50", "weekday": "Sunday"}'
RESULTS = {
    "a number": ("What is 120 - 85?", '{"x": "120 - 85"}', "35", "For 120 - 85, tool says 35."),
    "no arguments": ("Weather?", "{}", "sunny", "tool says sunny."),
    "arguments that are no JSON": ("Weather?", "{", "sunny", "tool says sunny."),
    "several arguments": ("?", '{"a": 1, "on": true}', "ok", "For a 1, on true, tool says ok."),
    "a string in quotes": ("Weather?", "{}", '"sunny"', "tool says sunny."),
    "a sentence": ("Weather?", "{}", "It rains.", "tool says It rains."),
    "the member that was asked for": ("What day is it?", "{}", MOMENT, "tool says weekday Sunday."),
    "all members when none was": (
        "Is it Monday?",
        "{}",
        MOMENT,
        "tool says date 2026-11-15, time 21:32:50, weekday Sunday.",
    ),
    "nested": ("Who?", "{}", '{"a": [1, 2]}', 'tool says {"a": [1, 2]}.'),
    "lines": ("Story?", '{"n": 1}', "one\ntwo", "For 1, tool says:\none\ntwo"),
    "nothing": ("Well?", "{}", "  ", "tool answered without a word."),
}


@pytest.mark.parametrize(("question", "arguments", "text", "sentence"), RESULTS.values(), ids=RESULTS)
def test_a_result_stands_in_the_sentence_as_it_is(question, arguments, text, sentence):
    result = Result(call_id="1", name="tool", outcome="returned", content=(Text(text),))
    assert told(question, Call(id="1", name="tool", arguments=arguments), result) == sentence


def test_a_long_result_is_cut_and_says_so():
    result = Result(call_id="1", name="tool", outcome="returned", content=(Text("word " * 400),))
    sentence = told("Story?", None, result)
    assert sentence.startswith("tool says:\nword word ")
    assert sentence.endswith("… (799 more characters)")


@pytest.mark.parametrize(
    ("text", "asks"),
    [("Who is Ann?", True), ("how do I do it", True), ("Thanks!", False), ("Whatever you like.", False)],
)
def test_a_question_is_told_from_talk(text, asks):
    assert is_question(text) is asks
