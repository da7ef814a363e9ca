"""Logins at servers, kept between runs: a file for each server, which only the user may read.

A login is more than its tokens. The registration as a client belongs to it, because the port of our
callback address does; so do the authorization server's metadata, without which a token would be
refreshed at the wrong host; and the time at which the token expires, which the token does not say.
"""

import asyncio
import hashlib
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from rightcall.errors import UsageError
from rightcall.user_files import config_folder, write_privately

if sys.platform != "win32":
    import fcntl

_LARGEST = 256 * 1024
_LOOK_AGAIN = 0.05


class StoredLogin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One login: the OAuth messages as they came, and when the token expires."""

    url: str
    tokens: dict[str, Any] = field(default_factory=dict)
    expires_at: float | None = None
    """In seconds since 1970; None if the server did not say."""
    client: dict[str, Any] = field(default_factory=dict)
    """Our registration at the authorization server."""
    issuer: dict[str, Any] = field(default_factory=dict)
    """The authorization server's metadata."""
    resource: dict[str, Any] = field(default_factory=dict)
    """What the server says of itself as a protected resource."""


class LoginStore:
    """The user's logins, in a folder."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._folder = config_folder() / "mcp-logins" if folder is None else Path(folder)

    def file_of(self, url: str) -> Path:
        """The file for a server."""
        host = re.sub(r"[^A-Za-z0-9.-]", "_", urlsplit(url).hostname or "server")
        mark = hashlib.sha256(url.encode()).hexdigest()[:16]
        return self._folder / f"{host}-{mark}.json"

    def read(self, url: str) -> StoredLogin | None:
        """The login at a server; None if there is none."""
        file = self.file_of(url)
        try:
            with file.open("rb") as stream:
                data = stream.read(_LARGEST)
            login = msgspec.json.decode(data, type=StoredLogin)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageError(f"{file} cannot be read: {error.strerror}") from error
        except msgspec.DecodeError as error:
            raise UsageError(f"{file} is not a kept login ({error}); delete it and log in") from error
        if login.url != url:
            raise UsageError(f"{file} is a login at another server; delete it and log in")
        return login

    def write(self, login: StoredLogin) -> None:
        """Keep a login, in place of an earlier one."""
        write_privately(self.file_of(login.url), msgspec.json.encode(login))

    def remove(self, url: str) -> None:
        """Forget a login."""
        for file in (self.file_of(url), self._lock_of(url)):
            file.unlink(missing_ok=True)

    @asynccontextmanager
    async def hold(self, url: str) -> AsyncIterator[None]:
        """Keep other programs from using the refresh token at the same time: it may serve only once.

        Windows has no such locks; there, the later of two programs logs in again.
        """
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._lock_of(url), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if sys.platform != "win32":
                while True:
                    try:
                        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    except BlockingIOError:
                        await asyncio.sleep(_LOOK_AGAIN)
            yield
        finally:
            os.close(descriptor)

    def _lock_of(self, url: str) -> Path:
        return self.file_of(url).with_suffix(".lock")
