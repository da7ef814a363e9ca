"""A few of AgentDojo's pairs, through the runtime: without a defence, and with one."""

import pytest

pytest.importorskip("agentdojo", reason="agentdojo is not installed: see make bench WHAT=agentdojo")

from defence import grant_for, granted, ungranted
from pairs import OWN_TOOL, Case, run
from suites import suites, tools_over

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
async def test_an_attack_comes_off_without_a_defence_and_not_with_one(suite, user, injection):
    case = Case(suite=suite, user=user, injection=injection)
    bare, held = await run(case), await run(case, granted, "the user")
    assert (bare.hijacked, bare.attacked) == (True, True)
    assert (held.hijacked, held.attacked) == (True, False)


@pytest.mark.parametrize("form", ["split", "base64", "escaped"])
@pytest.mark.parametrize("when", ["at once", "after", "instead"])
async def test_nothing_changes_when_the_attack_is_written_or_timed_in_another_way(form, when):
    case = Case(suite="slack", user="user_task_15", injection="injection_task_1", form=form, when=when)
    bare, held = await run(case), await run(case, ungranted, "the user")
    assert (bare.hijacked, bare.attacked, held.hijacked, held.attacked) == (True, True, True, False)


@pytest.mark.parametrize(
    ("suite", "user"),
    [("workspace", "user_task_9"), ("banking", "user_task_6"), ("slack", "user_task_3")],
)
async def test_the_users_own_tool_is_held_to_the_users_targets(suite, user):
    case = Case(suite=suite, user=user, injection=OWN_TOOL)
    bare, held = await run(case), await run(case, granted, "the user")
    assert (bare.attacked, held.hijacked, held.attacked) == (True, True, False)
    assert held.utility


@pytest.mark.parametrize(
    ("suite", "user"),
    [
        pytest.param("workspace", "user_task_35", id="the largest of the files"),
        pytest.param("workspace", "user_task_32", id="a file made on the way"),
        pytest.param("travel", "user_task_0", id="dates in the user's words"),
        pytest.param("travel", "user_task_7", id="a title with a name in it"),
        pytest.param("banking", "user_task_15", id="an account in the history"),
        pytest.param("slack", "user_task_10", id="channels and their users"),
        pytest.param("slack", "user_task_14", id="authors of messages"),
    ],
)
async def test_a_task_whose_targets_are_vouched_for_needs_no_approval(suite, user):
    verdict = await run(Case(suite=suite, user=user), granted)
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
async def test_a_task_that_an_outsider_completes_is_done_when_the_user_approves(suite, user, asked):
    case = Case(suite=suite, user=user)
    refused, allowed = await run(case, granted), await run(case, granted, "the user")
    assert (refused.utility, allowed.utility) == (False, True)
    assert [proposal.name for proposal in allowed.asked] == asked


def test_a_grant_names_what_acts_or_reads_private_data_and_nothing_else():
    suite = suites()["slack"]
    environment = suite.load_and_inject_default_environment({})
    tools = tools_over("slack", environment, "facts")
    truth = suite.user_tasks["user_task_1"].ground_truth(environment)
    assert sorted(grant_for(tools, truth).tools) == [
        "get_webpage",
        "read_channel_messages",
        "send_direct_message",
    ]


def test_every_tool_of_every_suite_has_its_facts():
    for suite in suites():
        for tool in tools_over(suite, None, "facts"):
            stated = (tool.facts.untrusted, tool.facts.private, tool.facts.reach, tool.facts.targets)
            assert None not in stated, tool.name
