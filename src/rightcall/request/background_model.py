"""A model that answers in the background: requested once, polled until done, cancelled if abandoned.

For replies that take longer than a connection lasts. No part of a reply is passed on before its end. The
id of what was begun is recorded before waiting for it, so that a recovered run continues with it.
https://platform.openai.com/docs/guides/background
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from typing import Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.events import ModelEvent, reply_events
from rightcall.core.ports import BACKGROUND_REPLIES, StatefulDialect
from rightcall.core.request import Request
from rightcall.errors import ProtocolError, RightcallError, VendorError
from rightcall.log import request_logger
from rightcall.request.endpoint import Errand, ErrandAnswer
from rightcall.request.wire_model import WireModel

_WAITING = ("queued", "in_progress")
_GONE = (404, 410)
_FIRST_LOOK = 1.0
_LONGEST = 15.0
"""Seconds between two polls: the first, and the longest wait."""
_GOODBYE = 5.0
"""The most seconds that a cancellation may take."""


class _BackgroundReply(msgspec.Struct, frozen=True):
    """A response that is being made: the path of responses, and the vendor's answer to the request."""

    path: str
    answered: ErrandAnswer
    forced: frozenset[str]
    """The tools that were sent strict, so that null stands for a member that is left out."""


class _BackgroundStatus(Struct):
    id: str = ""
    status: str = ""


class BackgroundModel:
    """A connected model whose replies are made in the background and fetched when they are done."""

    def __init__(self, model: WireModel, first_look: float = _FIRST_LOOK) -> None:
        self.wire_model = self._model = model
        """The model that sends the requests."""
        self.profile = model.profile
        """Facts about the model."""
        self._first_look = first_look
        self.name = model.name

    def __repr__(self) -> str:
        return f"BackgroundModel({self._model!r})"

    async def close(self) -> None:
        """Close the connections."""
        await self._model.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        """Yields the events of one reply, all at its end. Closing the stream cancels the response."""
        pending = BACKGROUND_REPLIES.get()
        before = None
        if pending:
            before = await self._resume_earlier(request, pending.last_id(self.name))
        if before:
            begun = before
        else:
            begun, request = await self._begin(request)
        path = begun.path
        answered = begun.answered
        standing = _parse_status(answered)
        wait = self._first_look
        try:
            if pending and not before and standing.status in _WAITING:
                await pending.record_start(self.name, standing.id)
            while standing.status in _WAITING:
                await asyncio.sleep(wait)
                wait = min(wait * 1.5, _LONGEST)
                answered = await self._model.errand(Errand(path=f"{path}/{standing.id}"))
                standing = _parse_status(answered)
        except BaseException:
            # Otherwise the reply is paid for.
            with suppress(RightcallError, TimeoutError):
                async with asyncio.timeout(_GOODBYE):
                    cancelling = Errand(path=f"{path}/{standing.id}/cancel", method="POST")
                    await self._model.errand(cancelling)
            raise
        for event in reply_events(self._model.decode_reply(answered.body, request, begun.forced)):
            yield event

    async def _resume_earlier(self, request: Request, identity: str) -> _BackgroundReply | None:
        """Returns what an earlier attempt began, in its present state; None if nothing is left."""
        if not identity:
            return None
        outgoing = self._model.encode_whole(request)
        try:
            answered = await self._model.errand(Errand(path=f"{outgoing.path}/{identity}"))
        except VendorError as error:
            if error.status not in _GONE:
                raise
        else:
            if _parse_status(answered).status != "cancelled":
                request_logger.info("%s: going on with %s, begun before", self.name, identity)
                return _BackgroundReply(outgoing.path, answered, outgoing.held.forced)
        request_logger.warning("%s: %s, begun before, is gone; asking again", self.name, identity)
        return None

    async def _begin(self, request: Request) -> tuple[_BackgroundReply, Request]:
        """Returns the vendor's answer to the request, and the request that was sent in the end."""
        try:
            return await self._submit(request), request
        except VendorError as error:
            dialect = self._model.dialect
            whole = None
            if isinstance(dialect, StatefulDialect):
                whole = dialect.rebuild_request(request, error)
            if whole is None:
                raise
        return await self._submit(whole), whole

    async def _submit(self, request: Request) -> _BackgroundReply:
        given = request.options.get("extra")
        own = given if isinstance(given, Mapping) else {}
        extra = {**own, "background": True, "store": True}
        outgoing = self._model.encode_whole(
            replace(request, options={**request.options, "extra": extra})
        )
        path = outgoing.path
        headers = outgoing.headers
        errand = Errand(path=path, method="POST", body=outgoing.body, headers=headers, once=True)
        return _BackgroundReply(path, await self._model.errand(errand), outgoing.held.forced)


def _parse_status(answered: ErrandAnswer) -> _BackgroundStatus:
    try:
        found = msgspec.json.decode(answered.body, type=_BackgroundStatus)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ProtocolError(f"a response in the background is no object of its kind: {error}") from error
    if found.status in _WAITING and not found.id:
        raise ProtocolError("a response in the background has no id to be found by")
    return found
