"""Resumes a recorded run that waits for a person, or was interrupted, from the command line."""

import time
from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import Any

from rightcall.agent import Agent
from rightcall.cli.conversations import ENTRIES
from rightcall.cli.load import load_agent
from rightcall.cli.session import Session, view_for
from rightcall.cli.summary import Progress, View
from rightcall.cli.terminal import NOBODY, approver
from rightcall.core.decision import Allow, Deny, FinalDecision, Proposal
from rightcall.core.entry import MODEL_NOTE, Entry, ReplyReceived, RunEnded, RunStarted, StepDone
from rightcall.core.events import StreamEvent
from rightcall.core.ports import Journal
from rightcall.errors import ReplayError, RightcallError, UsageError
from rightcall.gate.gate import final_decision
from rightcall.loop.replay import replay
from rightcall.loop.result import RunEnd, RunResult


async def resume_run(options: Namespace, journal: Journal, run: str) -> int:
    """Resume a run with the named agent, or with one made from the options."""
    paused = await _paused(journal, run)
    if options.agent:
        agent = load_agent(options.agent)
        agent._journal = journal  # noqa: SLF001 - whatever it was made with, this is where the run is
        return await _resume(options, agent, run, paused, view_for(options, options.agent))
    _as_it_was(options, journal.entries(run))
    if options.model is None:
        raise UsageError(_which_model(journal.entries(run), run))
    session = Session(options)
    try:
        await session.open()
        view = session.view()
        agent = session.agent(view, _Showing(view))
        return await _resume(options, agent, run, paused, view)
    finally:
        await session.close()


async def _paused(journal: Journal, run: str) -> RunResult[Any] | None:
    """The result of a run that waits for a person; None for an interrupted one."""
    if any(isinstance(entry, RunEnded) for entry in journal.entries(run)):
        raise UsageError(f"run {run} has ended; there is nothing to continue")
    try:
        result = await replay(journal, run)
    except ReplayError:
        return None
    return result if result.pending else None


def _as_it_was(options: Namespace, entries: Iterable[Entry]) -> None:
    """The model and the instructions of the record, unless the options override them."""
    for entry in entries:
        match entry:
            case RunStarted(system=system, wanted=None):
                options.instructions = options.instructions or system
            case StepDone(key=key, value=value) if key == MODEL_NOTE:
                options.model = options.model or value
            case _:
                pass


def _which_model(entries: Iterable[Entry], run: str) -> str:
    """The error for a run whose record does not say how its model is connected: a program's own."""
    replies = [entry.reply for entry in entries if isinstance(entry, ReplyReceived)]
    name = next((reply.model for reply in reversed(replies) if reply.model), "")
    known = f" Its replies came from {name}." if name else ""
    return (
        f"run {run} was a program's, and its record does not say how to connect its model.{known} "
        "Say -m NAME for the model, or name the program's agent with --agent FILE.py:NAME"
    )


class _Showing:
    """An observer that shows the events of a run."""

    def __init__(self, view: View) -> None:
        self._view = view

    def __call__(self, _: str, happened: Entry | StreamEvent, /) -> None:
        if not isinstance(happened, ENTRIES):
            self._view.show(happened)  # type: ignore[arg-type]


async def _resume(
    options: Namespace, agent: Agent[Any], run: str, paused: RunResult[Any] | None, view: View
) -> int:
    started, progress, error = time.monotonic(), Progress(), None
    try:
        # An interrupted run may come to wait for a person once resumed.
        result = paused or await agent.recover(run)
        decisions = await _decisions(options, result.pending, view) if result.pending else {}
        while decisions:
            result = await agent.resume(result, decisions)
            decisions = await _answers(options, result.pending, view)
        progress.see(RunEnd(result))
    except UsageError:
        raise
    except RightcallError as problem:
        error = problem
    summary = progress.ended(time.monotonic() - started, error)
    view.end(summary)
    return summary.code


async def _decisions(
    options: Namespace, pending: Sequence[Proposal], view: View
) -> dict[str, FinalDecision]:
    """The decisions from the command line, and for the rest those that a person makes now."""
    ids = [proposal.call_id for proposal in pending]
    for given in (*options.allow, *options.deny):
        if given not in ids:
            raise UsageError(f"no call {given!r} waits for a decision; there is {', '.join(ids)}")
    decided: dict[str, FinalDecision] = dict.fromkeys(options.allow, Allow())
    decided |= dict.fromkeys(options.deny, Deny())
    rest = [proposal for proposal in pending if proposal.call_id not in decided]
    answers = await _answers(options, rest, view)
    if rest and not answers:
        call_id = rest[0].call_id
        raise UsageError(f"{rest[0].name} waits for a decision: --allow {call_id} or --deny {call_id}")
    return decided | answers


async def _answers(
    options: Namespace, pending: Sequence[Proposal], view: View
) -> dict[str, FinalDecision]:
    """A person's decision, made now or for all calls; None if nobody is there."""
    ask, answers = approver(options, view), dict[str, FinalDecision]()
    show = getattr(ask, "show", None)
    if show is not None and len(pending) > 1:
        show(pending)
    for proposal in pending:
        answers[proposal.call_id] = answer = final_decision(await ask(proposal))
        if answer == NOBODY:
            return {}
    return answers
