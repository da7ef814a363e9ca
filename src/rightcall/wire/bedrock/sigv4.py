"""AWS Signature Version 4: the headers that sign a request.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html. The URL is
signed as it is sent, so percent signs in its path are encoded once more here; only S3 differs. The host
is signed and returned, so that what is sent is what was signed.
"""

import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from posixpath import normpath
from urllib.parse import quote, urlsplit

from msgspec import Struct

from rightcall.core.request import PreparedRequest, Sign
from rightcall.errors import UsageError

ALGORITHM = "AWS4-HMAC-SHA256"
_UNSIGNED = frozenset([
    "authorization", "connection", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade",
    "user-agent", "x-amz-date", "x-amz-security-token", "x-amzn-trace-id",
])  # fmt: skip
"""Headers that proxies rewrite, and those that are set here."""
_ACCESS_KEYS = ("AKIA", "ASIA")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_SPACES = re.compile(r"\s+")
_REGION = re.compile(r"\bbedrock-runtime(?:-fips)?\.([a-z]{2}(?:-[a-z]+)+-\d+)\.")


class AwsCredentials(Struct, frozen=True, kw_only=True):
    """AWS credentials. The secret is never sent, and ``repr`` shows nothing."""

    access_key_id: str
    secret_access_key: str
    session_token: str = ""
    """Sent along, for temporary credentials."""
    expires: float | None = None
    """Seconds since the epoch."""

    def __repr__(self) -> str:
        return "Credentials(…)"


def credentials_in(key: str) -> AwsCredentials | None:
    """Parses ``access key id:secret access key``, with an optional ``:session token``; else None."""
    identity, *secrets = key.split(":", 2)
    if not secrets or not identity.startswith(_ACCESS_KEYS):
        return None
    return AwsCredentials(
        access_key_id=identity, secret_access_key=secrets[0], session_token="".join(secrets[1:])
    )


def signer(credentials: AwsCredentials, region: str = "", service: str = "bedrock") -> Sign:
    """A function that signs each request with these credentials; the region may come from the URL."""

    def sign_one(request: PreparedRequest) -> Mapping[str, str]:
        return sign(request, credentials, region or region_in(request.url), service)

    return sign_one


def region_in(url: str) -> str:
    """The region of a Bedrock address."""
    found = _REGION.search(urlsplit(url).netloc)
    if found is None:
        raise UsageError(
            "bedrock: the address does not tell the region that requests are signed for; set AWS_REGION"
        )
    return found[1]


def sign(
    request: PreparedRequest, credentials: AwsCredentials, region: str, service: str = "bedrock"
) -> dict[str, str]:
    """The headers that sign a request."""
    date = datetime.fromtimestamp(request.time, UTC).strftime("%Y%m%dT%H%M%SZ")
    added = {"host": _host(request.url), "x-amz-date": date}
    if credentials.session_token:
        added["x-amz-security-token"] = credentials.session_token
    given = {name.lower(): text for name, text in request.headers.items()}
    signed = {name: text for name, text in given.items() if name not in _UNSIGNED} | added
    names = ";".join(sorted(signed))
    scope = f"{date[:8]}/{region}/{service}/aws4_request"
    told = sha256(canonical_request(request, signed).encode()).hexdigest()
    text = f"{ALGORITHM}\n{date}\n{scope}\n{told}"
    key = signing_key(credentials.secret_access_key, date[:8], region, service)
    signature = hmac.new(key, text.encode(), sha256).hexdigest()
    added["authorization"] = (
        f"{ALGORITHM} Credential={credentials.access_key_id}/{scope}, SignedHeaders={names}, "
        f"Signature={signature}"
    )
    return added


def canonical_request(request: PreparedRequest, headers: Mapping[str, str]) -> str:
    """The request in the canonical form that both sides compute; header names in lower case."""
    place = urlsplit(request.url)
    lines = [f"{name}:{_SPACES.sub(' ', headers[name]).strip()}" for name in sorted(headers)]
    return "\n".join([
        request.method,
        quote(_normal(place.path), safe="/~"),
        # It is percent-encoded already, as it is sent.
        "&".join(sorted(_pair(each) for each in place.query.split("&") if each)),
        *lines,
        "",
        ";".join(sorted(headers)),
        sha256(request.body).hexdigest(),
    ])  # fmt: skip


def signing_key(secret: str, day: str, region: str, service: str) -> bytes:
    """The signing key for one day, region and service."""
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), sha256).digest()
    return key


def _host(url: str) -> str:
    place = urlsplit(url)
    host = place.netloc.rpartition("@")[2].lower()
    return host.removesuffix(f":{_DEFAULT_PORTS.get(place.scheme)}")


def _normal(path: str) -> str:
    """The path without empty and dot segments."""
    if not path.strip("/"):
        return "/"
    normal = "/" + normpath(path).strip("/")
    if path.endswith("/") and normal != "/":
        return f"{normal}/"
    return normal


def _pair(member: str) -> str:
    name, _, value = member.partition("=")
    return f"{name}={value}"
