"""What is counted of a request: from the moment it is sent, whoever leaves, whatever is killed."""

import asyncio
import base64
import json
import random
import time

import pytest

from rightcall.core.parts import Usage
from rightcall.serve.gateway.gateway import Gateway
from rightcall.serve.gateway.keys import Allowed, Keys, add_key
from rightcall.serve.gateway.server import serve
from rightcall.serve.gateway.settings import Place, Served, Settings
from rightcall.serve.gateway.spend import Spend, today
from rightcall.testing.scripted_model import ScriptedModel, reply
from serve.gateway.kit import JSON, SSE, Host, gateway, listening, place, post, served

DAY = "2026-11-16"
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
USAGE = {"prompt_tokens": 30, "completion_tokens": 20}
HELLO = json.dumps(
    {
        "id": "c",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
        ],
        "usage": USAGE,
    }
).encode()
EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"Hi there"}}]}\n\n'
END = (
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b'data: {"choices":[],"usage":' + json.dumps(USAGE).encode() + b"}\n\ndata: [DONE]\n\n"
)
PATHS = {
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/m:generateContent",
}


def bodies(dialect, words):
    """A request with some words in each dialect."""
    if dialect == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": words}]}]}
    if dialect == "openai_responses":
        return {"model": "m", "input": words}
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": words}]}


def bearer(key):
    return {"authorization": f"Bearer {key}"}


async def ask_and_leave(base, path, body, headers, seconds):
    """Whether an answer came before the client lost patience."""
    data = json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", "host: localhost", "connection: close"]
    lines += [f"content-length: {len(data)}", *(f"{name}: {value}" for name, value in headers.items())]
    host, _, port = base.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode() + data)
        await asyncio.wait_for(reader.read(), seconds)
    except TimeoutError:
        return False
    else:
        return True
    finally:
        writer.close()


async def leave_once_asked(host, url, body, many=1, headers=None):
    """Ask so many times at once, and leave when the host was asked, before it says anything."""
    before = len(host.asked)
    asked = [asyncio.ensure_future(post(url, body, headers)) for _ in range(many)]
    await until(lambda: len(host.asked) > before)
    await asyncio.sleep(0.2)
    for each in asked:
        each.cancel()
    await asyncio.gather(*asked, return_exceptions=True)


async def until(is_so):
    for _ in range(600):
        if is_so():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come to that")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("dialect", PATHS)
async def test_a_client_that_leaves_before_the_first_byte_is_counted(dialect, stream):
    """In the upstream's own dialect and translated."""
    host = Host(lambda *_: (200, JSON, [1.5, HELLO]))
    body = bodies(dialect, "x" * 4000)
    path = PATHS[dialect]
    if dialect == "gemini" and stream:
        path = path.replace(":generate", ":streamGenerate")
    elif stream:
        body["stream"] = True
    async with listening(host) as up:
        async with gateway({"m": served(place("openai_chat", up))}) as (made, base):
            await leave_once_asked(host, base + path, body)
            assert len(host.asked) == 1
            await until(lambda: made.metrics.under_way == 0)
            spent = made.spend.of(today(time.time()), "local")
    assert spent.requests == 1
    assert 1500 <= spent.tokens <= 1600


async def test_clients_that_leave_use_up_their_day():
    keys, text = add_key(Keys(), "alice", Allowed(tokens_per_day=50_000), DAY)
    host = Host(lambda *_: (200, JSON, [1.5, HELLO]))
    large = {**CHAT, "messages": [{"role": "user", "content": "x" * 20_000}]}
    async with listening(host) as up:
        async with gateway({"m": served(place("openai_chat", up))}, keys=keys) as (made, base):
            url = f"{base}/v1/chat/completions"
            await leave_once_asked(host, url, large, 40, bearer(text))
            await until(lambda: made.metrics.under_way == 0)
            status, _, _ = await post(url, CHAT, bearer(text))
            spent = made.spend.of(today(time.time()), "alice")
    assert status == 429
    assert len(host.asked) == 10
    assert 50_000 <= spent.tokens < 50_000 + 5_600


async def test_a_stream_that_was_cut_is_counted_by_what_came():
    host = Host(lambda *_: (200, SSE, [EVENT * 100, 1.5, END]))
    async with listening(host) as up:
        async with gateway({"m": served(place("openai_chat", up))}) as (made, base):
            url = f"{base}/v1/chat/completions"
            await leave_once_asked(host, url, {**CHAT, "stream": True})
            await until(lambda: made.metrics.under_way == 0)
            spent = made.spend.of(today(time.time()), "local")
    assert 200 <= spent.tokens <= 230


async def test_what_was_refused_is_not_counted():
    refusing = Host(lambda *_: (500, JSON, [0.05, b'{"error":{"message":"no"}}']))
    async with listening(refusing) as up:
        models = {"m": served(place("openai_chat", up), place("openai_chat", "http://127.0.0.1:1"))}
        async with gateway(models) as (made, base):
            assert (await post(f"{base}/v1/chat/completions", CHAT))[0] in (500, 502)
            assert (await post(f"{base}/v1/chat/completions", {**CHAT, "messages": 3}))[0] >= 400
            spent = made.spend.of(today(time.time()), "local")
    assert spent.requests == 0


async def test_an_answer_that_is_none_is_counted_and_so_is_the_one_of_the_next_place():
    broken, fine = Host(lambda *_: (200, SSE, [b": hi\n\n"])), Host(lambda *_: (200, JSON, [HELLO]))
    async with listening(broken) as one, listening(fine) as two:
        models = {
            "m": served(place("openai_chat", one), exact=False, fallback=("n",)),
            "n": served(place("openai_chat", two)),
        }
        async with gateway(models) as (made, base):
            await post(f"{base}/v1/chat/completions", {**CHAT, "stream": True})
            day = today(time.time())
            spent = made.spend.of_model(day, "m"), made.spend.of_model(day, "n")
    assert len(broken.asked) == 1
    assert [each.requests for each in spent] == [1, len(fine.asked)]


async def test_a_picture_is_not_counted_as_text():
    host = Host(lambda *_: (200, JSON, [1.5, HELLO]))
    data = base64.b64encode(random.Random(0).randbytes(300_000)).decode()
    url = f"data:image/png;base64,{data}"
    content = [{"type": "text", "text": "x" * 400_000}, {"type": "image_url", "image_url": {"url": url}}]
    body = {"model": "m", "messages": [{"role": "user", "content": content}]}
    async with listening(host) as up:
        async with gateway({"m": served(place("openai_chat", up))}) as (made, base):
            await leave_once_asked(host, f"{base}/v1/chat/completions", body)
            await until(lambda: made.metrics.under_way == 0)
            spent = made.spend.of(today(time.time()), "local")
    assert 100_000 <= spent.tokens <= 104_000


def estimate():
    return Usage(input_tokens=100, output_tokens=500, cost=0.5)


def test_what_is_being_answered_is_written_and_corrected(tmp_path):
    place_ = str(tmp_path / "spend.sqlite")
    spend, other = Spend(place_), Spend(place_)
    charge = spend.open(DAY, "alice", "m", Served(), estimate)
    spend.flush(DAY)
    other.flush(DAY)
    # A gateway that is killed here has counted it, and others know of it.
    (row,) = Spend(place_).rows("")
    assert (row.requests, row.input_tokens, row.output_tokens, row.estimated) == (1, 100, 500, 1)
    assert other.of(DAY, "alice").tokens == 600
    # Here it is reserved, and would otherwise count twice.
    assert spend.of(DAY, "alice").tokens == 0
    spend.settle(charge, Usage(input_tokens=7, output_tokens=5, cost=0.25))
    assert spend.of(DAY, "alice").tokens == 12
    spend.flush(DAY)
    other.flush(DAY)
    (row,) = Spend(place_).rows("")
    assert (row.requests, row.input_tokens, row.output_tokens, row.estimated) == (1, 7, 5, 0)
    assert row.dollars == pytest.approx(0.25)
    assert [each.of(DAY, "alice").tokens for each in (spend, other)] == [12, 12]


def test_what_was_refused_after_it_was_written_is_taken_back(tmp_path):
    spend = Spend(str(tmp_path / "spend.sqlite"))
    charge = spend.open(DAY, "alice", "m", Served(), estimate)
    spend.flush(DAY)
    spend.cancel(charge)
    spend.flush(DAY)
    assert spend.rows("") == ()
    assert spend.of(DAY, "alice").tokens == 0


def test_a_write_that_fails_loses_and_doubles_nothing(tmp_path):
    spend = Spend(str(tmp_path / "spend.sqlite"))
    charge = spend.open(DAY, "alice", "m", Served(), estimate)
    spend.count(DAY, "alice", "m", Usage(input_tokens=3))
    add = spend._store.add

    def fail(_):
        raise OSError("no room")

    spend._store.add = fail
    with pytest.raises(OSError, match="no room"):
        spend.flush(DAY)
    spend._store.add = add
    spend.settle(charge, Usage(input_tokens=7))
    spend.flush(DAY)
    (row,) = spend.rows("")
    assert (row.requests, row.input_tokens, row.output_tokens, row.dollars) == (2, 10, 0, 0.0)


def test_what_was_written_is_not_written_again_when_the_totals_cannot_be_read(tmp_path):
    spend = Spend(str(tmp_path / "spend.sqlite"))
    charge = spend.open(DAY, "alice", "m", Served(), estimate)
    spend.count(DAY, "alice", "m", Usage(input_tokens=3))
    rows = spend._store.rows

    def fail(*_):
        raise OSError("the database went away")

    spend._store.rows = fail
    for _ in range(3):
        with pytest.raises(OSError, match="went away"):
            spend.flush(DAY)
    assert spend.of(DAY, "alice").tokens == 3
    spend._store.rows = rows
    spend.settle(charge, Usage(input_tokens=7))
    spend.flush(DAY)
    (row,) = spend.rows("")
    assert (row.requests, row.input_tokens, row.output_tokens) == (2, 10, 0)
    assert spend.of(DAY, "alice").tokens == 10


async def test_spend_is_written_while_a_gateway_serves_that_reads_no_files(tmp_path):
    place_ = str(tmp_path / "spend.sqlite")
    models = {"m": Served(places=(Place(use="mine"),))}
    settings = Settings(listen="127.0.0.1:0", models=models, spend=place_)
    made = Gateway(settings, open_=lambda *_: ScriptedModel(lambda _: "Hi"))
    addresses = []
    serving = asyncio.ensure_future(serve(made, started=addresses.append))
    try:
        await until(lambda: addresses)
        assert (await post(f"{addresses[0]}/v1/chat/completions", CHAT))[0] == 200
        await until(lambda: Spend(place_).rows(""))
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def test_two_hundred_clients_that_leave_at_any_moment_are_all_counted(tmp_path):
    """What the vendor saw is what is counted, in the file, while counts are written all the time."""
    chance = random.Random(7)
    keys, text = add_key(Keys(), "alice", Allowed(tokens_per_day=10**9), DAY)
    place_ = str(tmp_path / "spend.sqlite")

    def answer(_, body):
        if json.loads(body).get("stream"):
            pieces = [chance.uniform(0, 0.3), EVENT, chance.uniform(0, 0.3), END]
            return 200, SSE, pieces
        return 200, JSON, [chance.uniform(0, 0.5), HELLO]

    host = Host(answer)
    async with listening(host) as up:
        models = {"m": served(place("openai_chat", up))}
        async with gateway(models, keys=keys, options={"spend": place_}) as (made, base):
            is_over = False

            async def write():
                while not is_over:
                    await asyncio.to_thread(made.spend.flush, today(time.time()))

            writing = asyncio.ensure_future(write())
            asked = []
            for at in range(200):
                dialect = chance.choice(["openai_chat", "anthropic", "openai_responses"])
                body = bodies(dialect, "x" * 400) | {"stream": at % 2 == 0}
                patience = chance.uniform(0.05, 6.0)
                asked.append(ask_and_leave(base, PATHS[dialect], body, bearer(text), patience))
            came = await asyncio.gather(*asked)
            await until(lambda: made.metrics.under_way == 0)
            is_over = True
            await writing
            assert made.spend._charges == set()
            known = made.spend.of(today(time.time()), "alice")
    rows = Spend(place_).rows("")
    assert 0 < sum(came) < 200
    # A client may leave after the gateway began to ask, and before the vendor has read the request.
    unseen = sum(row.requests for row in rows) - len(host.asked)
    assert 0 <= unseen <= 3
    assert known.requests == sum(row.requests for row in rows)
    assert known.tokens == sum(row.input_tokens + row.output_tokens for row in rows)
    # An answer may be complete when its client leaves.
    left = sum(row.requests for row in rows) - sum(came)
    assert 0 < sum(row.estimated for row in rows) <= left


async def test_spend_is_by_the_model_and_a_patterns_limit_is_of_all_its_models(tmp_path):
    place_ = str(tmp_path / "spend.sqlite")
    models = {
        "c-*": Served(places=(Place(use="mine"),), tokens_per_day=1200),
        "*": Served(places=(Place(use="mine"),)),
    }
    settings = Settings(models=models, spend=place_)
    usage = Usage(input_tokens=300, output_tokens=200)
    made = Gateway(settings, open_=lambda *_: ScriptedModel(lambda _: reply("Hi", usage=usage)))
    asked = ["other", "c-a", "c-b", "c-c", "c-d", "other"]
    async with listening(made) as base:
        try:
            told = []
            for name in asked:
                told.append((await post(f"{base}/v1/chat/completions", {**CHAT, "model": name}))[0])
        finally:
            await made.close()
    assert told == [200, 200, 200, 200, 429, 200]
    rows = {row.model: row.requests for row in Spend(place_).rows("")}
    assert rows == {"c-a": 1, "c-b": 1, "c-c": 1, "other": 2}


def test_names_that_clients_make_up_are_not_counted_without_end():
    spend = Spend()
    for at in range(600):
        name = spend.name_of(DAY, f"m{at}", "*")
        spend.count(DAY, "alice", name, Usage(input_tokens=1))
    assert len(spend.models(DAY)) == 501
    assert spend.of_model(DAY, "*").tokens == 100
    assert spend.of_pattern(DAY, "*", lambda _: True).tokens == 600
