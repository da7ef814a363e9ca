"""Vertex AI: a model's URL by location and project, credentials, and requests to Claude there.

Credentials are found by Google's own library (google-auth, the extra ``google``). Google Cloud API keys
work without a project ("express mode"), for Google's own models.
https://cloud.google.com/vertex-ai/generative-ai/docs/learn/locations
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from rightcall.core.optional_libraries import load, require
from rightcall.core.transport import StreamedResponse, Timeouts
from rightcall.errors import TransportError, UsageError, VendorError
from rightcall.models.tokens import AccessToken, Source, WrappedTransport

_PROJECTS = ("GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID", "GCLOUD_PROJECT")
_LOCATIONS = ("GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION", "GOOGLE_CLOUD_REGION")
_NAME = re.compile(r"[a-z0-9.:-]{1,100}")
_LOCATED = re.compile(r"projects/[^/]+/locations/([a-z0-9-]+)/")
_PUBLISHED = "publishers/google/models/"
_WHOLE = "projects/"
_WITHIN = ("publishers/", "endpoints/")


def location(model: str = "") -> str:
    """The location in a model's full path, or else the configured one; ``global`` by default."""
    told = _LOCATED.match(model)
    if told:
        return told[1]
    return _set(_LOCATIONS) or "global"


def endpoint(where: str) -> str:
    """The host for a location: global, multi-region, or a region."""
    if where == "global":
        return "https://aiplatform.googleapis.com"
    if where in ("us", "eu"):
        return f"https://aiplatform.{where}.rep.googleapis.com"
    return f"https://{where}-aiplatform.googleapis.com"


def gemini_path(model: str, where: str, *, project: str | None) -> str:
    """The model's path in the URL; a project of None means express mode."""
    if model.startswith(_WHOLE):
        return model
    within = model
    if not model.startswith(_WITHIN):
        within = f"{_PUBLISHED}{model}"
    if project is None:
        return within
    return f"projects/{project}/locations/{where}/{within}"


def claude_path(where: str, project: str) -> str:
    """The path after the endpoint, up to the model's name."""
    return f"/v1/projects/{project}/locations/{where}/publishers/anthropic/models"


def project_named(known: str, place: str, model: str = "") -> str:
    """The configured project, or else the credentials'; empty for a full path."""
    if model.startswith(_WHOLE):
        return ""
    found = _set(_PROJECTS) or known
    if not found:
        raise UsageError(f"{place}: no project; set GOOGLE_CLOUD_PROJECT")
    return found


def is_project_set() -> bool:
    """Whether the environment names a project, which takes precedence over its API key."""
    return bool(_set(_PROJECTS))


def _set(variables: tuple[str, ...]) -> str:
    for variable in variables:
        if found := os.environ.get(variable, "").strip():
            if not _NAME.fullmatch(found):
                raise UsageError(f"vertex: {variable} is {found!r}, which can be no part of an address")
            return found
    return ""


_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
_VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"
_NONE = (
    "vertex: no credentials of Google Cloud; say: gcloud auth application-default login, or set "
    f"{_VARIABLE} to a service account's file, or pass api_key="
)
_SECONDS = 30.0
"""The timeout of a request for a token."""


class GoogleCredentials(msgspec.Struct, frozen=True):
    """The source of tokens, and what else the credentials say."""

    source: Source
    project: str = ""
    headers: Mapping[str, str] = {}
    """Headers for each request: the project whose quota a user's requests count against."""


def google_credentials() -> GoogleCredentials:
    """The first credentials found. Raises UsageError if there clearly are none.

    They are where Google's own tools find them ("application default"): the file that
    GOOGLE_APPLICATION_CREDENTIALS names, the one that gcloud writes, the machine's own (metadata
    server). https://cloud.google.com/docs/authentication/application-default-credentials
    """
    require("google.auth")
    if not os.environ.get(_VARIABLE, "").strip() and not _gcloud_file().is_file():
        if os.environ.get("NO_GCE_CHECK", "").lower() == "true":
            raise UsageError(_NONE)
        # Looking for a machine's own takes seconds: the first request does it, in a thread.
        return GoogleCredentials(_fetch_of_machine)
    with _translate_errors():
        credentials, project = load("google.auth").default(scopes=_SCOPES)
    quota = credentials.quota_project_id or ""
    headers = {}
    if quota:
        headers["x-goog-user-project"] = quota
    return GoogleCredentials(partial(_fetch, credentials), project or quota, headers)


def _gcloud_file() -> Path:
    folder = os.environ.get("CLOUDSDK_CONFIG")
    if folder:
        home = Path(folder).expanduser()
    else:
        home = Path.home() / ".config" / "gcloud"
    return home / "application_default_credentials.json"


def _fetch_of_machine() -> AccessToken:
    auth = load("google.auth")
    try:
        credentials, _ = auth.default(scopes=_SCOPES)
    except auth.exceptions.DefaultCredentialsError as error:
        # Most machines are not Google's, and nothing answers; a retry would not help.
        raise UsageError(f"{_NONE} (this machine has none either)") from error
    return _fetch(credentials)


def _fetch(credentials: Any) -> AccessToken:
    request: Callable[..., Any] = load("google.auth.transport.requests").Request()
    with _translate_errors():
        credentials.refresh(partial(request, timeout=_SECONDS))
    expiry = credentials.expiry
    if expiry is None:
        return AccessToken(credentials.token)
    # Google's library has UTC without a time zone.
    return AccessToken(credentials.token, expiry.replace(tzinfo=UTC).timestamp())


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn google-auth's errors into ours, which repeat no file and no response."""
    known = load("google.auth.exceptions")
    try:
        yield
    except known.DefaultCredentialsError as error:
        raise UsageError(f"vertex: {error.args[0]}; see {_VARIABLE}") from None
    except TypeError:
        # A key of another kind than RSA cannot sign.
        raise UsageError(
            "vertex: the service account's private_key is no RSA key; download it anew"
        ) from None
    except known.GoogleAuthError as error:
        if error.retryable or isinstance(error, known.TransportError):
            raise TransportError(f"Google Cloud: no token: {type(error).__name__}") from None
        raise VendorError(f"Google Cloud: no token: {error.args[0]}", kind="auth") from None


VERSION = "vertex-2023-10-16"
_ASKED = "/v1/messages"
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_text = msgspec.json.Decoder(str).decode


class RawPredictTransport(WrappedTransport):
    """Wraps each request for Vertex.

    It carries Anthropic's requests to Claude: Vertex takes Anthropic's body without the model and with
    its own version, and the model in the URL; replies are in Anthropic's format.
    https://docs.claude.com/en/api/claude-on-vertex-ai
    """

    def post(
        self, url: str, /, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        """Send a request in Anthropic's format, and stream the reply."""
        # The members are not parsed, as the history may be long.
        members = _members(body)
        model = _text(members.pop("model"))
        if bytes(members.get("stream", msgspec.Raw(b"false"))) == b"true":
            method = "streamRawPredict"
        else:
            method = "rawPredict"
        sent = {}
        for name, text in headers.items():
            if name.lower() == "x-api-key":
                sent["authorization"] = f"Bearer {text}"
            elif name.lower() != "anthropic-version":
                sent[name] = text
        return self._inner.post(
            f"{url.removesuffix(_ASKED)}/{quote(model, safe='')}:{method}",
            headers=sent,
            body=msgspec.json.encode({"anthropic_version": VERSION, **members}),
            timeouts=timeouts,
        )
