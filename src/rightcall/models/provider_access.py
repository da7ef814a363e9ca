"""Resolves a provider's row and a developer's settings to a URL, a key and a transport."""

import os
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

from rightcall.core.transport import Transport
from rightcall.errors import UsageError
from rightcall.models.providers import Provider
from rightcall.models.tokens import GivenTokens, TokenStore, TokenTransport
from rightcall.request.endpoint import Address
from rightcall.wire.dialects import load

Key: TypeAlias = str | Callable[[], str | Awaitable[str]]
"""A key or token, or a function that returns one for each request."""

_VARIABLE = re.compile(r"\{([A-Z_]+)\}")
_LABEL = re.compile(r"[A-Za-z0-9._-]{1,200}")
_TOKENS = ("eyJ", "ya29.")
"""Prefixes of tokens, which keys do not have: Entra's, which are JSON Web Tokens, and Google's."""


class ModelAccess(Struct, frozen=True, kw_only=True):
    """Where a model is, and how requests to it are authorized."""

    url: str
    """It may end with a query."""
    model: str
    """The model's name in the URL or the body."""
    key: str | None
    key_header: str = ""
    carrier: Transport

    def address(self, provider: str, headers: Mapping[str, str]) -> Address:
        """The address, without the transport."""
        url, _, query = self.url.partition("?")
        return Address(
            url=url,
            query=query,
            model=self.model,
            key=self.key,
            key_header=self.key_header,
            headers=headers,
            provider=provider,
        )


class AccessSettings(Struct, frozen=True):
    """A developer's settings, and the provider's row."""

    provider: Provider
    place: str
    """The provider's name as given; errors begin with it."""
    model: str
    base_url: str | None
    api_key: Key | None
    carrier: Transport

    def resolve(self) -> ModelAccess:
        """The URL, key and transport. Raises UsageError for invalid settings before anything is sent."""
        ways = {"aws": _aws, "google": _google, "entra": _azure}
        return ways.get(self.provider.signed_with, _resolve_keyed)(self)

    def key(self, *, must: bool = False) -> Key | None:
        """The key that was given, or the environment's. Raises UsageError if there ``must`` be one."""
        if self.api_key:
            return self.api_key
        variables = self.provider.keys
        for variable in variables:
            if key := os.environ.get(variable):
                return key
        if variables and must:
            raise UsageError(f"{self.place}: no key; set {' or '.join(variables)}, or pass api_key=")
        return None

    def url(self) -> str:
        """The URL that was given, or the provider's with the customer's own names filled in."""
        return self.base_url or _url(self.provider, self.place)


def _resolve_keyed(wanted: AccessSettings) -> ModelAccess:
    provider = wanted.provider
    place = wanted.place
    carrier = wanted.carrier
    url = wanted.url()
    key = wanted.key(must=wanted.base_url is None)
    model = wanted.model
    if key is None or isinstance(key, str):
        return ModelAccess(
            url=url, model=model, key=key, key_header=provider.key_header, carrier=carrier
        )

    def carry(token: str) -> Mapping[str, str]:
        if provider.key_header:
            return {provider.key_header: token}
        carried = load(provider.dialect).authorize(token)
        if not isinstance(carried, Mapping):
            raise UsageError(f"{place}: a function cannot give its credentials; pass them as api_key=")
        return carried

    given = TokenTransport(carrier, GivenTokens(key), carry=carry)
    return ModelAccess(url=url, model=model, key=None, carrier=given)


def _aws(wanted: AccessSettings) -> ModelAccess:
    from rightcall.models.aws import bedrock_access  # noqa: PLC0415 - light until used

    url, key, carrier = bedrock_access(
        wanted.url(),
        as_text(wanted.key(), wanted.place) or None,
        wanted.carrier,
        invoke=wanted.provider.dialect == "anthropic",
    )
    return ModelAccess(url=url, model=wanted.model, key=key, carrier=carrier)


def _azure(wanted: AccessSettings) -> ModelAccess:
    from rightcall.models.azure import WAYS, azure_address, entra_source  # noqa: PLC0415 - light until used

    key = wanted.key()
    carrier = wanted.carrier
    model = wanted.model
    url = azure_address(wanted.base_url, wanted.place, wanted.provider.dialect, model)
    source = entra_source() if key is None else None
    if key is None and source is None and wanted.base_url is None:
        raise UsageError(f"{wanted.place}: no key; set {WAYS}")
    header = wanted.provider.key_header
    if isinstance(key, str) and key.startswith(_TOKENS):
        header = ""
    elif key is not None and not isinstance(key, str):
        carrier = TokenTransport(carrier, GivenTokens(key))
        key = None
    elif source is not None:
        carrier = TokenTransport(carrier, TokenStore(source))
    return ModelAccess(url=url, model=model, key=key, key_header=header, carrier=carrier)


def _google(wanted: AccessSettings) -> ModelAccess:
    from rightcall.models import google  # noqa: PLC0415 - light until used

    provider = wanted.provider
    model = wanted.model
    base_url = wanted.base_url
    carrier = wanted.carrier
    where = google.location(model)
    url = (base_url or os.environ.get(provider.url_variable) or google.endpoint(where)).rstrip("/")
    # A project in the environment goes before a key there.
    key = wanted.api_key if google.is_project_set() else wanted.key()
    if isinstance(key, str) and not key.startswith(_TOKENS) and provider.dialect == "gemini":
        url = base_url or google.endpoint("global")
        path = google.gemini_path(model, where, project=None)
        return ModelAccess(url=url, model=path, key=key, key_header="x-goog-api-key", carrier=carrier)
    known = ""
    if key is None:
        credentials = google.google_credentials()
        known = credentials.project
        tokens = TokenStore(credentials.source)
        carrier = TokenTransport(carrier, tokens, more=credentials.headers)
    elif isinstance(key, str):
        text = key
        carrier = TokenTransport(carrier, GivenTokens(lambda: text))
    else:
        carrier = TokenTransport(carrier, GivenTokens(key))
    project = google.project_named(known, wanted.place, model)
    if provider.dialect == "anthropic":
        at = f"{url.removesuffix('/v1')}{google.claude_path(where, project)}"
        return ModelAccess(url=at, model=model, key=None, carrier=google.RawPredictTransport(carrier))
    return ModelAccess(
        url=url, model=google.gemini_path(model, where, project=project), key=None, carrier=carrier
    )


def as_text(key: Key | None, place: str) -> str:
    """The key as text; empty for none. Raises UsageError for a function."""
    if key is None or isinstance(key, str):
        return key or ""
    raise UsageError(f"{place}: api_key= must be text here")


def _url(provider: Provider, place: str) -> str:
    variable = provider.url_variable
    url = (os.environ.get(variable) if variable else "") or provider.url
    for name in _VARIABLE.findall(url):
        found = os.environ.get(name, "").strip()
        if not _LABEL.fullmatch(found):
            hint = f"set {name}"
            if found:
                hint = f"{name} is {found!r}, which can be no part of one"
            raise UsageError(
                f"{place}: every customer has an address of their own; {hint}, or pass base_url="
            )
        # Names may have underscores where hosts have hyphens.
        url = url.replace(f"{{{name}}}", found.replace("_", "-").lower())
    return url
