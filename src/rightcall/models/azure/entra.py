"""Gets Microsoft Entra tokens, looking where Azure's own libraries look for credentials.

In this order: a token itself; a service principal, with its secret or with the token that Kubernetes
writes for it; an app's identity; a machine's, if the environment indicates one.
https://learn.microsoft.com/azure/developer/python/sdk/authentication/credential-chains
"""

import asyncio
import os
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlencode

from rightcall.core.transport import Transport
from rightcall.errors import TransportError, UsageError
from rightcall.models.direct import fetch_directly
from rightcall.models.tokens import Source, Token, exchange, token_in

RESOURCE = "https://cognitiveservices.azure.com"
WAYS = (
    "AZURE_OPENAI_API_KEY; or for Entra AZURE_OPENAI_AD_TOKEN, or AZURE_TENANT_ID, AZURE_CLIENT_ID and "
    "AZURE_CLIENT_SECRET, or, where the machine has an identity, AZURE_TOKEN_CREDENTIALS=prod; or pass "
    "api_key="
)
_WHOSE = "Microsoft Entra"
_PUBLIC = "https://login.microsoftonline.com"
_MACHINE = "http://169.254.169.254"
_ASSERTED = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_MANAGED = frozenset(["prod", "managedidentitycredential"])


def entra_source() -> Source | None:
    """The source of tokens; None if nothing is configured."""
    if token := _variable("AZURE_OPENAI_AD_TOKEN"):
        return partial(_given, Token(token))
    tenant, client = _variable("AZURE_TENANT_ID"), _variable("AZURE_CLIENT_ID")
    if tenant and client and (_variable("AZURE_CLIENT_SECRET") or _variable(_FILE)):
        return partial(_of_principal, tenant, client)
    if _variable("IDENTITY_ENDPOINT") and _variable("IDENTITY_HEADER"):
        return partial(_of_app, client)
    if _variable("AZURE_TOKEN_CREDENTIALS").lower() in _MANAGED:
        return partial(_of_machine, client)
    return None


_FILE = "AZURE_FEDERATED_TOKEN_FILE"


async def _given(token: Token, _transport: Transport) -> Token:
    return token


async def _of_principal(tenant: str, client: str, transport: Transport) -> Token:
    authority = (_variable("AZURE_AUTHORITY_HOST") or _PUBLIC).rstrip("/")
    url = f"{authority}/{quote(tenant, safe='')}/oauth2/v2.0/token"
    form = {
        "grant_type": "client_credentials",
        "client_id": client,
        "scope": f"{RESOURCE}/.default",
    }
    if secret := _variable("AZURE_CLIENT_SECRET"):
        form["client_secret"] = secret
    else:
        form |= {"client_assertion_type": _ASSERTED, "client_assertion": _assertion()}
    return await exchange(transport, url, form, _WHOSE)


def _assertion() -> str:
    file = Path(_variable(_FILE))
    try:
        # The file is rewritten from time to time.
        return file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{_WHOSE}: {_FILE} ({file}) cannot be read") from None


async def _of_app(client: str, _transport: Transport) -> Token:
    url, asked = _variable("IDENTITY_ENDPOINT"), _query("2019-08-01", client)
    headers = {"x-identity-header": _variable("IDENTITY_HEADER")}
    body = await asyncio.to_thread(fetch_directly, "GET", f"{url}?{asked}", headers)
    return token_in(body, _WHOSE)


async def _of_machine(client: str, _transport: Transport) -> Token:
    authority = _variable("AZURE_POD_IDENTITY_AUTHORITY_HOST") or _MACHINE
    url = f"{authority.rstrip('/')}/metadata/identity/oauth2/token?{_query('2018-02-01', client)}"
    try:
        body = await asyncio.to_thread(fetch_directly, "GET", url, {"metadata": "true"})
    except TransportError as error:
        raise UsageError(f"azure: this machine has no identity of Azure's; set {WAYS}") from error
    return token_in(body, _WHOSE)


def _query(version: str, client: str) -> str:
    named = {"client_id": client} if client else {}
    return urlencode({"api-version": version, "resource": RESOURCE, **named})


def _variable(name: str) -> str:
    return os.environ.get(name, "").strip()
