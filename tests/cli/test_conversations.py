"""What was said, kept from one command to the next."""

import stat

import pytest

from cli.kit import Ran, within
from rightcall.cli import conversations
from rightcall.cli.conversations import ConversationRecorder, conversations_file, earlier_conversation
from rightcall.core.budget import Budget, Stop
from rightcall.core.entry import CallFinished, ReplyReceived, RunEnded, RunStarted
from rightcall.core.message import Reply, Results, user_text
from rightcall.core.parts import Call, Result, Text
from rightcall.errors import UsageError
from rightcall.record.sqlite import SqliteJournal

LOOK = Call(id="1", name="look", arguments="{}")
SEEN = Result(call_id="1", name="look", outcome="returned", content=(Text("a cat"),))


def ask(home, *arguments: str) -> Ran:
    return within(home, "ask", "--quiet", *arguments)


def words(ran: Ran) -> str:
    assert ran.err == ""
    return ran.out.partition(";")[0]


def test_the_last_conversation_is_gone_on_with_by_its_model_and_system(home):
    assert words(ask(home, "-m", "world.py:echo", "-s", "Be kind.", "first")) == "1: first"
    second = ask(home, "-c", "second")
    assert second.out.startswith("3: first | second; Be kind.; ")
    # Another conversation, and then the earlier one by its id.
    assert words(ask(home, "-m", "world.py:echo", "other")) == "1: other"
    assert words(ask(home, "-c", "more")) == "3: other | more"
    with SqliteJournal(home / ".local/state/rightcall/conversations.sqlite") as journal:
        runs = journal.runs()
    assert words(ask(home, "--cid", runs[1][:12], "third")) == "5: first | second | third"
    assert stat.S_IMODE((home / ".local/state/rightcall/conversations.sqlite").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [(["-n"], {}), ([], {"RIGHTCALL_NO_LOG": "1"}), (["off"], {})],
    ids=["option", "variable", "setting"],
)
def test_nothing_is_kept_where_nothing_is_to_be(home, arguments, extra, monkeypatch):
    for name, value in extra.items():
        monkeypatch.setenv(name, value)
    if arguments == ["off"]:
        assert within(home, "journal", "off").code == 0
        arguments = []
    assert ask(home, "-m", "world.py:echo", *arguments, "first").code == 0
    assert not (home / ".local/state/rightcall/conversations.sqlite").exists()
    ran = ask(home, "-c", "second")
    assert (ran.code, ran.err) == (
        2,
        "rightcall: there is no conversation to continue: none is stored yet\n",
    )


def test_a_conversation_that_is_not_there_is_said(home):
    assert ask(home, "-m", "world.py:echo", "first").code == 0
    ran = ask(home, "--cid", "nosuch", "second")
    assert (ran.code, ran.err.partition(";")[0]) == (2, "rightcall: there is no run 'nosuch'")


def test_a_question_that_nothing_came_of_is_not_gone_on_with(home):
    told = ["-m", "world.py:failing"]
    assert words(ask(home, *told, "first")) == "1: first"
    assert ask(home, "-c", "please fail").code == 1
    assert words(ask(home, "-c", "second")) == "3: first | second"


def test_files_are_gone_on_with(home):
    (home / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n....")
    assert ask(home, "-m", "world.py:echo", "-a", "photo.png", "first").code == 0
    assert words(ask(home, "-c", "second")) == "3: first | second"
    assert earlier_conversation(None).messages[0].content[0].data.startswith(b"\x89PNG")


def test_a_place_that_cannot_be_written_is_no_reason_not_to_talk(home):
    (home / ".local").write_text("in the way")
    ran = ask(home, "-m", "world.py:echo", "first")
    assert (ran.code, ran.out.partition(";")[0]) == (0, "1: first")
    assert ran.err.count("this conversation is not kept") == 1


def test_a_run_that_was_cut_off_is_gone_on_with_as_far_as_it_came(home):
    keeping = ConversationRecorder("world.py:echo")
    keeping("cut", RunStarted(messages=(user_text("Look."),), budget=Budget()))
    keeping("cut", ReplyReceived(key="t1.model", reply=Reply((LOOK,), "calls"), seconds=0.1))
    keeping("cut", CallFinished(key="t1.0.look", result=SEEN))
    keeping.close()
    found = earlier_conversation(None)
    assert (found.run, found.model) == ("cut", "world.py:echo")
    assert found.messages == (user_text("Look."), Reply((LOOK,), "calls"), Results((SEEN,)))


def test_the_oldest_are_forgotten(home, monkeypatch):
    monkeypatch.setattr(conversations, "MOST_RUNS", 8)
    for number in range(12):
        keeping = ConversationRecorder("m")
        keeping(f"run-{number}", RunStarted(messages=(user_text("x"),), budget=Budget()))
        keeping(f"run-{number}", RunEnded(stop=Stop("end")))
        keeping.close()
    with SqliteJournal(conversations_file()) as journal:
        runs = journal.runs()
    assert len(runs) <= 8
    assert runs[-1] == "run-11"
    assert "run-0" not in runs


def test_too_many_bytes_are_forgotten_but_never_the_last_run(tmp_path):
    with SqliteJournal(tmp_path / "j.sqlite") as journal:
        for number in range(10):
            message = user_text("x" * 100_000)
            journal.append(f"run-{number}", RunStarted(messages=(message,), budget=Budget()))
        journal.trim(runs=100, size=400_000)
        assert journal.runs() == ("run-8", "run-9")
        journal.trim(runs=100, size=1)
        assert journal.runs() == ("run-9",)


def test_without_any_there_is_nothing_to_go_on_with(home):
    with pytest.raises(UsageError, match="none is stored yet"):
        earlier_conversation(None)
