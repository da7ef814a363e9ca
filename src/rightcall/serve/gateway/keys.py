"""The gateway's own keys: generated here, stored as hashes in a file, revocable.

A key is ``rc-ID-SECRET``. The id finds it; the secret is 32 random bytes, so that a plain SHA-256 of the
whole reveals nothing about it. The key itself is shown once, when it is made, and stored nowhere.
"""

import hmac
import secrets
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from rightcall.errors import UsageError, VendorError
from rightcall.serve.gateway.http_request import HttpRequest
from rightcall.serve.gateway.settings import Count, Positive, Settings
from rightcall.transport.route import is_loopback

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
    def has_limit(self) -> bool:
        """Whether anything but the models is limited."""
        return self != Allowed(models=self.models)


class GatewayKey(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
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


class _KeyFile(Struct, frozen=True, forbid_unknown_fields=True):
    keys: tuple[GatewayKey, ...] = ()


class Keys:
    """All keys."""

    def __init__(self, keys: Sequence[GatewayKey] = ()) -> None:
        self.all = tuple(keys)
        self._live: Mapping[str, GatewayKey] = {key.id: key for key in keys if not key.revoked}

    def __len__(self) -> int:
        return len(self._live)

    def find_key(self, given: str) -> GatewayKey | None:
        """The given key, if it is valid. Takes as long for a wrong secret as for an unknown id."""
        key = self._live.get(given.removeprefix(_START).partition("-")[0])
        held = _NOBODY if key is None else key.hash
        is_right = hmac.compare_digest(_hash(given), held)
        if is_right:
            return key
        return None


def read_keys(path: Path) -> Keys:
    """The keys in a file; none if there is no file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Keys()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    try:
        return Keys(msgspec.json.decode(data, type=_KeyFile).keys)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} does not hold keys: {error}; restore it, or remove it") from None


def encode_keys(keys: Sequence[GatewayKey]) -> bytes:
    """The keys as the content of a file."""
    return msgspec.json.format(msgspec.json.encode(_KeyFile(tuple(keys))), indent=1) + b"\n"


def add_key(keys: Keys, name: str, allowed: Allowed, today: str) -> tuple[Keys, str]:
    """The keys with a new one added, and the new key itself, which is not shown again."""
    if any(key.name == name and not key.revoked for key in keys.all):
        raise UsageError(f"there is a key {name!r} already; revoke it, or choose another name")
    taken = {key.id for key in keys.all}
    id_ = secrets.token_hex(4)
    while id_ in taken:
        id_ = secrets.token_hex(4)
    text = f"{_START}{id_}-{secrets.token_urlsafe(32)}"
    key = GatewayKey(id=id_, name=name, hash=_hash(text), created=today, allowed=allowed)
    return Keys((*keys.all, key)), text


def revoke_key(keys: Keys, name: str, today: str) -> Keys:
    """The keys with one revoked, by its name or id."""
    changed = []
    for key in keys.all:
        if name in (key.name, key.id) and not key.revoked:
            changed.append(replace(key, revoked=today))
        else:
            changed.append(key)
    if tuple(changed) == keys.all:
        raise UsageError(f"there is no active key {name!r}; rightcall serve keys list shows them")
    return Keys(changed)


def _hash(text: str) -> str:
    return sha256(text.encode(errors="surrogateescape")).hexdigest()


LOCAL = GatewayKey(id="local", name="local", hash="", created="")
"""The key of all clients on this machine, if there are no keys."""
_BEARER = "bearer "
_HEADERS = ("x-api-key", "x-goog-api-key", "api-key")


def address_of(listen: str) -> tuple[str, int]:
    """The host and the port of ``HOST:PORT`` or ``PORT``."""
    host, _, port = listen.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004 - the last port there is
        raise UsageError(f"listen = {listen!r}: write HOST:PORT, as 127.0.0.1:9000")
    return host.strip("[]") or "127.0.0.1", int(port)


class Auth:
    """Admits holders of the gateway's own keys, or, if there are none, only this machine.

    Without keys the gateway accepts any key, so web pages must not reach it: a page in a browser on the
    same machine is refused unless the operator named its origin.
    """

    def __init__(self, keys: Keys, settings: Settings) -> None:
        self._keys = keys
        self.limited = frozenset([key.id for key in keys.all if key.allowed.has_limit])
        """The ids of the keys that have any limit."""
        self._origins = frozenset(origin.rstrip("/") for origin in settings.origins)
        # If all keys were revoked nobody is admitted: that was the point of revoking them.
        self.is_open = not keys.all
        host, _ = address_of(settings.listen)
        if self.is_open and not is_loopback(host):
            raise UsageError(
                f"listening on {host} needs a key, or anybody could use the models: make one with "
                "'rightcall serve keys add NAME', or listen on 127.0.0.1"
            )

    def admit(self, http: HttpRequest) -> GatewayKey:
        """The key of a request. Raises VendorError if it has no valid key."""
        origin = http.headers.get("origin", "")
        if origin and origin.rstrip("/") not in self._origins:
            raise VendorError(
                f"web pages of {origin[:100]} may not call this gateway", kind="auth", status=403
            )
        # A name that an attacker made point here (DNS rebinding) is not a name of this machine.
        if self.is_open and not _is_local(http.headers.get("host", "")):
            raise VendorError("this gateway answers to localhost alone", kind="auth", status=403)
        if self.is_open:
            return LOCAL
        for given in _given_keys(http):
            if (key := self._keys.find_key(given)) is not None:
                return key
        raise VendorError("no valid key for this gateway was given", kind="auth", status=401)

    def shared_with(self, http: HttpRequest) -> Mapping[str, str]:
        """The CORS headers that let a page read the answer, if the operator named its origin."""
        origin = http.headers.get("origin", "")
        if not origin or origin.rstrip("/") not in self._origins:
            return {}
        return {
            "access-control-allow-origin": origin,
            "access-control-allow-headers": "*, authorization",
            "access-control-allow-methods": "GET, POST",
            "access-control-expose-headers": "*",
            "vary": "origin",
        }

    def can_ask(self, key: GatewayKey, model: str) -> bool:
        """Whether a key may ask for a model."""
        return any(fnmatchcase(model, pattern) for pattern in key.allowed.models)


@lru_cache(maxsize=256)
def _is_local(host: str) -> bool:
    """Whether a Host header names this machine; cached, as most requests have the same one."""
    return is_loopback(urlsplit(f"//{host}").hostname)


def _given_keys(http: HttpRequest) -> Iterator[str]:
    """The keys that a request carries, in every place where some client puts one."""
    authorization = http.headers.get("authorization", "")
    if authorization.lower().startswith(_BEARER):
        yield authorization[len(_BEARER) :].strip()
    for name in _HEADERS:
        if name in http.headers:
            yield http.headers[name]
    if "key" in http.query:
        yield http.query["key"]
