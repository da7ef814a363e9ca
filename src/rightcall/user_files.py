"""The user's directories, and how a file is written that only the user may read.

The library writes there only what it was asked to keep, such as a login at an MCP server.
"""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from rightcall.errors import UsageError


def config_folder() -> Path:
    """The user's settings: under the XDG configuration directory."""
    return _home("XDG_CONFIG_HOME", ".config") / "rightcall"


def state_folder() -> Path:
    """Conversations and history: under the XDG state directory."""
    return _home("XDG_STATE_HOME", ".local/state") / "rightcall"


def cache_folder() -> Path:
    """Data that can be recreated: under the XDG cache directory."""
    return _home("XDG_CACHE_HOME", ".cache") / "rightcall"


def _home(variable: str, otherwise: str) -> Path:
    given = os.environ.get(variable, "")
    # The XDG specification says to ignore a relative path.
    if given.startswith("/"):
        return Path(given)
    return Path.home() / otherwise


def write_privately(file: Path, text: bytes) -> None:
    """Write a file atomically that only the user may read."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Such files are created with mode 0600, whatever the umask is.
        with NamedTemporaryFile(dir=file.parent, prefix=file.name, delete=False) as fresh:
            try:
                fresh.write(text)
                fresh.flush()
                os.fsync(fresh.fileno())
                Path(fresh.name).replace(file)
            except OSError:
                Path(fresh.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
