import pytest

from local.grammar.sample import LarkJudge
from local.grammar.schemas import REAL, spec
from rightcall.core.request import Named
from rightcall.errors import DeclarationError, UsageError
from rightcall.local.engine import Grammar
from rightcall.local.families.family_list import FAMILIES
from rightcall.local.grammar.build import grammar_for, grammar_for_output, unheld

HERMES, GENERIC = FAMILIES["hermes"], FAMILIES["generic"]
SPECS = (spec("get_weather", REAL["weather"]), spec("now", REAL["no_arguments"]))


def hermes(name, arguments):
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


PARIS = hermes("get_weather", '{"city": "Paris"}')
NOW = hermes("now", "{}")


def judge(grammar):
    assert grammar.syntax == "lark"
    return LarkJudge(grammar.text)


def held(choice, specs=SPECS, family=HERMES, **more):
    return grammar_for(specs, family, choice, syntax="lark", **more)


@pytest.mark.parametrize(("specs", "choice"), [(SPECS, "none"), ((), "none"), ((), "auto")])
def test_without_calls_there_is_no_grammar(specs, choice):
    assert held(choice, specs) is None


def test_a_required_call_is_any_tools_and_nothing_else():
    grammar = held("required")
    assert grammar.triggers == ()
    found = judge(grammar)
    assert found.accepts(PARIS)
    assert found.accepts(f"{PARIS}\n{NOW}")
    refused = [
        "",
        "Paris is sunny.",
        hermes("get_whether", "{}"),
        hermes("get_weather", "{}"),
        PARIS[:-1],
    ]
    assert [text for text in refused if found.accepts(text)] == []


def test_a_named_tool_is_called_once_and_no_other():
    found = judge(held(Named("now")))
    assert found.accepts(NOW)
    assert not found.accepts(PARIS)
    assert not found.accepts(f"{NOW}\n{NOW}")


def test_one_call_at_a_time_can_be_asked_for():
    found = judge(held("required", parallel=False))
    assert found.accepts(NOW)
    assert not found.accepts(f"{NOW}\n{NOW}")


def test_a_free_choice_is_lazy():
    grammar = held("auto")
    assert grammar.triggers == ("<tool_call>",)
    assert "<tool_call>" in grammar.special
    assert judge(grammar).accepts(f"{NOW}\n{PARIS}")
    assert not judge(grammar).accepts("Sunny.")


def test_a_choice_may_be_decided_from_the_start():
    grammar = held("auto", family=GENERIC, decide=True)
    assert grammar.triggers == ()
    found = judge(grammar)
    assert found.accepts(PARIS)
    assert found.accepts("It is sunny, <i>very</i> sunny.")
    assert not found.accepts("<tool_call>Hm.")


def test_the_tail_of_the_prompt_is_minded():
    found = judge(held("required", tail="<|im_start|>assistant\n<think>\n"))
    assert found.accepts(f"I need the time.\n</think>\n\n{NOW}")
    assert not found.accepts(NOW)


def test_both_syntaxes_are_made_of_the_same():
    gbnf = grammar_for(SPECS, HERMES, "auto", syntax="gbnf")
    lark = grammar_for(SPECS, HERMES, "auto", syntax="lark")
    assert gbnf.text.startswith("root ::= ")
    assert lark.text.startswith("start: ")
    assert (gbnf.triggers, gbnf.special) == (lark.triggers, lark.special)


@pytest.mark.parametrize(
    ("specs", "choice", "message"),
    [
        ((), "required", "no tools are offered"),
        (SPECS, Named("other"), "'other', which is not among the tools offered"),
        ((), Named("now"), "'now', which is not among the tools offered"),
    ],
)
def test_a_choice_that_cannot_be_is_a_usage_error(specs, choice, message):
    with pytest.raises(UsageError, match=message):
        held(choice, specs)


@pytest.mark.parametrize(
    ("parameters", "family", "where"),
    [
        ({"type": "object", "properties": {"a": False}, "required": ["a"]}, "hermes", "$.properties.a"),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "integer", "minimum": 2, "maximum": 1}},
                "required": ["a"],
            },
            "qwen3_coder",
            "$.properties.a",
        ),
        (
            {"type": "object", "properties": {"n": {"$ref": "#"}}, "required": ["n"]},
            "hermes",
            "parameters",
        ),
        (
            {"type": "object", "properties": {"a-b": {"type": "null"}}, "required": ["a-b"]},
            "lfm2",
            "$.properties.a-b",
        ),
    ],
    ids=["false", "empty range", "endless", "no name in Python"],
)
def test_a_tool_that_cannot_be_called_is_said_so_in_words(parameters, family, where):
    with pytest.raises(
        DeclarationError, match="no arguments can satisfy it as models of the family"
    ) as caught:
        held("auto", (spec("bad", parameters),), FAMILIES[family])
    assert caught.value.tool == "bad"
    assert where in str(caught.value)


def test_an_output_is_held_to_its_schema():
    grammar = grammar_for_output(REAL["weather"], syntax="lark")
    assert (grammar.triggers, grammar.special) == ((), ())
    assert judge(grammar).accepts('{"city": "Paris"}')
    assert not judge(grammar).accepts('{"town": "Paris"}')
    assert grammar_for_output({"enum": ["yes", "no"]}, syntax="gbnf") == Grammar(
        syntax="gbnf", text='root ::= enum\nenum ::= "\\"" ("no\\"" | "yes\\"")\n'
    )


def test_an_output_that_cannot_be_is_a_usage_error():
    with pytest.raises(UsageError, match="no JSON value satisfies the output schema"):
        grammar_for_output({"allOf": [{"type": "string"}, {"type": "null"}]}, syntax="gbnf")


def left(schema):
    """What a grammar leaves to the gate."""
    return tuple(each for each in unheld(schema) if not each.startswith("(stricter: "))


def many(count):
    members = {f"{'p' * 40}{index}": {"type": "string"} for index in range(count)}
    return {"type": "object", "properties": members, "additionalProperties": False}


def test_a_huge_schema_is_held_to_its_form_only():
    assert left(many(4)) == ()
    assert left(many(200)) == ("$ (distinct names)",)
    assert left(many(3000)) == ("$ (too large)",)
    found = judge(held("required", (spec("huge", many(3000)),)))
    assert found.accepts(hermes("huge", '{"anything": 1}'))
    assert not found.accepts(hermes("huge", "[]"))


def test_counts_go_first_when_a_schema_is_too_large():
    lengths = {f"p{n}": {"type": "string", "maxLength": 1900 - n} for n in range(40)}
    schema = {"type": "object", "properties": {**lengths, "n": {"const": 1}}, "required": ["n"]}
    assert left(schema) == ("$ (counts over 64)", "$ (distinct names)")
    found = judge(grammar_for_output(schema, syntax="lark"))
    assert found.accepts('{"n": 1}')
    assert not found.accepts('{"n": 2}')


def test_a_toolbox_is_held_to_less_where_it_gets_too_large():
    specs = [
        spec(
            f"tool_{n}",
            {
                "type": "object",
                "properties": {"a": {"type": "string", "maxLength": 1900 - n}},
                "required": ["a"],
            },
        )
        for n in range(60)
    ]
    found = judge(grammar_for(specs, HERMES, "required", syntax="lark"))
    long = '{"a": "%s"}' % ("x" * 1901)
    assert not found.accepts(hermes("tool_0", long))
    assert found.accepts(hermes("tool_59", long))


def test_a_bottomless_schema_is_a_usage_error():
    schema = {"type": "string"}
    for _ in range(300):
        schema = {"type": "object", "properties": {"x": schema}}
    with pytest.raises(UsageError, match="nests more than 200 levels deep"):
        held("auto", (spec("deep", schema),))
    with pytest.raises(UsageError, match="nests more than 200 levels deep"):
        grammar_for_output(schema, syntax="gbnf")


def test_a_reference_within_a_merged_schema_may_come_back_to_itself():
    schema = {"type": "object", "properties": {"a": {"allOf": [{"$ref": "#"}, {"minProperties": 1}]}}}
    found = judge(grammar_for_output(schema, syntax="lark"))
    assert found.accepts('{"a": {"a": {"a": {}}}}') is False
    assert found.accepts("{}")


def test_what_is_not_held_is_told_wherever_the_same_schema_stands():
    texts = {"type": "array", "items": {"type": "string", "format": "regex"}}
    schema = {"type": "object", "properties": {"a": texts, "b": texts}, "additionalProperties": False}
    assert left(schema) == ("$.properties.a.items.format", "$.properties.b.items.format")


def test_what_is_not_held_is_told_once_each():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "format": "regex"}, "b": {"not": {"minimum": 1}}},
        "additionalProperties": False,
    }
    assert left(schema) == (
        "$.properties.a.format",
        "$.properties.b.not",
        "$.properties.b (distinct names)",
    )


def test_what_is_held_beyond_the_schema_is_told():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"enum": ["x"]}, "c": {"type": "null"}},
        "additionalProperties": False,
    }
    told = [each for each in unheld(schema) if each.startswith("(stricter: ")]
    assert [each.removeprefix("(stricter: ").split()[0] for each in told] == [
        "no",
        "numbers",
        "a",
    ]
    assert unheld({"type": "boolean"}) == ()


def test_the_order_of_many_required_members_is_told():
    schema = {"type": "object", "required": list("abcde"), "additionalProperties": {"type": "null"}}
    assert any("required members come in the order" in each for each in unheld(schema))
    four = {**schema, "required": list("abcd")}
    assert not any("order" in each for each in unheld(four))
