"""Only what was offered can be called, where asked: a call to any other tool is text, at every cut."""

# ruff: noqa: E501 - replies stand here as models write them

import pytest

from local.families.replies import SPECS, at_every_cut
from rightcall.core.call import Call
from rightcall.core.message import Unknown
from rightcall.core.parts import Text
from rightcall.core.tool import Spec
from rightcall.local.families.call_text import write
from rightcall.local.families.family import Family
from rightcall.local.families.known import FAMILIES, named
from rightcall.local.families.opening import answering

OTHER = Spec(name="subtract", description="", parameters={})


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_call_to_a_tool_that_was_not_offered_is_no_call(family: Family):
    call = Call(id="", name="subtract", arguments='{"a": 1}')
    tail = answering(family)
    written = write(family, [call])
    for specs in (SPECS, ()):
        parts = at_every_cut(family, f"{written}", specs=specs, tail=tail, offered=True)
        assert not [part for part in parts if isinstance(part, Call)]
        # Nothing is lost: the name is still there, in the text or in what was kept of the message.
        assert any("subtract" in str(part) for part in parts if isinstance(part, Text | Unknown))
    (read,) = at_every_cut(family, written, specs=(OTHER,), tail=tail, offered=True)
    assert isinstance(read, Call)
    assert read.name == "subtract"


def test_what_is_no_call_stays_as_it_was_and_what_follows_is_one():
    reply = '<tool_call>{"name": "rm", "arguments": {}}</tool_call>\n<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
    parts = at_every_cut(named("hermes"), reply, offered=True)
    text = '<tool_call>{"name": "rm", "arguments": {}}</tool_call>\n'
    assert parts == (Text(text), Call(id="", name="add", arguments='{"a": 1}'))
