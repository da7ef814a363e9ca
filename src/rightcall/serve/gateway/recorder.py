"""Every exchange as a run of one turn, in the journal and for observers.

An exchange is recorded when it is over, in a separate thread. If the disk is slower than the clients,
exchanges wait for it, so that nothing is lost and nothing piles up.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from rightcall.core.budget import Budget, Stop
from rightcall.core.entry import Entry, ReplyReceived, RequestSent, RunEnded, RunFailed, RunStarted
from rightcall.core.message import Reply
from rightcall.core.ports import Journal, Observer
from rightcall.errors import RightcallError
from rightcall.log import gateway_logger
from rightcall.serve.gateway.exchange import GatewayExchange

_KEY = "t1.model"
_MOST_WAITING = 1000
_NO_LIMIT = Budget(turns=1, calls=None, seconds=None, tokens=None, cost=None, repeats=None)
_AGAIN = (RunEnded(stop=Stop("end", detail="answered as the same request was before")),)


class Recorder:
    """Records exchanges, and passes them to observers."""

    def __init__(self, journal: Journal | None = None, observers: Sequence[Observer] = ()) -> None:
        self._journal = journal
        self._observers = observers
        self._writer = ThreadPoolExecutor(1, "rightcall-gateway-journal")
        self._room = asyncio.Semaphore(_MOST_WAITING)

    async def note_start(self, exchange: GatewayExchange) -> None:
        """Tell observers that a model is asked."""
        if self._observers:
            with suppress(RightcallError):
                await exchange.prepare()
            self._show(exchange, _start_entries(exchange))

    async def record_end(
        self,
        exchange: GatewayExchange,
        reply: Reply | None,
        error: RightcallError | None,
        seconds: float,
    ) -> None:
        """Record the outcome, and tell observers."""
        entries = _AGAIN if exchange.is_repeated else _end_entries(reply, error, seconds)
        self._show(exchange, entries)
        if self._journal is None:
            return
        await self._room.acquire()
        loop = asyncio.get_running_loop()
        written = loop.run_in_executor(self._writer, self._write, exchange, entries)
        written.add_done_callback(self._finish_write)

    def close(self) -> None:
        """Wait until everything is written."""
        self._writer.shutdown()
        close = getattr(self._journal, "close", None)
        if close is not None:
            close()

    def _write(self, exchange: GatewayExchange, entries: Sequence[Entry]) -> None:
        assert self._journal is not None
        for entry in (*_start_entries(exchange), *entries):
            self._journal.append(run_of(exchange), entry)

    def _finish_write(self, done: "asyncio.Future[None]") -> None:
        self._room.release()
        if not done.cancelled() and (error := done.exception()) is not None:
            gateway_logger.warning("an exchange could not be recorded: %s", error)

    def _show(self, exchange: GatewayExchange, entries: Sequence[Entry]) -> None:
        for entry in entries:
            for observer in self._observers:
                try:
                    observer(run_of(exchange), entry)
                except Exception:
                    gateway_logger.exception("an observer failed")


def run_of(exchange: GatewayExchange) -> str:
    """The id of an exchange's run in the journal."""
    return f"gateway-{exchange.id}"


def _start_entries(exchange: GatewayExchange) -> tuple[Entry, ...]:
    try:
        request = exchange.client_request.request
    except RightcallError:
        # A request that could not be parsed was refused, and that is recorded.
        return (RunStarted(messages=(), budget=_NO_LIMIT),)
    started = RunStarted(
        messages=request.messages,
        budget=_NO_LIMIT,
        system=request.system,
        specs=request.specs,
        choice=request.choice,
    )
    return (started, RequestSent(key=_KEY, messages=len(request.messages)))


def _end_entries(reply: Reply | None, error: RightcallError | None, seconds: float) -> tuple[Entry, ...]:
    if error is not None:
        return (RunFailed(code=error.code, message=str(error)),)
    if reply is None:
        return (RunFailed(code="unread", message="the answer was passed on and could not be read"),)
    received = ReplyReceived(key=_KEY, reply=reply, seconds=seconds)
    match reply.stop:
        case "calls" | "pause":
            # The client continues in an exchange of its own.
            return (received, RunEnded(stop=Stop("end", detail=reply.stop)))
        case stop:
            return (received, RunEnded(stop=Stop(stop)))
