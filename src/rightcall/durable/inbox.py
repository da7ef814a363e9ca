"""The inbox of a durable run: messages that any process adds, delivered by the one that executes it.

What was said is in the engine's store of messages; what was delivered is in the run's own records
(``loop.delivery``), so that a message is delivered once, whoever dies.
"""

import asyncio
from collections.abc import Sequence
from typing import Self

from msgspec import DecodeError, Struct, json

from rightcall.core.entry import MessageQueued
from rightcall.core.message import User
from rightcall.core.ports import Steps
from rightcall.durable.engine import INLINE, Blobs, RunMessages, encodable
from rightcall.errors import JournalError
from rightcall.log import run_logger

_POLL = 0.1
"""Seconds between two looks whether a message to a run under way is urgent."""


class SaidMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message as it is stored."""

    message: User | None = None
    """None: the run is to stop."""
    now: bool = False
    blob: str = ""
    """The reference of a message that is too long for the store of messages."""


_SAID: json.Decoder[SaidMessage] = json.Decoder(SaidMessage)
_ENCODER = json.Encoder()


async def encode_said(run: str, said: SaidMessage, blobs: Blobs) -> str:
    """A message as the text that is stored."""
    text = encodable(_ENCODER, said)
    if len(text) > INLINE:
        text = _ENCODER.encode(SaidMessage(blob=await blobs.put(run, text)))
    return text.decode()


async def read_said(run: str, number: int, text: str, blobs: Blobs) -> MessageQueued:
    """A message from the text that is stored."""
    try:
        said = _SAID.decode(text)
        if said.blob:
            said = _SAID.decode(await blobs.get(said.blob))
    except DecodeError as error:
        where = f"the run {run!r}, message {number}"
        raise JournalError(where, f"this is no message: {error}") from error
    return MessageQueued(key=f"said.{number}", number=number, message=said.message, now=said.now)


class DurableInbox:
    """The messages of one run, for the process that executes it."""

    def __init__(self, run: str, messages: RunMessages, blobs: Blobs, watch: "InboxWatch") -> None:
        self.urgent = asyncio.Event()
        """Set while a message waits that what is under way is cancelled for."""
        self.seen = 0
        """The number of the last message that the run was given."""
        self.run = run
        self._messages = messages
        self._blobs = blobs
        self._watch = watch

    def restore(self, _: Sequence[MessageQueued], _after: int) -> None:
        """Do nothing: nothing is recorded of what was only said."""

    async def attach(self, _: str, _steps: Steps) -> None:
        """Do nothing: the messages are there already."""

    async def waiting(self, after: int) -> Sequence[MessageQueued]:
        """The messages with a greater number, in order; ``urgent`` is no longer set."""
        found: list[MessageQueued] = []
        for number, text in await self._messages.after(self.run, after):
            found.append(await read_said(self.run, number, text, self._blobs))
        self.seen = found[-1].number if found else after
        self.urgent.clear()
        return found

    async def close(self, after: int) -> bool:
        """Take no more messages, unless one with a greater number waits."""
        return await self._messages.close(self.run, after)

    def end(self) -> None:
        """Do nothing: a run that was stopped by a limit or an error may be forked."""

    async def __aenter__(self) -> Self:
        self._watch.add(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watch.remove(self)


class InboxWatch:
    """Looks for urgent messages to the runs that this process executes: one query for all of them."""

    def __init__(self, messages: RunMessages) -> None:
        self._messages = messages
        self._inboxes: dict[str, DurableInbox] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, inbox: DurableInbox) -> None:
        """Watch for messages to a run that begins."""
        self._inboxes[inbox.run] = inbox
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._look())

    def remove(self, inbox: DurableInbox) -> None:
        """Stop watching; with the last run nothing is looked for any more."""
        self._inboxes.pop(inbox.run, None)
        if not self._inboxes and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_POLL)
            try:
                found = await self._messages.urgent(list(self._inboxes))
            except Exception:
                # It comes late then, at the next turn; the run goes on.
                run_logger.exception("urgent messages to runs could not be looked for")
                continue
            for run, number in found.items():
                inbox = self._inboxes.get(run)
                if inbox is not None and number > inbox.seen:
                    inbox.urgent.set()
