"""What a server spends on its clients, all of them together."""

from msgspec import Struct

from rightcall.errors import UsageError


class Bounds(Struct, frozen=True, kw_only=True):
    """Every server has bounds from birth. What each tool may cost, its own limits say."""

    concurrency: int = 32
    """Calls that run at once."""
    calls: int = 256
    """Calls under way, those that wait for a place or a person among them. More are refused."""
    message_bytes: int = 4 * 1024 * 1024
    """A longer message is refused unread."""
    sessions: int = 128
    """Clients of the older protocols at once, over HTTP."""
    connections: int = 256
    """HTTP connections at once."""
    request: float = 30.0
    """Seconds that a client has to send a whole HTTP request."""
    idle: float = 1800.0
    """Seconds after which a session that nobody uses is forgotten."""
    patience: float = 300.0
    """Seconds that a client has to answer what it is asked."""
    grace: float = 1.5
    """Seconds that a call which is given up has to stop, and the server to send what is left to send."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not getattr(self, name) > 0:
                raise UsageError(f"bounds: {name} must be more than 0, not {getattr(self, name)!r}")
