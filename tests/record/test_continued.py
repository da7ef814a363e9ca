"""Conversations of many runs: each history is kept once, and every run is read whole."""

import json
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rightcall as rc
from rightcall.core.budget import Budget
from rightcall.core.entry import RequestSent, RunStarted
from rightcall.core.message import Reply, user_text
from rightcall.core.parts import Text
from rightcall.errors import JournalError
from rightcall.record import jsonl
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.record.memory import MemoryJournal
from rightcall.record.sqlite import SqliteJournal
from rightcall.testing import ScriptedModel, call, reply

KINDS = [JsonLinesJournal, SqliteJournal]
every = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs"


def start(*messages) -> RunStarted:
    return RunStarted(messages=messages, budget=Budget())


def exchange(number: int, name: str = "run") -> tuple:
    return user_text(f"question {number} of {name}"), Reply((Text(f"answer {number} " + "x" * 200),))


def talk(journal, turns: int, *, name: str = "run") -> list[RunStarted]:
    """As many runs as turns, each with everything before it."""
    history: tuple = ()
    starts = []
    for number in range(turns):
        question, answer = exchange(number, name)
        starts.append(start(*history, question))
        journal.append(f"{name}{number}", starts[-1])
        journal.append(f"{name}{number}", RequestSent(key="t1.model", messages=number))
        history = (*history, question, answer)
    return starts


def starts_in(journal, name: str = "run") -> list[RunStarted]:
    return [journal.entries(run)[0] for run in journal.runs() if run.startswith(name)]


def size(path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        try:
            return connection.execute("SELECT sum(length(entry)) FROM entries").fetchone()[0]
        except sqlite3.DatabaseError:
            return path.stat().st_size


@every
def test_every_run_is_read_whole_and_the_journal_grows_with_the_conversation(kind, path):
    sizes = {}
    for turns in (50, 200):
        file = path.with_suffix(f".{turns}")
        with kind(file) as journal:
            starts = talk(journal, turns)
            assert starts_in(journal) == starts
        with kind(file) as journal:
            assert starts_in(journal) == starts
            assert [type(entry) for entry in journal.entries("run7")] == [RunStarted, RequestSent]
        sizes[turns] = size(file)
    assert sizes[200] < 4.2 * sizes[50]


@every
def test_another_process_goes_on_from_what_is_there(kind, path):
    with kind(path) as journal:
        before = talk(journal, 20)
    grown = size(path)
    messages = (*before[-1].messages, *exchange(99)[1:], user_text("more"))
    with kind(path) as journal:
        journal.append("next", start(*messages))
        assert journal.entries("next") == (start(*messages),)
    assert size(path) - grown < 2000


@every
def test_a_history_that_is_another_is_not_taken_for_it(kind, path):
    with kind(path) as journal:
        (*_, last) = talk(journal, 5)
        changed = list(last.messages)
        changed[2] = user_text("question 1?")
        journal.append("other", start(*changed, *exchange(5)))
        assert journal.entries("other")[0].messages == (*changed, *exchange(5))


@every
def test_a_run_that_was_asked_again_and_one_that_branches_off_are_whole(kind, path):
    with kind(path) as journal:
        starts = talk(journal, 6)
        branch = start(*starts[3].messages, Reply((Text("no"),)), user_text("why?"))
        journal.append("again", starts[5])
        journal.append("branch", branch)
        assert (journal.entries("again"), journal.entries("branch")) == ((starts[5],), (branch,))


words = st.sampled_from(["a", "b", "sk-live-0123456789abcdefghijkl", "\ud800", ""])
messages = st.one_of(words.map(user_text), words.map(lambda word: Reply((Text(word),))))


@every
@given(data=st.data())
def test_whatever_is_said_is_read_as_it_would_be_from_memory(kind, data, tmp_path_factory):
    said_so_far: list[tuple] = [()]
    plain = MemoryJournal()
    with kind(tmp_path_factory.mktemp("journal") / "runs", redact=None) as journal:
        for number in range(data.draw(st.integers(1, 6))):
            before = data.draw(st.sampled_from(said_so_far))
            more = tuple(data.draw(st.lists(messages, max_size=4)))
            entry = start(*before, *more, user_text(data.draw(words)))
            said_so_far.append(entry.messages)
            for each in (journal, plain):
                each.append(f"run{number}", entry)
        for run in plain.runs():
            assert journal.entries(run) == tuple(plain.entries(run))


@every
def test_secrets_in_a_history_are_redacted_once_and_for_all(kind, path):
    secret = "sk-proj-" + "A1b2C3d4" * 6
    history = (user_text(f"my key is {secret}"), Reply((Text("noted"),)), user_text("and?"))
    with kind(path) as journal:
        journal.append("a", start(*history[:1]))
        journal.append("b", start(*history))
        journal.append("c", start(*history, Reply((Text("so"),)), user_text("more")))
        assert secret not in str(journal.entries("c"))
        assert len(journal.entries("c")[0].messages) == 5
    assert secret.encode() not in path.read_bytes()


def test_a_run_whose_history_is_gone_says_so_and_troubles_no_other(path):
    with SqliteJournal(path) as journal:
        talk(journal, 4)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM entries WHERE run = 'run2'")
    with SqliteJournal(path) as journal:
        with pytest.raises(JournalError, match="its history is that of the run 'run2'"):
            journal.entries("run3")
        assert len(journal.entries("run1")) == 2


def test_an_older_reader_refuses_what_it_could_not_read_whole(path):
    with JsonLinesJournal(path) as journal:
        talk(journal, 3)
    entries = [json.loads(line)["entry"] for line in path.read_text().splitlines()]
    starts = [entry for entry in entries if entry["type"] == "run_started"]
    assert [("after" in each, each.get("version", 1)) for each in starts] == [
        (False, 1),
        (False, 1),
        (True, 2),
    ]


def test_trimming_keeps_what_a_run_that_stays_goes_on_from(path):
    with SqliteJournal(path) as journal:
        talk(journal, 8, name="old")
        starts = talk(journal, 8)
        journal.trim(runs=4, size=10**9)
        assert [run for run in journal.runs() if run.startswith("old")] == []
        assert starts_in(journal)[-3:] == starts[-3:]


def test_a_history_that_is_forgotten_while_it_is_named_is_written_whole(path, monkeypatch):
    with SqliteJournal(path) as journal:
        (*_, last) = talk(journal, 4)
        found = journal._started_with

        def late(digests):
            named = found(digests)
            if named is not None:
                journal._execute("DELETE FROM entries WHERE run = ?", (named[0],))
            return named

        monkeypatch.setattr(journal, "_started_with", late)
        entry = start(*last.messages, *exchange(4)[1:], user_text("more"))
        journal.append("next", entry)
        assert journal.entries("next") == (entry,)
        held = journal.hold("held")
        held.append(entry)
        held.release()
        assert journal.entries("held") == (entry,)


def test_repairing_sets_aside_what_cannot_be_read_without_the_damaged_run(path):
    with JsonLinesJournal(path) as journal:
        talk(journal, 4)
        others = talk(journal, 3, name="other")
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = next(n for n, line in enumerate(lines) if b'"run2"' in line and b"run_started" in line)
    lines[damaged] = lines[damaged].replace(b'"messages":[', b'"messages":{', 1)
    path.write_bytes(b"".join(lines))
    assert set(jsonl.check_journal(path).harmed_runs) == {"run2", "run3"}
    jsonl.repair_journal(path)
    with JsonLinesJournal(path) as journal:
        assert journal.runs() == ("run0", "run1", "other0", "other1", "other2")
        assert starts_in(journal, "other") == others


@every
async def test_a_run_of_a_long_conversation_is_recovered_as_it_was(kind, path):
    @rc.tool(effect="read")
    def look() -> str:
        """Look."""
        return "seen"

    with kind(path) as journal:
        history: tuple = ()
        for number in range(6):
            model = ScriptedModel([reply(call("look")), f"answer {number}"])
            agent = rc.Agent(model, [look], journal=journal)
            result = await agent.run(f"question {number}", history=history, run=f"run{number}")
            history = result.transcript
        again = await rc.Agent(ScriptedModel([]), [look], journal=journal).recover("run5")
        assert again.transcript == result.transcript
        replayed = await rc.replay(journal, "run5")
        assert replayed.transcript == result.transcript
