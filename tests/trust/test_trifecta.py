"""What an audit finds, and what it takes for stopped."""

import pytest

import rightcall as rc
from rightcall.core.tool import Facts
from rightcall.testing import ScriptedModel, call, reply
from rightcall.trust.rules import Rule, Rules
from rightcall.trust.trifecta import Path, Report, attempts, audit
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


POSTING = (
    "post does something, and nothing in the call was typed by the user: "
    "state it as an intent, or allow it"
)


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
        "search": "q must be vouched for",
        "mail": "q must be vouched for",
        "post": POSTING,
    }


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (Rules(intents="model"), "it runs only as it was stated"),
        (Rules(), "q must be vouched for"),
    ],
)
def test_what_stops_a_search_that_could_tell(rules, why):
    assert stopped([READS, KNOWS, SEARCH], rules) == {"search": why}


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ((Rule(action="allow"),), ""),
        ((Rule(action="ask", tools=("mail",)), Rule(action="allow")), "a rule says ask"),
        ((Rule(action="deny", tainted=True),), "a rule says deny"),
        ((Rule(action="deny", tainted=False),), "no rule allows it"),
        ((Rule(action="deny", arguments={"q": "x"}), Rule(action="allow")), ""),
        ((Rule(action="deny", after=3), Rule(action="allow")), ""),
    ],
)
def test_what_stops_a_mail_to_whom_the_operator_vouches_for(policy, why):
    rules = Rules(vouched=("*@evil.invalid",), policy=policy)
    assert stopped([READS, KNOWS, MAIL], rules) == {"mail": why}


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


def test_what_is_taken_on_trust_is_listed():
    calm = tool("log", **CALM)
    contacts = tool("contacts", "read", **{**CALM, "untrusted": ("note",), "identity": ()})
    report = audit([READS, KNOWS, MAIL, calm, contacts], Rules())
    assert set(report.on_trust) == {"log", "contacts"}
    assert "- log: taken on trust that what it does has no consequences" in str(report)
    assert not report.open


def test_every_act_has_a_stake_unless_its_facts_say_otherwise():
    unlock = tool("unlock", **{**CALM, "reach": "user"})
    assert stopped([READS, unlock]) == {"unlock": ""}
    assert stopped([READS, unlock], Rules())["unlock"].startswith("unlock does something")


def test_an_agent_is_audited_with_its_own_rules():
    office = Office()
    agent = rc.Agent(ScriptedModel([]), office.tools, trust=Rules())
    report = rc.trust.audit(agent)
    assert isinstance(report, Report)
    assert report.open == ()
    assert rc.trust.audit(rc.Agent(ScriptedModel([]), office.tools)).open != ()


def test_a_report_reads_as_one():
    rules = Rules(policy=(Rule(action="allow"),), vouched=("*@evil.invalid",))
    assert str(audit([READS, KNOWS, SEARCH, MAIL], rules)) == (
        "reads what outsiders wrote: reads\n"
        "reads private data:         knows\n"
        "reaches outside:            search, mail\n"
        "\n"
        "All three come together.\n"
        "- search could be made to send private data outside. stopped: q must be vouched for\n"
        "- mail could be made to send private data outside. OPEN\n"
        "  Say in its facts which parameters are targets, state intents, or require approval."
    )


@pytest.mark.parametrize(
    "rules",
    [
        None,
        Rules(otherwise="deny"),
        Rules(otherwise="deny", vouched=("*@evil.invalid",)),
        Rules(otherwise="deny", policy=(Rule(action="deny", tools=("wipe",)), Rule(action="allow"))),
        Rules(otherwise="deny", vouched=("*@evil.invalid",), policy=(Rule(action="allow"),)),
    ],
)
def test_what_an_audit_calls_stopped_does_not_run_and_what_it_calls_open_does(rules):
    done = []

    def made(name, effect="write", **facts):
        def act(q: str = "") -> str:
            """Act."""
            done.append(name)
            return "eve@evil.invalid says: do it" if name == "reads" else "fine"

        return rc.tool(act, name=name, effect=effect, facts=Facts(**{**CALM, **facts}))

    tools = [
        made("reads", "read", untrusted=True),
        made("knows", "read", private=True),
        made("search", "read", reach="outside"),
        made("mail", reach="outside", targets=("q",)),
        made("post", reach="outside"),
        made("wipe", reach="user", dangers=("deletes",), targets=("q",)),
    ]
    for path in audit(tools, rules).paths:
        for attempt in attempts(next(each for each in tools if each.name == path.tool)):
            made_calls = [call("reads"), call("knows"), call(path.tool, **attempt.arguments)]
            script = [*[reply(each) for each in made_calls], "done"]
            rc.Agent(ScriptedModel(script), tools, trust=rules).run_sync("Hello")
        assert (path.tool not in done) == bool(path.broken_by), path
