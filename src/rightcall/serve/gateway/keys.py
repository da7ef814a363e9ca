"""The gateway's own keys: generated here, stored as hashes in a file, revocable.

A key is ``rc-ID-SECRET``. The id finds it; the secret is 32 random bytes, so that a plain SHA-256 of the
whole reveals nothing about it. The key itself is shown once, when it is made, and stored nowhere.
"""

import hmac
import secrets
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from rightcall.errors import UsageError
from rightcall.serve.gateway.settings import Count, Positive

_START = "rc-"
_NOBODY = "0" * 64


class Allowed(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a key may do. None means no limit."""

    models: tuple[str, ...] = ("*",)
    """The names that it may ask for, or patterns of them."""
    per_minute: Positive | None = None
    """Requests."""
    tokens_per_day: Count | None = None
    dollars_per_day: Positive | None = None
    concurrency: Count | None = None

    @property
    def has_budget(self) -> bool:
        """Whether it has a daily limit of tokens or dollars."""
        return self.tokens_per_day is not None or self.dollars_per_day is not None


class Key(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A key as it is stored."""

    id: str
    name: Annotated[str, Meta(min_length=1, max_length=100)]
    """Whose it is, in spend and metrics."""
    hash: str
    created: str
    """The day it was made."""
    revoked: str = ""
    """The day it was revoked; empty for a valid key."""
    allowed: Allowed = Allowed()


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    keys: tuple[Key, ...] = ()


class Keys:
    """All keys."""

    def __init__(self, keys: Sequence[Key] = ()) -> None:
        self.all = tuple(keys)
        self._live: Mapping[str, Key] = {key.id: key for key in keys if not key.revoked}

    def __len__(self) -> int:
        return len(self._live)

    def found(self, given: str) -> Key | None:
        """The given key, if it is valid. Takes as long for a wrong secret as for an unknown id."""
        key = self._live.get(given.removeprefix(_START).partition("-")[0])
        held = _NOBODY if key is None else key.hash
        is_right = hmac.compare_digest(_hash(given), held)
        return key if is_right else None


def read_keys(path: Path) -> Keys:
    """The keys in a file; none if there is no file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Keys()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    try:
        return Keys(msgspec.json.decode(data, type=_File).keys)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} does not hold keys: {error}; restore it, or remove it") from None


def as_file(keys: Sequence[Key]) -> bytes:
    """The keys as the content of a file."""
    return msgspec.json.format(msgspec.json.encode(_File(tuple(keys))), indent=1) + b"\n"


def made(keys: Keys, name: str, allowed: Allowed, today: str) -> tuple[Keys, str]:
    """The keys with a new one added, and the new key itself, which is not shown again."""
    if any(key.name == name and not key.revoked for key in keys.all):
        raise UsageError(f"there is a key {name!r} already; revoke it, or choose another name")
    taken = {key.id for key in keys.all}
    id_ = next(found for found in iter(lambda: secrets.token_hex(4), "") if found not in taken)
    text = f"{_START}{id_}-{secrets.token_urlsafe(32)}"
    key = Key(id=id_, name=name, hash=_hash(text), created=today, allowed=allowed)
    return Keys((*keys.all, key)), text


def revoked(keys: Keys, name: str, today: str) -> Keys:
    """The keys with one revoked, by its name or id."""
    fits = [key for key in keys.all if name in (key.name, key.id) and not key.revoked]
    if not fits:
        raise UsageError(f"there is no active key {name!r}; rightcall serve keys list shows them")
    return Keys([replace(key, revoked=today) if key in fits else key for key in keys.all])


def _hash(text: str) -> str:
    return sha256(text.encode(errors="surrogateescape")).hexdigest()
