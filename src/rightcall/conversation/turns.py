"""One run of a conversation: alone in it, with what was said before, appended when it ends."""

import asyncio
from collections.abc import Callable, Coroutine
from time import monotonic
from typing import Any, TypeAlias

from msgspec import Struct

from rightcall.conversation.conversations import Conversations
from rightcall.core.history import mend
from rightcall.core.message import Transcript, User
from rightcall.errors import ConversationBusy, RightcallError, UsageError
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
                return await _run_and_settle(conversations, turn.run, turn.start(history))
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
        result = await go_on()
        await _settle(conversations, result)
        return result


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
            await _settle(conversations, await turn.recover(earlier.run))
        except RightcallError as error:
            run_logger.warning(
                "conversation %s: the run %s is lost: %s", turn.conversation, earlier.run, error
            )
            said = _partial(error) or (earlier.prompt,)
            await conversations.settle(earlier.run, said, "lost", error.code)


async def _run_and_settle(conversations: Conversations, run: str, going: Going) -> RunResult[Any]:
    try:
        result = await going
    except RightcallError as error:
        # Without any reply nothing has happened, and the user may say the same again.
        await conversations.settle(run, _partial(error), "failed", error.code)
        raise
    await _settle(conversations, result)
    return result


async def _settle(conversations: Conversations, result: RunResult[Any]) -> None:
    if result.pending:
        await conversations.pause(result)
        return
    said = result.transcript[result.begins :]
    await conversations.settle(result.run, said, "done", str(result.stop))


def _partial(error: RightcallError) -> Transcript:
    """What a run that failed had said, if the model had replied; every call in it has a result."""
    result = error.result
    if not isinstance(result, RunResult) or not result.replies:
        return ()
    return mend(result.transcript[result.begins :]).messages
