"""A journal of lines: its form, what a killed process leaves, and what damage looks like."""

import json
import os
import pickle
import time
from pathlib import Path

import pytest

from rightcall.core.entry import RequestSent, StepDone
from rightcall.errors import JournalError
from rightcall.record.jsonl import JsonLinesJournal

FIRST = RequestSent(key="t1.model", messages=1)
LAST = StepDone(key="t2.sümmary", value='é✓😀 "quoted"\n')
NEXT = RequestSent(key="t3.model", messages=3)
INVALID_UTF_8 = "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"
AFTER = RequestSent(key="t4.model", messages=4)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.jsonl"


def write(path, *entries, run="a"):
    with JsonLinesJournal(path) as journal:
        for entry in entries:
            journal.append(run, entry)


def read(path, run="a"):
    with JsonLinesJournal(path) as journal:
        return journal.entries(run)


def test_a_line_is_one_json_object(path):
    before = time.time()
    write(path, FIRST, LAST)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    times = [line["at"] for line in lines]
    assert lines == [
        {
            "run": "a",
            "at": times[0],
            "entry": {"type": "request_sent", "key": "t1.model", "messages": 1},
        },
        {
            "run": "a",
            "at": times[1],
            "entry": {"type": "step_done", "key": LAST.key, "value": LAST.value},
        },
    ]
    assert before <= times[0] <= times[1] <= time.time()


def test_a_line_that_was_torn_at_any_byte_is_ignored_and_the_next_one_is_whole(path):
    write(path, FIRST, LAST)
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1
    for place in range(start, len(whole)):
        path.write_bytes(whole[:place])
        assert read(path) == (FIRST,)
        with JsonLinesJournal(path) as journal:
            journal.append("a", NEXT)
            journal.append("a", AFTER)
            assert journal.entries("a") == (FIRST, NEXT, AFTER)
        assert read(path) == (FIRST, NEXT, AFTER)
        assert path.read_bytes().startswith(whole[:place])


def test_a_torn_line_may_be_followed_by_another(path):
    write(path, FIRST, LAST)
    path.write_bytes(path.read_bytes()[:-9])
    torn = path.stat().st_size
    write(path, NEXT)
    mended = path.read_bytes()
    for place in range(torn, len(mended)):
        path.write_bytes(mended[:place])
        write(path, AFTER)
        assert read(path) == (FIRST, AFTER)


def test_a_journal_that_is_open_mends_what_another_process_tore(path):
    with JsonLinesJournal(path) as journal:
        journal.append("a", FIRST)
        with path.open("ab") as other:
            other.write(b'{"run":"a","at":1.0,"entry":{"type":"step_d')
        assert journal.entries("a") == (FIRST,)
        journal.append("a", NEXT)
        assert journal.entries("a") == (FIRST, NEXT)


def test_the_first_line_may_be_torn(path):
    path.write_bytes(b'{"run')
    with JsonLinesJournal(path) as journal:
        assert (journal.runs(), journal.entries("a")) == ((), ())
        journal.append("a", FIRST)
        assert (journal.runs(), journal.entries("a")) == (("a",), (FIRST,))


def test_empty_lines_are_nothing(path):
    write(path, FIRST)
    path.write_bytes(b"\n" + path.read_bytes() + b"\n \r\n")
    write(path, NEXT)
    assert read(path) == (FIRST, NEXT)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"garbage", "the line is damaged: JSON is malformed: invalid character (byte 0)"),
        (b'{"run":"a","at":1.0,"entry":{"type":', "the line is damaged: Input data was truncated"),
        (b'{"at":1.0,"entry":{}}', "the line is damaged: Object missing required field `run`"),
        (b"\x00\x00\x00", "the line is damaged: JSON is malformed: invalid character (byte 0)"),
        (
            b'{"run":"\xff","at":1.0,"entry":{}}',
            "the line is damaged: " + INVALID_UTF_8,
        ),
    ],
)
def test_a_damaged_line_is_named(path, line, reason):
    write(path, FIRST)
    path.write_bytes(path.read_bytes() + line + b"\n")
    write(path, NEXT)
    is_named = line.startswith(b'{"run":"a"')
    words = reason if is_named else f"this may be a line of run 'a'; {reason}"
    with JsonLinesJournal(path) as journal:
        assert journal.runs() == ("a",)
        for _ in range(2):
            with pytest.raises(JournalError) as caught:
                journal.entries("a")
            assert (caught.value.where, caught.value.reason) == (f"{path}, line 2", words)
            assert str(caught.value) == f"{path}, line 2: {words}"


def test_the_error_survives_pickling(path):
    error = pickle.loads(pickle.dumps(JournalError("here, line 2", "no")))
    assert (error.where, error.reason, error.code, str(error)) == (
        "here, line 2",
        "no",
        "journal",
        "here, line 2: no",
    )


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (
            {"type": "run_dreamt", "key": "x"},
            "an entry of the kind 'run_dreamt', which this rightcall does not know; is it older?",
        ),
        (
            {"type": "run_started", "messages": [], "budget": {}, "version": 3},
            "a record of version 3; this rightcall reads up to version 2",
        ),
        (
            {"type": "run_started", "version": 3, "somehow": "else"},
            "a record of version 3; this rightcall reads up to version 2",
        ),
        (
            {"type": "request_sent", "key": 1},
            "a damaged entry of the kind 'request_sent': Expected `str`, got `int` - at `$.key`",
        ),
        (["no", "entry"], "this is not an entry: Expected `object`, got `array`"),
    ],
)
def test_an_entry_that_is_not_known_troubles_only_its_own_run(path, entry, reason):
    write(path, FIRST)
    with path.open("a") as file:
        file.write(json.dumps({"run": "b", "at": 1, "entry": entry}) + "\n")
    write(path, NEXT)
    with JsonLinesJournal(path) as journal:
        assert (journal.runs(), journal.entries("a")) == (("a", "b"), (FIRST, NEXT))
        with pytest.raises(JournalError) as caught:
            journal.entries("b")
    assert (caught.value.where, caught.value.reason) == (f"{path}, line 2", reason)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux's list of open files")
def test_an_entry_that_is_not_known_leaves_no_file_open(path):
    write(path, FIRST)
    with path.open("a") as file:
        file.write(json.dumps({"run": "b", "at": 1, "entry": {"type": "run_dreamt"}}) + "\n")
    journal = JsonLinesJournal(path)
    with pytest.raises(JournalError) as caught:
        journal.entries("b")
    journal.close()
    # The error is held, and with it the frames that it passed through.
    assert caught.value.reason
    opened = [os.path.realpath(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd")]  # noqa: PTH208
    assert str(path.resolve()) not in opened


def test_lines_of_other_runs_are_not_read_again(path):
    with JsonLinesJournal(path) as journal:
        for number in range(3):
            journal.append("other", RequestSent(key="secretive", messages=number))
        journal.append("a", FIRST)
        assert journal.entries("a") == (FIRST,)
        # What stands there now is not even JSON, and nobody notices.
        path.write_bytes(path.read_bytes().replace(b'{"run":"other"', b"this is ruined"))
        journal.append("a", NEXT)
        assert (journal.entries("a"), journal.runs()) == ((FIRST, NEXT), ("other", "a"))
        with pytest.raises(JournalError, match=r"line 1: the line is damaged"):
            journal.entries("other")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_a_full_disk_is_a_clear_error():
    with JsonLinesJournal("/dev/full") as journal, pytest.raises(JournalError) as caught:
        journal.append("a", FIRST)
    assert (caught.value.where, caught.value.reason) == ("/dev/full", "No space left on device")
