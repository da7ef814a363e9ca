"""A timer beside an exchange: it sends keep-alives in a quiet stream, and ends one that nobody reads."""

import asyncio
import time
from typing import Self

from rightcall.errors import RightcallError
from rightcall.log import gateway_logger
from rightcall.serve.gateway.exchange import Exchange
from rightcall.serve.gateway.settings import Bounds


class KeepAlive:
    """Runs the timer while an exchange goes on; a context manager."""

    def __init__(self, exchange: Exchange, bounds: Bounds) -> None:
        self._exchange = exchange
        self._bounds = bounds
        self._loop = asyncio.get_running_loop()
        self._every = min(bounds.quiet_seconds, bounds.stalled_seconds)
        self._timer = self._loop.call_later(self._every, self._beat)
        self._saying: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        if self._saying is not None:
            self._saying.cancel()

    def _beat(self) -> None:
        exchange, http, now = self._exchange, self._exchange.http, time.monotonic()
        wait = self._every
        if http.waits_since is not None:
            if now - http.waits_since >= self._bounds.stalled_seconds:
                gateway_logger.warning("request %s: the client reads nothing", exchange.id)
                http.drop()
                return
        elif exchange.peeked.stream and not http.over:
            quiet = now - http.wrote
            if quiet >= self._bounds.quiet_seconds:
                self._saying = self._loop.create_task(self._say())
            else:
                wait = min(wait, self._bounds.quiet_seconds - quiet)
        self._timer = self._loop.call_later(wait, self._beat)

    async def _say(self) -> None:
        try:
            await self._exchange.keep_alive()
        except RightcallError as error:
            # The code that parses the request reports what is wrong with it.
            gateway_logger.debug("request %s is not kept alive: %s", self._exchange.id, error)
