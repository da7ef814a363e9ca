"""Where a request goes: from its URL and the environment to a place to connect to and its first line.

A URL is sent as it was written, because it may have been signed: nothing in it is decoded or encoded
anew.
"""

import re
from base64 import b64encode
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit

from rightcall.errors import TransportError

_WRITTEN = re.compile(r"[\w.~:/?#\[\]@!$&'()*+,;=%-]+", re.ASCII)
"""The characters of a URL (RFC 3986)."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SAFE = "/?:@!$&'()*+,;=%~[]"
_WITH_PORT = re.compile(r"(\[[^]]*\]|[^:]*):([0-9]{1,5})", re.ASCII)
_PORTS = {"http": 80, "https": 443}


class ServerAddress(NamedTuple):
    """The other end of a connection."""

    host: str
    port: int
    is_tls: bool


class Proxy(NamedTuple):
    """A proxy, with the header that it wants; empty if it wants none."""

    server: ServerAddress
    authorization: str


class ConnectionKey(NamedTuple):
    """What a connection is for; a request can reuse one with the same."""

    server: ServerAddress
    proxy: Proxy | None


class RequestRoute(NamedTuple):
    """The way of a request."""

    key: ConnectionKey
    host: str
    """The header."""
    target: str
    """What is asked for, in the first line."""
    extra: tuple[tuple[str, str], ...] = ()
    """Headers that follow from the URL, or from the proxy's."""


def route(url: str) -> RequestRoute:
    """Returns the way to a URL. Raises TransportError if it is none of HTTP."""
    return _make_route(url, proxy_for(url))


def straight(url: str) -> RequestRoute:
    """Returns the way to a URL past any proxy. Raises TransportError if it is none of HTTP."""
    return _make_route(url, None)


@lru_cache(maxsize=256)
def proxy_for(url: str) -> str | None:
    """Returns the proxy for a URL from the environment, or else from the system's settings; cached."""
    from urllib.request import getproxies, getproxies_environment, proxy_bypass  # noqa: PLC0415 - light until used

    place = _split(url)
    named = getproxies_environment()
    if named:
        if _is_excepted(_server(place), named.get("no", "")):
            return None
    elif proxy_bypass(place.hostname or ""):
        return None
    else:
        named = getproxies()
    return named.get(place.scheme) or named.get("all")


def _is_excepted(server: ServerAddress, excepted: str) -> bool:
    """Whether a list of hosts without a proxy has a server: by name, end of name, address or network."""
    return any(_covers(each, server) for each in re.split(r"[,\s]+", excepted.lower()) if each)


def _covers(entry: str, server: ServerAddress) -> bool:
    if with_port := _WITH_PORT.fullmatch(entry):
        entry, port = with_port.groups()
        if int(port) != server.port:
            return False
    try:
        return ip_address(server.host) in ip_network(entry.strip("[]"), strict=False)
    except ValueError:  # one of them is a name
        name = entry.lstrip("*.")
        return not name or f".{server.host.rstrip('.')}".endswith(f".{name}")


@lru_cache(maxsize=256)
def _make_route(url: str, proxy_url: str | None) -> RequestRoute:
    place = _split(url)
    server = _server(place)
    proxy = None if proxy_url is None else _proxy(proxy_url)
    host = f"[{server.host}]" if ":" in server.host else server.host
    if server.port != _PORTS[place.scheme]:
        host += f":{server.port}"
    has_query = "?" in url.partition("#")[0]
    target = (place.path or "/") + (f"?{place.query}" if has_query else "")
    if not _WRITTEN.fullmatch(url):
        # Not a URL yet: it has spaces, or letters beyond ASCII.
        target = quote(target, safe=_SAFE)
    extra: tuple[tuple[str, str], ...] = ()
    own = _basic(place)
    if own:
        extra = (("authorization", own),)
    if proxy is not None and not server.is_tls:
        target = f"http://{host}{target}"
        if proxy.authorization:
            extra += (("proxy-authorization", proxy.authorization),)
    return RequestRoute(ConnectionKey(server, proxy), host, target, extra)


def _split(url: str) -> SplitResult:
    try:
        place = urlsplit(url)
        is_good = place.scheme in _PORTS and place.hostname and place.port != 0
    except ValueError:
        is_good = False
    if not is_good or _CONTROL.search(url):
        # Not told, because it may hold a key.
        words = "the address is no URL that begins with http:// or https://"
        raise TransportError(words, retryable=False)
    return place


def _server(place: SplitResult) -> ServerAddress:
    host = place.hostname or ""
    if not host.isascii():
        try:
            host = host.encode("idna").decode()
        except UnicodeError:
            raise TransportError(f"{host!r} is not the name of a host", retryable=False) from None
    return ServerAddress(host, place.port or _PORTS[place.scheme], place.scheme == "https")


def _proxy(url: str) -> Proxy:
    try:
        place = _split(url if "://" in url else f"http://{url}")
    except TransportError:
        words = "the environment names a proxy that is not one of HTTP; none of SOCKS can be used"
        raise TransportError(words, retryable=False) from None
    return Proxy(_server(place), _basic(place))


def _basic(place: SplitResult) -> str:
    """Returns the header for the name and the password in a URL; empty if it has none."""
    if place.username is None and place.password is None:
        return ""
    pair = f"{unquote(place.username or '')}:{unquote(place.password or '')}"
    return f"Basic {b64encode(pair.encode()).decode()}"


def is_loopback(host: str | None) -> bool:
    """Whether only this machine can reach that host."""
    try:
        return host == "localhost" or ip_address((host or "").strip("[]")).is_loopback
    except ValueError:
        return False


def is_anywhere(host: str) -> bool:
    """Whether a server there listens on every address of the machine."""
    return host in {"", "0.0.0.0", "::", "[::]"}  # noqa: S104 - to tell that it is one
