"""A vendor that wants every request signed gets a signature over the whole of it, on every attempt."""

import hmac
import json
from hashlib import sha256
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from request.server import serving
from request.test_faults import GOOD, KEY, events_of, refusal, reply_of
from rightcall.core.ports import Dialect
from rightcall.core.request import PreparedRequest, Sign
from rightcall.core.transport import Timeouts
from rightcall.errors import VendorError
from rightcall.request.endpoint import Address
from rightcall.request.retry import Retry
from rightcall.request.wire_model import WireModel
from rightcall.transport.http import HttpTransport
from rightcall.wire import openai_chat

SECRET = "a secret that never travels"
SIGNED = "x-signed-headers"


def signature(secret: str, method: str, host: str, target: str, headers: dict, body: bytes) -> str:
    """Over everything, in the manner of AWS: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html."""
    names = headers[SIGNED].split(";")
    lines = [method, host, target, *[f"{name}:{headers[name]}" for name in names]]
    message = "\n".join([*lines, sha256(body).hexdigest()])
    return hmac.new(secret.encode(), message.encode(), sha256).hexdigest()


def signing(secret: str) -> Sign:
    def sign(sent: PreparedRequest) -> dict[str, str]:
        url = urlsplit(sent.url)
        dated = {name.lower(): text for name, text in sent.headers.items()}
        dated["x-date"] = f"{sent.time:.6f}"
        dated[SIGNED] = ";".join(sorted(dated))
        target = f"{url.path}?{url.query}" if url.query else url.path
        vouched = signature(secret, sent.method, url.netloc, target, dated, sent.body)
        return {"x-date": dated["x-date"], SIGNED: dated[SIGNED], "authorization": f"Toy {vouched}"}

    return sign


def accepts(method: str, target: str, headers: dict[str, str], body: bytes) -> bool:
    """What the server makes of a request, from the bytes that reached it."""
    expected = signature(SECRET, method, headers["host"], target, headers, body)
    return hmac.compare_digest(headers["authorization"], f"Toy {expected}")


def signed_dialect(authorize: object) -> Dialect:
    """Chat Completions at a vendor that wants every request signed."""
    names = ("name", "encode", "encoder", "decoder", "decode", "error")
    return SimpleNamespace(authorize=authorize, **{name: getattr(openai_chat, name) for name in names})


@pytest.fixture
async def transport():
    carrier = HttpTransport()
    yield carrier
    await carrier.close()


def model_at(url: str, transport: HttpTransport, authorize: object = signing) -> WireModel:
    address = Address(url=f"{url}/v1?region=eu&", model="m", key=SECRET, headers={"X-Team": "blue"})
    retry = Retry(attempts=3, base=0.001)
    return WireModel(
        signed_dialect(authorize), transport, address, retry=retry, timeouts=Timeouts(first_byte=5.0)
    )


async def test_a_signature_covers_method_address_headers_and_body(transport):
    async with serving(GOOD, check=accepts) as server:
        assert (await reply_of(model_at(server.url, transport))).text == "Hello."
    ((target, headers, body),) = server.requests
    assert target == "/v1?region=eu&/chat/completions"
    assert set(headers[SIGNED].split(";")) == {"content-type", "user-agent", "x-date", "x-team"}
    assert json.loads(body)["model"] == "m"
    assert SECRET not in f"{headers} {body!r}"


async def test_an_attempt_after_a_failure_is_signed_anew(transport):
    async with serving(refusal(503), refusal(429, retry_after="0"), GOOD, check=accepts) as server:
        assert (await reply_of(model_at(server.url, transport))).text == "Hello."
    dates = [float(headers["x-date"]) for _, headers, _ in server.requests]
    assert len(set(dates)) == len({headers["authorization"] for _, headers, _ in server.requests}) == 3
    assert dates == sorted(dates)


async def test_the_server_refuses_a_signature_by_another_key(transport):
    async with serving(GOOD, check=accepts) as server:
        model = model_at(server.url, transport, lambda _: signing("another"))
        with pytest.raises(VendorError, match="not good"):
            await reply_of(model)
    assert len(server.requests) == 1


async def test_a_key_that_is_not_signed_with_is_asked_for_once(transport):
    asked = []

    def authorize(key: str) -> dict[str, str]:
        asked.append(key)
        return {"authorization": f"Bearer {key}"}

    async with serving(refusal(503), GOOD) as server:
        model = model_at(server.url, transport, authorize)
        await events_of(model)
        await events_of(model)
    assert asked == [SECRET]
    assert [headers["authorization"] for _, headers, _ in server.requests] == [f"Bearer {SECRET}"] * 3
    assert KEY not in repr(model)
