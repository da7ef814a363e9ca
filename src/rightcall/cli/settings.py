"""The user's settings: the default model, and whether conversations are kept.

Kept in ``config.json`` under the XDG configuration directory. Only the command line reads it; the
library does not.
"""

import os
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.cli.places import config_folder, write_privately
from rightcall.errors import UsageError

EMBEDDED = "embedded"
"""The model that is used if no other was chosen: it needs no key and no network."""
MODEL_VARIABLE = "RIGHTCALL_MODEL"
NO_LOG_VARIABLE = "RIGHTCALL_NO_LOG"


class Settings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The file's content."""

    model: str = ""
    """The chosen model; empty if none was chosen."""
    log: bool = True
    """Whether conversations are kept."""


def config_file() -> Path:
    """The path of the file."""
    return config_folder() / "config.json"


def read_settings() -> Settings:
    """The stored settings; defaults if there are none."""
    file = config_file()
    try:
        return msgspec.json.decode(file.read_bytes(), type=Settings)
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not a file of settings ({error}); fix it or delete it") from error


def change_settings(**changes: object) -> None:
    """Change a setting."""
    changed = replace(read_settings(), **changes)
    write_privately(config_file(), msgspec.json.format(msgspec.json.encode(changed), indent=2) + b"\n")


def default_model() -> str:
    """The default model: of this shell, else of this user, else the embedded one."""
    return os.environ.get(MODEL_VARIABLE) or read_settings().model or EMBEDDED


def keeps_conversations() -> bool:
    """Whether conversations are kept, so that they can be continued."""
    return not os.environ.get(NO_LOG_VARIABLE) and read_settings().log
