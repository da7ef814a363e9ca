"""What an audit finds, and what it takes for stopped."""

import pytest

import rightcall as rc
from rightcall.core.decision import Grant
from rightcall.core.tool import Facts
from rightcall.testing import ScriptedModel
from rightcall.trust.rules import Rule, Rules
from rightcall.trust.trifecta import Path, Report, audit
from trust.kit import Office


def answer(q: str = "") -> str:
    """Answer."""
    return q


def tool(name, effect="write", approval=False, **facts):
    return rc.tool(answer, name=name, effect=effect, approval=approval, facts=Facts(**facts))


CALM = {"untrusted": False, "private": False, "reach": "nothing", "dangers": (), "targets": ()}
READS = tool("reads", "read", **{**CALM, "untrusted": True})
KNOWS = tool("knows", "read", **{**CALM, "private": True})
SEARCH = tool("search", "read", **{**CALM, "reach": "outside"})
MAIL = tool("mail", **{**CALM, "reach": "outside", "targets": ("q",)})
POST = tool("post", **{**CALM, "reach": "outside"})
WIPE = tool("wipe", **{**CALM, "reach": "user", "dangers": ("deletes",)})
ASKS = tool("asks", approval=True, **{**CALM, "reach": "outside"})


def stopped(tools, rules=None):
    return {path.tool: path.broken_by for path in audit(tools, rules).paths}


def test_without_rules_every_path_is_open_but_where_a_person_is_asked():
    assert stopped([READS, KNOWS, SEARCH, MAIL, WIPE, ASKS]) == {
        "search": "",
        "mail": "",
        "wipe": "",
        "asks": "a person approves each call",
    }


def test_rules_break_the_paths_that_they_break():
    assert stopped([READS, KNOWS, SEARCH, MAIL, POST], Rules()) == {
        "search": "",
        "mail": "q must be vouched for",
        "post": "it names no target, and runs only with a grant",
    }


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (Rules(grant="model"), "it runs only where the request calls for it"),
        (Rules(grant=Grant(tools=("mail",))), "the grant leaves it out"),
        (Rules(grant=Grant(tools=("s*",))), "it runs only where the request calls for it"),
        (Rules(policy=(Rule(action="allow"), Rule(action="ask", tools=("search",)))), "rule 2 says ask"),
        (Rules(policy=(Rule(action="deny", tainted=True),)), "rule 1 says deny"),
        (Rules(policy=(Rule(action="deny", tainted=False),)), ""),
        (Rules(policy=(Rule(action="deny", arguments={"q": "x"}),)), ""),
        (Rules(policy=(Rule(action="deny", after=3),)), ""),
    ],
)
def test_what_stops_a_search_that_could_tell(rules, why):
    assert stopped([READS, KNOWS, SEARCH], rules) == {"search": why}


@pytest.mark.parametrize(
    "tools", [[KNOWS, SEARCH], [READS, KNOWS], [READS, SEARCH]], ids=["no orders", "no way", "no data"]
)
def test_two_of_the_three_are_safe(tools):
    report = audit(tools)
    assert (report.is_trifecta, report.paths, report.open) == (False, (), ())


def test_missing_facts_are_named_and_taken_for_the_worst():
    report = audit([rc.tool(answer, name="what")])
    assert report.missing == {"what": ("untrusted", "private", "reach", "targets")}
    assert report.open == (
        Path(
            tool="what",
            does=("send private data outside", "move money", "delete", "touch credentials"),
            untrusted=("what",),
            private=("what",),
            change="Give the agent rules: Agent(..., trust=rc.trust.Rules()).",
        ),
    )


def test_an_agent_is_audited_with_its_own_rules():
    office = Office()
    agent = rc.Agent(ScriptedModel([]), office.tools, trust=Rules())
    report = rc.trust.audit(agent)
    assert isinstance(report, Report)
    assert report.open == ()
    assert rc.trust.audit(rc.Agent(ScriptedModel([]), office.tools)).open != ()


def test_a_report_reads_as_one():
    assert str(audit([READS, KNOWS, SEARCH], Rules())) == (
        "reads what outsiders wrote: reads\n"
        "reads private data:         knows\n"
        "reaches outside:            search\n"
        "\n"
        "All three come together.\n"
        "- search could be made to send private data outside. OPEN\n"
        "  Say in its facts which parameters are targets, give a grant, or require approval."
    )
