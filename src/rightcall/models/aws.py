"""Bedrock: the region, the credentials, and transports that sign requests and unwrap replies.

Keys in the environment are read here. All other credentials (profiles, sign-in at a browser, roles,
containers, EC2) are found and renewed by botocore's own chain, the extra ``aws``.
"""

import asyncio
import os
import re
import time
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from threading import Lock
from typing import Any, Self, TypeAlias
from urllib.parse import quote

import msgspec

from rightcall.core.optional_libraries import load, require
from rightcall.core.request import PreparedRequest
from rightcall.core.transport import StreamedResponse, Timeouts, Transport
from rightcall.errors import MissingExtra, ProtocolError, TransportError, UsageError
from rightcall.models.tokens import WrappedTransport
from rightcall.wire.bedrock.eventstream import EventStreamDecoder, StreamMessage
from rightcall.wire.bedrock.sigv4 import AwsCredentials, credentials_in, region_in, sign
from rightcall.wire.bedrock.tables import parse_refusal
from rightcall.wire.refusal import UNREADABLE, excerpt, readable

CredentialSource: TypeAlias = Callable[[], Awaitable[AwsCredentials]]
"""Returns the credentials that are valid now."""

_REGION = re.compile(r"[a-z0-9-]{1,32}")
_PLACE = "{region}"
_LARGE = 1024 * 1024
"""Bodies of more bytes are signed in a thread, as hashing them would block the event loop."""
_NONE = (
    "bedrock: no AWS credentials; set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or a profile (AWS_PROFILE), or pass api_key="
)


def bedrock_access(
    url: str, key: str | None, carrier: Transport, *, invoke: bool = False
) -> tuple[str, str | None, Transport]:
    """The URL, the key and the transport for Bedrock.

    A Bedrock API key is sent unchanged. With AWS credentials, in ``key`` or found elsewhere, there is no
    key, and requests are signed. ``invoke``: Claude is called in Anthropic's own format.
    """
    region = ""
    if _PLACE in url:
        region = configured_region()
        if not region:
            raise UsageError(
                "bedrock: no region; set AWS_REGION or the profile's region, or pass base_url="
            )
        if not _REGION.fullmatch(region):
            raise UsageError(f"bedrock: {region!r} is no AWS region; set AWS_REGION, or pass base_url=")
        url = url.replace(_PLACE, region)
        if region.startswith("cn-"):
            url += ".cn"
    credentials = credentials_in(key) if key else None
    if key is None or credentials is not None:
        if not region:
            try:
                region = region_in(url)
            except UsageError:
                region = configured_region()
                if not region:
                    raise
        carrier = SignedTransport(carrier, credential_source(credentials), region)
        key = None
    if invoke:
        carrier = InvokeTransport(carrier)
    return url, key, carrier


def configured_region() -> str:
    """The region, from the environment or, where botocore is installed, the profile; else empty."""
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region:
        return region
    try:
        session = load("botocore.session").Session()
    except MissingExtra:
        return ""
    with _translate_errors():
        return session.get_config_variable("region") or ""


def credential_source(given: AwsCredentials | None = None) -> CredentialSource:
    """Where credentials come from: those given, the environment's, or botocore's chain."""
    credentials = given or _environment()
    if credentials is None:
        require("botocore")
        return BotocoreCredentials().current

    async def static_credentials() -> AwsCredentials:
        return credentials

    return static_credentials


def _environment() -> AwsCredentials | None:
    key = os.environ.get("AWS_ACCESS_KEY_ID", "").strip()
    secret = os.environ.get("AWS_SECRET_ACCESS_KEY", "").strip()
    if not key and not secret:
        return None
    if not key:
        raise UsageError("bedrock: AWS_ACCESS_KEY_ID is not set, and half of the credentials is")
    if not secret:
        raise UsageError("bedrock: AWS_SECRET_ACCESS_KEY is not set, and half of the credentials is")
    token = os.environ.get("AWS_SESSION_TOKEN", "").strip()
    return AwsCredentials(access_key_id=key, secret_access_key=secret, session_token=token)


class BotocoreCredentials:
    """Credentials found by botocore, and renewed by it before they expire, in a thread."""

    def __init__(self) -> None:
        # botocore's sessions are not made for several threads.
        self._lock = Lock()
        self._found: Any = None

    async def current(self) -> AwsCredentials:
        """The credentials to sign with."""
        # Without a need to renew them this does no I/O, and no thread is worth its while.
        if self._found is not None and not _need_renewal(self._found):
            return self._read()
        return await asyncio.to_thread(self._read)

    def _read(self) -> AwsCredentials:
        with self._lock, _translate_errors():
            if self._found is None:
                self._found = load("botocore.session").Session().get_credentials()
            if self._found is None:
                raise UsageError(_NONE)
            frozen = self._found.get_frozen_credentials()
        return AwsCredentials(
            access_key_id=frozen.access_key,
            secret_access_key=frozen.secret_key,
            session_token=frozen.token or "",
        )


def _need_renewal(credentials: Any) -> bool:
    # Only credentials that expire have this method.
    check = getattr(credentials, "refresh_needed", None)
    return check is not None and check()


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn botocore's errors into ours. Those that quote a response or a file are not repeated."""
    known = load("botocore.exceptions")
    try:
        yield
    except (known.ProfileNotFound, known.PartialCredentialsError, known.SSOError) as error:
        raise UsageError(f"bedrock: {error}") from error
    except known.ConfigParseError:
        raise UsageError("bedrock: a file of AWS profiles cannot be read; fix it") from None
    except ValueError as error:
        # For example a container's endpoint that is neither near nor reached by TLS.
        raise UsageError(f"bedrock: AWS credentials cannot be fetched: {error}") from None
    except (KeyError, TypeError):
        # What botocore makes of an endpoint's response that has no credentials.
        raise ProtocolError("bedrock: what answered for AWS credentials gave none") from None
    except (known.BotoCoreError, known.ClientError, OSError) as error:
        kind = type(error).__name__
        raise TransportError(f"bedrock: AWS credentials cannot be fetched: {kind}") from None


class SignedTransport(WrappedTransport):
    """Signs every attempt of every request, and passes it on."""

    def __init__(self, inner: Transport, credentials: CredentialSource, region: str) -> None:
        super().__init__(inner)
        self._credentials = credentials
        self._region = region

    @asynccontextmanager
    async def post(
        self, url: str, /, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[StreamedResponse]:
        """Send a signed body, and stream the reply."""
        credentials = await self._credentials()
        sent = PreparedRequest(method="POST", url=url, headers=headers, body=body, time=time.time())
        if len(body) > _LARGE:
            added = await asyncio.to_thread(sign, sent, credentials, self._region)
        else:
            added = sign(sent, credentials, self._region)
        signed = {name: text for name, text in headers.items() if name.lower() not in added} | added
        async with self._inner.post(url, headers=signed, body=body, timeouts=timeouts) as incoming:
            yield incoming


VERSION = "bedrock-2023-05-31"
_ASKED = "/v1/messages"
_FRAMED = "application/vnd.amazon.eventstream"
_LEFT_OUT = frozenset(["anthropic-version", "anthropic-beta", "x-api-key"])


class _InvokeChunk(msgspec.Struct, gc=False):
    bytes: str


_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_text = msgspec.json.Decoder(str).decode
_chunk = msgspec.json.Decoder(_InvokeChunk).decode


class InvokeTransport(WrappedTransport):
    """Wraps each request for Bedrock, and unwraps the reply.

    It carries Anthropic's requests to Claude on Bedrock (InvokeModel), which takes Anthropic's body
    without the model and with Bedrock's own version, the model in the URL, and betas in the body.
    Bedrock streams Anthropic's events in AWS's messages, in base64; this transport returns them as
    server-sent events, so that Anthropic's dialect can be used unchanged.
    https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html
    """

    @asynccontextmanager
    async def post(
        self, url: str, /, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[StreamedResponse]:
        """Send a request in Anthropic's format, and stream the reply."""
        named = {name.lower(): text for name, text in headers.items()}
        path, enclosed = _wrap_body(body, named.get("anthropic-beta", ""))
        kept = {name: text for name, text in headers.items() if name.lower() not in _LEFT_OUT}
        if key := named.get("x-api-key"):
            kept["authorization"] = f"Bearer {key}"
        async with self._inner.post(
            url.removesuffix(_ASKED) + path, headers=kept, body=enclosed, timeouts=timeouts
        ) as incoming:
            if _FRAMED in incoming.headers.get("content-type", ""):
                shown = {**incoming.headers, "content-type": "text/event-stream"}
                yield StreamedResponse(incoming.status, shown, _Unframed(incoming.chunks))
            else:
                yield incoming


class _Unframed:
    """The body of a reply as a stream of server-sent events."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._frames = EventStreamDecoder()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while True:
            messages = self._frames.feed(await anext(self._chunks))
            if events := b"".join(map(_event, messages)):
                return events


def _wrap_body(body: bytes, betas: str) -> tuple[str, bytes]:
    """The path and the body for Bedrock. The members are not parsed, as the history may be long."""
    members = _members(body)
    model = _text(members.pop("model"))
    stream = bytes(members.pop("stream", msgspec.Raw(b"false"))) == b"true"
    own = {"anthropic_version": VERSION, **({"anthropic_beta": betas.split(",")} if betas else {})}
    method = "invoke-with-response-stream" if stream else "invoke"
    return f"/model/{quote(model, safe='')}/{method}", msgspec.json.encode({**own, **members})


def _event(message: StreamMessage) -> bytes:
    headers = message.headers
    payload = message.payload
    match headers.get(":message-type"):
        case "event" if headers.get(":event-type") == "chunk":
            try:
                event = b64decode(_chunk(payload).bytes, validate=True)
            except (*UNREADABLE, NotBase64) as problem:
                raise ProtocolError(
                    f"bedrock: a chunk that cannot be read: {excerpt(payload)}"
                ) from problem
            # Line breaks occur between the members of an event, never within its strings.
            return b"data: " + event.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n\n"
        case "exception":
            raise parse_refusal(readable(payload), headers.get(":exception-type", ""))
        case "error":
            told = headers.get(":error-message") or readable(payload)
            raise parse_refusal(told, headers.get(":error-code", ""))
        case _:
            return b""
