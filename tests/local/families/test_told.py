import json

from rightcall.core.parts import Call, Result, Text
from rightcall.core.tool import Spec
from rightcall.local.families.call_text import PromptedTools
from rightcall.local.families.family_list import find_family
from rightcall.local.families.reader import Reader

ADD = Spec(
    name="add",
    description="Add two numbers.",
    parameters={"type": "object", "properties": {"a": {"type": "integer"}}},
    examples=({"a": 1}, {"a": 2}),
)
GENERIC = find_family("generic")


def read(text: str) -> list[tuple[str, str]]:
    reader = Reader(GENERIC, (ADD,))
    reader.feed(text)
    reader.finish()
    return [(part.name, part.arguments) for part in reader.content if isinstance(part, Call)]


def test_the_instructions_hold_each_tool_and_a_worked_call():
    text = PromptedTools(GENERIC).instructions((ADD,))
    assert "add: Add two numbers." in text
    assert '"a":{"type":"integer"}' in text
    assert text.count("Example:") == 1
    ((name, arguments),) = read(text.rpartition("Example:\n")[2])
    assert (name, json.loads(arguments)) == ("add", {"a": 1})


def test_earlier_calls_are_written_as_they_would_be_read():
    calls = (
        Call(id="1", name="add", arguments='{"a": 1}'),
        Call(id="2", name="add", arguments='{"a": 2}'),
    )
    assert read(PromptedTools(GENERIC).calls(calls)) == [("add", '{"a": 1}'), ("add", '{"a": 2}')]


def test_a_call_that_a_family_cannot_write_is_shown_as_it_was():
    broken = Call(id="1", name="add", arguments='{"a": ')
    assert PromptedTools(find_family("qwen3_coder")).calls((broken,)) == 'add: {"a": '


def test_results_say_whose_they_are_and_whether_they_failed():
    results = (
        Result(call_id="1", name="add", outcome="returned", content=(Text("3"),)),
        Result(call_id="2", name="add", outcome="failed", content=(Text("Too big."),)),
    )
    assert PromptedTools(GENERIC).results(results) == "Result of add:\n3\n\nError of add:\nToo big."
