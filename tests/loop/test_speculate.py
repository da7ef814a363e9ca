"""Calls that start while the reply still streams: when, when not, and that nobody can tell."""

import asyncio

import pydantic  # noqa: F401 - an import in the middle of a reply is time in which it ends
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.kit import outcomes
from effort import often
from loop import virtual
from loop.quiet import assert_nothing_is_left
from loop.sound import assert_sound
from rightcall import Agent, Ask, Budget, Context, Deny, Hooks, Rewrite, replay
from rightcall.core.budget import Stop
from rightcall.core.entry import CallDropped
from rightcall.core.events import CallDelta, CallEnd, CallStart, ReplyEnd, TextDelta
from rightcall.core.message import Reply, Results
from rightcall.core.partial import PartialJson
from rightcall.core.parts import Call, Result, Text
from rightcall.core.request import Profile
from rightcall.declare.function import tool
from rightcall.errors import TransportError
from rightcall.gate import Veto
from rightcall.models import Usage
from rightcall.record.memory import MemoryJournal
from rightcall.testing import Break, ScriptedModel, Turn, call, reply

EFFECTS = {
    "pure": {},
    "read": {},
    "idempotent": {},
    "write": {},
    "serial": {"effect": "read", "serial": True},
}


class Bench:
    """Tools of every kind, a model that can be seen to be speaking, and what started when."""

    def __init__(self, script, *, pause: float = 1.0, takes: float = 0.0) -> None:
        self.speaking = False
        self.early: list[str] = []
        self.late: list[str] = []
        self.cancelled: list[str] = []
        self._takes = takes
        self.tools = [self._tool(name, **options) for name, options in EFFECTS.items()]
        self.tools.append(self._tool("asking", effect="read", approval=True))
        turns = [Turn(reply=turn, pause=pause) if isinstance(turn, Reply) else turn for turn in script]
        self._model = ScriptedModel(turns)

    @property
    def profile(self) -> Profile:
        return Profile()

    async def stream(self, request):
        self.speaking = True
        try:
            async for event in self._model.stream(request):
                if isinstance(event, ReplyEnd):
                    self.speaking = False
                yield event
        finally:
            self.speaking = False

    def _tool(self, name: str, **options):
        async def work(at: int = 0, *, context: Context[None]) -> str:
            (self.early if self.speaking else self.late).append(f"{name} {at}")
            try:
                await asyncio.sleep(self._takes)
            except asyncio.CancelledError:
                self.cancelled.append(f"{name} {at}")
                raise
            context.spend(Usage(output_tokens=1))
            return f"{name} {at} as {context.call_id} by {context.key}"

        options.setdefault("effect", name)
        return tool(work, name=name, description="Works.", **options)


def run(bench: Bench, **options):
    """The result of a run over the bench, and how much time would have passed."""

    async def main():
        started = asyncio.get_running_loop().time()
        agent = Agent(bench, bench.tools, **options)
        result = await agent.run("Go.", run="r")
        assert_nothing_is_left()
        assert_sound(result.transcript, waits=bool(result.pending))
        return result, asyncio.get_running_loop().time() - started

    return virtual.run(main())


def at(name: str, place: int = 0, **options) -> Call:
    return call(name, at=place, **options)


SO = "and so on"
START = [
    pytest.param([at("read"), SO], ["read 0"], id="read"),
    pytest.param([at("pure"), SO], ["pure 0"], id="pure"),
    pytest.param([SO, at("read"), SO], ["read 0"], id="read after text"),
    pytest.param(
        [at("read"), at("pure", 1), at("read", 2), SO], ["read 0", "pure 1", "read 2"], id="several"
    ),
    pytest.param([at("read"), at("read", 1)], ["read 0", "read 1"], id="the last, which has closed"),
    pytest.param([at("write"), SO], [], id="write"),
    pytest.param([at("idempotent"), SO], [], id="idempotent"),
    pytest.param([at("serial"), SO], [], id="serial"),
    pytest.param([at("asking"), SO], [], id="one that wants approval"),
    pytest.param([at("read"), at("write"), at("read", 1), SO], ["read 0"], id="not after a write"),
    pytest.param([at("idempotent"), at("read"), SO], [], id="not after an idempotent one"),
    pytest.param([at("serial"), at("read"), SO], [], id="not after a serial one"),
    pytest.param([at("asking"), at("read"), SO], [], id="not after one that wants approval"),
    pytest.param(
        [at("nope"), call("read", at="x"), at("read"), SO], ["read 0"], id="after ones that are not run"
    ),
    pytest.param([call("read", "{"), SO], [], id="not one that does not pass the gate"),
]


@pytest.mark.parametrize(("content", "early"), START)
def test_only_pure_and_read_calls_with_no_other_kind_before_them_start_early(content, early):
    bench = Bench([reply(*content), "Done."])
    run(bench)
    assert bench.early == early


@pytest.mark.parametrize(
    ("options", "early"),
    [
        pytest.param({}, ["read 0", "read 1"], id="nothing speaks against it"),
        pytest.param({"speculate": False}, [], id="switched off"),
        pytest.param({"hooks": Hooks(before_tool=lambda _: _none())}, [], id="a hook may say no"),
        pytest.param(
            {"hooks": Hooks(after_tool=lambda _: _none())}, ["read 0", "read 1"], id="a hook after it"
        ),
        pytest.param(
            {"observers": [lambda _run, _what: None]},
            ["read 0", "read 1"],
            id="a mere observer",
        ),
        pytest.param({"policy": lambda _: None}, ["read 0", "read 1"], id="policy has nothing to say"),
        pytest.param({"policy": lambda _: Deny()}, [], id="policy denies"),
        pytest.param({"policy": lambda _: Ask()}, [], id="policy asks"),
        pytest.param({"policy": lambda _: Rewrite({"at": 5})}, [], id="policy rewrites"),
        pytest.param({"budget": Budget(calls=1)}, ["read 0"], id="the budget has room for one"),
        pytest.param({"budget": Budget(calls=0)}, [], id="the budget has room for none"),
    ],
)
def test_nothing_starts_early_that_might_not_be_run(options, early):
    bench = Bench([reply(at("read"), at("read", 1), SO), "Done."])
    run(bench, **options)
    assert bench.early == early


async def _none() -> None:
    return None


@pytest.mark.parametrize("content", [[at("read")], [at("read"), at("read", 1)]])
def test_the_last_call_of_a_reply_that_ran_out_of_tokens_counts_for_nothing(content):
    async def after_model(_):
        await asyncio.sleep(5)

    bench = Bench([reply(*content, stop="length"), "Done."], takes=50)
    result, _ = run(bench, hooks=Hooks(after_model=after_model))
    last = len(content) - 1
    assert (bench.late, bench.cancelled) == ([], [f"read {last}"])
    assert outcomes(result) == [("read", "returned")] * last + [("read", "truncated")]


async def test_a_call_does_not_start_before_one_that_began_earlier_is_complete():
    read, write = at("read", id="a"), at("write", id="b")

    class Crossed(virtual.Stuck):
        async def stream(self, request):
            for event in self._events:
                yield event
                await asyncio.sleep(0)

    ran = []

    def named(name, effect):
        async def work(at: int = 0) -> None:
            ran.append(name)

        return tool(work, name=name, description="Works.", effect=effect)

    events = [
        CallStart(0, "write", "b"),
        CallStart(1, "read", "a"),
        CallDelta(1, read.arguments),
        CallEnd(1, read),
        TextDelta("so"),
        TextDelta("on"),
    ]
    agent = Agent(Crossed(*events), [named("read", "read"), named("write", "write")])
    result = await agent.run("Go.")
    assert (ran, [kind for _, kind in outcomes(result)]) == ([], ["truncated"] * 2 + ["truncated"] * 4)
    assert write.id in {record.call.id for record in result.calls}


class Streams(Bench):
    """A model whose first reply streams as the events that are given, a second after each."""

    def __init__(self, *events, takes: float = 50) -> None:
        super().__init__(["Done."], takes=takes)
        self._events = events

    async def stream(self, request):
        if len(request.messages) > 1:
            async for event in self._model.stream(request):
                yield event
            return
        self.speaking = True
        for event in self._events:
            yield event
            await asyncio.sleep(0 if isinstance(event, ReplyEnd) else 1)
            self.speaking = not isinstance(event, ReplyEnd)


def test_a_call_starts_when_its_object_has_closed_though_no_mark_says_so():
    whole = Call(id="a", name="read", arguments='{"at": 1} \n')
    pieces = ['{"at"', ": 1", "}", " \n"]
    deltas = [CallDelta(0, piece) for piece in pieces]
    silence = [TextDelta("")] * 60
    bench = Streams(
        CallStart(0, "read", "a"), *deltas, *silence, CallEnd(0, whole), ReplyEnd(Reply((whole,)))
    )
    result, seconds = run(bench)
    assert (bench.early, bench.late, seconds < 70) == (["read 1"], [], True)
    assert outcomes(result) == [("read", "returned")]


@pytest.mark.parametrize("more", ['{"at": 2}', "x", ",", "]"])
def test_what_follows_a_closed_object_makes_the_call_invalid_and_drops_what_was_started(more):
    whole = Call(id="a", name="read", arguments='{"at": 1}' + more)
    bench = Streams(
        CallStart(0, "read", "a"),
        CallDelta(0, '{"at": 1}'),
        CallDelta(0, more),
        CallEnd(0, whole),
        ReplyEnd(Reply((whole,))),
    )
    result, _ = run(bench)
    assert (bench.cancelled, bench.late, outcomes(result)) == (["read 1"], [], [("read", "invalid")])


def test_a_call_that_turns_out_to_be_another_is_not_given_its_result():
    whole = Call(id="a", name="pure", arguments='{"at": 1}')
    bench = Streams(
        CallStart(0, "read", "a"),
        CallDelta(0, '{"at": 1}'),
        CallEnd(0, whole),
        ReplyEnd(Reply((whole,))),
    )
    result, _ = run(bench)
    assert (bench.late, outcomes(result)) == (["pure 1"], [("pure", "returned")])


def test_calls_that_cross_start_in_the_replys_order():
    first, second = at("read", 1, id="a"), at("pure", 2, id="b")
    bench = Streams(
        CallStart(0, "read", "a"),
        CallStart(1, "pure", "b"),
        CallDelta(1, second.arguments),
        CallDelta(0, first.arguments),
        *[TextDelta("")] * 60,
        CallEnd(0, first),
        CallEnd(1, second),
        ReplyEnd(Reply((first, second))),
    )
    result, seconds = run(bench)
    assert (bench.early, bench.late, seconds < 70) == (["read 1", "pure 2"], [], True)
    assert [record.result.text for record in result.calls] == [
        "read 1 as a by r.t1.0.read",
        "pure 2 as b by r.t1.1.pure",
    ]


def test_long_arguments_are_read_once_however_many_braces_they_hold(monkeypatch):
    views = []

    class Counted(PartialJson):
        def __init__(self) -> None:
            super().__init__()
            views.append(self)

    monkeypatch.setattr("rightcall.loop.speculate.PartialJson", Counted)
    pieces = ['{"at": 1, "code": "', *["if (x) {}"] * 500]
    bench = Streams(CallStart(0, "read", "a"), *[CallDelta(0, piece) for piece in pieces], takes=0)
    run(bench)
    assert views[0]._scanned <= 2 * sum(map(len, pieces))


def test_four_calls_that_take_as_long_as_the_rest_of_the_stream_take_no_longer_than_it():
    # Four calls of four events and forty pieces of text, at a second each; forty seconds for a call.
    content = [*[at("read", n) for n in range(4)], "abcd" * 40]
    stream = 4 * 4 + 40 + 1
    for speculate, expected in [(True, stream), (False, stream + 40)]:
        bench = Bench([reply(*content), Turn(reply=reply("Done."))], takes=40)
        result, seconds = run(bench, speculate=speculate)
        assert expected <= seconds < expected + 3
        assert [kind for _, kind in outcomes(result)] == ["returned"] * 4


def test_what_was_started_early_is_not_run_again():
    content = [at("read"), at("read"), at("read", 1), at("read", 1), at("write"), at("read"), SO]
    bench = Bench([reply(*content), "Done."])
    result, _ = run(bench)
    assert sorted(bench.early) == ["read 0", "read 0", "read 1", "read 1"]
    assert sorted(bench.late) == ["read 0", "write 0"]
    assert result.usage.output_tokens == 10 + 6


BREAKS = [
    pytest.param(Break(10), id="the stream ends"),
    pytest.param(Break(10, TransportError("lost")), id="the stream fails"),
]


@pytest.mark.parametrize("takes", [0, 1000])
@pytest.mark.parametrize("breaks", BREAKS)
def test_a_reply_that_breaks_cancels_what_was_started(breaks, takes):
    broken = Turn(reply=reply(at("read"), at("read", 1), SO), pause=1.0, breaks=breaks)
    bench = Bench([broken, "Done."], takes=takes)
    result, seconds = run(bench)
    assert (bench.early, bench.late, seconds < 100) == (["read 0", "read 1"], [], True)
    assert bench.cancelled == (["read 0", "read 1"] if takes else [])
    assert (outcomes(result), result.stop) == ([("read", "truncated")] * 2, Stop("end"))


@pytest.mark.parametrize("stop", ["refusal", "filtered"])
def test_a_refusal_cancels_what_was_started(stop):
    bench = Bench([reply(at("read"), SO, stop=stop)], takes=1000)
    result, _ = run(bench)
    assert (bench.cancelled, outcomes(result)) == (["read 0"], [("read", "cancelled")])


@pytest.mark.parametrize("stop", ["end", "pause", "calls", "error"])
def test_a_call_that_is_not_in_the_reply_after_all_is_cancelled(stop):
    read = at("read", id="a")
    shown = [CallStart(0, "read", "a"), CallEnd(0, read), TextDelta("so"), TextDelta("on")]

    class Liar(Bench):
        async def stream(self, request):
            async for event in super().stream(request):
                if isinstance(event, ReplyEnd) and len(request.messages) == 1:
                    for each in shown:
                        yield each
                        await asyncio.sleep(1)
                yield event

    bench = Liar([reply("So", stop=stop), "Done."], takes=50)
    result, seconds = run(bench)
    assert (bench.cancelled, result.calls, seconds < 20) == (["read 0"], (), True)


async def test_a_stream_that_is_not_read_to_its_end_is_closed():
    closed = []

    class Open(virtual.Stuck):
        async def stream(self, request):
            try:
                async for event in super().stream(request):
                    yield event
            finally:
                closed.append(True)

    def policy(_):
        raise LookupError("a mistake in a policy")

    read = at("read", id="a")
    model = Open(CallStart(0, "read", "a"), CallEnd(0, read), TextDelta("so"))
    with pytest.raises(LookupError, match="a mistake in a policy"):
        await Agent(model, Bench([]).tools, policy=policy).run("Go.")
    assert closed == [True]
    assert_nothing_is_left()


def test_a_veto_of_the_reply_cancels_what_was_started():
    async def after_model(_):
        return Veto("no")

    bench = Bench([reply(at("read"), SO)], takes=1000)
    result, _ = run(bench, hooks=Hooks(after_model=after_model))
    assert (bench.cancelled, result.stop) == (["read 0"], Stop("veto", detail="no"))


def test_a_pause_for_a_person_cancels_what_was_started():
    bench = Bench([reply(at("read"), at("asking"), SO)], takes=1000)
    result, _ = run(bench)
    assert (bench.early, bench.cancelled, result.stop) == (["read 0"], ["read 0"], Stop("pending"))


def test_the_end_of_the_runs_time_cancels_what_was_started():
    bench = Bench([reply(at("read"), "abcd" * 1000)], takes=10**6)
    result, seconds = run(bench, budget=Budget(seconds=100))
    assert (bench.cancelled, result.stop) == (["read 0"], Stop("limit", "seconds"))
    assert seconds < 200


def test_a_cancelled_run_cancels_what_was_started():
    bench = Bench([reply(at("read"), "abcd" * 1000)], takes=10**6)

    async def main():
        task = asyncio.create_task(Agent(bench, bench.tools).run("Go."))
        await asyncio.sleep(50)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert_nothing_is_left()

    virtual.run(main())
    assert bench.cancelled == ["read 0"]


def test_a_call_that_still_waits_for_a_slot_was_not_started():
    broken = Turn(reply=reply(at("read"), at("read", 1), SO), pause=1.0, breaks=Break(10))
    result, _ = run(Bench([broken, "Done."], takes=1000), concurrency=1)
    assert [record.call for record in result.dropped] == [result.calls[0].call]
    first, second = [record.result.text for record in result.calls]
    assert "was started while the reply still came, was given up, and its result was dropped" in first
    assert second.startswith("read was not run;")


def test_what_was_dropped_is_in_the_journal_and_replay_and_recovery_pass_it_over():
    async def main():
        for takes, fate in [(0, "returned"), (1000, "cancelled")]:
            seen, journal = [], MemoryJournal()
            broken = Turn(reply=reply(at("read"), SO), pause=1.0, breaks=Break(6))
            bench = Bench([broken, "Done."], takes=takes)
            agent = Agent(
                bench,
                bench.tools,
                journal=journal,
                observers=[lambda _, what, seen=seen: seen.append(what)],
            )
            result = await agent.run("Go.", run="r")
            entries = journal.entries("r")
            (entry,) = [each for each in entries if isinstance(each, CallDropped)]
            assert entry in seen
            assert (entry.key, entry.call.name, entry.result.outcome) == ("t1.0.read", "read", fate)
            assert (entry.usage is not None) == (fate == "returned")
            again, recovered = await replay(journal, "r"), await agent.recover("r")
            for each in (again, recovered):
                assert (each.transcript, each.dropped) == (result.transcript, result.dropped)
            assert list(journal.entries("r")) == list(entries)

    virtual.run(main())


calls = st.builds(
    call,
    st.sampled_from([*EFFECTS, "nope"]),
    st.sampled_from(['{"at":1}', '{"at":2}', "{}", "", '{"at":', '{"at":"x"}']),
    id=st.sampled_from(["", "a", "b", "call_1_0"]),
)
replies = st.builds(
    lambda parts, stop: reply(*parts, stop=stop),
    st.lists(calls | st.just(SO), max_size=5),
    st.sampled_from([None, None, None, "length", "error", "end", "refusal"]),
)
turns = st.builds(
    Turn,
    reply=replies,
    pause=st.sampled_from([0.0, 1.0]),
    breaks=st.none() | st.none() | st.builds(Break, st.integers(1, 20)),
)


@settings(max_examples=often(60))
@given(st.lists(turns, max_size=3), st.sampled_from([0, 3, 50]), st.integers(0, 5))
def test_the_transcript_is_the_same_with_and_without(script, takes, room):
    came = []
    for speculate in (True, False):
        bench = Bench([*script, *[reply("Done.")] * 4], takes=takes)
        result, _ = run(bench, speculate=speculate, budget=Budget(calls=room * 2))
        ids = {record.call.id for record in result.dropped}
        records = [(record.call, alike(record.result, ids), record.attempts) for record in result.calls]
        shown = [
            Results(tuple([alike(each, ids) for each in message.results]))
            if isinstance(message, Results)
            else message
            for message in result.transcript
        ]
        came.append((shown, result.stop, records, result.usage))
        assert speculate or not (bench.early or ids)
    assert came[0] == came[1]


def alike(result: Result, dropped: set[str]) -> Result:
    """The result, without the one difference: it tells that its call had been started."""
    if result.call_id not in dropped:
        return result
    *_, rest = result.text.partition("was started while the reply still came, ")
    rest = rest.partition(" and its result was dropped")[2]
    assert rest, result.text
    return replace(result, content=(Text(f"{result.name} was not run{rest}"),))


def test_what_was_started_and_then_refused_has_stopped_before_the_model_is_asked_again():
    asked = 0

    def policy(_):
        # The first time it is asked while the reply streams, and then by the gate.
        nonlocal asked
        asked += 1
        return None if asked == 1 else Deny("not now.")

    journal = MemoryJournal()
    bench = Bench([reply(call("read", at=0), call("read", at=1)), "Done."], takes=1000.0)
    stopped = []
    stream = bench.stream

    async def watched(request):
        stopped.append(list(bench.cancelled))
        async for event in stream(request):
            yield event

    bench.stream = watched
    result, seconds = run(bench, policy=policy, journal=journal)
    assert outcomes(result) == [("read", "denied"), ("read", "denied")]
    assert (bench.early, stopped, seconds < 100) == (["read 0"], [[], ["read 0"]], True)
    dropped = [entry for entry in journal.entries("r") if isinstance(entry, CallDropped)]
    assert [(entry.call.name, entry.result.outcome) for entry in dropped] == [("read", "cancelled")]
