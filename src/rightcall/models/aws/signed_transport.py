"""A transport that signs what it sends with AWS credentials that are good at that time."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from rightcall.core.request import Prepared
from rightcall.core.transport import Incoming, Timeouts, Transport
from rightcall.errors import UsageError
from rightcall.models.aws.credentials import CredentialStore, source
from rightcall.models.aws.invoke_transport import InvokeTransport
from rightcall.models.aws.profile import region as region_here
from rightcall.wire.bedrock.sigv4 import credentials_in, region_in, sign

_REGION = re.compile(r"[a-z0-9-]{1,32}")
_PLACE = "{region}"
_LARGE = 1024 * 1024
"""A body of more bytes is signed beside the event loop, which the hash of it would hold up."""


class SignedTransport:
    """Signs each request anew, every attempt of it, and hands it on; closed with what it wraps."""

    def __init__(self, inner: Transport, credentials: CredentialStore, region: str) -> None:
        self._inner = inner
        self._credentials = credentials
        self._region = region

    @asynccontextmanager
    async def post(
        self, url: str, /, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[Incoming]:
        """Send a signed body, and give back the reply while it comes."""
        signed_headers = await self._signed("POST", url, headers, body)
        async with self._inner.post(
            url, headers=signed_headers, body=body, timeouts=timeouts
        ) as incoming:
            yield incoming

    def get(
        self, url: str, /, *, headers: Mapping[str, str], timeouts: Timeouts
    ) -> AbstractAsyncContextManager[Incoming]:
        """Ask for what is there, without a signature: no model is asked so."""
        return self._inner.get(url, headers=headers, timeouts=timeouts)

    async def close(self) -> None:
        """Let go of every connection."""
        await self._inner.close()

    async def _signed(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> dict[str, str]:
        credentials = await self._credentials.current()
        sent = Prepared(method=method, url=url, headers=headers, body=body, time=time.time())
        if len(body) > _LARGE:
            added = await asyncio.to_thread(sign, sent, credentials, self._region)
        else:
            added = sign(sent, credentials, self._region)
        return {name: text for name, text in headers.items() if name.lower() not in added} | added


def signed(
    url: str, key: str | None, carrier: Transport, *, invoke: bool = False
) -> tuple[str, str | None, Transport]:
    """Where Bedrock is asked, with which key, and what carries it there.

    A Bedrock API key is carried as it is; with AWS's credentials, in ``key`` or wherever else they are,
    there is none, and requests are signed. ``invoke``: Claude is asked in Anthropic's own form.
    """
    region = ""
    if _PLACE in url:
        region = region_here()
        if not _REGION.fullmatch(region):
            raise UsageError(
                f"bedrock: {region!r} is no AWS region; set AWS_REGION, or pass base_url="
                if region
                else "bedrock: no region; set AWS_REGION or the profile's region, or pass base_url="
            )
        url = url.replace(_PLACE, region) + (".cn" if region.startswith("cn-") else "")
    credentials = credentials_in(key) if key else None
    if key and credentials is None:
        return url, key, InvokeTransport(carrier) if invoke else carrier
    store = CredentialStore((lambda: credentials) if credentials else source())
    signing = SignedTransport(carrier, store, region or _signing_region(url))
    return url, None, InvokeTransport(signing) if invoke else signing


def _signing_region(url: str) -> str:
    """The region that the address tells; where it tells none, the one that is set."""
    try:
        return region_in(url)
    except UsageError:
        region = region_here()
        if not region:
            raise
        return region
