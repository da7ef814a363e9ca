"""Where a server is: a URL, or a local program that may be started.

The rules for programs are those of a manifest: no shell, no variable that was not named, and no program
that somebody else could have put there. Only the lookup by name is added, because other programs' files
say ``npx`` and ``uvx``; it is done once, here, in our own ``PATH``.
"""

import ipaddress
import os
import re
import shutil
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct, field

from rightcall.core.options import Spelt
from rightcall.core.secret import redact_formats
from rightcall.errors import UsageError
from rightcall.platforms import posix_only, user_name

INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "USER")
"""Variables of our environment that a program gets unless more are named: what most need, no secrets."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Stdio(Struct, frozen=True, kw_only=True, metaclass=Spelt):
    """A program that speaks MCP over its standard input and output. No shell is used."""

    command: str
    """The program: an absolute path, or a name that is looked up in our own ``PATH``."""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables to set for it."""
    inherit: tuple[str, ...] = INHERITED
    """Variables that it gets from our environment. It gets no others of ours."""
    directory: str | None = None
    """Where it runs; an absolute path, our own current directory unless given."""

    def __post_init__(self) -> None:
        for text in (self.command, *self.arguments, *self.environment.values()):
            if "\0" in text:
                raise UsageError("a server's command: no program can be given a NUL character")
        for name in (*self.environment, *self.inherit):
            if not _VARIABLE.fullmatch(name):
                raise UsageError(f"a server's environment: {name!r} is not the name of a variable")
        if self.directory is not None and not self.directory.startswith("/"):
            raise UsageError(f"a server's directory must be absolute, not {self.directory!r}")

    def __repr__(self) -> str:
        shown = [redact_formats(text) for text in (self.command, *self.arguments)]
        return f"Stdio({shown}{_names('environment', self.environment)})"


class Http(Struct, frozen=True, kw_only=True, metaclass=Spelt):
    """A URL that speaks MCP over HTTP."""

    url: str
    transport: Literal["http", "sse"] = "http"
    """``sse`` is the older transport, with a stream of events that stays open."""
    headers: Mapping[str, str] = field(default_factory=dict)
    auth: Any = None
    """Signs requests: an ``httpx2.Auth``, such as the SDK's ``OAuthClientProvider``."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            shown = redact_formats(self.url)
            raise UsageError(f"a server's address begins with https:// or http://, not {shown!r}")

    def __repr__(self) -> str:
        auth = ", auth=…" if self.auth is not None else ""
        old = ", sse" if self.transport == "sse" else ""
        return f"Http({redact_formats(self.url)!r}{old}{_names('headers', self.headers)}{auth})"

    @property
    def is_exposed(self) -> bool:
        """Whether our secrets would be sent over a network unencrypted."""
        parts = urlsplit(self.url)
        return (
            parts.scheme == "http" and bool(self.headers or self.auth) and not _is_here(parts.hostname)
        )


def _names(what: str, values: Mapping[str, str]) -> str:
    """The names that are set, without their values, which may be secrets."""
    return f", {what}={', '.join(values)}" if values else ""


Endpoint: TypeAlias = Stdio | Http
Given: TypeAlias = Endpoint | str | Sequence[str]


def endpoint_of(given: Given) -> Endpoint:
    """The target; a string is a URL, a list a program and its arguments."""
    if isinstance(given, Stdio | Http):
        return given
    if isinstance(given, str):
        if "://" not in given:
            raise UsageError(
                f"{given!r} is no address; a program is a list: connect({given.split() or [given]!r}), "
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


def program_of(target: Stdio) -> str:
    """The absolute path of the program. Raises UsageError if there is none, or none to trust."""
    command = target.command
    if "/" in command and not command.startswith("/"):
        raise UsageError(f"the command {command!r} must be an absolute path, or a name without slashes")
    found = shutil.which(command)
    if found is None or not Path(found).is_absolute():
        raise UsageError(
            f"there is no program {command!r} that could be run; install it, or name another"
        )
    refuse_unsafe(Path(found))
    return found


def refuse_unsafe(path: Path) -> None:
    """Raise UsageError if somebody else can write a file, or replace it or a folder on its path."""
    if sys.platform == "win32":
        raise posix_only("an MCP server over stdio")
    target = path.resolve()
    for place in dict.fromkeys([target, *target.parents, *path.absolute().parents]):
        status = place.stat()
        if status.st_uid not in {0, os.geteuid()}:
            owner = user_name(status.st_uid)
            raise UsageError(f"{place} belongs to {owner}, neither you nor root; {path} is not trusted")
        # In a sticky directory, such as /tmp, nobody can replace somebody else's files.
        sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
        if status.st_mode & stat.S_IWOTH and not sticky:
            raise UsageError(f"anyone may write {place}; {path} is not trusted. Run chmod o-w {place}")


def environment_of(target: Stdio) -> dict[str, str]:
    """The program's whole environment: inherited and set variables."""
    inherited = {name: os.environ[name] for name in target.inherit if name in os.environ}
    return inherited | dict(target.environment)


def directory_of(target: Stdio) -> str:
    """Where the program runs. Raises UsageError if there is no such directory."""
    place = target.directory or str(Path.cwd())
    if not Path(place).is_dir():
        raise UsageError(f"a server's directory: there is no {place}")
    return place
