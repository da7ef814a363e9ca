"""Finds Google Cloud credentials where Google's own tools do ("application default").

In this order: the file that ``GOOGLE_APPLICATION_CREDENTIALS`` names, the one that ``gcloud auth
application-default login`` writes, and the machine's own (metadata server). Errors never show a file's
content. https://cloud.google.com/docs/authentication/application-default-credentials
"""

import asyncio
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from rightcall.core.extras import require
from rightcall.core.transport import Transport
from rightcall.errors import TransportError, UsageError
from rightcall.models.direct import fetch_directly
from rightcall.models.google.service_account import TOKENS, ServiceAccount, assertion
from rightcall.models.tokens import Source, Token, exchange, token_in

_VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"
_WHOSE = "Google Cloud"
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_ELSEWHERE = {
    "external_account": "an identity of another cloud",
    "external_account_authorized_user": "an identity of another place",
    "impersonated_service_account": "another's identity, taken on",
    "gdch_service_account": "an account of Google's distributed cloud",
}
NONE = (
    "vertex: no credentials of Google Cloud; say: gcloud auth application-default login, or set "
    f"{_VARIABLE} to a service account's file, or pass api_key="
)


class _User(msgspec.Struct, frozen=True):
    """The file that ``gcloud auth application-default login`` writes."""

    client_id: str
    client_secret: str
    refresh_token: str
    token_uri: str = TOKENS
    quota_project_id: str = ""

    def __repr__(self) -> str:
        return "_User(…)"


class Credentials(msgspec.Struct, frozen=True):
    """The source of tokens, and what else the credentials say."""

    source: Source
    project: str = ""
    headers: Mapping[str, str] = {}
    """Headers for each request: the project whose quota a user's requests count against."""


def google_credentials() -> Credentials:
    """The first credentials found. Raises UsageError if there clearly are none."""
    named = os.environ.get(_VARIABLE, "").strip()
    file = Path(named).expanduser() if named else _well_known()
    if named or file.is_file():
        return _from_file(file)
    if os.environ.get("NO_GCE_CHECK", "").lower() == "true":
        raise UsageError(NONE)
    return Credentials(_of_machine)


def _well_known() -> Path:
    folder = os.environ.get("CLOUDSDK_CONFIG")
    home = Path(folder).expanduser() if folder else Path.home() / ".config" / "gcloud"
    return home / "application_default_credentials.json"


def _from_file(file: Path) -> Credentials:
    try:
        value = msgspec.json.decode(file.read_bytes())
    except OSError as error:
        raise UsageError(f"vertex: {file} cannot be read: {error.strerror}; {_VARIABLE}") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise UsageError(f"vertex: {file} is no file of Google's credentials") from None
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(kind, str) and kind in _ELSEWHERE:
        raise UsageError(
            f"vertex: {file} holds {_ELSEWHERE[kind]} ({kind}), which is not supported; pass api_key= "
            "what `gcloud auth application-default print-access-token` prints, or a function that does"
        )
    if kind == "service_account":
        require("cryptography")
        account = _as(value, ServiceAccount, file)
        return Credentials(partial(_of_account, account), account.project_id)
    if kind == "authorized_user":
        user = _as(value, _User, file)
        quota = user.quota_project_id
        headers = {"x-goog-user-project": quota} if quota else {}
        return Credentials(partial(_of_user, user), quota, headers)
    raise UsageError(f"vertex: {file} holds credentials of a type that is not known here")


def _as(value: Any, kind: type[Any], file: Path) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # The error names the member, and never shows its value.
        raise UsageError(f"vertex: {file}: {error}") from None


async def _of_account(account: ServiceAccount, transport: Transport) -> Token:
    # Loading the library takes a while, and signing may, too.
    signed = await asyncio.to_thread(assertion, account)
    form = {"grant_type": _GRANT, "assertion": signed}
    return await exchange(transport, account.token_uri, form, _WHOSE)


async def _of_user(user: _User, transport: Transport) -> Token:
    form = {
        "grant_type": "refresh_token",
        "client_id": user.client_id,
        "client_secret": user.client_secret,
        "refresh_token": user.refresh_token,
    }
    return await exchange(transport, user.token_uri, form, _WHOSE)


async def _of_machine(_transport: Transport) -> Token:
    host = os.environ.get("GCE_METADATA_HOST") or "metadata.google.internal"
    url = f"http://{host}/computeMetadata/v1/instance/service-accounts/default/token"
    try:
        body = await asyncio.to_thread(fetch_directly, "GET", url, {"metadata-flavor": "Google"})
    except TransportError as error:
        # Most machines are not Google's, and nothing answers; a retry would not help.
        raise UsageError(f"{NONE} (this machine has none either)") from error
    return token_in(body, _WHOSE)
