"""Where the command line keeps what it keeps, and how it writes a file that is its user's alone."""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from rightcall.errors import UsageError


def config_folder() -> Path:
    """What the user decided: under the XDG configuration directory."""
    return _home("XDG_CONFIG_HOME", ".config") / "rightcall"


def state_folder() -> Path:
    """What was said and done: under the XDG state directory."""
    return _home("XDG_STATE_HOME", ".local/state") / "rightcall"


def cache_folder() -> Path:
    """What can be made again: under the XDG cache directory."""
    return _home("XDG_CACHE_HOME", ".cache") / "rightcall"


def _home(variable: str, otherwise: str) -> Path:
    given = os.environ.get(variable, "")
    # The XDG specification has a relative path ignored.
    return Path(given) if given.startswith("/") else Path.home() / otherwise


def write_privately(file: Path, text: bytes) -> None:
    """Put a file there that nobody else may read: all of it, or the old one stays."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Such files are made with the mode 0600, whatever the umask is.
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
