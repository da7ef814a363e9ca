"""No redirect is followed, so that keys and conversations reach only the address that was asked."""

import pytest

from request.server import serving, whole
from rightcall.core.message import user_text
from rightcall.core.request import Request
from rightcall.core.transport import Timeouts
from rightcall.errors import VendorError
from rightcall.models.connect import connect
from rightcall.transport.http import HttpTransport

KEY = "sk-test-0123456789abcdef"


async def refused(place: str, url: str, transport: HttpTransport) -> VendorError:
    model = connect(f"{place}:m", base_url=url, api_key=KEY, transport=transport)
    with pytest.raises(VendorError) as caught:
        async for _ in model.stream(Request(messages=(user_text("a secret plan"),))):
            pass
    return caught.value


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("place", ["anthropic", "gemini", "azure", "openai"])
async def test_neither_key_nor_conversation_follows_a_redirect(place, status, transport):
    async with serving(whole(b"{}")) as other:
        pointer = whole(b"", status, location=f"{other.url}/v1?state=hidden")
        async with serving(pointer) as asked:
            error = await refused(place, asked.url, transport)
    assert other.requests == []
    assert len(asked.requests) == 1, "a redirect does not pass by trying again"
    assert KEY in str(asked.requests[0][1])
    assert (error.status, error.retryable) == (status, False)
    assert f"{other.url}/v1," in str(error)
    assert "hidden" not in str(error)


async def test_a_redirect_within_the_origin_is_not_followed_either(transport):
    async with serving(whole(b"", 307, location="/elsewhere"), whole(b"{}")) as asked:
        error = await refused("anthropic", asked.url, transport)
    assert len(asked.requests) == 1
    assert f"{asked.url}/elsewhere" in str(error)


async def test_what_is_got_is_not_got_from_elsewhere(transport):
    async with serving(whole(b"{}")) as other, serving(whole(b"", 302, location=other.url)) as asked:
        with pytest.raises(VendorError, match="redirects are not followed"):
            async with transport.get(asked.url, headers={"x-key": KEY}, timeouts=Timeouts()):
                pass
        await transport.close()
        assert other.requests == []


ODD = {
    "nowhere": ({}, "points to nowhere"),
    "no address": ({"location": "http://[oops"}, "points to something that is no address"),
    "a key in its path": ({"location": f"http://127.0.0.2/{KEY}"}, r"127.0.0.2/\[key\]"),
    "a password": ({"location": "http://u:hidden@127.0.0.2/"}, "points to http://127.0.0.2/,"),
    "an endless path": ({"location": "/" + "x" * 5000}, "x{100}, and"),
}


@pytest.mark.parametrize(("headers", "words"), ODD.values(), ids=ODD)
async def test_a_redirect_to_something_odd_is_told_in_bounds(headers, words, transport):
    async with serving(whole(b"", 307, **headers)) as asked:
        error = await refused("anthropic", asked.url, transport)
    assert len(str(error)) < 400
    with pytest.raises(VendorError, match=words):
        raise error
