"""A journal in a database: its form, and what damage looks like."""

import json
import sqlite3
import threading
import time
from contextlib import closing

import pytest

import rightcall as rc
from rightcall.core.entry import RequestSent
from rightcall.errors import JournalError
from rightcall.record.sqlite import SqliteJournal
from rightcall.record.waits import run_async
from rightcall.testing import ScriptedModel

FIRST = RequestSent(key="t1.model", messages=1)
NEXT = RequestSent(key="t2.model", messages=2)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.sqlite"


def query(path, statement, values=()):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return connection.execute(statement, values).fetchall()


def test_a_row_is_one_entry_in_json(path):
    before = time.time()
    with SqliteJournal(path) as journal:
        journal.append("a", FIRST)
    ((number, run, at, entry),) = query(path, "SELECT id, run, at, entry FROM entries")
    assert (number, run, json.loads(entry)) == (
        1,
        "a",
        {"type": "request_sent", "key": "t1.model", "messages": 1},
    )
    assert before <= at <= time.time()


def test_readers_do_not_wait_for_a_writer(path):
    with SqliteJournal(path) as journal:
        journal.append("a", FIRST)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert journal.entries("a") == (FIRST,)
            other.execute("ROLLBACK")
    assert query(path, "PRAGMA journal_mode") == [("wal",)]


def test_an_entry_that_is_not_known_troubles_only_its_own_run(path):
    with SqliteJournal(path) as journal:
        journal.append("a", FIRST)
        query(
            path, "INSERT INTO entries (run, at, entry) VALUES ('b', 1, ?)", ['{"type": "run_dreamt"}']
        )
        journal.append("a", NEXT)
        assert (journal.runs(), journal.entries("a")) == (("a", "b"), (FIRST, NEXT))
        with pytest.raises(JournalError) as caught:
            journal.entries("b")
    assert (caught.value.where, caught.value.reason) == (
        f"{path}, entry 2",
        "an entry of the kind 'run_dreamt', which this rightcall does not know; is it older?",
    )


def test_a_file_that_is_no_database_is_a_clear_error(path):
    path.write_text("This is a shopping list, and it is long enough not to be taken for an empty file.")
    with pytest.raises(JournalError) as caught:
        SqliteJournal(path)
    assert (caught.value.where, caught.value.reason) == (str(path), "file is not a database")


def test_a_database_of_something_else_is_a_clear_error(path):
    query(path, "CREATE TABLE entries (title TEXT)")
    with pytest.raises(JournalError) as caught:
        SqliteJournal(path)
    assert (caught.value.where, caught.value.reason) == (str(path), "no such column: run")


async def test_the_log_is_carried_over_beside_the_event_loop(path, monkeypatch):
    threads = []

    class Watched(SqliteJournal):
        def _checkpoint(self) -> None:
            threads.append(threading.current_thread())
            super()._checkpoint()

    monkeypatch.setattr("rightcall.record.sqlite._PAGES", 6)
    with Watched(path) as journal:
        for _ in range(4):
            await run_async(journal.appending("r", FIRST))
        assert len(threads) == 2
        assert threading.main_thread() not in threads
        # A copy without the log has it all.
        copy = path.with_name("copy")
        copy.write_bytes(path.read_bytes())
    assert query(copy, "SELECT count(*) FROM entries") == [(4,)]


@pytest.mark.parametrize("damaged", ["x'00ff'", "CAST(x'7bff7d' AS TEXT)", "5"])
def test_a_damaged_row_is_named_and_troubles_its_own_run_alone(tmp_path, damaged):
    path = tmp_path / "runs.sqlite"
    with SqliteJournal(path) as journal:
        for run in ("one", "other"):
            rc.Agent(ScriptedModel(["Hi"]), journal=journal).run_sync("Hello", run=run)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE entries SET entry = {damaged} WHERE id = 2")
        connection.commit()
    with SqliteJournal(path) as journal:
        assert set(journal.runs()) == {"one", "other"}
        with pytest.raises(JournalError, match=r"runs\.sqlite, entry 2: "):
            journal.entries("one")
        assert len(journal.entries("other")) == 4
