"""The protocol in which the gateway is spoken to: bounded, and with a way to hang up at once."""

from rightcall.log import gateway_logger
from rightcall.serve.gateway.visit import ABORT
from rightcall.transport.bounded_http import BoundedProtocol


class GatewayProtocol(BoundedProtocol):
    """Tells each request how to end its connection."""

    def on_headers_complete(self) -> None:
        """Wait for no more of them."""
        self.scope[ABORT] = self.transport.abort  # type: ignore[literal-required]
        super().on_headers_complete()

    def _unsupported_upgrade_warning(self) -> None:
        gateway_logger.info("a client asked for a websocket, and was told to use HTTP")
