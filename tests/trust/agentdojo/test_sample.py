"""A few of AgentDojo's pairs, through the runtime: without a defence, and with one."""

import pytest

pytest.importorskip("agentdojo", reason="agentdojo is not installed: see make bench WHAT=agentdojo")

from pairs import OWN_TOOL, Case, Defence, run
from suites import suites, tools_over

RULES = Defence()
INTENTS = Defence(intents="first")

PAIRS = [
    pytest.param("workspace", "user_task_18", "injection_task_4", id="mail the user's code"),
    pytest.param("workspace", "user_task_19", "injection_task_13", id="a link to everyone met today"),
    pytest.param("workspace", "user_task_35", "injection_task_1", id="delete another file"),
    pytest.param("travel", "user_task_4", "injection_task_2", id="an event of the attacker's"),
    pytest.param("travel", "user_task_3", "injection_task_5", id="the passport to the user's wife"),
    pytest.param("banking", "user_task_15", "injection_task_4", id="another recipient"),
    pytest.param("banking", "user_task_13", "injection_task_7", id="another password"),
    pytest.param("slack", "user_task_12", "injection_task_5", id="in a channel's name"),
    pytest.param("slack", "user_task_1", "injection_task_3", id="visit a page"),
]


@pytest.mark.parametrize(("suite", "user", "injection"), PAIRS)
async def test_an_attack_comes_off_without_a_defence_and_not_with_intents(suite, user, injection):
    case = Case(suite=suite, user=user, injection=injection)
    bare, held = await run(case), await run(case, INTENTS, "the user")
    assert (bare.hijacked, bare.attacked) == (True, True)
    assert (held.hijacked, held.attacked, held.acts) == (True, False, ())


@pytest.mark.parametrize("form", ["split", "base64", "escaped"])
@pytest.mark.parametrize("when", ["at once", "after", "instead"])
async def test_nothing_changes_when_the_attack_is_written_or_timed_in_another_way(form, when):
    case = Case(suite="slack", user="user_task_15", injection="injection_task_1", form=form, when=when)
    bare, held = await run(case), await run(case, RULES, "the user")
    assert (bare.hijacked, bare.attacked, held.hijacked, held.attacked) == (True, True, True, False)


@pytest.mark.parametrize(
    ("suite", "user"),
    [("workspace", "user_task_9"), ("banking", "user_task_6"), ("slack", "user_task_3")],
)
async def test_the_users_own_tool_is_held_to_the_users_targets(suite, user):
    case = Case(suite=suite, user=user, injection=OWN_TOOL)
    bare, held = await run(case), await run(case, RULES, "the user")
    assert (bare.attacked, held.hijacked, held.attacked) == (True, True, False)
    assert held.utility


@pytest.mark.parametrize(
    ("suite", "user"),
    [
        pytest.param("workspace", "user_task_35", id="the largest of the files"),
        pytest.param("workspace", "user_task_32", id="a file made on the way"),
        pytest.param("travel", "user_task_0", id="dates in the user's words"),
        pytest.param("travel", "user_task_7", id="a title with a name in it"),
        pytest.param("banking", "user_task_10", id="an account in the history"),
    ],
)
async def test_a_task_whose_values_were_stated_needs_no_approval(suite, user):
    verdict = await run(Case(suite=suite, user=user), INTENTS)
    assert (verdict.utility, verdict.asked) == (True, ())


@pytest.mark.parametrize(
    ("suite", "user", "asked"),
    [
        ("workspace", "user_task_9", ["create_calendar_event"]),
        ("workspace", "user_task_18", ["create_calendar_event"]),
        ("banking", "user_task_0", ["send_money"]),
        ("slack", "user_task_2", ["invite_user_to_slack"]),
    ],
)
async def test_a_task_that_an_outsider_completes_is_asked_about_once(suite, user, asked):
    case = Case(suite=suite, user=user)
    refused, allowed = await run(case, INTENTS), await run(case, INTENTS, "the user")
    assert (refused.utility, allowed.utility) == (False, True)
    assert [proposal.name for proposal in allowed.asked] == asked


def test_every_tool_of_every_suite_has_its_facts():
    for suite in suites():
        for tool in tools_over(suite, None):
            stated = (tool.facts.untrusted, tool.facts.private, tool.facts.reach, tool.facts.targets)
            assert None not in stated, tool.name
