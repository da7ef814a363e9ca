"""What every journal promises, asked of each."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import get_args

import pytest

import rightcall as rc
import warm
from record import writer
from record.entries import EVERY_ENTRY
from rightcall.core.entry import Entry, ReplyReceived, RequestSent, StepDone
from rightcall.errors import JournalError, UsageError
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.record.memory import MemoryJournal
from rightcall.record.sqlite import SqliteJournal
from rightcall.testing import ScriptedModel, call, reply

FILES = {"jsonl": JsonLinesJournal, "sqlite": SqliteJournal}
FIRST, SECOND, THIRD = (RequestSent(key=f"t{n}.model", messages=n) for n in (1, 2, 3))


@pytest.fixture(params=["memory", *FILES])
def journal(request, tmp_path):
    if request.param == "memory":
        yield MemoryJournal()
    else:
        with FILES[request.param](tmp_path / "journal") as opened:
            yield opened


@pytest.fixture(params=FILES)
def kind(request):
    return FILES[request.param]


@pytest.fixture
def path(kind, tmp_path):
    return tmp_path / f"journal.{next(name for name in FILES if FILES[name] is kind)}"


@pytest.fixture
def reopen(kind, path):
    """Opens the same file, with as many journals as one likes."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(kind(path, **options))


def start_writer(path: Path, run: str, first: int, count: int) -> subprocess.Popen[str]:
    command = [*warm.python(*warm.AGENT), writer.__file__, str(path), run, str(first), str(count)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def release(process: subprocess.Popen[str]) -> None:
    process.stdin.write("go\n")
    process.stdin.flush()


def finish(process: subprocess.Popen[str]) -> list[int]:
    """The numbers that a writer has appended, once it has ended."""
    with process:
        return [int(line) for line in process.stdout]


def test_entries_come_back_in_order(journal):
    for entry in (SECOND, FIRST, THIRD, FIRST):
        journal.append("a", entry)
    assert tuple(journal.entries("a")) == (SECOND, FIRST, THIRD, FIRST)


def test_there_is_an_example_of_every_entry():
    assert {type(entry) for entry in EVERY_ENTRY} == set(get_args(Entry))


@pytest.mark.parametrize("entry", EVERY_ENTRY, ids=lambda entry: type(entry).__name__)
def test_every_entry_comes_back_whole(journal, entry):
    journal.append("a", entry)
    journal.append("a", entry)
    assert tuple(journal.entries("a")) == (entry, entry)


def test_runs_are_kept_apart_and_listed_oldest_first(journal):
    for run, entry in [("b", FIRST), ("a", SECOND), ("b", THIRD), ("c é\n\"'\\", FIRST), ("", SECOND)]:
        journal.append(run, entry)
    assert tuple(journal.runs()) == ("b", "a", "c é\n\"'\\", "")
    assert {run: tuple(journal.entries(run)) for run in journal.runs()} == {
        "b": (FIRST, THIRD),
        "a": (SECOND,),
        "c é\n\"'\\": (FIRST,),
        "": (SECOND,),
    }


def test_a_run_that_is_not_known_is_empty(journal):
    assert tuple(journal.entries("a")) == ()
    journal.append("b", FIRST)
    assert tuple(journal.entries("a")) == ()
    assert tuple(journal.runs()) == ("b",)


def test_what_was_read_does_not_grow(journal):
    journal.append("a", FIRST)
    before, runs = journal.entries("a"), journal.runs()
    journal.append("a", SECOND)
    journal.append("b", SECOND)
    assert (tuple(before), tuple(runs)) == ((FIRST,), ("a",))
    assert (tuple(journal.entries("a")), tuple(journal.runs())) == ((FIRST, SECOND), ("a", "b"))


def test_threads_that_append_at_once_lose_nothing(journal):
    def work(thread: int) -> None:
        for number in range(50):
            journal.append(f"run {thread % 4}", StepDone(key=f"{thread}.{number}", value="x" * 100))
            if number % 10 == 0:
                list(journal.entries("run 0"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    for run in range(4):
        keys = [entry.key for entry in journal.entries(f"run {run}")]
        for thread in (run, run + 4):
            mine = [key for key in keys if key.startswith(f"{thread}.")]
            assert mine == [f"{thread}.{number}" for number in range(50)]
        assert len(keys) == 100


def test_opening_a_file_again_continues_it(reopen):
    with reopen() as first:
        first.append("a", FIRST)
    with reopen() as second:
        assert second.entries("a") == (FIRST,)
        second.append("a", SECOND)
        second.append("b", THIRD)
    third = reopen()
    assert (third.entries("a"), third.entries("b"), third.runs()) == (
        (FIRST, SECOND),
        (THIRD,),
        ("a", "b"),
    )


def test_two_journals_on_one_file_see_each_others_entries(reopen):
    one, two = reopen(), reopen()
    one.append("a", FIRST)
    assert two.entries("a") == (FIRST,)
    two.append("a", SECOND)
    one.append("b", THIRD)
    assert one.entries("a") == two.entries("a") == (FIRST, SECOND)
    assert one.runs() == two.runs() == ("a", "b")


def test_processes_that_append_at_once_lose_nothing(kind, path):
    writers = [start_writer(path, "same", first, 150) for first in (0, 1000)]
    writers += [start_writer(path, "other", 2000, 150)]
    for process in writers:
        release(process)
    assert [finish(process) for process in writers] == [
        list(range(first, first + 150)) for first in (0, 1000, 2000)
    ]
    with kind(path) as journal:
        same = journal.entries("same")
        for first in (0, 1000):
            mine = [entry for entry in same if first <= int(entry.key[1:]) < first + 150]
            assert mine == [writer.note(number) for number in range(first, first + 150)]
        assert len(same) == 300
        assert journal.entries("other") == tuple(writer.note(n) for n in range(2000, 2150))


def test_a_process_that_is_killed_while_it_writes_loses_nothing_it_was_told_is_written(kind, path):
    written: list[StepDone] = []
    for kept in (5, 40, 90):
        process = start_writer(path, "a", len(written), 1_000_000)
        release(process)
        for _ in range(kept):
            process.stdout.readline()
        process.kill()
        told = kept + len(finish(process))
        with kind(path) as journal:
            entries = journal.entries("a")
            assert entries == tuple(writer.note(number) for number in range(len(entries)))
            # The one being written may be there or not.
            assert len(entries) - len(written) - told in (0, 1)
            journal.append("a", writer.note(len(entries)))
            written = list(journal.entries("a"))
            assert written == [*entries, writer.note(len(entries))]


def test_nobody_else_may_read_the_file(reopen):
    journal = reopen()
    journal.append("a", FIRST)
    modes = {file.name: file.stat().st_mode & 0o777 for file in journal.path.parent.iterdir()}
    assert modes == dict.fromkeys(modes, 0o600)


def test_it_can_wait_for_the_disk(reopen):
    journal = reopen(sync=True)
    journal.append("a", FIRST)
    assert journal.entries("a") == (FIRST,)


def test_secrets_are_redacted_unless_that_is_switched_off(reopen):
    secret = StepDone(key="k", value='{"password": "hunter2"}')
    redacting, exact, own = (
        reopen(),
        reopen(redact=None),
        reopen(redact=lambda plain: {**plain, "key": "j"}),
    )
    for number, journal in enumerate([redacting, exact, own]):
        journal.append(str(number), secret)
    assert [exact.entries(str(number)) for number in range(3)] == [
        (StepDone(key="k", value='{"password": "[redacted]"}'),),
        (secret,),
        (StepDone(key="j", value='{"password": "hunter2"}'),),
    ]


def test_an_entry_that_could_not_be_read_back_is_not_written(reopen):
    journal = reopen(redact=lambda plain: {**plain, "value": 1})
    with pytest.raises(
        JournalError, match="an entry about to be written: a damaged entry of the kind 'step_done'"
    ):
        journal.append("a", StepDone(key="k", value="x"))
    assert journal.entries("a") == ()


def test_half_a_surrogate_pair_comes_back_as_it_was(reopen):
    journal = reopen()
    (entry,) = [each for each in EVERY_ENTRY if isinstance(each, ReplyReceived)]
    odd = (
        StepDone(key="k", value="file-\udcff 😀 \ud83d é"),
        type(entry)(key="\ud800", reply=entry.reply, seconds=1.0, raw=b"\xff\x00"),
    )
    for each in odd:
        journal.append("a", each)
    assert journal.entries("a") == reopen().entries("a") == odd


def test_a_run_that_no_file_can_name_is_refused_in_words(reopen):
    journal = reopen()
    for use in (lambda: journal.append("a\ud800", FIRST), lambda: journal.entries("a\ud800")):
        with pytest.raises(UsageError, match="half of a surrogate pair"):
            use()
    assert journal.runs() == ()


async def test_a_reply_with_half_a_surrogate_pair_is_replayed_as_it_was(reopen):
    @rc.tool(effect="read")
    def read(path: str) -> str:
        """Read."""
        return f"{path} \udcff"

    journal = reopen()
    model = ScriptedModel([reply("odd \ud83d", call("read", path="x")), "naïve → \ud800!"])
    agent = rc.Agent(model, tools=[read], journal=journal)
    result = await agent.run("Go \udcff.", run="r")
    again = await rc.replay(reopen(), "r")
    assert again.transcript == result.transcript
    assert again.text == "naïve → \ud800!"
    with pytest.raises(UsageError, match="half of a surrogate pair"):
        await agent.run("Go.", run="r\ud800")


def test_a_closed_journal_says_so(reopen):
    journal = reopen()
    journal.close()
    journal.close()
    for use in (lambda: journal.append("a", FIRST), lambda: journal.entries("a"), journal.runs):
        with pytest.raises(UsageError, match=r"the journal .* is closed"):
            use()


def test_a_file_that_cannot_be_opened_is_a_clear_error(kind, tmp_path):
    with pytest.raises(JournalError) as caught:
        kind(tmp_path / "missing" / "journal")
    assert (caught.value.where, caught.value.reason) == (
        str(tmp_path / "missing" / "journal"),
        "No such file or directory",
    )
