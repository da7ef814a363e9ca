"""The endpoint of a model: its address and credentials, requests to it, and whole responses."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from logging import DEBUG
from typing import Literal, Self
from urllib.parse import urlsplit

from msgspec import DecodeError, Struct, json

from rightcall.core.events import ModelEvent, reply_events
from rightcall.core.jsontext import check_parts
from rightcall.core.ports import HEADERS, TRACE, Dialect
from rightcall.core.request import EncodedRequest, PreparedRequest, Sign
from rightcall.core.secret_formats import redact_formats, redact_key
from rightcall.core.transport import StreamedResponse, Timeouts, Transport
from rightcall.errors import ProtocolError, RightcallError, TransportError, UsageError, VendorError
from rightcall.log import request_logger

_EXCERPT = 200
_REFUSED = 400
_HEADERS = {"content-type": "application/json", "user-agent": "rightcall"}

MAX_BODY = 64 * 1024 * 1024
"""The most bytes of an unstreamed reply or an error; a longer one is refused."""

HEAD = 4096
"""Bytes of a reply that are kept until it could be decoded, to show in an error what was received."""


class Address(Struct, frozen=True, kw_only=True):
    """The address of a model, and its credentials. The key is never shown."""

    url: str
    model: str
    query: str = ""
    """The query string of every URL, such as a version."""
    key: str | None = None
    key_header: str = ""
    """The header that carries the key, if it is not the dialect's own."""
    headers: Mapping[str, str] = {}
    provider: str = ""
    """The provider's name in errors; the host by default."""

    def at(self, path: str) -> str:
        """Returns the URL of a path at this address."""
        url = self.url.rstrip("/") + path
        if self.query:
            return f"{url}{'&' if '?' in url else '?'}{self.query}"
        return url

    def __repr__(self) -> str:
        return f"Address(url={redact_formats(self.url)!r}, model={self.model!r})"


class Errand(Struct, frozen=True, kw_only=True, gc=False):
    """A request to a vendor that is not for its model: for files, batches, or a stored response."""

    path: str
    """The path after the base URL; or a whole URL of the same origin, as a vendor gave it."""
    method: Literal["GET", "POST"] = "GET"
    body: bytes = b""
    headers: Mapping[str, str] = {}
    most: int = MAX_BODY
    """The most bytes of an answer; a longer one is refused."""
    once: bool = False
    """Do not retry if it may have arrived."""


class ErrandAnswer(Struct, frozen=True, gc=False):
    """The answer to an errand."""

    headers: Mapping[str, str]
    body: bytes


class ModelEndpoint:
    """One address, and the dialect that it uses.

    Requests carry the key or are signed. Errors name the provider and the request, and have no secret.
    """

    def __init__(
        self,
        dialect: Dialect,
        transport: Transport,
        address: Address,
        timeouts: Timeouts,
        clock: Callable[[], float],
    ) -> None:
        self._dialect = dialect
        self._transport = transport
        self._address = address
        self._timeouts = timeouts
        self._clock = clock
        self.url = address.url.rstrip("/")
        carried: Mapping[str, str] | Sign = {}
        if address.key is not None and address.key_header:
            carried = {address.key_header: address.key}
        elif address.key is not None:
            carried = dialect.authorize(address.key)
        self._sign = None
        self._own_headers = dict(address.headers)
        if isinstance(carried, Mapping):
            self._own_headers = {**carried, **address.headers}
        else:
            self._sign = carried
        try:
            place = urlsplit(self.url)
            _ = place.port  # read here, because urlsplit does not look at it
        except ValueError:
            # Neither it nor the cause is told: what seems to be its port may be a part of a password.
            raise UsageError("the address is no URL: its host or its port is wrong") from None
        names = {name.lower() for name in self._own_headers}
        if "@" in place.netloc and "authorization" in names:
            raise UsageError(
                f"{place.hostname}: the address holds a user and a password, and there is a key, too; a "
                "request carries one of them. Leave the key out, or take the user out of the address"
            )
        self.place = f"{place.scheme}://{place.netloc.rpartition('@')[2]}{place.path}"
        """The address without credentials."""
        self.provider = address.provider or place.hostname or ""

    def post(self, outgoing: EncodedRequest) -> AbstractAsyncContextManager[StreamedResponse]:
        """Send a request to the model."""
        url = self._address.at(outgoing.path)
        headers = self._headers("POST", url, outgoing.headers, outgoing.body)
        return self._transport.post(url, headers=headers, body=outgoing.body, timeouts=self._timeouts)

    def carry(self, errand: Errand) -> AbstractAsyncContextManager[StreamedResponse]:
        """Send an errand."""
        url = errand.path
        if "://" not in url:
            url = self._address.at(url)
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
            traced = {}
            for name in TRACE:
                if name in added:
                    traced[name] = added[name]
            headers = {**added, **headers, **traced}
        if self._sign is not None:
            now = self._clock()
            sent = PreparedRequest(method=method, url=url, headers=headers, body=body, time=now)
            headers |= self._sign(sent)
        return headers

    def is_refusal(self, incoming: StreamedResponse) -> bool:
        """Whether a response can be no reply: an error, or a page. Logs the response, too."""
        if request_logger.isEnabledFor(DEBUG):
            named = self.request_id(incoming) or "-"
            request_logger.debug("%s: HTTP %d, request %s", self.place, incoming.status, named)
        return incoming.status >= _REFUSED or "text/html" in incoming.headers.get("content-type", "")

    def refusal(self, incoming: StreamedResponse, body: bytes) -> VendorError:
        """Decode a response as a refusal.

        The secrets are removed afterwards, by ``complete``, so that they do not change what it means.
        """
        return self._dialect.error(incoming.status, incoming.headers, body)

    def explain_response(
        self, error: RightcallError, incoming: StreamedResponse, head: bytes
    ) -> RightcallError:
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

    def complete(self, error: RightcallError, incoming: StreamedResponse | None) -> None:
        """Add the provider and the request id to an error, and remove secrets from it.

        Vendors quote the key that they refuse, and other parts of the request; our errors must not.
        """
        words = [self._without_secrets(str(part)) for part in error.args]
        named = "" if incoming is None else self.request_id(incoming)
        if isinstance(error, VendorError):
            error.provider = self.provider
            error.vendor_code = self._without_secrets(error.vendor_code)
            error.request_id = self._without_secrets(error.request_id or named)
            error.body = self._without_secrets(error.body)
        elif words and isinstance(error, ProtocolError | TransportError):
            plain = words[0].removeprefix(f"{self._dialect.name}: ")
            words[0] = f"{self.provider}: {plain}"
            if named:
                words[0] += f" (request {self._without_secrets(named)})"
        error.args = tuple(words)
        # A traceback shows what an error was made of, too.
        cause = error.__cause__
        while isinstance(cause, RightcallError):
            cause.args = tuple([self._without_secrets(str(part)) for part in cause.args])
            cause = cause.__cause__

    def request_id(self, incoming: StreamedResponse) -> str:
        """Returns the id that the vendor gave the request; the dialect knows which header holds it."""
        return self._dialect.error(incoming.status, incoming.headers, b"").request_id

    def _without_secrets(self, text: str) -> str:
        return redact_formats(redact_key(text, self._address.key))


class WholeReplyDecoder:
    """Decodes a reply that is not streamed: it yields nothing before the end."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._body = bytearray()

    def feed(self, data: bytes) -> tuple[ModelEvent, ...]:
        """Keep the bytes."""
        grow(self._body, data)
        return ()

    def finish(self) -> tuple[ModelEvent, ...]:
        """Returns the events of the whole reply."""
        return tuple(reply_events(self._dialect.decode(bytes(self._body))))


async def body_of(incoming: StreamedResponse) -> bytes:
    """Returns all bytes of a reply or an error; ProtocolError if there are too many, or of its parts."""
    body = await all_bytes_of(incoming, MAX_BODY)
    check_parts(body, "the reply")
    return body


async def all_bytes_of(incoming: StreamedResponse, most: int) -> bytes:
    """Returns all bytes of an answer; ProtocolError if there are more than ``most``."""
    body = bytearray()
    async for chunk in incoming.chunks:
        grow(body, chunk, most)
    return bytes(body)


def grow(body: bytearray, piece: bytes, most: int = MAX_BODY) -> None:
    """Add a piece to a body; ProtocolError if it becomes too long."""
    body += piece
    if len(body) > most:
        raise ProtocolError(f"the reply is longer than {most:,} bytes")


def is_whole(head: bytes) -> bool:
    """Whether this is a whole response and not part of a reply: no events, no JSON that was cut off."""
    if len(head) >= HEAD or any(field in head for field in (b"data:", b"event:")):
        return False
    if head.startswith(b"\0"):
        # Amazon's events, which begin with their length.
        return False
    if not head.lstrip().startswith((b"{", b"[")):
        return True
    try:
        json.decode(head)
    except (DecodeError, RecursionError, UnicodeError):
        return False
    return True


class EventGroups:
    """The stream of a model that knows which events arrived together; ``groups`` yields those."""

    __slots__ = ("_rest", "groups")

    def __init__(self, groups: AsyncGenerator[Sequence[ModelEvent], None]) -> None:
        self.groups = groups
        self._rest: Iterator[ModelEvent] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ModelEvent:
        while self._rest is None or (event := next(self._rest, None)) is None:
            self._rest = iter(await anext(self.groups))
        return event

    async def aclose(self) -> None:
        """Release what the stream holds, even before its end."""
        await self.groups.aclose()


async def _one_by_one(stream: AsyncIterator[ModelEvent]) -> AsyncIterator[Sequence[ModelEvent]]:
    async for event in stream:
        yield (event,)


def event_groups(stream: AsyncIterator[ModelEvent]) -> AsyncIterator[Sequence[ModelEvent]]:
    """Returns the events of any model's stream, in groups as they arrived."""
    if isinstance(stream, EventGroups):
        return stream.groups
    return _one_by_one(stream)


async def close_stream(stream: AsyncIterator[ModelEvent]) -> None:
    """Close a stream that was not read to its end, so that it releases what it holds."""
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()
