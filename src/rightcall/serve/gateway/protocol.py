"""The protocol in which the gateway is spoken to: bounded, and with a way to hang up at once."""

from collections.abc import Callable

from rightcall.log import gateway_logger
from rightcall.serve.gateway.visit import CONNECTION
from rightcall.transport.bounded_http import BoundedProtocol


class GatewayProtocol(BoundedProtocol):
    """Is told to each request as its connection."""

    _left: Callable[[], None] | None = None

    def on_headers_complete(self) -> None:
        """Wait for no more of them."""
        self.scope[CONNECTION] = self  # type: ignore[literal-required]
        super().on_headers_complete()

    def abort(self) -> None:
        """Close at once, whatever was not sent yet."""
        self.transport.abort()

    def watch(self, left: Callable[[], None]) -> None:
        """Have this called if the client leaves."""
        self._left = left
        # A long body has it paused, and nobody hears of an end who does not read.
        self.flow.resume_reading()

    def unwatch(self, left: Callable[[], None]) -> None:
        """Call it no more. The next request may have come, and watch, before the last has cleaned up."""
        if self._left == left:
            self._left = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever answers that nobody listens."""
        super().connection_lost(exc)
        if self._left is not None:
            self._left()

    def _unsupported_upgrade_warning(self) -> None:
        gateway_logger.info("a client asked for a websocket, and was told to use HTTP")
