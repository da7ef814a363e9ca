"""Markers with nothing between them: sections of no calls, calls of no tool, turns that end too early.

A model that was going to call and did not has said nothing by its markers. They must not come out as
text, whatever stands around them, and nothing but them may go.
"""

# ruff: noqa: E501 - replies stand here as models write them

import pytest

from local.families.replies import SPECS, at_every_cut, said
from rightcall.core.message import Reasoning
from rightcall.core.parts import Call, Text
from rightcall.core.tool import Spec
from rightcall.local.families.call_text import _call, _together, write
from rightcall.local.families.family import Family, JsonForm
from rightcall.local.families.family_list import FAMILIES, find_family
from rightcall.local.families.marker_table import is_special
from rightcall.local.families.reader import answering

MARKED = {name: each for name, each in FAMILIES.items() if each.channels is None and each.name != "functionary_v32"}  # fmt: skip
"""Families whose markers say that calls follow; in the others, the head of a message does."""


NOTHING = ("{}", " {\n} ", "[]", " [\n] ", "[{}]", "[{}, {}]", '""')
"""What a model writes between markers when it has nothing to call."""
NAMELESS = ('{"%s": ""}', '[{"%s": null}]', '{"%s": "", "arguments": {}}', '{"arguments": {}}', "[null]")
"""The same, in words of JSON."""


def empty(family: Family) -> list[str]:
    """Every way in which a family can write no call at all."""
    close = family.section.close[0] if family.section.close else ""
    opens = [opener for opener in family.section.open if not opener.startswith("`")]
    inside = NOTHING if close else NOTHING[:-1]
    if isinstance(family.form, JsonForm) and not family.form.is_keyed:
        key = family.form.name_keys[0]
        inside += tuple(each.replace("%s", key) for each in NAMELESS)
    blank = ("", "\n", "null", "None") if close else ()
    found = [f"{opener}{text}{close}" for opener in opens for text in (*inside, *blank)]
    if family.call.open and family.call.close:
        calls = [f"{family.call.open[0]}{text}{family.call.close[0]}" for text in ("", "\n", *NOTHING)]
        found += [*calls, *(f"{opener}{call}{close}" for opener in opens[:1] for call in calls)]
    call = Call(id="", name="", arguments="{}")
    written = _together(family, [call], [_call(family, call, 0)]).strip()
    # Kimi's prefix is left over, which names something, and Llama's calls have no marker.
    is_marked = written.startswith((*opens, *family.call.open)) and family.name != "kimi_k2"
    return [*found, written] if is_marked else found


@pytest.mark.parametrize("family", MARKED.values(), ids=MARKED)
def test_a_call_of_nothing_says_nothing(family: Family):
    tail = answering(family)
    for markers in empty(family):
        assert at_every_cut(family, f"{markers}\nHi", tail=tail) == (Text("Hi"),), markers
        for after in ("", " you"):
            text, thought, calls = said(at_every_cut(family, f"Oh, hi{markers}{after}", tail=tail))
            assert (text.split(), thought, calls) == (f"Oh, hi{after}".split(), "", []), markers


@pytest.mark.parametrize("name", ["hermes", "mistral_json", "qwen3_coder", "command_r7b"])
def test_a_call_after_an_empty_object_is_one(name: str):
    family = find_family(name)
    call = Call(id="", name="add", arguments="{}")
    written = write(family, [call])
    opener = family.section.open[0]
    for empties in ("{}", "{}, {}"):
        both = (
            written.replace("[{", f"[{empties}, {{")
            if "[{" in written
            else f"{opener}{empties}{written}"
        )
        assert said(at_every_cut(family, both, tail=answering(family))) == ("", "", [("add", {})]), both


def test_what_an_object_without_a_name_says_is_text_without_its_markers():
    for reply in (
        '{"city": "Rome"}',
        '{"arguments": {"city": "Rome"}}',
        '{"name": "", "arguments": [1]}',
    ):
        whole = f"So: <tool_call>{reply}</tool_call> then."
        assert at_every_cut(find_family("hermes"), whole) == (Text(f"So: {reply} then."),)


def test_a_call_of_something_broken_stays_a_call():
    reply = '<tool_call>{"name": "add", "arguments": [}</tool_call>'
    (call,) = at_every_cut(find_family("hermes"), reply)
    assert isinstance(call, Call)
    assert call.name == "add"
    assert at_every_cut(find_family("glm"), "<tool_call>null</tool_call>") == (
        Call(id="", name="null", arguments="{}"),
    )


SPECIAL = {name: each for name, each in MARKED.items() if any(map(is_special, each.section.open))}


@pytest.mark.parametrize("family", SPECIAL.values(), ids=SPECIAL)
def test_a_special_token_before_the_end_of_the_turn_is_no_text(family: Family):
    opener = next(filter(is_special, family.section.open))
    for end in ("", *family.ends):
        assert at_every_cut(family, f"Oh, hi{opener}{end}", tail=answering(family)) == (Text("Oh, hi"),)


def test_a_call_after_an_empty_section_is_one():
    reply = '<tool_call></tool_call>\n<tool_call>{"name": "add", "arguments": {}}</tool_call>'
    assert at_every_cut(find_family("hermes"), reply) == (Call(id="", name="add", arguments="{}"),)


def test_an_empty_section_after_a_call_says_nothing():
    reply = '<tool_call>{"name": "add", "arguments": {}}</tool_call><tool_call>\n</tool_call>'
    assert at_every_cut(find_family("hermes"), reply) == (Call(id="", name="add", arguments="{}"),)


def test_a_call_ends_a_thought_that_was_not_closed_where_messages_say_what_they_are():
    call = '<|content_invoke_tool_json|>{"name": "add", "args": {}}<|end_message|>'
    parts = (Reasoning("hm"), Call(id="", name="add", arguments="{}"))
    for author in ("", "<|message_model|>", "<|message_model|>add"):
        reply = f"<|content_thinking|>hm{author}{call}"
        assert at_every_cut(find_family("inkling"), reply) == parts, author


THINKING = {name: each for name, each in MARKED.items() if each.thoughts.open and each.ends}


@pytest.mark.parametrize("family", THINKING.values(), ids=THINKING)
def test_the_end_of_the_turn_is_no_part_of_a_thought(family: Family):
    for end in family.ends:
        reply = f"{family.thoughts.open[0]}hm{end}"
        assert at_every_cut(family, reply, tail=family.turn[0]) == (Reasoning("hm"),), end


INTERSECT = Spec(name="functions.intersect", description="", parameters={})
PREFIXED = {
    "harmony": "<|channel|>commentary to={}<|message|>{{}}<|call|>",
    "kimi_k2": "<|tool_call_begin|>{}:0<|tool_call_argument_begin|>{{}}<|tool_call_end|>",
}


@pytest.mark.parametrize(("family", "form"), PREFIXED.items(), ids=PREFIXED)
def test_a_prefix_that_is_part_of_a_tools_name_stays(family: str, form: str):
    def name(written: str, *specs: Spec) -> str:
        (call,) = at_every_cut(find_family(family), form.format(written), specs=(*specs, *SPECS))
        assert isinstance(call, Call)
        return call.name

    assert name("functions.intersect", INTERSECT) == "functions.intersect"
    assert name("functions.functions.intersect", INTERSECT) == "functions.intersect"
    assert name("functions.intersect") == "intersect"
    other = Spec(name="intersect", description="", parameters={})
    assert name("functions.intersect", INTERSECT, other) == "intersect"
    assert name("functions.functions.intersect", INTERSECT, other) == "functions.intersect"
