"""The steps of a segment: what is recorded when, in which form, and what is known of it afterwards."""

from typing import Any

import pytest
from msgspec import json

import rightcall as rc
from rightcall.core.decision import Allow
from rightcall.core.entry import (
    CallChecked,
    CallFinished,
    CallStarted,
    Nested,
    ReplyReceived,
    RequestSent,
    RunStarted,
    StepDone,
)
from rightcall.core.message import Reply, user_text
from rightcall.core.parts import Result, Text
from rightcall.durable.engine import INLINE, JOURNAL_VERSION, SegmentJob, parse_segment_id
from rightcall.durable.segment import (
    BeginInput,
    Outcome,
    ResumeInput,
    RunSettings,
    encode_input,
    read_input,
    steps_of,
)
from rightcall.errors import JournalError
from rightcall.testing import ScriptedModel, call, reply


class Kept:
    """A journal and blobs in memory."""

    def __init__(self, known: dict[str, str] | None = None) -> None:
        self.attempt = 1
        self.known = known or {}
        self.records: dict[str, str] = {}
        self.blobs: dict[str, bytes] = {}

    async def record(self, key: str, value: str) -> None:
        self.records[key] = value

    async def put(self, run: str, data: bytes) -> str:
        self.blobs[f"ref{len(self.blobs)}"] = data
        return f"ref{len(self.blobs) - 1}"

    async def get(self, reference: str) -> bytes:
        return self.blobs[reference]

    def again(self) -> "Kept":
        """What the next execution finds."""
        later = Kept(dict(self.records))
        later.blobs = self.blobs
        return later


def kept_by(journal: Kept):
    return steps_of(journal, journal, "run")


def finished(key: str, text: str = "done", attempts: int = 1) -> CallFinished:
    result = Result(call_id="c1", name="pay", outcome="returned", content=(Text(text),))
    return CallFinished(key=key, result=result, seconds=0.5, attempts=attempts)


def giving(entry: Any):
    async def body() -> Any:
        return entry

    return body


async def walked(journal: Kept) -> None:
    """One turn with a call that changes something."""
    steps = await kept_by(journal)
    assert await steps.note("run.started", RunStarted(messages=(), budget=rc.Budget()))
    await steps.note("t1.model.sent", RequestSent(key="t1.model", messages=1))
    said_so = ReplyReceived(key="t1.model", reply=Reply((Text("é"),), "end"), seconds=0.25)
    assert await steps.step("t1.model", giving(said_so)) == said_so
    await steps.note("t1.0.pay.checked", CallChecked(key="t1.0.pay", call_id="c1"))
    await steps.note("t1.0.pay.started", CallStarted(key="t1.0.pay", call_id="c1"))
    await steps.step("t1.0.pay", giving(finished("t1.0.pay")))


RECORDS = {
    "t1.model": '{"entries":[["t1.model.sent",{"type":"request_sent","key":"t1.model","messages":1}],'
    '["t1.model",{"type":"reply_received","key":"t1.model","reply":{"type":"reply","content":'
    '[{"type":"text","text":"é"}]},"seconds":0.25}]]}',
    "t1.0.pay.started": '{"entries":[["t1.0.pay.checked",{"type":"call_checked","key":"t1.0.pay",'
    '"call_id":"c1"}],["t1.0.pay.started",{"type":"call_started","key":"t1.0.pay","call_id":"c1"}]]}',
    "t1.0.pay": '{"entries":[["t1.0.pay",{"type":"call_finished","key":"t1.0.pay","result":'
    '{"type":"result","call_id":"c1","name":"pay","outcome":"returned","content":[{"type":"text","text":"done"}]},"seconds":0.5,'
    '"attempts":1}]]}',
}


_BEGIN = (
    '{"message":{"content":[{"text":"Hello","type":"text"}],"type":"user"},'
    '"settings":{"budget":{"turns":3}},"type":"begin"}'
)


async def test_the_form_of_what_is_stored_is_that_of_its_version():
    """Runs under way are read by newer code: another form is another JOURNAL_VERSION."""
    journal = Kept()
    await walked(journal)
    assert (JOURNAL_VERSION, journal.records) == (1, RECORDS)
    begin = BeginInput(message=user_text("Hello"), settings=RunSettings(budget=rc.Budget(turns=3)))
    go_on = ResumeInput(result="sha256:0", decisions={"c1": Allow()})
    assert [await encode_input("run", each, journal) for each in (begin, go_on)] == [
        _BEGIN,
        '{"decisions":{"c1":{"type":"allow"}},"result":"sha256:0","type":"go_on"}',
    ]
    job = SegmentJob(run="a/b", segment=2, agent="support", input="{}")
    assert json.encode(job).decode() == '{"run":"a/b","segment":2,"agent":"support","input":"{}"}'
    assert (job.id, parse_segment_id(job.id)) == ("a/b/2", ("a/b", 2))
    outcome = json.encode(Outcome(kind="done", result="sha256:0", stop="end"))
    assert outcome.decode() == '{"kind":"done","result":"sha256:0","stop":"end"}'


async def test_what_was_recorded_is_not_taken_again():
    journal = Kept()
    await walked(journal)
    again = journal.again()
    steps = await kept_by(again)
    entry = await steps.step("t1.0.pay", giving(None))
    assert entry == finished("t1.0.pay")
    assert not await steps.note("t1.model.sent", RequestSent(key="t1.model", messages=1))
    assert not steps.was_started("t1.0.pay")
    assert again.records == {}


async def test_a_call_that_was_cut_off_is_known_to_have_started():
    journal = Kept()
    await walked(journal)
    del journal.records["t1.0.pay"]
    steps = await kept_by(journal.again())
    assert steps.was_started("t1.0.pay")
    assert steps.recorded("t1.0.pay") is None


@pytest.mark.parametrize(
    ("effect", "at_once"), [("write", True), ("idempotent", False), ("read", False)]
)
async def test_only_the_start_of_what_changes_something_is_recorded_at_once(effect, at_once):
    journal = Kept()
    steps = await kept_by(journal)
    inside = CallStarted(key="t1.0.x", call_id="c1", effect=effect)
    note = Nested(path="t1.0.helper", agent="helper", entry=inside)
    await steps.note("t1.0.helper/t1.0.x.started", note)
    assert (list(journal.records) != []) is (effect == "write")


async def test_the_result_of_a_pure_call_is_not_recorded():
    journal = Kept()
    steps = await kept_by(journal)
    await steps.step("t1.0.add", giving(finished("t1.0.add")))
    assert journal.records == {}
    await steps.step("t1.1.no", giving(finished("t1.1.no", attempts=0)))
    await steps.note("begun.1.t2.model", StepDone(key="begun.1.t2.model", value="m id"))
    kept = json.decode(journal.records["begun.1.t2.model"])
    assert [key for key, _ in kept["entries"]] == ["t1.1.no", "begun.1.t2.model"]


async def test_what_is_long_goes_by_reference():
    journal = Kept()
    steps = await kept_by(journal)
    await steps.note("t1.0.pay.started", CallStarted(key="t1.0.pay", call_id="c1"))
    await steps.step("t1.0.pay", giving(finished("t1.0.pay", "x" * INLINE)))
    assert journal.records["t1.0.pay"] == '{"blob":"ref0"}'
    again = await kept_by(journal.again())
    assert again.recorded("t1.0.pay") == finished("t1.0.pay", "x" * INLINE)
    text = await encode_input("run", BeginInput(message=user_text("y" * INLINE)), journal)
    assert len(text) < 100
    job = SegmentJob(run="run", segment=0, agent="a", input=text)
    assert (await read_input(job, journal)).message.text == "y" * INLINE


async def test_half_a_surrogate_pair_is_kept():
    journal = Kept()
    steps = await kept_by(journal)
    await steps.note("t1.0.pay.started", CallStarted(key="t1.0.pay", call_id="c1"))
    await steps.step("t1.0.pay", giving(finished("t1.0.pay", "\ud800")))
    again = await kept_by(journal.again())
    assert again.recorded("t1.0.pay") == finished("t1.0.pay", "\ud800")
    text = await encode_input("run", BeginInput(message=user_text("a\ud800b")), journal)
    assert "a\ufffdb" in text or "a?b" in text


@pytest.mark.parametrize("text", ["", "[]", '{"entries":[["a",{"type":"nothing"}]]}'])
async def test_a_record_that_is_none_is_told_with_its_place(text):
    with pytest.raises(JournalError, match=r"the run 'run', t1\.model"):
        await kept_by(Kept({"t1.model": text}))


@pytest.mark.parametrize(
    ("answer", "text", "paid"),
    [
        ("it was paid", "it was paid", 0),
        (None, "paid", 1),
        (ValueError("who knows"), "pay was interrupted and may have run.", 0),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_tool_says_what_became_of_a_call_that_was_cut_off(answer, text, paid, is_async):
    asked, times = [], 0

    def look_up(key: str) -> Any:
        asked.append(key)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def look_up_slowly(key: str) -> Any:
        return look_up(key)

    @rc.tool(effect="write", reconcile=look_up_slowly if is_async else look_up)
    def pay(amount: int) -> str:
        """Pay."""
        nonlocal times
        times += 1
        return "paid"

    journal = Kept()
    model = ScriptedModel([reply(call("pay", amount=3)), "ok"])
    await rc.Agent(model, tools=[pay]).run("Pay", run="r", steps=await kept_by(journal))
    assert (times, asked) == (1, [])
    del journal.records["t1.0.pay"], journal.records["t2.model"]
    times = 0
    model = ScriptedModel(["ok"])
    steps = await kept_by(journal.again())
    result = await rc.Agent(model, tools=[pay]).run("Pay", run="r", steps=steps)
    assert result.calls[0].result.text.startswith(text)
    assert (times, asked) == (paid, ["r.t1.0.pay"])


@pytest.mark.parametrize("effect", ["pure", "read", "idempotent"])
def test_nobody_is_asked_about_calls_that_are_run_again(effect):
    with pytest.raises(rc.errors.DeclarationError, match="is run again, and nobody is asked"):

        @rc.tool(effect=effect, reconcile=str)
        def look() -> str:
            """Look."""
            return ""
