"""Tokens that pass: kept, fetched by one at a time, and fetched again before they pass."""

import asyncio
import json
import threading

import pytest

import rightcall as rc
from request.server import serving, whole
from rightcall.errors import TransportError, UsageError, VendorError
from rightcall.models.tokens import AccessToken, TokenStore

CHAT = {"choices": [{"index": 0, "message": {"content": "Hi."}, "finish_reason": "stop"}]}


class Source:
    """Gives tokens one after another, each good for an hour; or fails."""

    def __init__(self) -> None:
        self.given = 0
        self.fails = False
        self.now = 0.0

    def __call__(self) -> AccessToken:
        assert threading.current_thread() is not threading.main_thread()
        if self.fails:
            raise TransportError("gone")
        self.given += 1
        return AccessToken(f"token-{self.given}", self.now + 3600)

    def store(self) -> TokenStore:
        return TokenStore(self, clock=lambda: self.now)


async def test_many_requests_fetch_one_token():
    source = Source()
    store = source.store()
    assert set(await asyncio.gather(*(store.current() for _ in range(20)))) == {"token-1"}
    assert source.given == 1


async def test_a_token_is_fetched_again_before_it_passes_and_used_up_where_that_fails():
    source = Source()
    store = source.store()
    await store.current()
    source.now = 3299
    assert await store.current() == "token-1"
    source.now, source.fails = 3301, True
    assert await store.current() == "token-1"
    source.now = 3600
    with pytest.raises(TransportError, match="gone"):
        await store.current()
    source.fails = False
    assert await store.current() == "token-2"


async def test_who_is_cancelled_while_fetching_leaves_it_to_the_next():
    source = Source()
    store = source.store()
    first = asyncio.create_task(store.current())
    await asyncio.sleep(0)
    second = asyncio.create_task(store.current())
    first.cancel()
    # What the first one's thread still fetches is not kept; the second fetches for itself.
    assert await second in ("token-1", "token-2")
    assert await store.current() == await second


async def test_a_token_that_was_refused_is_not_used_again():
    store = Source().store()
    store.discard(await store.current())
    assert await store.current() == "token-2"
    store.discard("token-1")
    assert await store.current() == "token-2"


def test_a_token_is_not_shown():
    assert "secret" not in repr(AccessToken("secret", 1.0))


async def test_a_function_gives_the_key_for_each_request_and_it_is_hidden():
    given = iter(["plain-key-1", "plain-key-2", "plain-key-3"])

    async def later() -> str:
        return next(given)

    refused = whole(b'{"error": {"message": "plain-key-2 is bad"}}', 401)
    async with serving(whole(json.dumps(CHAT).encode()), refused) as server:
        async with rc.connect("openai:m", base_url=server.url, api_key=later) as model:
            assert (await rc.Agent(model).run("Hi")).text == "Hi."
            with pytest.raises(VendorError, match=r"\[token\] is bad"):
                await rc.Agent(model).run("Hi")
        async with rc.connect("anthropic:m", base_url=server.url, api_key=lambda: "k") as model:
            with pytest.raises(VendorError):
                await rc.Agent(model).run("Hi")
    assert [h.get("authorization") for _, h, _ in server.requests[:2]] == [
        "Bearer plain-key-1",
        "Bearer plain-key-2",
    ]
    assert server.requests[2][1]["x-api-key"] == "k"


async def test_a_dummy_that_a_function_gives_changes_no_word_of_a_refusal():
    words = '{"error": {"message": "the prompt is too long", "code": "context_length_exceeded"}}'
    async with serving(whole(words.encode(), 400)) as server:
        model = rc.connect("openai:m", base_url=server.url, api_key=lambda: "e")
        with pytest.raises(VendorError, match="the prompt is too long") as caught:
            await rc.Agent(model).run("Hi")
        await model.close()
    assert caught.value.kind == "context_overflow"


async def test_a_function_that_gives_no_key_is_the_developers_mistake():
    model = rc.connect("openai:m", base_url="http://localhost:1", api_key=lambda: "")
    with pytest.raises(UsageError, match="must give a key or token"):
        await rc.Agent(model).run("Hi")
    with pytest.raises(UsageError, match="api_key= must be text here"):
        rc.connect("bedrock:m", base_url="http://localhost:1", api_key=lambda: "k")
