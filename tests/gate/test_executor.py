"""N calls, N results, in the model's order: together where they may, alone where they must."""

import asyncio
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rightcall as rc
from effort import often
from rightcall.core.outcome import Cancelled, Denied, Failed, Returned, UnknownTool
from rightcall.core.parts import Result
from rightcall.core.proposal import Proposal
from rightcall.errors import UsageError

SECONDS = 5


def calls(*names: str, arguments: str = "") -> list[rc.Call]:
    return [
        rc.Call(id=f"c{position}", name=name, arguments=arguments) for position, name in enumerate(names)
    ]


async def run(
    executor: rc.gate.Executor, asked: list[rc.Call], *tools, **more
) -> tuple[rc.gate.Execution, ...]:
    async with asyncio.timeout(SECONDS):
        return await executor.execute(asked, rc.Toolbox(*tools), **more)


# One tool for every way a call can go; each says which call it was.
@rc.tool
async def quick(tag: int) -> str:
    return f"quick {tag}"


@rc.tool
async def waits(tag: int, pause: float) -> str:
    await asyncio.sleep(pause)
    return f"waits {tag}"


@rc.tool
def blocks(tag: int, pause: float) -> str:
    threading.Event().wait(pause)
    return f"blocks {tag}"


@rc.tool(serial=True)
async def alone(tag: int, pause: float) -> str:
    await asyncio.sleep(pause)
    return f"alone {tag}"


@rc.tool
async def fails(tag: int) -> str:
    raise rc.ToolFailure(f"fails {tag}")


@rc.tool
def breaks(tag: int) -> str:
    raise KeyError(tag)


@rc.tool
async def gives_up(tag: int) -> str:
    await asyncio.sleep(0)
    raise asyncio.CancelledError


@rc.tool(limits=rc.Limits(timeout=0.001))
async def too_slow(tag: int) -> str:
    await asyncio.sleep(SECONDS)
    return "never"


@rc.tool(approval=True)
async def asks_first(tag: int) -> str:
    return f"asks_first {tag}"


EVERY = rc.Toolbox(quick, waits, blocks, alone, fails, breaks, gives_up, too_slow, asks_first)
WORDS = {
    "quick": ("returned", "quick {tag}"),
    "waits": ("returned", "waits {tag}"),
    "blocks": ("returned", "blocks {tag}"),
    "alone": ("returned", "alone {tag}"),
    "fails": ("failed", "fails {tag}"),
    "breaks": ("failed", "KeyError: {tag}"),
    "gives_up": ("cancelled", "gives_up was cancelled before it finished."),
    "too_slow": ("timed_out", "too_slow did not finish within 0.001 s and was given up."),
    "asks_first": ("denied", "asks_first was not run; permission was denied"),
    "nosuch": ("unknown", 'There is no tool "nosuch".'),
    "cut_off": ("truncated", "quick was not run; the reply was cut off"),
    "invalid": ("invalid", "quick was not run; its arguments do not fit:"),
}


def ask(position: int, way: str, pause: float) -> rc.Call:
    tag = f'"tag": {position}'
    arguments = f'{{{tag}, "pause": {pause}}}' if way in {"waits", "blocks", "alone"} else f"{{{tag}}}"
    if way == "invalid":
        return rc.Call(id=f"c{position}", name="quick", arguments="[]")
    if way == "cut_off":
        return rc.Call(id=f"c{position}", name="quick", arguments=arguments, truncated=True)
    return rc.Call(id=f"c{position}", name=way, arguments=arguments)


@given(
    ways=st.lists(
        st.tuples(st.sampled_from(sorted(WORDS)), st.sampled_from([0, 0.001, 0.003])), max_size=12
    ),
    concurrency=st.integers(1, 5),
)
@settings(max_examples=often(60))
def test_no_mix_of_calls_loses_doubles_or_reorders_a_result(ways, concurrency):
    asked = [ask(position, way, pause) for position, (way, pause) in enumerate(ways)]
    done = asyncio.run(run(rc.gate.Executor(concurrency=concurrency), asked, EVERY))
    assert [each.call for each in done] == asked
    for position, ((way, _), each) in enumerate(zip(ways, done, strict=True)):
        kind, words = WORDS[way]
        assert (each.result.call_id, each.result.name) == (f"c{position}", asked[position].name)
        assert (each.outcome.kind, each.result.outcome) == (kind, kind)
        assert each.result.text.startswith(words.format(tag=position))


async def test_no_calls_give_no_results():
    assert await rc.run_calls([], [quick]) == ()


async def test_calls_with_one_and_the_same_id_each_get_a_result():
    same = [rc.Call(id="x", name="quick", arguments=f'{{"tag": {n}}}') for n in range(2)]
    done = await rc.run_calls(same, [quick])
    assert [(each.result.call_id, each.result.text) for each in done] == [
        ("x", "quick 0"),
        ("x", "quick 1"),
    ]


async def test_a_call_that_does_not_pass_is_not_run_and_costs_no_time():
    (done,) = await rc.run_calls([rc.Call(id="1", name="quikc")], [quick])
    outcome = UnknownTool("quikc", ("quick",), ("quick",))
    assert (done.outcome, done.attempts, done.seconds, done.repairs) == (outcome, 0, 0.0, ())
    assert done.result == Result(
        call_id="1",
        name="quikc",
        outcome="unknown",
        content=(rc.models.Text('There is no tool "quikc". Did you mean quick? Available: quick.'),),
    )


async def test_async_calls_run_at_the_same_time():
    meeting = asyncio.Barrier(3)

    @rc.tool
    async def meet() -> None:
        await meeting.wait()

    done = await run(rc.gate.Executor(), calls("meet", "meet", "meet"), meet)
    assert [each.outcome for each in done] == [Returned(None)] * 3


async def test_blocking_and_async_calls_run_at_the_same_time():
    meeting = threading.Barrier(3, timeout=SECONDS)

    @rc.tool
    def meet() -> int:
        return meeting.wait() * 0

    @rc.tool
    async def joins() -> int:
        return (await asyncio.to_thread(meeting.wait)) * 0

    done = await run(rc.gate.Executor(), calls("meet", "joins", "meet"), meet, joins)
    assert [each.outcome for each in done] == [Returned(0)] * 3


async def test_a_serial_call_waits_for_those_before_it_and_holds_up_those_after_it():
    diary = []

    def keeper(name: str, *, serial: bool = False) -> rc.Tool:
        async def body() -> None:
            diary.append(f"{name} in")
            for _ in range(5):
                await asyncio.sleep(0)
            diary.append(f"{name} out")

        return rc.Tool(name, "", handler=body, serial=serial)

    tools = [keeper("a"), keeper("b"), keeper("s", serial=True), keeper("c"), keeper("d")]
    await run(rc.gate.Executor(), calls("a", "b", "s", "c", "d"), *tools)
    assert diary == [
        *["a in", "b in", "a out", "b out"],
        *["s in", "s out"],
        *["c in", "d in", "c out", "d out"],
    ]


async def test_one_failing_call_harms_no_other():
    names = ("fails", "quick", "breaks", "gives_up", "quick")
    done = await run(rc.gate.Executor(), calls(*names, arguments='{"tag": 1}'), EVERY)
    assert [each.outcome.kind for each in done] == [
        "failed",
        "returned",
        "failed",
        "cancelled",
        "returned",
    ]


@pytest.mark.parametrize("late", [False, True])
async def test_a_tool_that_cancels_its_own_task_harms_no_other(late):
    @rc.tool
    async def cancels() -> None:
        if late:
            await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(SECONDS)

    asked = [*calls("cancels"), rc.Call(id="q", name="waits", arguments='{"tag": 1, "pause": 0.001}')]
    done = await run(rc.gate.Executor(), asked, cancels, waits)
    assert [each.outcome for each in done] == [Cancelled(), Returned("waits 1")]
    assert (done[0].result.text, done[0].attempts) == ("cancels was cancelled before it finished.", 1)


async def test_dependencies_reach_every_call():
    @rc.tool
    async def which(context: rc.Context[str]) -> str:
        return f"{context.call_id} {context.dependencies}"

    done = await rc.run_calls(calls("which", "which"), [which], dependencies="db")
    assert [each.result.text for each in done] == ["c0 db", "c1 db"]


async def allow(proposal: Proposal) -> bool:
    return True


async def refuse(proposal: Proposal) -> bool:
    return False


async def explain(proposal: Proposal) -> rc.Deny:
    return rc.Deny(f"not {proposal.arguments['tag']}")


async def agree(proposal: Proposal) -> rc.Allow:
    return rc.Allow()


async def correct(proposal: Proposal) -> rc.Rewrite:
    return rc.Rewrite({"tag": 8})


async def tell(proposal: Proposal) -> rc.Answer:
    return rc.Answer("by hand")


@pytest.mark.parametrize(
    ("approve", "outcome"),
    [
        (None, Denied("a person must approve it, and there is nobody to ask")),
        (allow, Returned("asks_first 7")),
        (refuse, Denied()),
        (explain, Denied("not 7")),
        (agree, Returned("asks_first 7")),
        (correct, Returned("asks_first 8")),
        (tell, Returned("by hand")),
    ],
    ids=["nobody", "yes", "no", "a-reason", "allow", "rewrite", "answer"],
)
async def test_a_tool_that_wants_approval_runs_only_on_a_clear_yes(approve, outcome):
    (done,) = await rc.run_calls(calls("asks_first", arguments='{"tag": 7}'), EVERY, approve=approve)
    assert (done.outcome, done.attempts) == (outcome, int(approve in (allow, agree, correct)))


@pytest.mark.parametrize("answer", [None, "no!", 1])
async def test_an_approver_that_answers_with_no_decision_is_told_so(answer):
    async def approve(_):
        return answer

    with pytest.raises(UsageError, match=f"not of the type {type(answer).__name__}"):
        await rc.run_calls(calls("asks_first", arguments='{"tag": 7}'), EVERY, approve=approve)


async def test_approval_is_asked_only_for_good_calls_of_tools_that_want_it():
    asked_about = []

    async def approve(proposal: Proposal) -> bool:
        asked_about.append(proposal.call_id)
        return False

    asked = [
        rc.Call(id="invalid", name="asks_first", arguments="[]"),
        rc.Call(id="free", name="quick", arguments='{"tag": 1}'),
        rc.Call(id="wanted", name="asks_first", arguments='{"tag": 1}'),
    ]
    done = await rc.run_calls(asked, EVERY, approve=approve)
    assert asked_about == ["wanted"]
    assert [each.outcome.kind for each in done] == ["invalid", "returned", "denied"]


async def test_nothing_runs_before_every_question_is_answered():
    diary = []

    async def approve(proposal: Proposal) -> bool:
        diary.append("asked")
        await asyncio.sleep(0)
        return True

    @rc.tool
    async def first() -> None:
        diary.append("ran")

    await rc.run_calls(
        calls("first", "careful"), [first, first.replace(name="careful", approval=True)], approve=approve
    )
    assert diary == ["asked", "ran", "ran"]


def test_a_failure_keeps_its_kind_through_an_execution():
    (done,) = asyncio.run(rc.run_calls(calls("fails", arguments='{"tag": 1}'), EVERY))
    assert (done.outcome, done.result.is_error) == (Failed("fails 1"), True)
