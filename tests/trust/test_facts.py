"""What rules go by where facts are missing."""

import pytest

import rightcall as rc
from rightcall.core.tool import Facts
from rightcall.errors import DeclarationError
from rightcall.trust.facts import WORST, ResolvedFacts, label_untrusted, offered_values, resolve_facts

PARAMETERS = {
    "type": "object",
    "properties": {
        "to": {"type": "string"},
        "room": {"enum": ["red"]},
        "urgent": {"type": "boolean"},
        "body": {"type": "string", "default": "hi"},
    },
}


def tool(effect="write", **facts):
    return rc.Tool("x", "X.", PARAMETERS, effect=effect, facts=Facts(**facts))


def test_what_nobody_stated_is_the_worst():
    assert resolve_facts(tool()) == ResolvedFacts(
        targets=("to", "body"),
        parameters=frozenset(PARAMETERS["properties"]),
        guessed={"to": "address", "room": "channel"},
    )
    assert WORST.is_consequential
    assert WORST.reads_private


def test_a_pure_tool_is_a_function_of_its_arguments():
    assert resolve_facts(tool("pure")) == ResolvedFacts(
        effect="pure",
        untrusted=False,
        private=False,
        reach="nothing",
        dangers=(),
        targets=(),
        parameters=frozenset(PARAMETERS["properties"]),
        guessed={"to": "address", "room": "channel"},
        derived=True,
        missing=(),
    )


def test_a_tool_that_reads_has_no_dangers_unless_stated():
    assert resolve_facts(tool("read")).dangers == ()
    assert resolve_facts(tool("read", dangers=("credentials",))).is_consequential


def test_whoever_states_a_reach_has_thought_of_the_dangers():
    assert resolve_facts(tool(reach="user")).dangers == ()


@pytest.mark.parametrize(
    ("effect", "reach", "is_so"),
    [
        ("pure", "nothing", False),
        ("read", "user", False),
        ("read", "outside", True),
        ("idempotent", "user", True),
        ("write", "nothing", False),
    ],
)
def test_every_act_is_consequential_unless_its_facts_say_that_it_touches_nothing(effect, reach, is_so):
    assert resolve_facts(tool(effect, reach=reach, dangers=())).is_consequential is is_so


def test_results_of_a_tool_without_facts_are_shown_as_what_rules_take_them_for():
    assert label_untrusted(tool()).facts.untrusted is True
    known = tool(untrusted=False)
    assert label_untrusted(known) is known
    assert label_untrusted(tool("pure")).facts.untrusted is None


def test_what_the_schema_lists_is_the_developers():
    listing = {
        "properties": {
            "a": {"type": "array", "items": {"enum": ["x", 1]}},
            "b": {"const": "y"},
            "c": True,
        }
    }
    assert [offered_values(listing, name) for name in "abcd"] == [{"x", "1"}, {"y"}, set(), set()]


@pytest.mark.parametrize("facts", [{"targets": ("nope",)}, {"dangers": ("explodes",)}])
def test_facts_that_cannot_be_are_refused(facts):
    with pytest.raises(DeclarationError):
        tool(**facts)


@pytest.mark.parametrize(
    ("untrusted", "is_mixed"), [(True, False), (False, False), ((), False), (("body",), True)]
)
def test_a_result_is_mixed_if_some_of_its_fields_are_outsiders(untrusted, is_mixed):
    @rc.tool(effect="read", facts=rc.Facts(untrusted=untrusted))
    def look() -> str:
        """Look."""
        return ""

    assert resolve_facts(look).is_mixed is is_mixed
