"""The host of a model.

Requests to it carry the key or are signed. Errors from here name the provider and the request, and
contain no secret.
"""

import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from logging import DEBUG
from urllib.parse import SplitResult, urlsplit

from rightcall.core.around import HEADERS, TRACE
from rightcall.core.ports import Dialect
from rightcall.core.request import Outgoing, Prepared
from rightcall.core.secret import redact_formats
from rightcall.core.transport import Incoming, Timeouts, Transport
from rightcall.errors import ProtocolError, RightcallError, TransportError, UsageError, VendorError
from rightcall.log import request_logger
from rightcall.request.address import Address, authorized
from rightcall.request.whole import Errand, body_of, is_whole

_EXCERPT, _REFUSED = 200, 400
_HEADERS = {"content-type": "application/json", "user-agent": "rightcall"}


class Host:
    """One address, and the dialect that it uses."""

    def __init__(
        self, dialect: Dialect, transport: Transport, address: Address, timeouts: Timeouts
    ) -> None:
        self._dialect = dialect
        self._transport = transport
        self._address = address
        self._timeouts = timeouts
        self.url = address.url.rstrip("/")
        carried = authorized(dialect, address)
        self._sign = None if isinstance(carried, Mapping) else carried
        self._own_headers = {**(carried if isinstance(carried, Mapping) else {}), **address.headers}
        place = _split(self.url)
        names = {name.lower() for name in self._own_headers}
        if "@" in place.netloc and "authorization" in names:
            raise UsageError(
                f"{place.hostname}: the address holds a user and a password, and there is a key, too; a "
                "request carries one of them. Leave the key out, or take the user out of the address"
            )
        self.place = f"{place.scheme}://{place.netloc.rpartition('@')[2]}{place.path}"
        """The address without credentials."""
        self.provider = address.provider or place.hostname or ""

    def post(self, outgoing: Outgoing) -> AbstractAsyncContextManager[Incoming]:
        """Send a request to the model."""
        url = self._address.at(outgoing.path)
        headers = self._headers("POST", url, outgoing.headers, outgoing.body)
        return self._transport.post(url, headers=headers, body=outgoing.body, timeouts=self._timeouts)

    def carry(self, errand: Errand) -> AbstractAsyncContextManager[Incoming]:
        """Send an errand."""
        url = errand.path if "://" in errand.path else self._address.at(errand.path)
        if urlsplit(url)[:2] != urlsplit(self.url)[:2]:
            # The key must not be sent to another host.
            raise ProtocolError(f"the vendor points to another host, {redact_formats(url)[:_EXCERPT]}")
        headers = self._headers(errand.method, url, errand.headers, errand.body)
        if errand.method == "GET":
            return self._transport.get(url, headers=headers, timeouts=self._timeouts)
        return self._transport.post(url, headers=headers, body=errand.body, timeouts=self._timeouts)

    def _headers(self, method: str, url: str, own: Mapping[str, str], body: bytes) -> Mapping[str, str]:
        headers = {**_HEADERS, **own, **self._own_headers}
        if (besides := HEADERS.get()) is not None:
            # An observer's headers never replace those that the request needs, except that a trace
            # continues from the observer's own span.
            added = besides(self.url)
            traced = {name: added[name] for name in TRACE if name in added}
            headers = {**added, **headers, **traced}
        if self._sign is not None:
            sent = Prepared(method=method, url=url, headers=headers, body=body, time=time.time())
            headers |= self._sign(sent)
        return headers

    async def admit(self, incoming: Incoming) -> None:
        """Accept a response that may be a reply; raise the refusal if it is one."""
        if request_logger.isEnabledFor(DEBUG):
            named = self._request_id(incoming)
            request_logger.debug("%s: HTTP %d, request %s", self.place, incoming.status, named or "-")
        is_page = "text/html" in incoming.headers.get("content-type", "")
        if incoming.status >= _REFUSED or is_page:
            raise self.refusal(incoming, await body_of(incoming))

    def refusal(self, incoming: Incoming, body: bytes) -> VendorError:
        """Decode a response as a refusal."""
        if key := self._address.key:
            # Before the text is cut: half a key would not be recognised.
            body = body.replace(key.encode(), b"[key]")
        return self._dialect.error(incoming.status, incoming.headers, body)

    def what_came(self, error: RightcallError, incoming: Incoming, head: bytes) -> RightcallError:
        """Returns the error for a response that could not be decoded, with what was received instead."""
        began = head.lstrip()
        is_page = began.startswith(b"<")
        if not isinstance(error, ProtocolError) or not (is_page or is_whole(head)):
            return error
        found: RightcallError
        if is_page:
            found = self.refusal(incoming, head)
        elif began:
            came = " ".join(self._without_secrets(began.decode(errors="replace")).split())
            came = came if len(came) <= _EXCERPT else f"{came[:_EXCERPT]}…"
            api = f"the {self._dialect.name} API"
            found = type(error)(f"what came is no answer of {api}, but: {came}; check the address")
        else:
            found = type(error)("the reply is empty")
        found.__cause__ = error
        return found

    def complete(self, error: RightcallError, incoming: Incoming | None) -> None:
        """Add the provider and the request id to an error, and remove secrets from it.

        Vendors quote the key that they refuse, and other parts of the request; our errors must not.
        """
        words = [self._without_secrets(str(part)) for part in error.args]
        named = "" if incoming is None else self._request_id(incoming)
        if isinstance(error, VendorError):
            error.provider = self.provider
            error.vendor_code = self._without_secrets(error.vendor_code)
            error.request_id = self._without_secrets(error.request_id or named)
            error.body = self._without_secrets(error.body)
        elif words and isinstance(error, ProtocolError | TransportError):
            request = f" (request {self._without_secrets(named)})" if named else ""
            told = words[0].removeprefix(f"{self._dialect.name}: ")
            words[0] = f"{self.provider}: {told}{request}"
        error.args = tuple(words)

    def _request_id(self, incoming: Incoming) -> str:
        # The dialect knows which header holds the request id.
        return self._dialect.error(incoming.status, incoming.headers, b"").request_id

    def _without_secrets(self, text: str) -> str:
        key = self._address.key
        return redact_formats(text.replace(key, "[key]") if key else text)


def _split(url: str) -> SplitResult:
    try:
        place = urlsplit(url)
        _ = place.port  # read here, because urlsplit does not look at it
    except ValueError:
        # Neither it nor the cause is told: what seems to be its port may be a part of a password.
        raise UsageError("the address is no URL: its host or its port is wrong") from None
    return place
