"""Where a server is: a program of this machine to start, or an address."""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct, field

from rightcall.errors import UsageError

INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "USER")
"""All that a program gets of our environment unless more is allowed: what most need, no secrets."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Stdio(Struct, frozen=True, kw_only=True):
    """A program that speaks MCP over its standard input and output. No shell ever reads it."""

    command: str
    """The program: an absolute path, or a name that is looked up in our own ``PATH``."""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables to set for it."""
    inherit: tuple[str, ...] = INHERITED
    """Variables that it gets from our environment. Nothing else of ours reaches it."""
    directory: str | None = None
    """Where it runs; an absolute path, ``/`` unless given."""

    def __post_init__(self) -> None:
        for text in (self.command, *self.arguments, *self.environment.values()):
            if "\0" in text:
                raise UsageError("a server's command: no program can be given a NUL character")
        for name in (*self.environment, *self.inherit):
            if not _VARIABLE.fullmatch(name):
                raise UsageError(f"a server's environment: {name!r} is not the name of a variable")
        if self.directory is not None and not self.directory.startswith("/"):
            raise UsageError(f"a server's directory must be absolute, not {self.directory!r}")


class Http(Struct, frozen=True, kw_only=True):
    """An address that speaks MCP over streamable HTTP."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    auth: Any = None
    """What signs requests: an ``httpx2.Auth``, as the SDK's ``OAuthClientProvider`` is one."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UsageError(f"a server's address begins with https:// or http://, not {self.url!r}")

    @property
    def is_exposed(self) -> bool:
        """Whether secrets of ours would cross a network in the clear."""
        parts = urlsplit(self.url)
        return (
            parts.scheme == "http" and bool(self.headers or self.auth) and not _is_here(parts.hostname)
        )


Target: TypeAlias = Stdio | Http
Given: TypeAlias = Target | str | Sequence[str]


def target_of(given: Given) -> Target:
    """A target; a string is an address, a list a program and its arguments."""
    if isinstance(given, Stdio | Http):
        return given
    if isinstance(given, str):
        if "://" not in given:
            raise UsageError(
                f"{given!r} is no address; a program is a list: connect([{given!r}, …]), "
                "and a file of servers is read with load_config"
            )
        return Http(url=given)
    command, *arguments = given or [""]
    if not command:
        raise UsageError("connect needs a program to start, or an address")
    return Stdio(command=command, arguments=tuple(arguments))


def _is_here(host: str | None) -> bool:
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return host == "localhost" or (host or "").endswith(".localhost")
