"""What a request may look like: bounded in parts and depth, with each member once, and read apart."""

import asyncio
import json
import random
import re
import time
import tracemalloc

import aiohttp
import pytest

from rightcall.errors import VendorError
from rightcall.serve.gateway.request_target import check_depth, check_parts, peek, rename_model
from rightcall.serve.gateway.settings import Bounds
from rightcall.testing.scripted_model import ScriptedModel
from serve.gateway.kit import JSON, Host, gateway, listening, place, post, served

PATHS = {
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/m:generateContent",
}
ERRORS = {
    "openai_chat": ("type", "invalid_request_error"),
    "openai_responses": ("type", "invalid_request_error"),
    "anthropic": ("type", {400: "invalid_request_error", 413: "request_too_large"}),
    "gemini": ("status", "INVALID_ARGUMENT"),
}


def scripted():
    return ScriptedModel(lambda _: "Hi")


def body_of(dialect, members):
    """A request, with more members as they are written."""
    said = '"messages":[{"role":"user","content":"Hi"}]'
    if dialect == "gemini":
        said = '"contents":[{"role":"user","parts":[{"text":"Hi"}]}]'
    elif dialect == "openai_responses":
        said = '"input":"Hi"'
    name = "" if dialect == "gemini" else '"model":"m",'
    return f'{{{name}"max_tokens":9,{said}{members}}}'.encode()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("members", "status", "words"),
    [
        (',"x":[' + ",".join("1" * 60) + "]", 413, "more than 50 parts"),
        (',"x":' + "[" * 20 + "]" * 20, 400, "more than 10 levels"),
        (',"x":' + '{"a":' * 20 + "1" + "}" * 20, 400, "more than 10 levels"),
    ],
    ids=["parts", "arrays", "objects"],
)
@pytest.mark.parametrize("dialect", PATHS)
async def test_parts_and_depth_are_bounded_in_every_dialect(dialect, members, status, words, stream):
    path = PATHS[dialect]
    if stream and dialect == "gemini":
        path = path.replace(":generate", ":streamGenerate")
    elif stream:
        members += ',"stream":true'
    bounds = Bounds(request_parts=50, request_depth=10)
    async with gateway({"m": scripted()}, bounds=bounds) as (_, base):
        told, _, came = await post(base + path, body_of(dialect, members), JSON)
        fine, _, _ = await post(base + path, body_of(dialect, ',"x":[1,2,[3]]'), JSON)
    error = json.loads(came)["error"]
    member, kind = ERRORS[dialect]
    assert (told, error[member]) == (status, kind[status] if isinstance(kind, dict) else kind)
    assert words in error["message"]
    assert fine == 200


def counted(value):
    """Commas and opening brackets of a value, and its depth."""
    if isinstance(value, dict):
        inner = [counted(each) for each in value.values()]
    elif isinstance(value, list):
        inner = [counted(each) for each in value]
    else:
        return 0, 0
    commas = max(len(inner) - 1, 0)
    return 1 + commas + sum(parts for parts, _ in inner), 1 + max((deep for _, deep in inner), default=0)


def made(chance, depth=6):
    kind = chance.randrange(6)
    if depth and kind < 2:
        return {word(chance): made(chance, depth - 1) for _ in range(chance.randrange(4))}
    if depth and kind < 4:
        return [made(chance, depth - 1) for _ in range(chance.randrange(4))]
    return chance.choice([word(chance), chance.randrange(100), None, True, 1.5])


def word(chance):
    return "".join(chance.choice('ab"\\[]{},: \né') for _ in range(chance.randrange(8)))


@pytest.mark.parametrize("ascii_", [True, False])
def test_parts_and_depth_are_counted_without_what_is_in_texts(ascii_, monkeypatch):
    """Wherever a request is sliced."""
    chance = random.Random(3)
    for _ in range(1500):
        monkeypatch.setattr(
            "rightcall.serve.gateway.request_target._SLICE", chance.choice([1, 2, 3, 64])
        )
        value = {"x": [made(chance) for _ in range(3)]}
        parts, depth = counted(value)
        body = json.dumps(value, ensure_ascii=ascii_).encode()
        check_parts(body, parts)
        check_depth(body, depth)
        with pytest.raises(VendorError, match="parts"):
            check_parts(body, parts - 1)
        with pytest.raises(VendorError, match="deep"):
            check_depth(body, depth - 1)


def large(kind):
    """Requests of 27 to 30 MB, all valid."""
    start = b'{"model":"m","messages":['
    if kind == "messages":
        return start + b",".join([b'{"role":"user","content":"x"}'] * 900_000) + b"]}"
    if kind == "arrays":
        return start + b",".join([b"[]"] * 10_000_000) + b"]}"
    if kind == "texts":
        return start + b",".join([b'""'] * 10_000_000) + b"]}"
    if kind == "closed":
        return start + b"]" * 30_000_000
    return start + b"[" * 15_000_000 + b"]" * 15_000_000 + b"]}"


def _look(body):
    check_parts(body, 100_000)
    peek(body)
    check_depth(body, 100)


@pytest.mark.parametrize("kind", ["messages", "arrays", "texts", "deep", "closed"])
def test_a_request_of_very_many_parts_is_refused_before_anything_is_built(kind):
    body = large(kind)
    tracemalloc.start()
    begun = time.process_time()
    try:
        with pytest.raises(VendorError):
            _look(body)
        seconds = time.process_time() - begun
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 * 1024 * 1024
    assert seconds < 2


@pytest.mark.parametrize(
    "members",
    [
        ',"model":"other"',
        ',"Model":"other"',
        ',"m\\u006fdel":"other"',
        ',"model":"other","a\\u0022":1,"b\\u0022\\u0022\\u0022":2',
        ',"MODEL":"m"',
        ',"stream":true,"stream":false',
        ',"unknown":1,"unknown":2',
    ],
)
@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic"])
async def test_a_member_that_is_there_twice_is_refused_and_not_passed_on(dialect, members):
    host = Host(lambda *_: (200, JSON, [b"{}"]))
    async with listening(host) as up:
        async with gateway({"m": served(place(dialect, up))}) as (_, base):
            status, _, came = await post(base + PATHS[dialect], body_of(dialect, members), JSON)
    assert (status, host.asked) == (400, [])
    assert "twice" in json.loads(came)["error"]["message"]


async def test_so_is_a_setting_of_geminis_that_is_there_twice():
    host = Host(lambda *_: (200, JSON, [b"{}"]))
    twice = ',"generationConfig":{"temperature":0,"temperature":1}'
    async with listening(host) as up:
        async with gateway({"m": served(place("gemini", up))}) as (_, base):
            for members in (twice, ',"contents":[]'):
                status, _, _ = await post(base + PATHS["gemini"], body_of("gemini", members), JSON)
                assert status == 400
    assert host.asked == []


@pytest.mark.parametrize("dialect", PATHS)
async def test_what_is_translated_holds_nothing_twice_at_any_depth(dialect):
    async with gateway({"m": scripted()}) as (_, base):
        for twice in ('{"a":{"b":1,"b":2}}', '{"a":1,"a":2,"c":"\\u0022\\u0022\\u0022\\u0022"}'):
            status, _, came = await post(base + PATHS[dialect], body_of(dialect, f',"x":{twice}'), JSON)
            assert status == 400
            assert "twice" in json.loads(came)["error"]["message"]
        fine = ',"x":{"a":{"b":1},"c":{"b":"\\u0022\\"\\\\"}}'
        assert (await post(base + PATHS[dialect], body_of(dialect, fine), JSON))[0] == 200


def test_a_name_with_quotes_is_a_name():
    assert peek(b'{"model":"m","a\\u0022b":1,"c\\"":2}').model == "m"


def test_many_members_of_the_models_name_are_not_looked_through_one_by_one():
    inner = b",".join([b'{"model":"mine"}'] * 20_000)
    body = b'{"x":[' + inner + b'],"model":"mine"}'
    begun = time.process_time()
    renamed = rename_model(body, "mine", "yours")
    assert time.process_time() - begun < 1
    assert json.loads(renamed) == json.loads(body) | {"model": "yours"}


def test_a_long_beginning_is_looked_at_in_part_and_marks_move_nothing():
    text = '{"type":"text","text":"' + "x" * 1000 + '"%s}'
    mark = ',"cache_control":{"type":"ephemeral"}'

    def body(marked, last):
        said = ",".join([text % (mark if at == marked else "") for at in range(200)])
        return f'{{"messages":[{{"role":"user","content":[{said},"{last}"]}}]}}'.encode()

    assert peek(body(3, "a")).beginning == peek(body(50, "b")).beginning
    assert peek(body(3, "a")).beginning != peek(body(3, "a").replace(b"x", b"y", 1)).beginning
    begun = time.process_time()
    peek(b'{"messages":[{"role":"user","content":"' + b"x, " * 10_000_000 + b'"}]}')
    assert time.process_time() - begun < 1


async def slowest_health(base, is_over):
    """The longest that it took to be told that all is well, in seconds."""
    slowest = 0.0
    async with aiohttp.ClientSession() as session:
        while not is_over():
            begun = time.monotonic()
            async with session.get(f"{base}/health") as response:
                await response.read()
            slowest = max(slowest, time.monotonic() - begun)
            await asyncio.sleep(0.005)
    return slowest


@pytest.mark.parametrize("dialect", ["gemini", "anthropic", "openai_responses", "openai_chat"])
async def test_others_are_answered_while_a_long_request_is_translated(dialect):
    """A stall is what the machine itself does, and a part of what the whole takes."""
    messages = ",".join(['{"role":"user","content":"x"},{"role":"assistant","content":"y"}'] * 15_000)
    body = f'{{"model":"m","messages":[{messages}]}}'.encode()
    host = Host(lambda *_: (500, JSON, [b'{"error":{"message":"enough"}}']))
    async with listening(host) as up:
        async with gateway({"m": served(place(dialect, up), exact=False)}) as (_, base):
            await post(f"{base}/v1/chat/completions", body_of("openai_chat", ""), JSON)
            begun = time.monotonic()
            asking = asyncio.ensure_future(_post_large(f"{base}/v1/chat/completions", body))
            slowest = await slowest_health(base, asking.done)
            whole = time.monotonic() - begun
            assert await asking >= 500
    assert len(host.asked) >= 2
    assert slowest < max(0.5, whole / 4)


async def _post_large(url, body):
    async def pieces():
        for start in range(0, len(body), 256 * 1024):
            yield body[start : start + 256 * 1024]
            await asyncio.sleep(0)

    async with aiohttp.ClientSession() as session, session.post(url, data=pieces(), headers=JSON) as got:
        return got.status


def test_words_of_the_bounds_name_their_numbers():
    with pytest.raises(VendorError, match=re.escape("more than 3 parts")):
        check_parts(b"[1,2,3,4]", 3)


def test_space_before_a_cache_mark_takes_no_longer_than_its_length():
    """Read from each of its bytes on, this took four seconds, in which nobody else was answered."""
    space = b" " * 60_000
    body = b'{"messages":[{"role":"user","content":"%s"},{"cache_control" : {"type":"ephemeral"}}]}'
    begun = time.process_time()
    assert peek(body % space).beginning != peek(body % b"").beginning
    assert time.process_time() - begun < 0.5


def test_a_long_text_under_the_name_of_the_model_takes_little_memory():
    for text in ("x" * 4_000_000, "\n" * 2_000_000):
        body = json.dumps({"tools": [{"model": text}], "model": "m"}).encode()
        tracemalloc.start()
        try:
            renamed = rename_model(body, "m", "other")
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert json.loads(renamed) == {"tools": [{"model": text}], "model": "other"}
        assert most < 10 * len(body)
