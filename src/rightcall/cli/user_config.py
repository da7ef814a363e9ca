"""The user's settings: the default model, and whether conversations are kept.

Kept in ``config.json`` under the XDG configuration directory. Only the command line reads it; the
library does not.

Keys that the user stores for the command line are in a file that only they may read. An environment
variable takes precedence. Only the command line reads that file, too, and passes the key on.
"""

import difflib
import os
import stat
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.errors import UsageError
from rightcall.models.providers import PROVIDERS
from rightcall.user_files import config_folder, write_privately

EMBEDDED = "embedded"
"""The model that is used if no other was chosen: it needs no key and no network."""
MODEL_VARIABLE = "RIGHTCALL_MODEL"
NO_LOG_VARIABLE = "RIGHTCALL_NO_LOG"


class UserSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The file's content."""

    model: str = ""
    """The chosen model; empty if none was chosen."""
    log: bool = True
    """Whether conversations are kept."""


def config_file() -> Path:
    """The path of the file."""
    return config_folder() / "config.json"


def read_settings() -> UserSettings:
    """The stored settings; defaults if there are none."""
    file = config_file()
    try:
        return msgspec.json.decode(file.read_bytes(), type=UserSettings)
    except FileNotFoundError:
        return UserSettings()
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


MOST_CHARACTERS = 10_000


def keys_file() -> Path:
    """The path of the file."""
    return config_folder() / "keys.json"


def key_names() -> tuple[str, ...]:
    """The providers and addresses that have a stored key."""
    return tuple(sorted(_read_keys()))


def store_key(name: str, key: str) -> None:
    """Store a key for a provider, or for the address of a server."""
    key = key.strip()
    if not key or len(key) > MOST_CHARACTERS or not key.isascii() or not key.isprintable():
        raise UsageError("that is no key: one is a line of letters, digits and signs, without blanks")
    _write_keys({**_read_keys(), _key_name(name): key})


def forget_key(name: str) -> None:
    """Delete a key."""
    kept = _read_keys()
    if kept.pop(name, None) is None:
        others = ""
        if kept:
            others = f"; there is {', '.join(sorted(kept))}"
        raise UsageError(f"there is no key for {name!r}{others}")
    _write_keys(kept)


def key_for(model: str) -> str | None:
    """The stored key for a model, if the environment has none. None if the model needs no key."""
    if model.startswith(("http://", "https://")):
        return _read_keys().get(model.partition("|")[0].rstrip("/"))
    place = model.partition(":")[0]
    provider = PROVIDERS.get(place)
    if provider is None or not provider.keys or any(os.environ.get(name) for name in provider.keys):
        return None
    kept = _read_keys()
    # Some vendors have two provider names.
    alike = [name for name, each in PROVIDERS.items() if each.keys == provider.keys]
    for name in (place, *alike):
        if name in kept:
            return kept[name]
    if provider.signed_with:
        return None  # there may be other credentials
    variables = " or ".join(provider.keys)
    raise UsageError(f"{place}: no key; say: rightcall keys set {place}, or set {variables}")


def _key_name(name: str) -> str:
    if name.startswith(("http://", "https://")):
        return name.partition("|")[0].rstrip("/")
    if name in PROVIDERS and PROVIDERS[name].keys:
        return name
    known = []
    for each, provider in PROVIDERS.items():
        if provider.keys:
            known.append(each)
    near = difflib.get_close_matches(name.lower(), known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise UsageError(
        f"no provider {name!r} takes a key; {hint}there is {', '.join(known)}, and a server's address"
    )


def _read_keys() -> dict[str, str]:
    file = keys_file()
    try:
        with file.open("rb") as opened:
            mode = stat.S_IMODE(os.fstat(opened.fileno()).st_mode)
            if mode & 0o077:
                raise UsageError(f"others may read {file}; its keys are not used. Run chmod 600 {file}")
            return msgspec.json.decode(opened.read(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError):
        # The content is not quoted: it may be a key.
        raise UsageError(f"{file} is not a file of keys; fix it or delete it") from None


def _write_keys(keys: dict[str, str]) -> None:
    write_privately(keys_file(), msgspec.json.format(msgspec.json.encode(keys), indent=2) + b"\n")
