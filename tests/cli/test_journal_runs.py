"""``rightcall journal``: what is recorded, read, gone through again and gone on with."""

import asyncio
import json

import pytest

import rightcall as rc
from cli.kit import Terminal
from cli.kit import within as run
from rightcall.cli.conversations import markdown_of, row_of
from rightcall.core.entry import CallStarted
from rightcall.core.message import Reply, user_text
from rightcall.core.parts import Text
from rightcall.record import JsonLinesJournal, MemoryJournal, SqliteJournal
from rightcall.testing import ScriptedModel, call, reply

MAIL = """
import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply


@rc.tool(approval=True)
def send_mail(to: str) -> str:
    "Send an e-mail."
    with open("sent.txt", "a") as file:
        file.write(to)
    return f"sent to {to}"


model = ScriptedModel([reply(call("send_mail", to="bob")), "Done."])
# What goes on with a run has its replies from the record; it is asked for the rest.
rest = ScriptedModel(["Done."])
agent = rc.Agent(ScriptedModel(["Done, by the agent."]), [send_mail])
"""
KINDS = ["runs.jsonl", "runs.sqlite"]


def journal_at(file):
    return (JsonLinesJournal if file.endswith("jsonl") else SqliteJournal)(file)


@pytest.fixture
def mail(home, request):
    """A file with a run that has ended, and one that waits for a yes."""
    (home / "mail.py").write_text(MAIL)
    file = request.param
    ended = ["ask", "--quiet", "--tool", "world.py", "-m", "world.py:weather", "--journal", file]
    assert (
        run(home, *ended, "What is the weather in Paris, please, and will it stay that way?").code == 0
    )

    @rc.tool(approval=True)
    def send_mail(to: str) -> str:
        """Send an e-mail."""
        return ""

    model = ScriptedModel([reply("I will.", call("send_mail", id="c1", to="bob"))])
    with journal_at(file) as journal:
        agent = rc.Agent(model, [send_mail], "Be brief.", journal=journal)
        result = asyncio.run(agent.run("Mail Bob.", run="mail-1"))
    assert result.stop.reason == "pending"
    return file


each_kind = pytest.mark.parametrize("mail", KINDS, indirect=True)


@each_kind
def test_runs_are_listed_with_what_tells_them_apart(home, mail):
    ran = run(home, "journal", "list", mail)
    assert (ran.code, ran.err) == (0, "")
    head, first, second = ran.out.splitlines()
    assert head.split() == ["time", "run", "model", "tokens", "stop", "prompt"]
    assert " 1,222 " in first
    assert first.endswith("end     What is the weather in Paris, please, and will it stay that…")
    assert second.split()[2] == "mail-1"
    assert second.endswith("paused  Mail Bob.")
    rows = [json.loads(line) for line in run(home, "journal", "list", mail, "--json").out.splitlines()]
    assert [(row["stop"], row["turns"], row["calls"]) for row in rows] == [
        ("end", 2, 1),
        ("paused", 1, 0),
    ]
    assert rows[0]["at"] < rows[1]["at"]
    assert len(run(home, "journal", "list", mail, "--count", "1").out.splitlines()) == 2


@each_kind
def test_a_run_is_shown_with_its_calls_and_what_became_of_them(home, mail):
    ran = run(home, "journal", "show", mail, "mail-1")
    head, _, *lines = ran.out.splitlines()
    assert head.startswith("run mail-1: 20")
    assert head.endswith("paused")
    assert lines == [
        "system: Be brief.",
        "",
        "user: Mail Bob.",
        "",
        "model (0.0 s): I will.",
        '  -> send_mail {"to":"bob"} [c1]',
        "  <- [c1] no result",
        "",
        "paused, for a decision about c1",
    ]
    with journal_at(mail) as journal:
        first = journal.runs()[0]
    shown = run(home, "journal", "show", mail, first[:8], "--reasoning").out
    assert '  -> get_weather {"city":"Paris"} [' in shown
    assert "] returned in 0.0 s: Sunny in Paris." in shown
    assert "  thought: Hm." in shown
    assert "thought" not in run(home, "journal", "show", mail, first).out


def test_a_run_is_shown_in_order_and_says_where_it_broke_off(home):
    @rc.tool(approval=True, reconcile=lambda key: "sent before")
    def send_mail(to: str) -> str:
        """Send an e-mail."""
        return "sent"

    whole = MemoryJournal()
    model = ScriptedModel([reply(call("send_mail", id="c1", to="bob")), "Done."])
    agent = rc.Agent(model, [send_mail], journal=whole)
    agent.resume_sync(agent.run_sync("Mail Bob.", run="r"), {"c1": True})
    with JsonLinesJournal("runs.jsonl") as journal:
        for entry in whole.entries("r"):
            journal.append("r", entry)
            if isinstance(entry, CallStarted):
                break
    began = [
        '  -> send_mail {"to":"bob"} [c1]',
        "",
        "paused, for a decision about c1",
        "",
        "resumed: c1 allowed",
        "     [c1] allowed by person",
    ]
    unended = "  <- [c1] started, and no result: it still runs, or its process died"
    shown = run(home, "journal", "show", "runs.jsonl", "r").out.splitlines()
    assert shown[5:] == [began[0], unended, *began[1:]]

    with JsonLinesJournal("runs.jsonl") as journal:
        agent = rc.Agent(ScriptedModel(["Done."]), [send_mail], journal=journal)
        assert asyncio.run(agent.recover("r")).text == "Done."
    shown = run(home, "journal", "show", "runs.jsonl", "r").out.splitlines()
    assert shown[5:13] == [
        *began,
        "",
        "broke off while [c1] ran, and was recovered",
    ]
    assert shown[13].startswith("  <- [c1] returned in ")
    assert shown[13].endswith("s: sent before")
    assert shown[14:] == ["", "model (0.0 s): Done."]


@each_kind
def test_a_run_is_gone_through_again_without_model_or_tools(home, mail):
    with journal_at(mail) as journal:
        first = journal.runs()[0]
    (home / "world.py").unlink()
    ran = run(home, "journal", "replay", mail, first)
    assert (ran.code, ran.out, ran.err) == (0, "It is sunny.\n", "4 messages, as recorded: end\n")


@each_kind
@pytest.mark.parametrize(
    ("arguments", "told", "sent"),
    [
        (["--allow", "c1", "--tool", "mail.py", "-m", "mail.py:rest"], "Done.\n", "bob"),
        (["--deny", "c1", "--tool", "mail.py", "-m", "mail.py:rest"], "Done.\n", None),
        (["--yes", "--agent", "mail.py:agent"], "Done, by the agent.\n", "bob"),
        (["--yes", "--agent", "mail:agent"], "Done, by the agent.\n", "bob"),
    ],
    ids=["allow", "deny", "agent", "module"],
)
def test_a_run_that_waits_is_gone_on_with(home, mail, arguments, told, sent):
    ran = run(home, "journal", "resume", mail, "mail-1", "--quiet", *arguments)
    assert (ran.code, ran.out, ran.err) == (0, told, "")
    file = home / "sent.txt"
    assert (file.read_text() if file.exists() else None) == sent
    again = run(home, "journal", "resume", mail, "mail-1", *arguments)
    assert (again.code, again.out) == (2, "")
    assert "run mail-1 has ended" in again.err


@pytest.mark.parametrize("mail", ["runs.sqlite"], indirect=True)
def test_nobody_who_could_decide_is_bad_usage(home, mail):
    told = ["--tool", "mail.py", "-m", "mail.py:rest"]
    ran = run(home, "journal", "resume", mail, "mail-1", *told)
    assert (ran.code, ran.err) == (
        2,
        "rightcall: send_mail waits for a decision: --allow c1 or --deny c1\n",
    )
    ran = run(home, "journal", "resume", mail, "mail-1", *told, "--allow", "c2")
    assert (ran.code, ran.err) == (2, "rightcall: no call 'c2' waits for a decision; there is c1\n")


@pytest.mark.parametrize("mail", ["runs.sqlite"], indirect=True)
def test_on_a_terminal_the_person_is_asked_about_what_waits(home, mail):
    told = ["--tool", "mail.py", "-m", "mail.py:rest"]
    with Terminal(home, "journal", "resume", mail, "mail-1", *told) as terminal:
        terminal.wait_for("The model wants to run send_mail")
        terminal.wait_for("Run it? [y/N/why not] ")
        terminal.send("y\n")
        terminal.wait_for("sent to bob")
        terminal.wait_for("Done.")
        assert terminal.end() == 0
    assert (home / "sent.txt").read_text() == "bob"


def test_a_run_that_was_cut_off_is_gone_on_with(home):
    with Terminal(
        home, *("ask", "--tool", "world.py", "-m", "world.py:stuck", "--journal", "runs.jsonl", "Hm?")
    ) as terminal:
        terminal.wait_for("Sunny in Paris.")
        terminal.wait_for("waiting for the model")
        terminal.interrupt()
        assert terminal.end() == 130
    (home / "rest.py").write_text(
        "from rightcall.testing import ScriptedModel\nmodel = ScriptedModel(['It is sunny.'])\n"
    )
    assert run(home, "journal", "list", "runs.jsonl").out.split()[-2:] == ["off", "Hm?"]
    ran = run(home, "journal", "replay", "runs.jsonl")
    assert ran.code == 1
    assert "does not go on" in ran.err
    told = ["--tool", "world.py", "-m", "rest.py:model", "--quiet"]
    ran = run(home, "journal", "resume", "runs.jsonl", *told)
    assert (ran.code, ran.out, ran.err) == (0, "It is sunny.\n", "")
    assert run(home, "journal", "replay", "runs.jsonl").code == 0


@each_kind
def test_a_run_is_exported(home, mail):
    told = json.loads(run(home, "journal", "export", mail, "mail-1").out)
    assert (told["run"], told["stop"], told["messages"][0]["content"][0]["text"]) == (
        "mail-1",
        "paused",
        "Mail Bob.",
    )
    assert len(json.loads(run(home, "journal", "export", mail, "--all").out)) == 2
    (home / "copy.jsonl").write_text(
        run(home, "journal", "export", mail, "--all", "--format", "jsonl").out
    )
    with journal_at(mail) as original, JsonLinesJournal("copy.jsonl") as copy:
        assert copy.runs() == original.runs()
        assert copy.entries("mail-1") == original.entries("mail-1")
        assert copy.written("mail-1") == original.written("mail-1")
    page = run(home, "journal", "export", mail, "--format", "markdown").out
    assert page.startswith("# Mail Bob.\n\nRun `mail-1`, 20")
    assert '`send_mail` was called with\n\n```json\n{"to":"bob"}\n```\n' in page


def test_a_fence_is_longer_than_any_in_the_text():
    row = row_of("r", (), ())
    shown = "\n".join(
        markdown_of(
            row, (user_text("x"), Reply((rc.Call(id="1", name="t", arguments="````"), Text("y"))))
        )
    )
    assert "`````json\n````\n`````" in shown


def test_what_ask_kept_is_there_without_a_file(home):
    assert run(home, "ask", "--quiet", "-m", "world.py:echo", "Hello").code == 0
    ran = run(home, "journal", "list")
    assert ran.out.splitlines()[1].split()[3] == "world.py:echo"
    assert "model (0.0 s): 1: Hello; " in run(home, "journal", "show").out
    assert run(home, "journal", "replay").code == 0
    assert run(home, "journal", "path").out == f"{home}/.local/state/rightcall/conversations.sqlite\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list"], "there is no journal"),
        (["list", "absent.jsonl"], "there is no journal absent.jsonl"),
        (["show", "world.py", "x"], "world.py is no journal"),
        (["show", "empty.jsonl"], "empty.jsonl holds no runs"),
        (["list", "text.db"], "file is not a database"),
    ],
)
def test_what_cannot_be_read_is_said_and_nothing_is_made(home, arguments, words):
    (home / "empty.jsonl").touch()
    (home / "text.db").write_text("no database, but quite some text " * 100)
    ran = run(home, "journal", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert not (home / "absent.jsonl").exists()


def test_only_what_is_listed_is_read(home):
    with JsonLinesJournal("runs.jsonl") as journal:
        for number in range(50):
            agent = rc.Agent(ScriptedModel(["x"]), journal=journal)
            asyncio.run(agent.run("q", run=f"run-{number}"))
    text = (home / "runs.jsonl").read_text().replace('"messages":1', '"messages":"?"', 1)
    (home / "runs.jsonl").write_text(text)
    listed = run(home, "journal", "list", "runs.jsonl").out.splitlines()
    assert (len(listed), listed[1].split()[2]) == (21, "run-30")
    first = run(home, "journal", "list", "runs.jsonl", "--all").out.splitlines()[1]
    assert first.split()[-1] == "damaged"


NEST = """
import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply


@rc.tool(approval=True)
def order(item: str) -> str:
    "Order an item."
    with open("orders.txt", "a") as file:
        file.write(item + " ")
    return f"{item} is on its way"


def clerk_says(request):
    replies = sum(isinstance(message, rc.Reply) for message in request.messages)
    items = ["tea", "milk"]
    return reply(call("order", id=items[replies], item=items[replies])) if replies < 2 else "Ordered."


clerk = rc.Agent(ScriptedModel(clerk_says), [order], name="clerk")
agent = rc.Agent(ScriptedModel(["Done."]), [clerk.as_tool()])
"""


@pytest.mark.parametrize("file", KINDS)
def test_a_run_that_waits_inside_another_agent_is_resumed_and_shown(home, file):
    (home / "nest.py").write_text(NEST)
    scope = {}
    exec(NEST, scope)
    model = ScriptedModel([reply(call("clerk", task="Tea and milk."))])
    with journal_at(str(home / file)) as journal:
        agent = rc.Agent(model, [scope["clerk"].as_tool()], journal=journal)
        assert asyncio.run(agent.run("Order.", run="shop")).stop.reason == "pending"
    told = ["journal", "resume", file, "--agent", "nest.py:agent"]
    ran = run(home, *told)
    assert (ran.code, "--allow t1.0.clerk/tea" in ran.err) == (2, True)
    ran = run(home, *told, "--allow", "t1.0.clerk/tea")
    assert (ran.code, (home / "orders.txt").read_text()) == (1, "tea ")
    ran = run(home, *told, "--yes")
    assert (ran.code, ran.out, (home / "orders.txt").read_text()) == (0, "Done.\n", "tea milk ")
    shown = run(home, "journal", "show", file).out
    assert "t1.0.clerk |      [milk] allowed by person" in shown


def test_yes_is_said_to_all_that_comes(home):
    (home / "nest.py").write_text(NEST)
    scope = {}
    exec(NEST, scope)
    model = ScriptedModel([reply(call("clerk", task="Tea and milk."))])
    with journal_at(str(home / "runs.sqlite")) as journal:
        agent = rc.Agent(model, [scope["clerk"].as_tool()], journal=journal)
        asyncio.run(agent.run("Order.", run="shop"))
    ran = run(home, "journal", "resume", "runs.sqlite", "--agent", "nest.py:agent", "--yes")
    assert (ran.code, (home / "orders.txt").read_text()) == (0, "tea milk ")


def test_a_programs_run_is_not_gone_on_with_by_some_other_model(home):
    @rc.tool(approval=True)
    def send() -> str:
        """Send it."""
        return "sent"

    with SqliteJournal("runs.db") as journal:
        rc.Agent(ScriptedModel([reply(call("send", id="s"))]), [send], journal=journal).run_sync(
            "Go.", run="r"
        )
    ran = run(home, "journal", "show", "runs.db", "nope")
    assert (ran.code, "no run 'nope'; rightcall journal list runs.db shows them" in ran.err) == (2, True)
    ran = run(home, "journal", "resume", "runs.db", "r", "--yes")
    assert ran.code == 2
    assert "its record does not say how to connect its model" in ran.err
    assert "-m NAME" in ran.err


def test_in_a_narrow_terminal_every_line_of_a_call_that_is_watched_has_its_mark(home, monkeypatch):
    @rc.tool(approval=True)
    def send_mail(to: str) -> str:
        """Send an e-mail."""
        return ""

    model = ScriptedModel([reply(call("send_mail", to="bob " * 40))])
    with journal_at("runs.jsonl") as journal:
        asyncio.run(rc.Agent(model, [send_mail], journal=journal).run("Mail Bob.", run="mail-1"))
    monkeypatch.setenv("COLUMNS", "40")
    _, _, told = run(home, "watch", "runs.jsonl", "mail-1").err.partition("wants to run")
    shown = [line for line in told.splitlines() if "bob bob" in line]
    assert len(shown) > 4
    assert all(line.startswith("  | ") and len(line) <= 40 for line in shown)


def test_what_was_added_to_a_run_is_shown_where_it_was_said_and_where_it_was_read(home):
    inbox = rc.conversation.Inbox()

    @rc.tool
    async def look() -> str:
        """Look."""
        await inbox.say("And the invoice?")
        return "seen"

    with journal_at(str(home / "runs.jsonl")) as journal:
        agent = rc.Agent(ScriptedModel([reply(call("look")), "Both."]), [look], journal=journal)
        asyncio.run(agent.run("The order?", run="r", inbox=inbox))
    shown = run(home, "journal", "show", str(home / "runs.jsonl"), "r").out.splitlines()
    said = shown.index("     added to the run: And the invoice?")
    read = shown.index("user: And the invoice?")
    answer = shown.index(next(line for line in shown if line.startswith("model") and "Both." in line))
    assert said < read < answer
