"""A damaged line troubles the run that it is of; a repair sets that run aside, and nothing else."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rightcall as rc
from effort import often
from rightcall.core.budget import Budget, Stop
from rightcall.core.entry import RequestSent, RunEnded, RunStarted
from rightcall.errors import JournalError
from rightcall.record.jsonl import JsonLinesJournal, check_journal, repair_journal
from rightcall.testing import ScriptedModel, call, reply

START = RunStarted(messages=(), budget=Budget())
END = RunEnded(stop=Stop("end"))


def sent(number: int) -> RequestSent:
    return RequestSent(key=f"t{number}.model", messages=number)


ORDER = [
    ("done", START), ("done", sent(1)), ("done", END),
    ("a", START), ("b", START), ("a", sent(1)), ("b", sent(1)), ("a", sent(2)), ("b", sent(2)),
    ("late", START), ("b", END), ("late", sent(1)), ("a", sent(3)), ("late", END),
]  # fmt: skip
RUNS = ("done", "a", "b", "late")


@pytest.fixture
def path(tmp_path):
    return written(tmp_path / "runs.jsonl")


def written(path):
    path.unlink(missing_ok=True)
    with JsonLinesJournal(path) as journal:
        for run, entry in ORDER:
            journal.append(run, entry)
    # The same bytes every time.
    path.write_bytes(re.sub(rb'"at":[0-9.]+', b'"at":1.5', path.read_bytes()))
    return path


def of(run):
    return tuple(entry for name, entry in ORDER if name == run)


def damage(path, number, data, at=0):
    """Overwrite the bytes of a line, from 1."""
    lines = path.read_bytes().splitlines(keepends=True)
    line = lines[number - 1]
    lines[number - 1] = line[:at] + data + line[at + len(data) :]
    path.write_bytes(b"".join(lines))


def readable(path):
    found = {}
    with JsonLinesJournal(path) as journal:
        for run in RUNS:
            try:
                found[run] = journal.entries(run)
            except JournalError:
                found[run] = None
    return found


def test_a_damaged_line_blocks_only_the_run_that_it_names(path):
    damage(path, 6, b"#", at=20)
    assert readable(path) == {"done": of("done"), "a": None, "b": of("b"), "late": of("late")}
    with JsonLinesJournal(path) as journal:
        assert set(journal.runs()) == set(RUNS)
        journal.append("new", START)
        assert journal.entries("new") == (START,)


def test_a_line_that_may_be_anybodys_blocks_those_that_were_under_way(path):
    damage(path, 6, b"garbage")
    assert readable(path) == {"done": of("done"), "a": None, "b": None, "late": of("late")}


def test_two_lines_that_ran_into_one_are_of_both_runs(path):
    lines = path.read_bytes().splitlines(keepends=True)
    damage(path, 10, b"?", at=len(lines[9]) - 1)
    assert readable(path) == {"done": of("done"), "a": of("a"), "b": None, "late": None}


def test_a_run_whose_start_may_be_what_is_damaged_says_so(path):
    damage(path, 10, b"\0" * 40)
    assert readable(path) == {"done": of("done"), "a": None, "b": None, "late": None}


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=often(150))
@given(st.data())
def test_no_run_is_ever_read_without_an_entry_that_it_had(tmp_path, data):
    path = written(tmp_path / "runs.jsonl")
    whole = path.read_bytes()
    start = data.draw(st.integers(0, len(whole) - 2))
    length = data.draw(st.integers(1, min(400, len(whole) - 1 - start)))
    filler = data.draw(st.sampled_from([b"\0", b"\xff", b"#\0"]))
    path.write_bytes(whole[:start] + (filler * length)[:length] + whole[start + length :])
    found = readable(path)
    assert {run: entries for run, entries in found.items() if entries not in (None, of(run), ())} == {}
    # A run of which nothing is left is nothing that could go on.
    repair_journal(path)
    again = readable(path)
    assert {run: entries for run, entries in again.items() if entries} == {
        run: entries for run, entries in found.items() if entries
    }
    (tmp_path / "runs.jsonl.damaged").unlink(missing_ok=True)


def test_a_check_changes_nothing_and_says_what_is_damaged(path):
    whole = path.read_bytes()
    assert (check_journal(path).damages, check_journal(path).lines, check_journal(path).runs) == (
        (),
        len(ORDER),
        RUNS,
    )
    damage(path, 6, b"garbage")
    damage(path, 12, b"#", at=20)
    before = path.read_bytes()
    report = check_journal(path)
    assert [(each.place.number, each.runs, each.doubted) for each in report.damages] == [
        (6, (), ("a", "b")),
        (12, ("late",), ()),
    ]
    assert report.harmed_runs == ("a", "b", "late")
    assert path.read_bytes() == before != whole


def test_a_repair_keeps_the_bytes_of_damaged_runs_aside_and_moves_nothing_else(path):
    damage(path, 6, b"\xff#", at=20)
    lines = path.read_bytes().splitlines(keepends=True)
    damage(path, 7, b"#", at=20)
    lines = path.read_bytes().splitlines(keepends=True)
    with JsonLinesJournal(path) as opened:
        assert opened.entries("done") == of("done")
        report = repair_journal(path)
        assert (report.runs, report.harmed_runs) == (("done", "late"), ("a", "b"))
        set_aside = [line for line, (run, _) in zip(lines, ORDER, strict=True) if run in "ab"]
        assert report.aside.read_bytes() == b"".join(set_aside)
        assert report.aside.stat().st_mode & 0o777 == 0o600
        opened.append("done", sent(9))
        assert opened.entries("done") == (*of("done"), sent(9))
    assert readable(path) == {"done": (*of("done"), sent(9)), "a": (), "b": (), "late": of("late")}
    assert check_journal(path).damages == ()
    assert repair_journal(path).aside is None


def test_a_second_repair_keeps_what_the_first_one_kept(path):
    damage(path, 6, b"#", at=20)
    first = repair_journal(path).aside.read_bytes()
    damage(path, 12, b"#", at=20)
    assert repair_journal(path).aside.read_bytes().startswith(first)


def test_entries_of_a_newer_rightcall_are_not_damage(path):
    with path.open("a") as file:
        file.write('{"run":"new","at":1,"entry":{"type":"run_dreamt","key":"x"}}\n')
        file.write('{"run":"bad","at":1,"entry":{"type":"request_sent","key":1}}\n')
    report = repair_journal(path)
    assert [each.runs for each in report.foreign] == [("new",)]
    assert (report.harmed_runs, report.runs) == (("bad",), (*RUNS, "new"))


async def test_an_agent_goes_on_with_other_runs(tmp_path):
    path = tmp_path / "runs.jsonl"
    paid = []

    @rc.tool(effect="write")
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    def agent(journal):
        model = ScriptedModel([reply(call("pay", amount=len(paid))), "Done."])
        return rc.Agent(model, tools=[pay], journal=journal)

    with JsonLinesJournal(path) as journal:
        await agent(journal).run("Pay.", run="one")
        await agent(journal).run("Pay.", run="two")
    damage(path, 5, b"\0\0", at=30)
    with JsonLinesJournal(path) as journal:
        assert (await agent(journal).run("Pay.", run="three")).text == "Done."
        assert (await agent(journal).recover("two")).text == "Done."
        with pytest.raises(JournalError):
            await agent(journal).recover("one")
    assert paid == [0, 1, 2]
