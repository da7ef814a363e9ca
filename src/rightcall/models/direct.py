"""An endpoint next door, such as a machine's for its own credentials, asked through no proxy."""

from collections.abc import Callable, Mapping
from typing import TypeAlias
from urllib.parse import urlsplit

from rightcall.errors import TransportError

SECONDS = 2.0
"""How long it may take: it is next door."""
_MOST = 64 * 1024
_OK = 200

Fetch: TypeAlias = Callable[[str, str, Mapping[str, str]], bytes]
"""The method, the address and the headers into what was answered; a TransportError if nothing good."""


def fetch_directly(method: str, url: str, headers: Mapping[str, str]) -> bytes:
    """What is answered, following no redirect. It may hold a secret, and is shown in no error."""
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
