"""One run of a conversation: alone in it, with what was said before, appended when it ends."""

import asyncio
from collections.abc import Callable, Coroutine
from time import monotonic
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rightcall.conversation.conversations import Conversations
from rightcall.core.history import mend
from rightcall.core.message import Transcript, User
from rightcall.errors import AlreadyDecided, ConversationBusy, RightcallError, UsageError
from rightcall.log import run_logger
from rightcall.loop.result import RunResult

Going: TypeAlias = Coroutine[Any, Any, RunResult[Any]]
"""A run that goes on until its result."""

JOURNAL = "journal"
STEPS = "steps"
NOBODY = ""
"""Who can go on with a run whose process died: its agent by a journal, who gave ``steps``, or nobody."""
_PAUSE = 0.05
"""Seconds between two looks whether a run that a durable engine keeps has ended."""


class NewTurn(Struct, frozen=True, kw_only=True, eq=False):
    """A run of a conversation that is to begin."""

    conversation: str
    run: str
    prompt: User
    keeper: str
    start: Callable[[Transcript], Going]
    """Runs it, with the messages before it."""
    recover: Callable[[str], Going]
    """Goes on with an earlier run by its name, if its keeper is the journal."""


async def take_turn(conversations: Conversations, turn: NewTurn) -> RunResult[Any]:
    """Run, with the conversation to oneself, and append what was said."""
    end = monotonic() + conversations.wait
    while True:
        async with conversations.in_turn(turn.conversation):
            busy = await _finish_earlier(conversations, turn)
            if not busy:
                history = await conversations.begin(
                    turn.conversation, turn.run, turn.prompt, turn.keeper
                )
                return await _run_and_settle(conversations, turn, turn.start(history))
        if monotonic() >= end:
            raise ConversationBusy(turn.conversation, busy)
        await asyncio.sleep(_PAUSE)


async def go_on_in_turn(
    conversations: Conversations, run: str, go_on: Callable[[], Going]
) -> RunResult[Any]:
    """Go on with a run after a pause or a crash; if it is of a conversation, append what was said."""
    conversation = await conversations.conversation_of(run)
    if conversation is None:
        return await go_on()
    async with conversations.in_turn(conversation):
        # If it fails, it still waits, or can be recovered: nothing is appended.
        return await _settle(conversations, conversation, await go_on())


async def resume_in_turn(
    conversations: Conversations, paused: RunResult[Any], go_on: Callable[[], Going], *, is_kept: bool
) -> RunResult[Any]:
    """Resume a run; if it is of a conversation, append what was said.

    If no journal or engine keeps its decisions, the store knows whether it still waits: of those who
    resume it at once one does, and the others are told before any call runs.
    """
    run = paused.run
    conversation = await conversations.conversation_of(run)
    if conversation is None:
        if paused.conversation:
            raise UsageError(
                f"these conversations have no run {run!r}, which waits in the conversation "
                f"{paused.conversation!r}: it was deleted, or is stored elsewhere"
            )
        return await go_on()
    async with conversations.in_turn(conversation):
        await _check_waits(conversations, conversation, paused, is_kept=is_kept)
        try:
            result = await go_on()
        except RightcallError as error:
            if not is_kept and _has_acted(error, paused):
                # Nobody may run its calls again, so it does not wait any longer.
                await conversations.settle(run, _partial(error), "failed", error.code)
            raise
        return await _settle(conversations, conversation, result)


async def _check_waits(
    conversations: Conversations, conversation: str, paused: RunResult[Any], *, is_kept: bool
) -> None:
    """Raise AlreadyDecided if a run no longer waits for what this result of it waits for."""
    status = await conversations.status_of(paused.run)
    if status == "abandoned":
        raise AlreadyDecided(paused.run, {}, advice=f"its wait in {conversation!r} was given up")
    if is_kept or status == "running":
        return
    if status != "waiting":
        raise AlreadyDecided(
            paused.run, {}, advice=f"what it said is in the conversation {conversation!r}"
        )
    waiting = await conversations.waiting(conversation)
    assert waiting is not None
    if [each.call_id for each in waiting.pending] != [each.call_id for each in paused.pending]:
        raise AlreadyDecided(
            paused.run,
            {},
            advice=f"it waits for something else: await conversations.waiting({conversation!r})",
        )


def _has_acted(error: RightcallError, paused: RunResult[Any]) -> bool:
    """Whether calls had their results when a run that was resumed failed."""
    result = error.result
    return isinstance(result, RunResult) and len(result.calls) > len(paused.calls)


async def _finish_earlier(conversations: Conversations, turn: NewTurn) -> str:
    """Bring runs to their end whose process died; returns one that must be waited for, or nothing."""
    while True:
        earlier = await conversations.open_run(turn.conversation)
        if earlier is None or earlier.run == turn.run:
            return ""
        if earlier.status == "waiting":
            raise ConversationBusy(turn.conversation, earlier.run, waits=True)
        if earlier.keeper == STEPS:
            return earlier.run
        try:
            if earlier.keeper != JOURNAL:
                raise UsageError("it has no journal")
            run_logger.info("conversation %s: recovering %s", turn.conversation, earlier.run)
            await _settle(conversations, turn.conversation, await turn.recover(earlier.run))
        except RightcallError as error:
            run_logger.warning(
                "conversation %s: the run %s is lost: %s", turn.conversation, earlier.run, error
            )
            said = _partial(error) or (earlier.prompt,)
            await conversations.settle(earlier.run, said, "lost", error.code)


async def _run_and_settle(conversations: Conversations, turn: NewTurn, going: Going) -> RunResult[Any]:
    try:
        result = await going
    except RightcallError as error:
        # Without any reply nothing has happened, and the user may say the same again.
        await conversations.settle(turn.run, _partial(error), "failed", error.code)
        raise
    return await _settle(conversations, turn.conversation, result)


async def _settle(
    conversations: Conversations, conversation: str, result: RunResult[Any]
) -> RunResult[Any]:
    """Store what a run gave; returns its result, which knows its conversation."""
    result = replace(result, conversation=conversation)
    if result.pending:
        await conversations.pause(result)
        return result
    said = result.transcript[result.begins :]
    await conversations.settle(result.run, said, "done", str(result.stop))
    return result


def _partial(error: RightcallError) -> Transcript:
    """What a run that failed had said, if the model had replied; every call in it has a result."""
    result = error.result
    if not isinstance(result, RunResult) or not result.replies:
        return ()
    return mend(result.transcript[result.begins :]).messages
