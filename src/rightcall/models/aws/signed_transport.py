"""A transport that signs requests with AWS credentials valid at that time."""

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
"""Bodies of more bytes are signed in a thread, as hashing them would block the event loop."""


class SignedTransport:
    """Signs every attempt of every request, and passes it on; closes the transport that it wraps."""

    def __init__(self, inner: Transport, credentials: CredentialStore, region: str) -> None:
        self._inner = inner
        self._credentials = credentials
        self._region = region

    @asynccontextmanager
    async def post(
        self, url: str, /, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[Incoming]:
        """Send a signed body, and stream the reply."""
        signed_headers = await self._signed("POST", url, headers, body)
        async with self._inner.post(
            url, headers=signed_headers, body=body, timeouts=timeouts
        ) as incoming:
            yield incoming

    def get(
        self, url: str, /, *, headers: Mapping[str, str], timeouts: Timeouts
    ) -> AbstractAsyncContextManager[Incoming]:
        """Pass the request on without a signature: GET is not used to call a model."""
        return self._inner.get(url, headers=headers, timeouts=timeouts)

    async def close(self) -> None:
        """Close all connections."""
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
    """The URL, the key and the transport for Bedrock.

    A Bedrock API key is sent unchanged. With AWS credentials, in ``key`` or found elsewhere, there is no
    key, and requests are signed. ``invoke``: Claude is called in Anthropic's own format.
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
    """The region in the URL; if it has none, the configured one."""
    try:
        return region_in(url)
    except UsageError:
        region = region_here()
        if not region:
            raise
        return region
