"""All settings of one connection, in one value."""

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.limits import LimitOptions, Limits, with_limits
from rightcall.errors import UsageError
from rightcall.gate.gate import Approve
from rightcall.mcp.client.callbacks import Sampling
from rightcall.mcp.client.endpoints import Endpoint, Http
from rightcall.mcp.client.note_log import Note
from rightcall.mcp.client.remote_tool import EVERYTHING, Trusted
from rightcall.mcp.pins import Pins
from rightcall.trust.facts_file import StatedFacts, read_facts

Protocol: TypeAlias = Literal["auto", "legacy", "newest"]
"""``legacy`` is the handshake of 2025 and before, in which servers can send requests; ``newest`` the
newest version that the server speaks. ``auto`` is the newest, unless the server may ask for something
(``approve``, ``sampling``, ``roots``): most servers can ask by the handshake only."""


class ConnectOptions(LimitOptions, total=False):
    """Options of a connection besides its target; limits may also be given one by one."""

    auth: Any
    """How to log in at a URL: ``"oauth"``, ``Login(...)``, ``ClientCredentials(...)`` or an
    ``httpx2.Auth``."""
    trust: bool | Collection[Trusted]
    """What to trust of the server; nothing unless given. True for all of it."""
    limits: Limits
    """The limits of each of its tools."""
    pins: Pins | str | os.PathLike[str] | None
    """A file of approved definitions; a server that differs from them is refused."""
    facts: StatedFacts | str | os.PathLike[str] | None
    """What you state of its tools for the rules of trust: ``rc.trust.starter``, or a file of facts."""
    suspicious: Literal["refuse", "keep"]
    """What to do with a tool whose description gives the model instructions; refused unless given."""
    approve: Approve | None
    """Asks a person what the server wants to know; without it the server may not ask."""
    sampling: Sampling | None
    """The model that the server may use; without it there is none."""
    roots: Collection[str | os.PathLike[str]]
    """The directories that the server is told it may work in."""
    record: Callable[[Note], None] | None
    """Called with each note: the server's log, changed tools, lost connections."""
    protocol: Protocol
    connect_timeout: float
    """Seconds in which the server must have started and listed its tools."""
    wait_for_tools: bool
    """False: it is open once it is connected, and its tools are added when it has listed them. For
    servers with very many; an agent sees them from its next turn on."""
    reconnects: int
    """How often in a row a lost server is restarted before it is left alone for a while."""
    cool_down: float
    """Seconds of that while; then it is tried again, when a caller needs it."""
    max_message_bytes: int
    """A longer message ends the connection."""


class ConnectionSettings(Struct, frozen=True, kw_only=True, eq=False):
    """The options with all defaults filled in."""

    name: str
    target: Endpoint
    trust: frozenset[Trusted] = frozenset()
    limits: Limits = Limits()
    pins: Pins | None = None
    facts: StatedFacts | None = None
    suspicious: Literal["refuse", "keep"] = "refuse"
    approve: Approve | None = None
    sampling: Sampling | None = None
    roots: tuple[Path, ...] = ()
    record: Callable[[Note], None] | None = None
    protocol: Protocol = "auto"
    connect_timeout: float = 30.0
    wait_for_tools: bool = True
    reconnects: int = 3
    cool_down: float = 30.0
    max_message_bytes: int = 16 * 1024 * 1024

    @property
    def may_be_asked(self) -> bool:
        """Whether the server may ask a person, a model or for folders."""
        return self.approve is not None or self.sampling is not None or bool(self.roots)

    def __post_init__(self) -> None:
        for name in ("connect_timeout", "max_message_bytes"):
            if not getattr(self, name) > 0:
                raise UsageError(f"a server's {name} must be more than 0")


def settings_of(name: str, target: Endpoint, options: ConnectOptions) -> ConnectionSettings:
    """The options of ``connect``, parsed."""
    auth = options.pop("auth", None)
    if auth is not None:
        if not isinstance(target, Http):
            raise UsageError("auth is for servers at a URL; a program gets its secrets in environment=")
        target = replace(target, auth=auth)
    pins = options.get("pins")
    facts = options.get("facts")
    roots = tuple(Path(path).absolute() for path in options.get("roots", ()))
    for place in roots:
        if not place.is_dir():
            raise UsageError(f"roots: {place} is not a directory")
    trust = options.get("trust", False)
    if isinstance(trust, bool):
        trust = EVERYTHING if trust else ()
    if wrong := set(trust) - EVERYTHING:
        raise UsageError(f"trust: there is {', '.join(sorted(EVERYTHING))}, not {wrong.pop()!r}")
    read: dict[str, Any] = {
        **with_limits(options),
        "trust": frozenset(trust),
        "pins": pins if pins is None or isinstance(pins, Pins) else Pins(pins),
        "facts": facts if facts is None or isinstance(facts, StatedFacts) else read_facts(Path(facts)),
        "roots": roots,
    }
    return ConnectionSettings(name=name, target=target, **read)
