"""Calls a local endpoint, such as a machine's for its own credentials, without a proxy."""

from collections.abc import Callable, Mapping
from typing import TypeAlias
from urllib.parse import urlsplit

from rightcall.errors import TransportError

SECONDS = 2.0
"""The timeout in seconds, which is short because the endpoint is local."""
_MOST = 64 * 1024
_OK = 200

Fetch: TypeAlias = Callable[[str, str, Mapping[str, str]], bytes]
"""Takes the method, URL and headers; returns the body, or raises TransportError if the call fails."""


def fetch_directly(method: str, url: str, headers: Mapping[str, str]) -> bytes:
    """The response's body. Follows no redirect. It may contain a secret, so errors never show it."""
    from http.client import (  # noqa: PLC0415 - seldom needed
        HTTPConnection,
        HTTPException,
        HTTPSConnection,
    )

    place = urlsplit(url)
    kind = HTTPSConnection if place.scheme == "https" else HTTPConnection
    where = f"credentials from {place.hostname}"
    try:
        connection = kind(place.hostname or "", place.port, timeout=SECONDS)
        try:
            target = f"{place.path or '/'}{f'?{place.query}' if place.query else ''}"
            connection.request(method, target, headers=dict(headers))
            response = connection.getresponse()
            body = response.read(_MOST)
        finally:
            connection.close()
    except (OSError, HTTPException, ValueError) as error:
        raise TransportError(f"{where}: {type(error).__name__}") from None
    if response.status != _OK:
        raise TransportError(f"{where}: HTTP {response.status}")
    return body
