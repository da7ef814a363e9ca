"""Tokens of an authorization server into who they stand for: JWTs, checked with the issuer's keys."""

import asyncio
import logging
from typing import Any

import jwt
from mcp.server.auth.provider import AccessToken

from rightcall.mcp.server.keys import Keys
from rightcall.mcp.server.listen import OAuth

logger = logging.getLogger("rightcall")

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "ES512", "EdDSA"]
"""Those with a public key alone: a token must not choose to be signed with what everybody knows."""
_LONGEST = 16 * 1024


class JwtVerifier:
    """Checks a token's signature, issuer, audience and time."""

    def __init__(self, oauth: OAuth) -> None:
        self._oauth = oauth
        self._keys = Keys(oauth.issuer)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who the token stands for; None when it is not to be trusted."""
        if len(token) > _LONGEST:
            return None
        try:
            claims = await asyncio.to_thread(self._claims_of, token)
        except jwt.PyJWTError as error:
            logger.info("a token was refused: %s", error)
            return None
        scope = claims.get("scope", "")
        return AccessToken(
            token=token,
            client_id=str(claims.get("client_id") or claims.get("azp") or claims["sub"]),
            scopes=scope.split() if isinstance(scope, str) else [],
            expires_at=int(claims["exp"]),
            resource=self._oauth.resource,
            subject=str(claims["sub"]),
            claims=claims,
        )

    def _claims_of(self, token: str) -> dict[str, Any]:
        key = self._keys.find(str(jwt.get_unverified_header(token).get("kid", "")))
        return jwt.decode(
            token,
            key,
            algorithms=_ALGORITHMS,
            audience=self._oauth.resource,
            issuer=self._oauth.issuer,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )
