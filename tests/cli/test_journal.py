"""Damage in journals, from the command line."""

import sqlite3
from contextlib import closing

from cli.kit import run
from rightcall.core.entry import RequestSent
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.record.sqlite import SqliteJournal


def damaged(home):
    path = home / "runs.jsonl"
    with JsonLinesJournal(path) as journal:
        for name in ("a", "b"):
            journal.append(name, RequestSent(key="t1.model", messages=1))
    path.write_bytes(path.read_bytes().replace(b'"entry"', b'"entry#', 1))
    return path


def test_a_sound_journal_has_nothing_wrong(home):
    with JsonLinesJournal(home / "runs.jsonl") as journal:
        journal.append("a", RequestSent(key="t1.model", messages=1))
    ran = run(home, "journal", "check", "runs.jsonl")
    assert (ran.code, ran.out, ran.err) == (0, "runs.jsonl: 1 line, 1 run, nothing damaged\n", "")


def test_damage_is_named_and_set_aside(home):
    path = damaged(home)
    ran = run(home, "journal", "check", "runs.jsonl")
    assert (ran.code, ran.err) == (1, "")
    first, last = ran.out.splitlines()
    assert first.startswith("runs.jsonl:1: error: the line is damaged: ")
    assert first.endswith(" (run 'a')")
    assert last == "runs.jsonl: 2 lines, 2 runs; cannot be read: 'a'"
    line = path.read_bytes().splitlines(keepends=True)[0]
    ran = run(home, "journal", "repair", "runs.jsonl")
    assert (ran.code, ran.out.splitlines()[-1]) == (
        0,
        "runs.jsonl: 1 run left; in runs.jsonl.damaged: 'a'",
    )
    assert (home / "runs.jsonl.damaged").read_bytes() == line
    assert run(home, "journal", "check", "runs.jsonl").code == 0


def test_a_file_that_is_not_there_or_not_of_lines_is_bad_usage(home):
    for file, words in (("no.jsonl", "No such file or directory"), ("x.sqlite", "PRAGMA quick_check")):
        ran = run(home, "journal", "check", file)
        assert (ran.code, ran.out) == (2, "")
        assert words in ran.err


def test_a_check_is_advised_only_where_there_is_one(home):
    damaged(home)
    with SqliteJournal(home / "runs.sqlite") as journal:
        journal.append("a", RequestSent(key="t1.model", messages=1))
    with closing(sqlite3.connect(home / "runs.sqlite")) as connection:
        connection.execute("UPDATE entries SET entry = '{'")
        connection.commit()
    lines, table = [run(home, "journal", "show", f"runs.{end}", "a").err for end in ("jsonl", "sqlite")]
    assert "line 1: " in lines
    assert lines.endswith("; rightcall journal check says more\n")
    assert "entry 1: " in table
    assert "check" not in table
