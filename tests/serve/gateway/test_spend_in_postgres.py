"""Spend in a real PostgreSQL: shared by several gateways, and kept while the database is away."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from durable import servers
from rightcall.core.parts import Usage
from rightcall.errors import UsageError
from rightcall.serve.gateway.keys import Allowed, Keys, add_key
from rightcall.serve.gateway.spend import Spend, today
from serve.gateway.kit import JSON, Host, gateway, listening, place, post, served

DAY = "2026-11-16"
ONE = Usage(input_tokens=3, output_tokens=2, cached_tokens=1, cost=0.5)
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
HELLO = {
    "id": "c",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 30, "completion_tokens": 20},
}


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'psycopg[binary]'")
    try:
        with servers.running_postgres() as running:
            yield running
    except servers.Absent as absent:
        pytest.skip(str(absent))


def test_without_psycopg_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("rightcall.serve.gateway.spend.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="pip install 'psycopg"):
        Spend("postgresql://x/y")


def test_an_address_where_nobody_is_cannot_be_used():
    pytest.importorskip("psycopg")
    with pytest.raises(UsageError, match="spend cannot be kept") as refused:
        Spend("postgresql://alice:hunter2@127.0.0.1:9/none")
    assert "hunter2" not in str(refused.value)


def test_many_that_write_at_once_lose_nothing(server):
    database = server.database("many")
    with ThreadPoolExecutor(8) as pool:

        def work(_):
            spend = Spend(database)
            for _ in range(5):
                spend.count(DAY, "alice", "m", ONE)
                spend.count(DAY, "bob", "m", ONE, estimated=True)
                spend.flush(DAY)

        list(pool.map(work, range(8)))
    alice, bob = Spend(database).rows("2026-11-01")
    assert (alice.key, alice.requests, alice.input_tokens, alice.output_tokens) == ("alice", 40, 120, 80)
    assert (alice.cached_tokens, alice.dollars, alice.estimated) == (40, 20.0, 0)
    assert (bob.key, bob.estimated) == ("bob", 40)
    assert Spend(database).rows("2026-11-17") == ()


def test_what_is_counted_while_the_database_is_away_is_written_later(server):
    if not isinstance(server, servers.Postgres):
        pytest.skip("needs a PostgreSQL that can be restarted: apt-get install postgresql")
    spend = Spend(server.database("away"))
    spend.count(DAY, "alice", "m", ONE)
    server.stop()
    with pytest.raises(Exception, match="connect"):
        spend.flush(DAY)
    assert spend.of(DAY, "alice").tokens == 5
    spend.count(DAY, "alice", "m", ONE)
    server.start()
    spend.flush(DAY)
    (row,) = spend.rows(DAY)
    assert (row.requests, row.dollars) == (2, 1.0)


async def test_the_day_of_a_key_ends_at_every_gateway_that_shares_the_database(server):
    keys, key = add_key(Keys(), "alice", Allowed(tokens_per_day=40), DAY)
    host = Host(lambda *_: (200, JSON, [json.dumps(HELLO).encode()]))
    shared = {"spend": server.database("shared")}
    asking = {"authorization": f"Bearer {key}"}
    async with listening(host) as up:
        models = {"m": served(place("openai_chat", up))}
        async with (
            gateway(models, keys=keys, options=shared) as (one, first),
            gateway(models, keys=keys, options=shared) as (other, second),
        ):
            assert (await post(f"{first}/v1/chat/completions", CHAT, asking))[0] == 200
            for each in (one, other):
                each.spend.flush(today(time.time()))
            status, headers, _ = await post(f"{second}/v1/chat/completions", CHAT, asking)
    assert status == 429
    assert float(headers["retry-after"]) > 0
