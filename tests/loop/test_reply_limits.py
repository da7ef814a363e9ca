"""What may be held of a reply, to the character; what a reply says of its models; ids as they stream."""

import asyncio
import threading
import time

import pytest

import rightcall as rc
from rightcall.core.entry import ReplyReceived, StepDone
from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelChange,
    ReasoningDelta,
    ReplyEnd,
    RetryStart,
    TextDelta,
)
from rightcall.core.message import Reply
from rightcall.core.parts import Call, Text
from rightcall.core.ports import ExchangeEnd
from rightcall.core.request import Profile
from rightcall.errors import ProtocolError, TransportError
from rightcall.loop import ask
from rightcall.loop.ask import NotedReplies, ReplyDraft
from rightcall.record.memory import MemoryJournal
from rightcall.record.steps import JournalSteps, UnrecordedSteps
from rightcall.testing import ScriptedModel


@pytest.fixture
def limits(monkeypatch):
    """The whole reply may have 1000 characters, a call 400, and there may be 3 calls."""
    monkeypatch.setattr(ask, "MAX_REPLY", 1000)
    monkeypatch.setattr(ask, "MAX_ARGUMENTS", 400)
    monkeypatch.setattr(ask, "MAX_CALLS", 3)
    monkeypatch.setattr(ask, "_KEPT", 50)


def hold(draft: ReplyDraft, *events) -> None:
    """Add events as the stream does: pieces of text and arguments are counted after they are there."""
    for event in events:
        if isinstance(event, TextDelta | CallDelta):
            draft.append(event)
            draft.grew(len(event.text))
        else:
            draft.add(event)


def fed(*events) -> ReplyDraft:
    draft = ReplyDraft()
    hold(draft, *events)
    return draft


def ended(size: int) -> CallEnd:
    return CallEnd(0, Call(id="a", name="look", arguments="x" * size))


def whole(*sizes: int) -> ReplyEnd:
    calls = [Call(id=f"c{at}", name="look", arguments="x" * size) for at, size in enumerate(sizes)]
    return ReplyEnd(Reply(tuple(calls), "calls"))


BEGUN = CallStart(0, "look", "a")
OTHER = CallStart(1, "look", "b")
JUST_FITS = {
    "text": [TextDelta("x" * 999), TextDelta("x")],
    "thoughts and text": [ReasoningDelta("x" * 600), TextDelta("x" * 400)],
    "arguments": [BEGUN, CallDelta(0, "x" * 399), CallDelta(0, "x")],
    "arguments of two": [BEGUN, OTHER, CallDelta(0, "x" * 400), CallDelta(1, "x" * 400)],
    "arguments after much text": [TextDelta("x" * 600), BEGUN, CallDelta(0, "x" * 400)],
    "arguments at the call's end": [ended(400)],
    "arguments at the reply's end": [whole(400, 400, 400)],
    "calls": [BEGUN, OTHER, CallStart(2, "look", "c")],
}
TOO_LONG = {
    "text": ([*JUST_FITS["text"], TextDelta("x")], "the reply is longer than 1,000 characters"),
    "thoughts": ([ReasoningDelta("x" * 1001)], "the reply is longer than 1,000 characters"),
    "arguments": ([*JUST_FITS["arguments"], CallDelta(0, "x")], "arguments are longer than 400"),
    "arguments of the second": (
        [BEGUN, OTHER, CallDelta(0, "x" * 10), CallDelta(1, "x" * 401)],
        "arguments are longer than 400",
    ),
    "arguments that fit each time": (
        # When it was first measured, most of it was text.
        [BEGUN, TextDelta("x" * 350), CallDelta(0, "x" * 380), CallDelta(0, "x" * 60)],
        "arguments are longer than 400",
    ),
    "arguments at the call's end": ([ended(401)], "arguments are longer than 400"),
    "arguments at the reply's end": ([whole(1, 401)], "arguments are longer than 400"),
    "calls": ([*JUST_FITS["calls"], CallStart(3, "look", "d")], "more than 3 calls"),
    "calls at the reply's end": ([whole(1, 1, 1, 1)], "more than 3 calls"),
    "calls that the reply's end leaves out": (
        [*JUST_FITS["calls"], CallStart(3, "look", "d"), whole(1)],
        "more than 3 calls",
    ),
}


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("name", JUST_FITS)
def test_what_just_fits_is_held(name):
    events = JUST_FITS[name]
    draft = fed(*events)
    broken = draft.broken_reply("cut")
    shown = sum(len(part.text) for part in broken.content if not isinstance(part, Call))
    shown += sum(len(part.arguments) for part in broken.calls)
    said = sum(len(each.text) for each in events if hasattr(each, "text"))
    said += sum(len(each.call.arguments) for each in events if isinstance(each, CallEnd))
    # Nothing of it is cut, because nothing of it was too long.
    assert shown == said


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("name", TOO_LONG)
def test_one_more_is_refused_and_hardly_any_of_it_is_kept(name):
    events, words = TOO_LONG[name]
    draft = ReplyDraft()
    with pytest.raises(ProtocolError, match=words):
        hold(draft, *events)
    broken = draft.broken_reply("cut")
    assert all(len(part.text) <= 50 for part in broken.content if not isinstance(part, Call))
    assert all(len(part.arguments) <= 50 for part in broken.calls)
    # What was refused is no part of the reply: its end would make the parts before it complete.
    assert draft.end is None


@pytest.mark.usefixtures("limits")
def test_deltas_that_are_counted_together_are_bound_as_well():
    draft = ReplyDraft()
    for _ in range(100):
        draft.append(TextDelta("x" * 10))
    draft.grew(1000)
    draft.append(TextDelta("x"))
    with pytest.raises(ProtocolError, match="longer than 1,000"):
        draft.grew(1)


class _CutOff:
    """A model that breaks off after so many pieces of its reply."""

    name = "cut off"
    profile = ScriptedModel([]).profile

    def __init__(self, pieces: int) -> None:
        self._pieces = pieces

    async def stream(self, request):
        for _ in range(self._pieces):
            yield TextDelta("x")
        raise TransportError("cut off")


@pytest.mark.parametrize(("pieces", "is_beside"), [(10, False), (11, True)])
async def test_a_long_reply_that_broke_off_is_put_together_beside_other_tasks(
    pieces, is_beside, monkeypatch
):
    monkeypatch.setattr(ask, "_MANY", 10)
    threads = []
    put_together = ReplyDraft.broken_reply

    def noted(draft: ReplyDraft, word: str) -> Reply:
        threads.append(threading.current_thread())
        return put_together(draft, word)

    monkeypatch.setattr(ReplyDraft, "broken_reply", noted)
    result = await rc.Agent(_CutOff(pieces)).run("Go.")
    assert (result.stop.reason, result.text) == ("error", "x" * pieces)
    assert [each is not threading.main_thread() for each in threads] == [is_beside]


def test_pieces_of_no_call_are_looked_at_once_however_many_chunks_they_come_in():
    draft = ReplyDraft()
    for _ in range(100_000):
        draft.append(CallDelta(0, ""))
    begun = time.process_time()
    for _ in range(1000):
        assert draft.is_empty
    assert time.process_time() - begun < 1
    draft.append(TextDelta(""))
    assert not draft.is_empty


def test_a_change_of_models_and_a_retry_are_no_part_of_the_reply():
    first = ModelChange("one", "busy", "two")
    second = ModelChange("two", "busy", "three")
    draft = fed(first, RetryStart(2, 0.5, "overloaded", "busy"), second)
    assert draft.passed_over == (first, second)
    assert draft.is_empty
    assert draft.broken_reply("cut").content == ()
    assert not fed(TextDelta("")).is_empty
    assert fed(CallDelta(0, "of nothing")).is_empty


class Changing:
    """A model that hands over to another before it says something."""

    name = "pair"
    profile = Profile()

    def __init__(self, *events) -> None:
        self._events = events

    async def stream(self, request):
        for event in self._events:
            yield event


async def test_the_models_that_were_passed_over_are_on_the_record():
    change = ModelChange("one", "busy", "two")
    journal = MemoryJournal()
    model = Changing(change, TextDelta("So."), ReplyEnd(Reply((Text("So."),), "end")))
    await rc.Agent(model, journal=journal).run("Go.", run="r")
    (received,) = [each for each in journal.entries("r") if isinstance(each, ReplyReceived)]
    assert received.passed_over == (change,)


async def test_a_reply_that_broke_off_names_the_model_that_was_asked_and_how_it_broke():
    result = await rc.Agent(Changing(TextDelta("So"))).run("Go.")
    broken = result.transcript[-1]
    assert (broken.model, broken.stop, broken.stop_word) == ("pair", "error", "no end")


async def test_what_a_vendor_said_byte_for_byte_is_on_the_record():
    journal = MemoryJournal()
    end = ReplyEnd(Reply((Text("So."),), "end"), raw=b"data: so")
    await rc.Agent(Changing(end), journal=journal).run("Go.", run="r")
    (received,) = [each for each in journal.entries("r") if isinstance(each, ReplyReceived)]
    assert received.raw == b"data: so"


async def test_of_several_models_a_broken_reply_names_the_one_that_was_asked_last():
    model = Changing(TextDelta("So"))
    model.asked_in = lambda conversation: "two"
    result = await rc.Agent(model).run("Go.")
    assert result.transcript[-1].answered_by == "two"


async def test_only_under_trust_rules_a_reply_says_whether_outsiders_had_spoken():
    end = ReplyEnd(Reply((Text("So."),), "end"))
    plain = await rc.Agent(Changing(end)).run("Go.")
    assert plain.transcript[-1].tainted is None
    ruled = await rc.Agent(Changing(end), trust=rc.trust.Rules()).run("Go.")
    assert ruled.transcript[-1].tainted is False


@pytest.mark.parametrize(("whose", "tainted"), [("", False), ("a customer's mail", True)])
async def test_what_a_hook_adds_was_said_before_the_reply_to_it(whose, tainted):
    mail = rc.file(b"Hello.", name="mail.txt", untrusted=whose)
    hooks = rc.Hooks(before_model=lambda _: rc.User((Text("Here it is."), mail)))
    end = ReplyEnd(Reply((Text("So."),), "end"))
    result = await rc.Agent(Changing(end), hooks=hooks, trust=rc.trust.Rules()).run("Go.")
    assert result.transcript[-1].tainted is tainted


class Slow:
    """A model that says nothing at first, and then takes its time with the rest."""

    name = "slow"
    profile = Profile()

    async def stream(self, request):
        yield ModelChange("one", "busy", "slow")
        await asyncio.sleep(0.05)
        yield TextDelta("So")
        await asyncio.sleep(0.05)
        yield ReplyEnd(Reply((Text("So."),), "end"))


async def test_who_watches_is_told_when_the_reply_began():
    class Watching:
        trace = ""

        def __call__(self, run, happened) -> None:
            pass

        def around(self, lasting):
            return self

        def end(self, end, error) -> None:
            if isinstance(end, ExchangeEnd):
                firsts.append((end.first, time.monotonic() - began))

    firsts: list[tuple[float | None, float]] = []
    began = time.monotonic()
    await rc.Agent(Slow(), observers=[Watching()]).run("Go.")
    ((first, whole_time),) = firsts
    assert 0.045 < first < whole_time - 0.045


STREAMED = {
    "ids of its own": (
        [CallStart(0, "look", "a"), CallEnd(0, Call(id="a", name="look", arguments="{}"))],
        Reply((Call(id="a", name="look", arguments="{}"),), "calls"),
    ),
    "no ids": (
        [CallStart(0, "look"), CallEnd(0, Call(id="", name="look", arguments="{}"))],
        Reply((Call(id="", name="look", arguments="{}"),), "calls"),
    ),
    "one id for two": (
        [CallStart(0, "look", "a"), CallStart(1, "look", "a")],
        Reply(
            (
                Call(id="a", name="look", arguments="{}"),
                Call(id="a", name="look", arguments='{"n":1}'),
            ),
            "calls",
        ),
    ),
    "an end without a beginning": (
        [CallEnd(0, Call(id="", name="look", arguments="{}"))],
        Reply((Call(id="", name="look", arguments="{}"),), "calls"),
    ),
    "an id like that of a call inside another": (
        [CallStart(0, "look", "t1.0.helper/s")],
        Reply((Call(id="t1.0.helper/s", name="look", arguments="{}"),), "calls"),
    ),
    "an id with a slash": (
        [CallStart(0, "look", "a/b")],
        Reply((Call(id="a/b", name="look", arguments="{}"),), "calls"),
    ),
    "in another order": (
        [CallStart(1, "look", ""), CallStart(0, "look", "")],
        Reply(
            (
                Call(id="", name="look", arguments='{"n":0}'),
                Call(id="", name="look", arguments='{"n":1}'),
            ),
            "calls",
        ),
    ),
}


@pytest.mark.parametrize("name", STREAMED)
async def test_a_call_has_the_id_in_the_transcript_that_it_had_while_it_streamed(name):
    @rc.tool(effect="read")
    def look(n: int = 0) -> int:
        """Look."""
        return n

    events, said = STREAMED[name]
    model = Changing(TextDelta("So."), *events, ReplyEnd(said))
    shown = []
    agent = rc.Agent(model, [look], budget=rc.Budget(turns=1))
    async for event in agent.stream("Go."):
        if isinstance(event, CallStart):
            shown.append((event.index, event.id))
        if isinstance(event, CallEnd):
            shown.append((event.index, event.call.id))
    calls = event.result.transcript[1].calls
    ids = [call.id for call in calls]
    assert len(set(ids)) == len(said.calls)
    assert "" not in ids
    assert "t1.0.helper/s" not in ids
    by_index = dict(sorted(shown))
    assert list(by_index.values()) == ids
    assert [(call.name, call.arguments) for call in calls] == [
        (call.name, call.arguments) for call in said.calls
    ]
    # A call whose id is its own keeps it.
    if name in ("ids of its own", "an id with a slash"):
        assert ids == [call.id for call in said.calls]


async def test_what_was_begun_in_the_background_is_noted_and_found_by_the_next_attempt():
    journal = MemoryJournal()
    first = NotedReplies(JournalSteps(journal, "r"), "t1")
    assert first.last_id("gpt") == ""
    await first.record_start("gpt", "resp_1")
    await first.record_start("other", "resp_2")
    await first.record_start("gpt", "resp_3")
    assert first.last_id("gpt") == "resp_3"
    assert first.last_id("other") == "resp_2"
    assert first.last_id("gp") == ""
    entries = journal.entries("r")
    assert [(each.key, each.value) for each in entries if isinstance(each, StepDone)] == [
        ("begun.1.t1", "gpt resp_1"),
        ("begun.2.t1", "other resp_2"),
        ("begun.3.t1", "gpt resp_3"),
    ]
    # A run that goes on in another process.
    again = NotedReplies(JournalSteps(journal, "r", entries), "t1")
    assert again.last_id("gpt") == "resp_3"
    await again.record_start("gpt", "resp_4")
    assert journal.entries("r")[-1].key == "begun.4.t1"
    # Another request's are another's.
    assert NotedReplies(JournalSteps(journal, "r", entries), "t2").last_id("gpt") == ""


async def test_without_a_record_what_was_begun_is_known_for_as_long_as_the_request():
    noted = NotedReplies(UnrecordedSteps(), "t1")
    assert noted.last_id("gpt") == ""
    await noted.record_start("gpt", "resp_1")
    assert noted.last_id("gpt") == "resp_1"
    assert NotedReplies(UnrecordedSteps(), "t1").last_id("gpt") == ""


async def test_arguments_can_be_viewed_while_they_stream():
    call = Call(id="a", name="look", arguments='{"n":1}')
    deltas = [CallDelta(0, '{"n'), CallDelta(0, '":1'), CallDelta(0, "}"), CallDelta(9, "of nothing")]
    model = Changing(
        CallStart(0, "look", "a"), *deltas, CallEnd(0, call), ReplyEnd(Reply((call,), "calls"))
    )
    seen = []
    async for event in rc.Agent(model, budget=rc.Budget(turns=1)).stream("Go."):
        if isinstance(event, CallDelta):
            seen.append((event.text, None if event.so_far is None else event.so_far.text))
        await asyncio.sleep(0)
    assert [text for text, _ in seen] == ['{"n', '":1', "}", "of nothing"]
    assert seen[-1] == ("of nothing", None)
    assert all(view is not None for _, view in seen[:-1])
