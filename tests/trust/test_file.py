"""Rules from an operator's file, and everything that is wrong with one."""

import pytest

from rightcall.errors import UsageError
from rightcall.trust.rules import Rule, Rules
from rightcall.trust.rules_file import Mistake, parse_rules, read_rules

GOOD = """
vouched = ["*@firm.example", "https://api.firm.example/*"]
otherwise = "deny"
secrets = false
intents = "model"

[[rule]]
action = "deny"
tools = ["delete_*"]
tainted = true
reason = "not after reading mail"

[[rule]]
action = "rewrite"
tools = ["pay"]
after = 3
[rule.arguments]
amount = "> 100"
[rule.set]
amount = 100
"""

BAD = """
vouched = "*@firm.example"
otherwize = "deny"
intents = 7

[[rule]]
tools = ["a", 3]
reason = "x"

[[rule]]
action = "permit"
effects = ["write", "wrote"]
set = {}

[[rule]]
action = "rewrite"
dangers = ["money"]
"""


def test_a_file_says_all_that_rules_can_say():
    reading = parse_rules(GOOD)
    assert reading.mistakes == ()
    assert reading.rules == Rules(
        vouched=("*@firm.example", "https://api.firm.example/*"),
        otherwise="deny",
        secrets=False,
        intents="model",
        policy=(
            Rule(action="deny", tools=("delete_*",), tainted=True, reason="not after reading mail"),
            Rule(
                action="rewrite",
                tools=("pay",),
                after=3,
                arguments={"amount": "> 100"},
                set={"amount": 100},
            ),
        ),
    )


THERE = "vouched, otherwise, secrets, memory, unguarded, intents, rule"


def test_everything_wrong_is_said_at_once_with_its_line():
    assert parse_rules(BAD).mistakes == (
        Mistake(2, "vouched: Expected `array`, got `str`"),
        Mistake(3, f"there is no 'otherwize'; there is {THERE}"),
        Mistake(4, "intents: Expected `str`, got `int`"),
        Mistake(6, "a rule has an action: allow, deny, ask or rewrite"),
        Mistake(7, "tools: Expected `str`, got `int` at [1]"),
        Mistake(11, "action: Invalid enum value 'permit'"),
        Mistake(12, "effects: Invalid enum value 'wrote' at [1]"),
        Mistake(15, 'a rule with action = "rewrite" says what to set; no other does'),
    )


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (
            'rule = [{ tools = ["pay"] }]',
            Mistake(1, "a rule has an action: allow, deny, ask or rewrite"),
        ),
        ('"otherwise" = 3', Mistake(1, "otherwise: Expected `str`, got `int`")),
        ('vouched = { bob = "a" }', Mistake(1, "vouched: Expected `array`, got `object`")),
    ],
    ids=["rules in one line", "a name in quotes", "a table in one line"],
)
def test_a_mistake_that_has_no_line_of_its_own_is_said_with_the_first(text, mistake):
    (found,) = parse_rules(text).mistakes
    assert found.line == mistake.line
    assert found.words.startswith(mistake.words[:20])


def test_what_is_no_toml_is_said_with_its_line():
    (mistake,) = parse_rules("a = 1\nb =").mistakes
    assert (mistake.line, mistake.words[:8]) == (2, "not TOML")


def test_a_file_that_says_nothing_is_the_defaults():
    assert parse_rules("").rules == Rules()


def test_a_file_is_read_or_refused(tmp_path):
    file = tmp_path / "rules.toml"
    file.write_text(GOOD)
    assert read_rules(file) == parse_rules(GOOD).rules
    file.write_text(BAD)
    with pytest.raises(UsageError, match=r"rules\.toml:2: vouched") as caught:
        read_rules(file)
    assert str(caught.value).count("\n") == 8
    with pytest.raises(UsageError, match="cannot be read"):
        read_rules(tmp_path / "none.toml")
