"""Who is admitted: holders of the gateway's own keys, or, if there are none, only this machine.

Without keys the gateway accepts any key, so web pages must not reach it: a page in a browser on the same
machine is refused unless the operator named its origin.
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from urllib.parse import urlsplit

from rightcall.errors import UsageError, VendorError
from rightcall.serve.gateway.http_request import HttpRequest
from rightcall.serve.gateway.keys import Key, Keys
from rightcall.serve.gateway.settings import Settings
from rightcall.transport.loopback import is_loopback

LOCAL = Key(id="local", name="local", hash="", created="")
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
    """Admits requests, or refuses them."""

    def __init__(self, keys: Keys, settings: Settings) -> None:
        self._keys = keys
        self._origins = frozenset(origin.rstrip("/") for origin in settings.origins)
        # If all keys were revoked nobody is admitted: that was the point of revoking them.
        self.is_open = not keys.all
        host, _ = address_of(settings.listen)
        if self.is_open and not is_loopback(host):
            raise UsageError(
                f"listening on {host} needs a key, or anybody could use the models: make one with "
                "'rightcall serve keys add NAME', or listen on 127.0.0.1"
            )

    def admitted(self, http: HttpRequest) -> Key:
        """The key of a request. Raises VendorError if it has no valid key."""
        self._check_origin(http)
        if self.is_open:
            return LOCAL
        for given in _given(http):
            if (key := self._keys.found(given)) is not None:
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

    def may(self, key: Key, model: str) -> bool:
        """Whether a key may ask for a model."""
        return any(fnmatchcase(model, pattern) for pattern in key.allowed.models)

    def _check_origin(self, http: HttpRequest) -> None:
        origin = http.headers.get("origin", "")
        if origin and origin.rstrip("/") not in self._origins:
            raise VendorError(
                f"web pages of {origin[:100]} may not call this gateway", kind="auth", status=403
            )
        # A name that an attacker made point here (DNS rebinding) is not a name of this machine.
        if self.is_open and not _is_local(http.headers.get("host", "")):
            raise VendorError("this gateway answers to localhost alone", kind="auth", status=403)


@lru_cache(maxsize=256)
def _is_local(host: str) -> bool:
    """Whether a Host header names this machine; cached, as most requests have the same one."""
    return is_loopback(urlsplit(f"//{host}").hostname)


def _given(http: HttpRequest) -> Iterator[str]:
    """The keys that a request carries, in every place where some client puts one."""
    authorization = http.headers.get("authorization", "")
    if authorization.lower().startswith(_BEARER):
        yield authorization[len(_BEARER) :].strip()
    yield from (http.headers[name] for name in _HEADERS if name in http.headers)
    if "key" in http.query:
        yield http.query["key"]
