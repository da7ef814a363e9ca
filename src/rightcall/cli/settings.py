"""What the user has decided once and for all: the model to ask, and whether conversations are kept.

Kept in ``config.json`` under the XDG configuration directory. Only the command line reads it; the
library takes what it is given.
"""

import os
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.cli.places import config_folder, write_privately
from rightcall.errors import UsageError

EMBEDDED = "embedded"
"""The model that is asked when nobody has named another: it needs no key and no network."""
MODEL_VARIABLE = "RIGHTCALL_MODEL"
NO_LOG_VARIABLE = "RIGHTCALL_NO_LOG"


class Settings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The file's content."""

    model: str = ""
    """Empty where none was chosen."""
    log: bool = True
    """Whether conversations are kept."""


def config_file() -> Path:
    """Where it is kept."""
    return config_folder() / "config.json"


def read_settings() -> Settings:
    """What was decided; the defaults where nothing was."""
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
    """Decide something, once and for all."""
    changed = replace(read_settings(), **changes)
    write_privately(config_file(), msgspec.json.format(msgspec.json.encode(changed), indent=2) + b"\n")


def default_model() -> str:
    """The model to ask: of this shell, else of this user, else the embedded one."""
    return os.environ.get(MODEL_VARIABLE) or read_settings().model or EMBEDDED


def keeps_conversations() -> bool:
    """Whether what is said is kept, so that it can be gone on with."""
    return not os.environ.get(NO_LOG_VARIABLE) and read_settings().log
