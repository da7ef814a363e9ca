"""Only what was offered can be called, where asked; what else is written as a call, at every cut."""

# ruff: noqa: E501 - replies stand here as models write them

import pytest

from local.families.replies import SPECS, at_every_cut
from rightcall.core.message import Unknown
from rightcall.core.parts import Call, Text
from rightcall.core.tool import Spec
from rightcall.local.families.call_text import write
from rightcall.local.families.family import Family
from rightcall.local.families.family_list import FAMILIES, find_family
from rightcall.local.families.reader import answering

OTHER = Spec(name="subtract", description="", parameters={})


UNMARKED = {"llama3", "harmony", "muse_glimmer"}
"""Families whose calls have no marker of their own: an object, or the head of a message."""


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_call_to_a_tool_that_was_not_offered_is_one_if_a_marker_says_so(family: Family):
    call = Call(id="", name="subtract", arguments='{"a": 1}')
    tail = answering(family)
    written = write(family, [call])
    for specs in (SPECS, ()):
        parts = at_every_cut(family, f"{written}", specs=specs, tail=tail, offered=True)
        names = [part.name for part in parts if isinstance(part, Call)]
        assert names == (["subtract"] if specs and family.name not in UNMARKED else [])
        # Nothing is lost: the name is still there, in the text or in what was kept of the message.
        told = [part for part in parts if isinstance(part, Text | Unknown)]
        assert names or any("subtract" in str(part) for part in told)
    (read,) = at_every_cut(family, written, specs=(OTHER,), tail=tail, offered=True)
    assert isinstance(read, Call)
    assert read.name == "subtract"


def test_an_example_in_a_fence_or_a_sentence_is_no_call():
    for example in ('```json\n{"name": "rm", "arguments": {}}\n```', '{"name": "rm", "arguments": {}}'):
        parts = at_every_cut(find_family("hermes"), example, specs=SPECS, offered=True)
        assert not [part for part in parts if isinstance(part, Call)]


def test_an_unknown_tool_and_the_next_are_two_calls():
    reply = '<tool_call>{"name": "rm", "arguments": {}}</tool_call>\n<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
    parts = at_every_cut(find_family("hermes"), reply, offered=True)
    assert parts == (
        Call(id="", name="rm", arguments="{}"),
        Call(id="", name="add", arguments='{"a": 1}'),
    )
