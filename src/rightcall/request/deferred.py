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

from rightcall.core.events import ModelEvent, unfolded
from rightcall.core.pending import PENDING
from rightcall.core.ports import Keeping
from rightcall.core.request import Profile, Request
from rightcall.errors import ProtocolError, RightcallError, VendorError
from rightcall.log import request_logger
from rightcall.request.whole import Answered, Errand
from rightcall.request.wire_model import WireModel

_WAITING = ("queued", "in_progress")
_GONE = (404, 410)
_FIRST_LOOK = 1.0
_LONGEST = 15.0
"""Seconds between two polls: the first, and the longest wait."""
_GOODBYE = 5.0
"""The most seconds that a cancellation may take."""


class _Begun(msgspec.Struct, frozen=True):
    """A response that is being made: the path of responses, and the vendor's answer to the request."""

    path: str
    answered: Answered
    forced: frozenset[str]
    """The tools that were sent strict, so that null stands for a member that is left out."""


class _Standing(Struct):
    id: str = ""
    status: str = ""


class DeferredModel:
    """A connected model whose replies are made in the background and fetched when they are done."""

    def __init__(self, model: WireModel, first_look: float = _FIRST_LOOK) -> None:
        self._model = model
        self._first_look = first_look
        self.name = model.name

    def __repr__(self) -> str:
        return f"DeferredModel({self._model!r})"

    @property
    def wire_model(self) -> WireModel:
        """The model that sends the requests."""
        return self._model

    @property
    def profile(self) -> Profile:
        """Facts about the model."""
        return self._model.profile

    async def close(self) -> None:
        """Close the connections."""
        await self._model.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        """Yields the events of one reply, all at its end. Closing the stream cancels the response."""
        pending = PENDING.get()
        before = await self._before(request, pending.last(self.name)) if pending else None
        begun, request = (before, request) if before else await self._begun(request)
        path, answered = begun.path, begun.answered
        standing = _standing(answered)
        wait = self._first_look
        try:
            if pending and not before and standing.status in _WAITING:
                await pending.began(self.name, standing.id)
            while standing.status in _WAITING:
                await asyncio.sleep(wait)
                wait = min(wait * 1.5, _LONGEST)
                answered = await self._model.errand(Errand(path=f"{path}/{standing.id}"))
                standing = _standing(answered)
        except BaseException:
            await self._cancel(f"{path}/{standing.id}/cancel")
            raise
        for event in unfolded(self._model.decoded(answered.body, request, begun.forced)):
            yield event

    async def _before(self, request: Request, identity: str) -> _Begun | None:
        """Returns what an earlier attempt began, in its present state; None if nothing is left."""
        if not identity:
            return None
        outgoing = self._model.encoded(request)
        try:
            answered = await self._model.errand(Errand(path=f"{outgoing.path}/{identity}"))
        except VendorError as error:
            if error.status not in _GONE:
                raise
        else:
            if _standing(answered).status != "cancelled":
                request_logger.info("%s: going on with %s, begun before", self.name, identity)
                return _Begun(outgoing.path, answered, outgoing.held.forced)
        request_logger.warning("%s: %s, begun before, is gone; asking again", self.name, identity)
        return None

    async def _begun(self, request: Request) -> tuple[_Begun, Request]:
        """Returns the vendor's answer to the request, and the request that was sent in the end."""
        try:
            return await self._sent(request), request
        except VendorError as error:
            dialect = self._model.dialect
            whole = dialect.anew(request, error) if isinstance(dialect, Keeping) else None
            if whole is None:
                raise
        return await self._sent(whole), whole

    async def _sent(self, request: Request) -> _Begun:
        given = request.options.get("extra")
        own = given if isinstance(given, Mapping) else {}
        extra = {**own, "background": True, "store": True}
        outgoing = self._model.encoded(replace(request, options={**request.options, "extra": extra}))
        path, headers = outgoing.path, outgoing.headers
        errand = Errand(path=path, method="POST", body=outgoing.body, headers=headers, once=True)
        return _Begun(path, await self._model.errand(errand), outgoing.held.forced)

    async def _cancel(self, path: str) -> None:
        """Cancel the response, if the vendor can be told in time; otherwise the reply is paid for."""
        with suppress(RightcallError, TimeoutError):
            async with asyncio.timeout(_GOODBYE):
                await self._model.errand(Errand(path=path, method="POST"))


def _standing(answered: Answered) -> _Standing:
    try:
        found = msgspec.json.decode(answered.body, type=_Standing)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ProtocolError(f"a response in the background is no object of its kind: {error}") from error
    if found.status in _WAITING and not found.id:
        raise ProtocolError("a response in the background has no id to be found by")
    return found
