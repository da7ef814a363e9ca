"""An operator's options for a server: where it listens, who may call, what its clients may use."""

from urllib.parse import urlsplit

from mcp.server.auth.provider import TokenVerifier
from mcp.server.transport_security import TransportSecuritySettings
from msgspec import Struct

from rightcall.errors import UsageError
from rightcall.transport.route import is_anywhere, is_loopback

SHORTEST_TOKEN = 16
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class OAuth(Struct, frozen=True, kw_only=True, eq=False):
    """An authorization server whose tokens are accepted. This server is its resource server.

    Without a ``verifier`` tokens must be JWTs, signed with the keys that the issuer publishes.
    """

    issuer: str
    """The authorization server's URL."""
    resource: str
    """This server's own URL, as clients know it and tokens must name it."""
    scopes: tuple[str, ...] = ()
    """The scopes that a token must have."""
    verifier: TokenVerifier | None = None

    def __post_init__(self) -> None:
        for name, address in (("issuer", self.issuer), ("resource", self.resource)):
            parts = urlsplit(address)
            if parts.scheme not in {"http", "https"} or not parts.hostname:
                raise UsageError(f"oauth: {name} must be an http or https address, not {address!r}")
            if parts.scheme == "http" and not is_loopback(parts.hostname):
                raise UsageError(f"oauth: {name} must be an https address: {address}")


class Listen(Struct, frozen=True, kw_only=True, eq=False):
    """Where to listen. A server that other machines can reach must require a token."""

    port: int
    """0 for any free port."""
    host: str = "127.0.0.1"
    path: str = "/mcp"
    token: str | None = None
    """The token that every request must carry as ``Authorization: Bearer``. Never write it into code."""
    oauth: OAuth | None = None
    hosts: tuple[str, ...] = ()
    """Further host names of the server; requests with any other are refused."""
    origins: tuple[str, ...] = ()
    """Origins of web pages that may call it, as ``https://app.example.org``; no other page may."""

    def __post_init__(self) -> None:
        if self.token is not None and self.oauth is not None:
            raise UsageError("listen: either a token or oauth, not both")
        if self.token is not None:
            token = self.token
            if len(token) < SHORTEST_TOKEN:
                raise UsageError(f"listen: a token needs at least {SHORTEST_TOKEN} characters")
            if not token.isascii() or not token.isprintable() or " " in token:
                raise UsageError("listen: a token is made of printable ASCII characters without spaces")
        if not is_loopback(self.host):
            if self.token is None and self.oauth is None:
                raise UsageError(
                    f"listen: {self.host} can be reached from other machines, so a token or oauth is "
                    "needed"
                )
            if is_anywhere(self.host) and not self.hosts:
                raise UsageError(
                    f"listen: with {self.host}, say in hosts under which names it is reached"
                )
        if not self.path.startswith("/"):
            raise UsageError(f"listen: path must begin with /, not {self.path!r}")

    def __repr__(self) -> str:
        return f"Listen({self.host!r}, {self.port}{', token=…' if self.token else ''})"

    @property
    def security(self) -> TransportSecuritySettings:
        """The ``Host`` and ``Origin`` that a request may name.

        Unchecked, any web page could have its visitor's browser call a server on the visitor's machine
        (DNS rebinding).
        """
        own = self.host
        if ":" in own and not own.startswith("["):
            own = f"[{own}]"
        names = dict.fromkeys([*_LOOPBACK, *([] if is_anywhere(self.host) else [own]), *self.hosts])
        pages = [f"{scheme}://{name}" for name in names for scheme in ("http", "https")]
        return TransportSecuritySettings(
            allowed_hosts=[each for name in names for each in (name, f"{name}:*")],
            allowed_origins=[each for page in pages for each in (page, f"{page}:*")] + [*self.origins],
        )


class Bounds(Struct, frozen=True, kw_only=True):
    """Limits that every server has. The limits of each tool are its own."""

    concurrency: int = 32
    """Calls that run at once."""
    calls: int = 256
    """Calls under way, including those that wait for a slot or a person. More are refused."""
    page: int = 1000
    """Entries of one page of a list."""
    message_bytes: int = 4 * 1024 * 1024
    """A longer message is refused without being parsed."""
    sessions: int = 128
    """Clients of the older protocols at once, over HTTP."""
    replay_bytes: int = 8 * 1024 * 1024
    """Of messages kept for clients of the older protocols that lost their HTTP connection."""
    connections: int = 256
    """HTTP connections at once."""
    request: float = 30.0
    """Seconds that a client has to send a whole HTTP request."""
    idle: float = 1800.0
    """Seconds after which an unused session is forgotten."""
    patience: float = 300.0
    """Seconds that a client has to answer a question."""
    grace: float = 1.5
    """Seconds that a cancelled call has to stop, and that the server has to send what is left."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not getattr(self, name) > 0:
                raise UsageError(f"bounds: {name} must be more than 0, not {getattr(self, name)!r}")
