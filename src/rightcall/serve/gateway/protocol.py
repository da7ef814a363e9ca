"""The HTTP protocol of the gateway's connections: bounded, and with a way to abort at once."""

from collections.abc import Callable

from rightcall.log import gateway_logger
from rightcall.serve.gateway.http_request import CONNECTION
from rightcall.transport.http_server import BoundedProtocol


class GatewayProtocol(BoundedProtocol):
    """The connection of each request, which finds it in its scope."""

    _left: Callable[[], None] | None = None

    def on_headers_complete(self) -> None:
        """Add the connection to the scope; the timeout for headers ends."""
        self.scope[CONNECTION] = self  # type: ignore[literal-required]
        super().on_headers_complete()

    def abort(self) -> None:
        """Close at once, whatever was not sent yet."""
        self.transport.abort()

    def watch(self, left: Callable[[], None]) -> None:
        """Have this called if the client disconnects."""
        self._left = left
        # A long body pauses reading, and a disconnect is noticed only while reading.
        self.flow.resume_reading()

    def unwatch(self, left: Callable[[], None]) -> None:
        """Stop calling it. The next request may watch already, before the last one has cleaned up."""
        if self._left == left:
            self._left = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request's handler that the client has disconnected."""
        super().connection_lost(exc)
        if self._left is not None:
            self._left()

    def _unsupported_upgrade_warning(self) -> None:
        gateway_logger.info("a client asked for a websocket, and was told to use HTTP")
