"""Finds AWS credentials where AWS's own tools do, and refreshes them before they expire.

In this order: the environment, the profile files, the container's endpoint, the machine's (EC2, IMDSv2).
Those of the last two expire, and are fetched again before they do, in a thread and one fetch at a time.
The endpoints are called directly, never through a proxy. Errors never show their responses.
"""

import asyncio
import os
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TypeAlias
from urllib.parse import quote, urlsplit

import msgspec

from rightcall.errors import ProtocolError, TransportError, UsageError
from rightcall.models.aws import profile
from rightcall.models.direct import Fetch, fetch_directly
from rightcall.transport.loopback import is_loopback
from rightcall.wire.bedrock.sigv4 import Credentials

EARLY = 300.0
"""Credentials are refreshed this many seconds before they expire."""

Source: TypeAlias = Callable[[], Credentials]

_MACHINE = "http://169.254.169.254"
_CONTAINERS = "http://169.254.170.2"
_NEAR = frozenset(["169.254.170.2", "169.254.170.23", "fd00:ec2::23"])
"""Hosts from which a container's credentials may be fetched without TLS."""
_ROLES = "/latest/meta-data/iam/security-credentials/"
_NONE = (
    "bedrock: no AWS credentials; set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or a profile (AWS_PROFILE), or pass api_key="
)


class _Answer(msgspec.Struct, rename="pascal"):
    """The response of a container's or a machine's endpoint."""

    access_key_id: str
    secret_access_key: str
    token: str = ""
    expiration: str = ""


class CredentialStore:
    """Keeps valid credentials. ``source`` fetches new ones; it may block."""

    def __init__(self, source: Source, *, clock: Callable[[], float] = time.time) -> None:
        self._source = source
        self._clock = clock
        self._lock = Lock()
        self._held: Credentials | None = None

    async def current(self) -> Credentials:
        """The credentials to sign with."""
        held = self._held
        if held is not None and self._is_good(held, EARLY):
            return held
        return await asyncio.to_thread(self._renew)

    def _renew(self) -> Credentials:
        with self._lock:
            held = self._held
            if held is not None and self._is_good(held, EARLY):
                return held  # another thread has fetched them meanwhile
            try:
                self._held = fresh = self._source()
            except (TransportError, ProtocolError):
                if held is None or not self._is_good(held, 0.0):
                    raise
                return held
            return fresh

    def _is_good(self, credentials: Credentials, early: float) -> bool:
        return credentials.expires is None or self._clock() < credentials.expires - early


def source(fetch: Fetch | None = None) -> Source:
    """The source of credentials; raises UsageError if there clearly is none."""
    fetch = fetch or fetch_directly
    found = _environment() or profile.credentials()
    if found is not None:
        return partial(_given, found)
    if _container():
        return partial(_from_container, fetch)
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        raise UsageError(_NONE)
    return partial(_from_machine, fetch)


def _given(credentials: Credentials) -> Credentials:
    return credentials


def _environment() -> Credentials | None:
    key, secret, token = (
        os.environ.get(name, "").strip()
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    )
    if not key and not secret:
        return None
    if not key or not secret:
        missing = "AWS_SECRET_ACCESS_KEY" if key else "AWS_ACCESS_KEY_ID"
        raise UsageError(f"bedrock: {missing} is not set, and half of the credentials is")
    return Credentials(access_key_id=key, secret_access_key=secret, session_token=token)


def _container() -> str:
    """The URL of the container's endpoint; empty outside of a container."""
    if relative := os.environ.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
        return f"{_CONTAINERS}/{relative.removeprefix('/')}"
    url = os.environ.get("AWS_CONTAINER_CREDENTIALS_FULL_URI", "")
    place = urlsplit(url)
    is_near = place.hostname in _NEAR or is_loopback(place.hostname)
    if url and place.scheme != "https" and not (place.scheme == "http" and is_near):
        raise UsageError(
            "bedrock: AWS_CONTAINER_CREDENTIALS_FULL_URI must begin with https://, or lead to this "
            "machine"
        )
    return url


def _from_container(fetch: Fetch) -> Credentials:
    token = os.environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN", "")
    if file := os.environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"):
        # The file is rewritten from time to time.
        try:
            token = Path(file).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise UsageError(
                f"bedrock: AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE ({file}) cannot be read"
            ) from None
    if not token.isprintable():
        raise UsageError("bedrock: the token for the container's credentials has a line break in it")
    return _read(fetch("GET", _container(), {"authorization": token} if token else {}))


def _from_machine(fetch: Fetch) -> Credentials:
    at = (os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or _MACHINE).rstrip("/")
    try:
        lasting = {"x-aws-ec2-metadata-token-ttl-seconds": "21600"}
        token = fetch("PUT", f"{at}/latest/api/token", lasting).decode("ascii", "replace")
        named = {"x-aws-ec2-metadata-token": token}
        roles = fetch("GET", f"{at}{_ROLES}", named).decode(errors="replace").split()
    except TransportError as error:
        # Most machines are not AWS's, and nothing answers; a retry would not help.
        raise UsageError(f"{_NONE} (this machine has none either)") from error
    if not roles:
        raise UsageError(f"{_NONE} (this machine has no role)")
    return _read(fetch("GET", f"{at}{_ROLES}{quote(roles[0], safe='')}", named))


def _read(body: bytes) -> Credentials:
    try:
        answer = msgspec.json.decode(body, type=_Answer)
        expires = datetime.fromisoformat(answer.expiration).timestamp() if answer.expiration else None
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise ProtocolError("bedrock: what answered for AWS credentials gave none") from None
    return Credentials(
        access_key_id=answer.access_key_id,
        secret_access_key=answer.secret_access_key,
        session_token=answer.token,
        expires=expires,
    )
