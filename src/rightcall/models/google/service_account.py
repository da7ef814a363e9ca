"""Makes an assertion from a service account's key, to exchange for a token (RFC 7523, RS256).

https://developers.google.com/identity/protocols/oauth2/service-account#httprest
"""

import time
from base64 import urlsafe_b64encode
from collections.abc import Callable

import msgspec

from rightcall.core.extras import load
from rightcall.errors import UsageError

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
TOKENS = "https://oauth2.googleapis.com/token"
SECONDS = 3600
"""The lifetime of an assertion, and of its token, in seconds."""


class ServiceAccount(msgspec.Struct, frozen=True):
    """The content of the account's file. ``repr`` never shows the key."""

    client_email: str
    private_key: str
    private_key_id: str = ""
    token_uri: str = TOKENS
    project_id: str = ""

    def __repr__(self) -> str:
        return "ServiceAccount(…)"


def assertion(account: ServiceAccount, clock: Callable[[], float] = time.time) -> str:
    """A signed JSON Web Token with the issuer, scope, audience and expiry."""
    now = int(clock())
    header = {"alg": "RS256", "typ": "JWT"}
    if account.private_key_id:
        header["kid"] = account.private_key_id
    claims = {
        "iss": account.client_email,
        "sub": account.client_email,
        "scope": SCOPE,
        "aud": account.token_uri,
        "iat": now,
        "exp": now + SECONDS,
    }
    told = b".".join(_base64(msgspec.json.encode(part)) for part in (header, claims))
    return b".".join([told, _base64(_sign(account.private_key, told))]).decode()


def _sign(key: str, text: bytes) -> bytes:
    serialization = load("cryptography.hazmat.primitives.serialization")
    hashes = load("cryptography.hazmat.primitives.hashes")
    asymmetric = load("cryptography.hazmat.primitives.asymmetric.padding")
    rsa = load("cryptography.hazmat.primitives.asymmetric.rsa")
    try:
        private = serialization.load_pem_private_key(key.encode(), password=None)
    except (ValueError, TypeError):
        private = None
    if not isinstance(private, rsa.RSAPrivateKey):
        # The original error might quote the key.
        raise UsageError("vertex: the service account's private_key is no RSA key; download it anew")
    signature: bytes = private.sign(text, asymmetric.PKCS1v15(), hashes.SHA256())
    return signature


def _base64(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")
