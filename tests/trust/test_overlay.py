"""Facts that an operator lays over others' tools."""

import logging

import pytest

import rightcall as rc
from rightcall.core.facts import Facts
from rightcall.core.tool import Tool
from rightcall.errors import UsageError
from rightcall.trust.draft import as_toml, suggest
from rightcall.trust.facts_file import (
    StatedFacts,
    parse_facts,
    read_facts,
    schema_hash,
    starter,
    starters,
)

SEND = Tool(
    "send_mail",
    "Sends.",
    {"type": "object", "properties": {"to": {"type": "string"}, "body": {"type": "string"}}},
    facts=Facts(untrusted=True),
)
CHANGED = SEND.replace(
    parameters={"type": "object", "properties": {"to": {"type": "string"}, "bcc": {"type": "string"}}}
)


def test_a_draft_that_was_saved_comes_back_as_it_was_drafted(tmp_path):
    box = [SEND, Tool("get_mail", "Looks.")]
    file = tmp_path / "facts.toml"
    file.write_text(as_toml(suggest(box), box))
    assert [(each.effect, each.facts) for each in read_facts(file).over(box)] == [
        (found.effect, found.facts)
        for each, tool in zip(suggest(box), box, strict=True)
        for found in [each.over(tool)]
    ]


def test_a_tool_with_another_schema_falls_back_to_the_worst(caplog):
    stated = parse_facts(f'[tools.send_mail]\nschema = "{schema_hash(SEND)}"\ntargets = ["to"]', "x")
    assert stated(SEND).facts == Facts(untrusted=True, targets=("to",))
    with caplog.at_level(logging.WARNING, logger="rightcall"):
        assert stated(CHANGED) is CHANGED
    assert "send_mail are for another schema" in caplog.text
    assert stated(SEND.replace(name="other")).facts == SEND.facts


def test_facts_that_do_not_fit_the_tool_are_refused():
    stated = parse_facts('[tools.send_mail]\ntargets = ["subject"]', "x")
    with pytest.raises(UsageError, match=r"the facts of send_mail do not fit it: .*subject"):
        stated(SEND)


def test_everything_that_is_wrong_with_a_file_is_said(tmp_path):
    file = tmp_path / "facts.toml"
    file.write_text('rule = 1\n[tools.a]\nreech = "user"\nreach = "moon"\n[tools]\nb = 1')
    with pytest.raises(UsageError) as caught:
        read_facts(file)
    told = str(caught.value)
    assert "there is no 'rule'; there is tools" in told
    assert "tools.a: there is no 'reech'; there is schema, effect, untrusted" in told
    assert "tools.a.reach: Invalid enum value 'moon'" in told
    assert "tools.b is no table" in told
    with pytest.raises(UsageError, match="is not TOML"):
        parse_facts("[", "x")
    with pytest.raises(UsageError, match="tools holds tables"):
        parse_facts("tools = 1", "x")
    with pytest.raises(UsageError, match="cannot be read"):
        read_facts(tmp_path / "none.toml")


@pytest.mark.parametrize("name", starters())
def test_what_ships_says_everything_and_holds_for_one_schema_only(name):
    found = starter(name)
    assert isinstance(found, StatedFacts)
    for tool, stated in found.tools.items():
        assert stated.schema.startswith("sha256:"), tool
        assert stated.effect is not None, tool
        assert {"untrusted", "private", "reach", "dangers", "targets"} <= set(stated.facts), tool
        if stated.effect == "read":
            assert stated.facts["dangers"] == (), tool


def test_a_server_without_facts_is_named():
    with pytest.raises(UsageError, match=r"there are no facts for 'nope'; .*filesystem"):
        rc.trust.starter("nope")


BUILT_IN = {
    "calculate": lambda _: rc.builtin.calculate(),
    "datetime": lambda _: rc.builtin.datetime(),
    "fs": rc.builtin.fs,
    "memory": rc.builtin.memory,
    "plan": lambda _: rc.builtin.plan(),
    "shell": lambda _: rc.builtin.shell(),
    "web_fetch": lambda _: rc.builtin.web_fetch(),
}


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_tools_that_ship_say_all_that_rules_go_by(name, tmp_path):
    made = BUILT_IN[name](tmp_path)
    facts = made.facts
    assert None not in (facts.untrusted, facts.private, facts.reach, facts.targets)
