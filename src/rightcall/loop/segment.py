"""One segment of a run, from an input to an answer or a pause, into its result."""

from collections.abc import Iterable

from rightcall.core.budget import Stop
from rightcall.core.decision import Allow, FinalDecision
from rightcall.core.entry import CallDecided, Entry, RunEnded, RunFailed, RunResumed, RunStarted
from rightcall.core.message import Reply
from rightcall.core.ports import Journal
from rightcall.errors import JournalError, RightcallError
from rightcall.loop.drive import Driver
from rightcall.loop.result import CallRecord, RunResult
from rightcall.loop.state import State


def state_of(start: RunStarted) -> State:
    """Where a run stood when it began."""
    return State(
        messages=start.messages,
        budget=start.budget,
        choice=start.choice,
        sticky_choice=start.sticky_choice,
        retry_broken=start.retry_broken,
        wanted=start.wanted,
        grant=start.grant,
    )


def decisions_in(entries: Iterable[Entry]) -> dict[str, FinalDecision]:
    """Everything that was decided about a run's calls, but for a policy's yes, which is no order.

    What was refused stays refused, whatever the policy is by now.
    """
    decisions: dict[str, FinalDecision] = {}
    for entry in entries:
        match entry:
            case RunResumed(decisions=given):
                decisions.update(given)
            case CallDecided(call_id=call_id, decision=decision, by=by):
                if by == "person" or not isinstance(decision, Allow):
                    decisions[call_id] = decision
            case _:
                pass
    return decisions


async def run_segment(driver: Driver, begins: int, journal: Journal | None) -> RunResult:
    """Drive to the end of the segment. How it ended is recorded, an exception too."""
    run = driver.setup.run
    try:
        stop = await driver.run()
        if stop.reason != "pending":
            driver.setup.steps.note("run.ended", RunEnded(stop=stop))
    except RightcallError as error:
        error.result = result_of(driver, Stop("error", detail=str(error)), begins)
        if journal is not None and not isinstance(error, JournalError):
            journal.append(run, RunFailed(code=error.code, message=str(error)))
        raise
    return result_of(driver, stop, begins)


def result_of(driver: Driver, stop: Stop, begins: int) -> RunResult:
    """What the driver's run came to."""
    state = driver.state
    calls = {c.id: c for m in state.messages[begins:] if isinstance(m, Reply) for c in m.calls}
    return RunResult(
        run=driver.setup.run,
        stop=stop,
        state=state,
        begins=begins,
        calls=tuple(
            CallRecord(
                call=calls[entry.result.call_id],
                result=entry.result,
                seconds=entry.seconds,
                attempts=entry.attempts,
            )
            for entry in driver.finished
        ),
        pending=driver.pending,
    )
