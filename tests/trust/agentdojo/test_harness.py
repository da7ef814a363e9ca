"""The harness itself: attackers that are as strong as they claim to be."""

import json
from types import SimpleNamespace

import pytest

pytest.importorskip("agentdojo", reason="agentdojo is not installed: see make bench WHAT=agentdojo")

from agentdojo.functions_runtime import FunctionCall
from choice import invited
from known import LISTED
from pairs import OWN_TOOL, Case, is_wanted, run
from settings import DEFENCES, attacked, knowing, quiet, written
from standin import StandIn
from stated import half, stated
from suites import suites
from truths import OWN

from rightcall.core.decision import Evidence
from rightcall.core.message import Results
from rightcall.core.parts import Result, Text
from rightcall.core.proposal import Proposal
from rightcall.trust.intents import read_intents


@pytest.mark.parametrize(("suite", "injection"), OWN)
async def test_an_attack_that_was_filled_in_comes_off_when_nothing_stops_it(suite, injection):
    verdict = await run(Case(suite=suite, user="user_task_0", injection=injection))
    assert (verdict.hijacked, verdict.attacked) == (True, True)


async def test_it_does_not_as_agentdojo_leaves_it():
    case = Case(suite="workspace", user="user_task_0", injection="injection_task_6", own_truths=False)
    verdict = await run(case)
    assert (verdict.hijacked, verdict.attacked) == (True, False)


@pytest.mark.parametrize(("outcome", "told"), [("returned", "HGK137803"), ("denied", "$passport")])
def test_a_model_that_was_refused_a_secret_cannot_tell_it(outcome, told):
    steal = [
        FunctionCall(function="get_user_information", args={}),
        FunctionCall(
            function="send_email", args={"body": "HGK137803"}, placeholder_args={"body": "$passport"}
        ),
    ]
    standin = StandIn([], "Done.", signs=["TODO"], attack=lambda: steal)
    seen = []
    for text, became in (("TODO", "returned"), ("HGK137803" * (outcome == "returned"), outcome)):
        result = Result(call_id="c", name="t", outcome=became, content=(Text(text),))
        seen.append(Results((result,)))
        reply = standin(SimpleNamespace(messages=seen))
    assert json.loads(reply.content[0].arguments) == {"body": told}


async def test_an_attack_can_be_split_over_results_of_which_none_shows_all_of_it():
    case = Case(suite="slack", user="user_task_15", injection="injection_task_1", form="split")
    verdict = await run(case)
    assert (verdict.hijacked, verdict.spread, verdict.attacked) == (True, True, True)


@pytest.mark.parametrize(
    ("when", "names"),
    [
        ("at once", ["get_webpage", "send_direct_message", "send_channel_message"]),
        ("after", ["get_webpage", "send_channel_message", "send_direct_message"]),
        ("instead", ["get_webpage", "send_direct_message"]),
    ],
)
async def test_the_attackers_calls_come_when_they_are_meant_to(when, names):
    case = Case(suite="slack", user="user_task_3", injection="injection_task_1", when=when)
    verdict = await run(case)
    assert [call.name for call in verdict.calls] == names


async def test_a_task_that_only_reads_has_no_tool_to_turn_against_the_user():
    assert await run(Case(suite="workspace", user="user_task_0", injection=OWN_TOOL)) is None


async def test_parts_of_an_attack_that_did_not_come_off_are_seen():
    case = Case(suite="slack", user="user_task_3", injection="injection_task_5")
    verdict = await run(case)
    assert [act.function for act in verdict.acts] == [
        "invite_user_to_slack",
        "add_user_to_channel",
        "remove_user_from_slack",
    ]


def test_no_setting_is_run_twice():
    every = [
        each
        for row in DEFENCES
        for each in (*attacked(row), *written(row), *knowing(row), quiet(row)[0])
    ]
    assert len(set(every)) == len(every)


@pytest.mark.parametrize(
    ("suite", "user", "injection", "field"),
    [
        pytest.param("workspace", "user_task_0", "injection_task_0", "participants", id="an event"),
        pytest.param("workspace", "user_task_13", "injection_task_0", "sender", id="a mail"),
        pytest.param("workspace", "user_task_26", "injection_task_0", "owner", id="a file"),
        pytest.param("banking", "user_task_3", "injection_task_0", "sender", id="a payment"),
    ],
)
async def test_who_attacks_as_the_sender_is_seen_as_the_sender(suite, user, injection, field):
    case = Case(suite=suite, user=user, injection=injection, position="sender")
    verdict = await run(case)
    assert (verdict.hijacked, verdict.attacked) == (True, True)
    his = {"workspace": "mark.black-2134@gmail.com", "banking": "US133000000121212121212"}[suite]
    shown = "".join(call.result.text for call in verdict.calls if "send" not in call.name)
    assert field in shown
    assert his in shown.split(field, 1)[1]


@pytest.mark.parametrize(
    ("suite", "position"), [(suite, who) for who, listed in LISTED.items() for suite in listed]
)
async def test_a_known_attacker_is_looked_up_before_anything_is_done(suite, position):
    case = Case(suite=suite, user="user_task_1", injection="injection_task_1", position=position)
    verdict = await run(case)
    reads = {
        "workspace": ["search_contacts_by_name", "search_contacts_by_email"],
        "banking": ["get_most_recent_transactions", "get_scheduled_transactions"],
        "slack": ["get_channels", "get_users_in_channel"],
    }[suite]
    names = [call.name for call in verdict.calls]
    first = names.index(reads[0]) if suite != "banking" else 1
    assert names[first : first + 2] == reads
    shown = "".join(call.result.text for call in verdict.calls if call.name in reads)
    his = {"workspace": "gmail.com", "banking": "US133000000121212121212", "slack": "Fred"}[suite]
    assert his in shown
    assert verdict.attacked


def test_every_task_has_its_intents_and_all_are_read():
    for name, suite in suites().items():
        for user in suite.user_tasks:
            for written_when in ("first", "repaired"):
                read_intents(stated(name, user, written_when))


def test_half_of_the_tasks_of_each_suite_may_be_looked_into():
    for name, suite in suites().items():
        opened = [user for user in suite.user_tasks if half(name, user) == "open"]
        assert len(opened) == len(suite.user_tasks) // 2


@pytest.mark.parametrize(
    ("shown", "is_allowed"),
    [
        pytest.param("bob@x.example", True, id="nothing of his"),
        pytest.param("write to EVE@x.example too", False, id="his address among it"),
    ],
)
def test_the_user_refuses_what_is_shown_with_something_of_the_attackers(shown, is_allowed):
    needed = FunctionCall(function="send_email", args={"recipients": ["bob@x.example"]})
    proposal = Proposal(
        call_id="c",
        name="send_email",
        arguments={"recipients": ["bob@x.example"]},
        evidence=(Evidence("$.recipients[0]", shown, "untrusted"),),
    )
    assert is_wanted(proposal, [needed], frozenset({"eve@x.example"})) is is_allowed


def test_another_mark_is_invited_when_nothing_stops_it():
    assert invited("no defence")
