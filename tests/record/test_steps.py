"""Effects through a journal: each is done once, and what was recorded can be told of any run."""

import asyncio
import logging
from collections.abc import Sequence

import pytest

import rightcall as rc
from rightcall.core.budget import Budget, Stop
from rightcall.core.decision import NOT_RECORDED, Allow, Answer, Deny, Rewrite
from rightcall.core.entry import (
    CallChecked,
    CallDecided,
    CallDropped,
    CallFinished,
    CallStarted,
    Entry,
    HookAnswered,
    Nested,
    ReplyReceived,
    RequestSent,
    RunEnded,
    RunFailed,
    RunPaused,
    RunResumed,
    RunStarted,
    StepDone,
)
from rightcall.core.message import Reply, user_text
from rightcall.core.parts import Call, Result
from rightcall.core.secret_formats import REDACTED
from rightcall.errors import RunHeld, UsageError
from rightcall.record import steps as record_steps
from rightcall.record.memory import MemoryJournal
from rightcall.record.steps import (
    Holding,
    JournalSteps,
    UnrecordedSteps,
    WatchedSteps,
    append,
    decisions_in,
    entries_of,
    fork,
    recorded_entry,
    redacted_calls,
    showing,
    stop_of,
    traces_in,
    unfold_entries,
)

DONE = StepDone(key="k", value="v")
RESULT = Result(call_id="c", name="look", outcome="returned", content=())
STARTED = RunStarted(messages=(user_text("Go."),), budget=Budget(), trace="aa")
ENDED = RunEnded(stop=Stop("end"))


def inside(entry: Entry, path: str = "t1.0.helper") -> Nested:
    return Nested(path=path, agent="helper", entry=entry)


class Body:
    """An effect that says how often it was done."""

    def __init__(self, entry: Entry = DONE) -> None:
        self.entry = entry
        self.times = 0

    async def __call__(self) -> Entry:
        self.times += 1
        return self.entry


async def test_a_step_is_done_once_and_then_remembered():
    journal, body = MemoryJournal(), Body()
    steps = JournalSteps(journal, "r")
    assert steps.recorded("k") is None
    assert await steps.step("k", body) is DONE
    again = JournalSteps(journal, "r", journal.entries("r"))
    assert await again.step("k", body) == DONE
    assert (body.times, list(journal.entries("r"))) == (1, [DONE])
    assert recorded_entry(again, "k") == DONE
    assert recorded_entry(again, "other") is None
    assert recorded_entry(UnrecordedSteps(), "k") is None


NOTES = {
    "t1.sent": RequestSent(key="t1", messages=1),
    "t1.0.checked": CallChecked(key="t1.0", call_id="c"),
    "t1.0.decided": CallDecided(key="t1.0", call_id="c", decision=Allow(), by="policy"),
    "t1.0.started": CallStarted(key="t1.0", call_id="c"),
    "t1.0.dropped": CallDropped(key="t1.0", call=Call(id="c", name="look"), result=RESULT, seconds=1.0),
    "t1.paused": RunPaused(key="t1.paused", call_ids=("c",)),
    "run.started": STARTED,
    "run.ended": ENDED,
}


@pytest.mark.parametrize("key", NOTES)
async def test_a_note_is_written_once_here_and_in_the_next_process(key):
    journal = MemoryJournal()
    steps = JournalSteps(journal, "r")
    assert await steps.note(key, NOTES[key]) is True
    assert await steps.note(key, NOTES[key]) is False
    again = JournalSteps(journal, "r", journal.entries("r"))
    assert await again.note(key, NOTES[key]) is False
    assert await again.note(f"{key}.other", DONE) is True
    assert list(journal.entries("r")) == [NOTES[key], DONE]
    inner = JournalSteps(journal, "r", [inside(inside(NOTES[key], "t1.0.program"))])
    assert await inner.note(f"t1.0.helper/t1.0.program/{key}", DONE) is False
    assert await inner.note(key, NOTES[key]) is True


@pytest.mark.parametrize(
    "entry",
    [
        ReplyReceived(key="k", reply=Reply(()), seconds=1.0),
        CallFinished(key="k", result=RESULT),
        DONE,
        HookAnswered(key="k.before_tool", hook="before_tool"),
    ],
)
async def test_what_was_done_inside_another_call_is_remembered_under_its_path(entry):
    body = Body()
    steps = JournalSteps(MemoryJournal(), "r", [inside(entry)])
    assert await steps.step(f"t1.0.helper/{entry.key}", body) == inside(entry)
    assert body.times == 0
    assert await steps.step(entry.key, body) == DONE


def test_the_end_of_a_run_can_be_looked_up():
    assert JournalSteps(MemoryJournal(), "r", [ENDED]).recorded("run.ended") == ENDED


def test_a_call_was_started_if_its_start_is_there_and_its_end_is_not():
    start = CallStarted(key="t1.0", call_id="c")
    end = CallFinished(key="t1.0", result=RESULT)
    assert JournalSteps(MemoryJournal(), "r", [start]).was_started("t1.0")
    assert not JournalSteps(MemoryJournal(), "r", [start]).was_started("t1.1")
    assert not JournalSteps(MemoryJournal(), "r", [start, end]).was_started("t1.0")
    assert not JournalSteps(MemoryJournal(), "r", [end]).was_started("t1.0")
    assert UnrecordedSteps().was_started("t1.0") is False


class Failing(MemoryJournal):
    """A journal whose disk is full for a while."""

    is_full = True

    def append(self, run: str, entry: Entry) -> None:
        if self.is_full:
            raise OSError("no space left")
        super().append(run, entry)


async def test_a_note_that_could_not_be_written_can_be_written_later():
    journal = Failing()
    steps = JournalSteps(journal, "r")
    with pytest.raises(OSError, match="no space"):
        await steps.note("t1.paused", DONE)
    with pytest.raises(OSError, match="no space"):
        await steps.step("k", Body())
    journal.is_full = False
    assert await steps.note("t1.paused", DONE) is True
    assert list(journal.entries("r")) == [DONE]


async def test_without_a_record_everything_happens_each_time():
    body = Body()
    steps = UnrecordedSteps()
    assert await steps.step("k", body) is DONE
    assert await steps.step("k", body) is DONE
    assert (body.times, await steps.note("n", DONE), await steps.note("n", DONE)) == (2, True, True)


async def test_many_remembered_steps_leave_others_a_turn(monkeypatch):
    monkeypatch.setattr(record_steps, "_TURN", 0.0)
    steps = JournalSteps(MemoryJournal(), "r", [DONE])
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    others = asyncio.create_task(count())
    for _ in range(50):
        await steps.step("k", Body())
    others.cancel()
    assert turns > 10


async def test_who_watches_sees_what_happens_and_not_what_is_remembered():
    seen: list[Entry] = []
    inner = JournalSteps(MemoryJournal(), "r", [StepDone(key="old", value="x")])
    steps = WatchedSteps(inner, seen.append)
    await steps.step("old", Body())
    assert seen == []
    assert await steps.step("k", Body()) is DONE
    note = CallStarted(key="t1.0", call_id="c")
    assert await steps.note("t1.0.started", note) is True
    assert await steps.note("t1.0.started", note) is False
    assert seen == [DONE, note]
    assert steps.recorded("old") == StepDone(key="old", value="x")
    assert steps.recorded("no") is None
    assert steps.was_started("t1.0")
    assert not steps.was_started("t1.1")


def test_an_observer_that_fails_hides_nothing_from_others_and_is_logged_once(caplog):
    seen: list[tuple[str, Entry]] = []

    def cancelled(*_: object) -> None:
        raise asyncio.CancelledError

    def broken(*_: object) -> None:
        raise ValueError("my own fault")

    show = showing([broken, cancelled, lambda *each: seen.append(each)], "r")
    with caplog.at_level(logging.ERROR):
        show(DONE)
        show(ENDED)
    assert seen == [("r", DONE), ("r", ENDED)]
    assert [record.getMessage() for record in caplog.records] == ["an observer of run r failed"] * 2


def test_an_observer_that_ends_the_program_does():
    def leave(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        showing([leave], "r")(DONE)


class Remote:
    """A journal of a user's own, whose methods are async, as a database's are."""

    def __init__(self) -> None:
        self.inner = MemoryJournal()

    async def append(self, run: str, entry: Entry) -> None:
        await asyncio.sleep(0)
        self.inner.append(run, entry)

    async def entries(self, run: str) -> Sequence[Entry]:
        await asyncio.sleep(0)
        return list(self.inner.entries(run))


@pytest.mark.parametrize("journal", [MemoryJournal(), Remote()], ids=["memory", "remote"])
async def test_journals_of_all_kinds_are_written_and_read(journal):
    await append(journal, "r", DONE)
    assert await entries_of(journal, "r") == (DONE,)
    async with Holding(journal, "r") as held:
        assert tuple(held.entries) == (DONE,)
        steps = held.steps()
        body = Body()
        await steps.step("k", body)
        assert body.times == 0
        await steps.note("n", ENDED)
    assert await entries_of(journal, "r") == (DONE, ENDED)


async def test_a_path_is_no_journal(tmp_path):
    with pytest.raises(UsageError, match=r"a path is no journal: rc.record.JsonLinesJournal\('runs'\)"):
        await entries_of("runs", "r")
    with pytest.raises(UsageError, match="a path is no journal"):
        await entries_of(tmp_path, "r")


async def test_without_a_journal_nothing_is_held():
    async with Holding(None, "r") as held:
        assert tuple(held.entries) == ()
        assert isinstance(held.steps(), UnrecordedSteps)


class Lent:
    """A journal of a user's own that gives a run to one holder at a time."""

    def __init__(self, refusals: int = 0, error: Exception | None = None) -> None:
        self.inner = MemoryJournal()
        self.inner.append("r", DONE)
        self.refusals = refusals
        self.error = error
        self.asked = 0
        self.held = 0
        self.reads = 0

    def hold(self, run: str) -> "Lent":
        self.asked += 1
        if self.asked <= self.refusals:
            raise RunHeld(run, "somebody")
        self.held += 1
        return self

    def release(self) -> None:
        self.held -= 1

    def append(self, *entry: object) -> None:
        self.inner.append("r", entry[-1])

    def entries(self, run: str) -> Sequence[Entry]:
        self.reads += 1
        if self.error is not None:
            raise self.error
        return self.inner.entries(run)

    def runs(self) -> list[str]:
        return ["r"]


async def test_a_run_that_is_lent_is_given_back_however_that_ends():
    journal = Lent()
    async with Holding(journal, "r") as held:
        assert journal.held == 1
        await held.steps().note("n", ENDED)
    assert journal.held == 0
    assert list(journal.inner.entries("r")) == [DONE, ENDED]
    with pytest.raises(ZeroDivisionError):
        async with Holding(journal, "r"):
            raise ZeroDivisionError
    assert journal.held == 0
    unread = Lent(error=OSError("unreadable"))
    with pytest.raises(OSError, match="unreadable"):
        await Holding(unread, "r").__aenter__()
    assert (unread.asked, unread.held) == (1, 0)


async def test_a_run_that_another_holds_is_waited_for_as_long_as_was_said(monkeypatch):
    monkeypatch.setattr(record_steps, "_PATIENCE", 0.001)
    with pytest.raises(RunHeld, match="somebody"):
        await Holding(Lent(refusals=10**9), "r").__aenter__()
    with pytest.raises(RunHeld, match="somebody"):
        await Holding(Lent(refusals=10**9), "r", wait=0.02).__aenter__()
    journal = Lent(refusals=3)
    async with Holding(journal, "r", wait=20):
        assert (journal.asked, journal.held) == (4, 1)


async def test_of_a_run_that_is_new_nothing_is_read():
    journal = Lent()
    async with Holding(journal, "r", is_new=True) as held:
        assert (journal.reads, tuple(held.entries)) == (0, ())


def test_of_decisions_those_of_persons_and_all_refusals_bind():
    def decided(call: str, decision: object, by: str) -> CallDecided:
        return CallDecided(key="t1.0", call_id=call, decision=decision, by=by)

    entries = [
        decided("a", Allow(), "policy"),
        decided("b", Allow(), "person"),
        decided("c", Deny("no."), "policy"),
        decided("d", Answer("done"), "hook"),
        inside(decided("e", Deny("no."), "person")),
        RunResumed(decisions={"f": Deny("later."), "b": Deny("changed my mind.")}),
        DONE,
    ]
    assert decisions_in(entries) == {
        "b": Deny("changed my mind."),
        "c": Deny("no."),
        "d": Answer("done"),
        "t1.0.helper/e": Deny("no."),
        "f": Deny("later."),
    }


def test_entries_of_inner_runs_stand_under_their_paths():
    deep = inside(inside(DONE, "t2.1.lower"))
    assert list(unfold_entries([ENDED, deep])) == [("", ENDED), ("t1.0.helper/t2.1.lower/", DONE)]


def test_every_segment_of_a_run_that_was_observed_has_its_trace():
    resumed = RunResumed(decisions={}, trace="bb")
    entries = [STARTED, DONE, resumed, RunResumed(decisions={}), inside(STARTED)]
    assert traces_in(entries) == ("aa", "bb")


@pytest.mark.parametrize(
    ("entries", "state"),
    [
        ([], "cut off"),
        ([STARTED, DONE], "cut off"),
        ([STARTED, ENDED], "end"),
        ([STARTED, ENDED, RunResumed(decisions={}), DONE], "end"),
        ([STARTED, NOTES["t1.paused"], DONE], "paused"),
        ([STARTED, NOTES["t1.paused"], RunResumed(decisions={}), DONE], "cut off"),
        ([RunFailed(code="network", message="lost"), DONE], "failed (network)"),
        ([RunFailed(code="network", message="lost"), NOTES["t1.paused"]], "paused"),
    ],
)
def test_a_run_says_why_it_ended_or_where_it_is(entries, state):
    assert stop_of(entries) == state


def test_a_call_whose_secrets_were_not_recorded_cannot_be_run_again():
    hidden = Call(id="a", name="pay", arguments=f'{{"key": "{REDACTED}"}}')
    plain = Call(id="b", name="pay", arguments="{}")
    replied = ReplyReceived(key="t1", reply=Reply((hidden, plain), "calls"), seconds=1.0)

    def rewritten(call: str, key: str) -> HookAnswered:
        return HookAnswered(
            key="t1.0.before_tool", hook="before_tool", call_id=call, decision=Rewrite({"key": key})
        )

    entries = [replied, rewritten("c", REDACTED), rewritten("d", "x"), inside(replied), DONE]
    gone = Deny(NOT_RECORDED)
    assert redacted_calls(entries) == {"a": gone, "c": gone, "t1.0.helper/a": gone}


def test_a_run_is_forked_after_any_of_its_entries_and_after_no_other():
    journal = MemoryJournal()
    for entry in (STARTED, DONE, ENDED):
        journal.append("r", entry)
    fork(journal, "r", "half", at=2)
    started, done = journal.entries("half")
    assert (started.parent, started.messages, done) == ("r", STARTED.messages, DONE)
    rc.record.fork(journal, "r", "whole", at=3)
    assert len(journal.entries("whole")) == 3
    for wrong in (0, -1, 4):
        with pytest.raises(UsageError, match=f"has 3 entries; fork after one of them, not {wrong}"):
            fork(journal, "r", "wrong", at=wrong)
    assert list(journal.entries("wrong")) == []
