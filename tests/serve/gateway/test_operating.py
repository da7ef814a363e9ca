"""For operators: keys and their limits, places and their health, spend, cache, rules, tools, journal."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from rightcall.core.message import Reply
from rightcall.core.parts import Usage
from rightcall.declare.function import tool
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import TransportError, UsageError, VendorError
from rightcall.record.memory import MemoryJournal
from rightcall.serve.gateway.keys import Allowed, Keys, add_key, encode_keys, read_keys, revoke_key
from rightcall.serve.gateway.server import BackgroundWork
from rightcall.serve.gateway.settings import (
    Place,
    Served,
    Settings,
    Trying,
    parse_settings,
    read_settings,
    with_models,
)
from rightcall.serve.gateway.spend import Allowances, ExpectedUsage, Spend, today
from rightcall.serve.gateway.upstreams import Health, UpstreamCandidate, order_candidates
from rightcall.testing.scripted_model import ScriptedModel, call, reply
from serve.gateway.kit import JSON, Host, gateway, get, listening, place, post, served

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
HELLO = json.dumps(
    {
        "id": "c",
        "object": "chat.completion",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 300_000, "completion_tokens": 200_000},
    }
).encode()


NOTHING = ExpectedUsage()


def bearer(key):
    return {"authorization": f"Bearer {key}"}


def test_a_key_is_kept_as_a_hash_and_can_be_revoked(tmp_path):
    keys, text = add_key(Keys(), "alice", Allowed(per_minute=3), "2026-11-16")
    other, second = add_key(keys, "bob", Allowed(), "2026-11-16")
    file = tmp_path / "keys.json"
    file.write_bytes(encode_keys(other.all))
    assert text not in file.read_text()
    found = read_keys(file)
    assert (found.find_key(text).name, found.find_key(second).name) == ("alice", "bob")
    assert found.find_key(text[:-1]) is None
    assert found.find_key("rc-zzz-nothing") is None
    assert found.find_key("") is None
    assert revoke_key(found, "alice", "2026-11-17").find_key(text) is None
    with pytest.raises(UsageError, match="alice"):
        add_key(found, "alice", Allowed(), "2026-11-17")


async def test_only_keys_come_in_and_in_every_place_where_clients_put_them():
    keys, text = add_key(Keys(), "alice", Allowed(models=("m",)), "2026-11-16")
    models = {"m": ScriptedModel(lambda _: "Hi"), "secret": ScriptedModel(lambda _: "Hi")}
    async with gateway(models, keys=keys) as (_, base):
        url = f"{base}/v1/chat/completions"
        for headers in (bearer(text), {"x-api-key": text}, {"x-goog-api-key": text}, {"api-key": text}):
            assert (await post(url, CHAT, headers))[0] == 200
        assert (await post(f"{url}?key={text}", CHAT))[0] == 200
        for headers in ({}, bearer("rc-x-y"), {"x-api-key": "sk-other"}):
            assert (await post(url, CHAT, headers))[0] == 401
        assert (await post(url, {**CHAT, "model": "secret"}, bearer(text)))[0] == 404
        assert (await get(f"{base}/metrics"))[0] == 401
        listed = json.loads((await get(f"{base}/v1/models", bearer(text)))[2])
    assert [each["id"] for each in listed["data"]] == ["m"]


def test_the_limits_of_a_key_say_when_to_come_back():
    now = 1_700_000_000.0
    spend = Spend()
    allowances = Allowances(spend, lambda: now)
    keys, _ = add_key(
        Keys(), "a", Allowed(per_minute=2, concurrency=2, tokens_per_day=100, dollars_per_day=1), "d"
    )
    (key,) = keys.all
    allowances.enter(key, NOTHING)
    allowances.enter(key, NOTHING)
    with pytest.raises(VendorError, match="2 requests at once"):
        allowances.enter(key, NOTHING)
    allowances.leave(key, NOTHING)
    with pytest.raises(VendorError, match="2 requests a minute") as raised:
        allowances.enter(key, NOTHING)
    assert 0 < raised.value.retry_after <= 30
    now += 60
    spend.count(today(now), "a", "m", Usage(input_tokens=60, output_tokens=40, cost=0.5))
    with pytest.raises(VendorError, match="100 tokens a day") as raised:
        allowances.enter(key, NOTHING)
    assert raised.value.retry_after == pytest.approx(86_400 - now % 86_400, abs=1)
    now += 86_400
    allowances.enter(key, NOTHING)
    spend.count(today(now), "a", "m", Usage(input_tokens=1, cost=1.5))
    with pytest.raises(VendorError, match="1 dollars a day"):
        allowances.enter(key, NOTHING)


def test_what_is_under_way_is_held_against_the_limits_of_a_day():
    spend = Spend()
    allowances = Allowances(spend, lambda: 1_700_000_000.0)
    keys, _ = add_key(Keys(), "a", Allowed(tokens_per_day=1000, dollars_per_day=1), "d")
    (key,) = keys.all
    one = ExpectedUsage(tokens=600, dollars=0.1)
    held = [allowances.enter(key, one), allowances.enter(key, one)]
    with pytest.raises(VendorError, match="1,000 tokens a day") as raised:
        allowances.enter(key, one)
    assert raised.value.retry_after == 1.0
    for each in held:
        allowances.leave(key, each)
    # What others took is expected of the next ones, too.
    spend.count(today(1_700_000_000.0), "a", "m", Usage(input_tokens=5, cost=0.4))
    held = [allowances.enter(key, NOTHING), allowances.enter(key, NOTHING)]
    assert held[0] == ExpectedUsage(5, 0.4)
    with pytest.raises(VendorError, match="1 dollars a day") as raised:
        allowances.enter(key, NOTHING)
    assert raised.value.retry_after == 1.0
    allowances.leave(key, held[0])
    allowances.enter(key, NOTHING)


@pytest.mark.parametrize("limit", [{"tokens_per_day": 2000}, {"dollars_per_day": 0.005}])
@pytest.mark.parametrize("of_a_model", [True, False])
async def test_many_at_once_do_not_spend_a_day_many_times(limit, of_a_model):
    """Forty that come before the first is counted are as many as their length says."""
    keys, text = add_key(Keys(), "alice", Allowed(**({} if of_a_model else limit)), "2026-11-16")
    said = HELLO.replace(b"300000", b"300").replace(b"200000", b"200")
    host = Host(lambda *_: (200, JSON, [0.2, said]))
    more = {"input_price": 2.0, "output_price": 4.0, **(limit if of_a_model else {})}
    async with listening(host) as up:
        models = {"m": served(place("openai_chat", up), **more)}
        async with gateway(models, keys=keys) as (_, base):
            came = await asyncio.gather(
                *(post(f"{base}/v1/chat/completions", CHAT, bearer(text)) for _ in range(40))
            )
    answered = [status for status, _, _ in came].count(200)
    assert 1 <= answered <= 4
    assert len(host.asked) == answered
    assert {headers["retry-after"] for status, headers, _ in came if status == 429} == {"1"}


async def test_a_model_whose_day_is_used_up_leaves_it_to_its_fallback():
    host, other = (Host(lambda *_: (200, JSON, [HELLO])) for _ in range(2))
    async with listening(host) as up, listening(other) as beside:
        models = {
            "m": served(place("openai_chat", up), tokens_per_day=1000, fallback=("n",)),
            "n": served(place("openai_chat", beside), tokens_per_day=1000),
        }
        async with gateway(models) as (_, base):
            came = [await post(f"{base}/v1/chat/completions", CHAT) for _ in range(3)]
            count = await post(f"{base}/v1/messages/count_tokens", {**CHAT, "max_tokens": 9})
    assert [status for status, _, _ in came] == [200, 200, 429]
    assert (len(host.asked), len(other.asked)) == (1, 1)
    assert b"m has used up its limit of 1,000 tokens a day" in came[2][2]
    assert int(came[2][1]["retry-after"]) > 1
    assert count[0] == 200


async def test_what_a_key_spends_is_counted_and_ends_its_day(tmp_path):
    keys, text = add_key(Keys(), "alice", Allowed(dollars_per_day=1.0), "2026-11-16")
    spend = str(tmp_path / "spend.sqlite")
    async with listening(Host(lambda *_: (200, JSON, [HELLO]))) as up:
        models = {"m": served(place("openai_chat", up), input_price=2.0, output_price=4.0)}
        async with gateway(models, keys=keys, options={"spend": spend}) as (_, base):
            first = await post(f"{base}/v1/chat/completions", CHAT, bearer(text))
            second = await post(f"{base}/v1/chat/completions", CHAT, bearer(text))
    assert (first[0], second[0]) == (200, 429)
    assert int(second[1]["retry-after"]) > 0
    (row,) = Spend(spend).rows("")
    assert (row.key, row.model, row.requests, row.input_tokens, row.dollars) == (
        "alice",
        "m",
        1,
        300_000,
        1.4,
    )


async def test_the_next_place_answers_where_one_is_down_and_rests():
    down, fine = (
        Host(lambda *_: (500, JSON, [b'{"error":{"message":"no"}}'])),
        Host(lambda *_: (200, JSON, [HELLO])),
    )
    async with listening(down) as one, listening(fine) as two:
        places = (place("openai_chat", one, weight=1000.0), place("openai_chat", two, weight=0.001))
        async with gateway({"m": served(*places)}) as (made_, base):
            answers = [await post(f"{base}/v1/chat/completions", CHAT) for _ in range(3)]
            told = made_.metrics.text()
    assert [status for status, _, _ in answers] == [200, 200, 200]
    assert (len(down.asked), len(fine.asked)) == (1, 3)
    assert 'rightcall_upstream_failures_total{place="openai:up-model",kind="server"} 1' in told


async def test_another_model_answers_where_no_place_can():
    busy = Host(lambda *_: (429, {**JSON, "retry-after": "30"}, [b'{"error":{"message":"busy"}}']))
    other = ScriptedModel(lambda _: "From the other.")
    async with listening(busy) as up:
        async with gateway({"m": served(place("openai_chat", up), fallback=("n",)), "n": other}) as (
            _,
            base,
        ):
            told = [json.loads((await post(f"{base}/v1/chat/completions", CHAT))[2]) for _ in range(2)]
    assert {each["choices"][0]["message"]["content"] for each in told} == {"From the other."}
    assert len(busy.asked) == 1


async def test_a_host_that_asked_for_time_gets_it_and_the_client_is_told():
    busy = Host(lambda *_: (429, {**JSON, "retry-after": "30"}, [b'{"error":{"message":"busy"}}']))
    async with listening(busy) as up:
        async with gateway({"m": served(place("openai_chat", up))}, trying=Trying(rounds=3)) as (
            _,
            base,
        ):
            answers = [await post(f"{base}/v1/chat/completions", CHAT) for _ in range(2)]
    assert [status for status, _, _ in answers] == [429, 429]
    assert [25 < float(headers["retry-after"]) <= 30 for _, headers, _ in answers] == [True, True]
    assert len(busy.asked) == 1


async def test_a_model_that_is_busy_keeps_no_other_of_the_pattern_waiting():
    def answer(_, body):
        busy = json.loads(body)["model"] == "busy"
        said = b'{"error":{"message":"busy"}}' if busy else HELLO
        return (429, {**JSON, "retry-after": "30"}, [said]) if busy else (200, JSON, [said])

    async with listening(Host(answer)) as up:
        models = {"*": served(Place(use="openai:*", base_url=f"{up}/v1"))}
        async with gateway(models) as (_, base):
            asked = [CHAT | {"model": name} for name in ("busy", "fine", "busy")]
            told = [await post(f"{base}/v1/chat/completions", each) for each in asked]
    assert [status for status, _, _ in told] == [429, 200, 429]


async def test_a_short_wait_is_waited_for_and_tried_again():
    script = [
        (429, {**JSON, "retry-after": "0.05"}, [b'{"error":{"message":"busy"}}']),
        (200, JSON, [HELLO]),
    ]
    host = Host(lambda *_: script.pop(0))
    async with listening(host) as up:
        async with gateway({"m": served(place("openai_chat", up))}, trying=Trying(rounds=2)) as (
            _,
            base,
        ):
            status, _, _ = await post(f"{base}/v1/chat/completions", CHAT)
    assert (status, len(host.asked)) == (200, 2)


def test_conversations_stay_where_they_began_and_are_shared_out_by_weight():
    places = [UpstreamCandidate("a", "a", 1.0), UpstreamCandidate("b", "b", 3.0)]
    first = [order_candidates(places, f"conversation {n}".encode())[0].target for n in range(2000)]
    assert first == [
        order_candidates(places, f"conversation {n}".encode())[0].target for n in range(2000)
    ]
    assert 0.70 < first.count("b") / 2000 < 0.80
    more = [*places, UpstreamCandidate("c", "c", 1.0)]
    moved = [order_candidates(more, f"conversation {n}".encode())[0].target for n in range(2000)]
    assert {new for old, new in zip(first, moved, strict=True) if new != old} == {"c"}


def test_a_place_rests_longer_each_time_and_for_as_long_as_it_asked():
    now = 0.0
    health = Health(lambda: now)
    health.note_failure(VendorError("bad", kind="bad_request", status=400))
    assert health.rest == 0
    health.note_failure(TransportError("down"))
    health.note_failure(TransportError("down"))
    assert health.rest == 2.0
    health.note_failure(VendorError("busy", kind="rate_limit", retry_after=20.0))
    assert (health.rest, health.refusal) == (20.0, 20.0)
    now = 21.0
    assert (health.rest, health.refusal) == (0.0, 0.0)
    health.note_success()
    health.note_failure(TransportError("down"))
    assert health.rest == 1.0


async def test_identical_deterministic_requests_are_answered_once_where_that_is_asked_for():
    model = ScriptedModel(lambda _: "Hi")
    cached = Served(places=(Place(use="scripted-0"),), cache_seconds=60)
    async with gateway({"m": model}) as (_, base):
        for _ in range(2):
            await post(f"{base}/v1/chat/completions", {**CHAT, "temperature": 0})
    assert len(model.requests) == 2
    model.requests.clear()
    async with gateway({"other": model}) as (made_, base):
        await made_.apply(Settings(models={"m": cached}), Keys())
        for body in ({**CHAT, "temperature": 0}, {**CHAT, "temperature": 0, "stream": True}, CHAT):
            one, two = [await post(f"{base}/v1/chat/completions", body) for _ in range(2)]
            assert one[1]["content-type"] == two[1]["content-type"]
            assert (one[2] == two[2]) == ("temperature" in body)
    assert len(model.requests) == 4


RULES = """
otherwise = "deny"
[[rule]]
action = "deny"
tools = ["rm"]
reason = "nothing is removed here"
[[rule]]
action = "allow"
"""


async def test_what_is_kept_is_forgotten_when_settings_change_and_not_given_to_another_beta():
    host = Host(lambda *_: (200, JSON, [HELLO]))
    cold = {**CHAT, "temperature": 0}
    async with listening(host) as up:
        models = {"m": served(place("openai_chat", up), cache_seconds=60.0)}
        async with gateway(models) as (made_, base):
            for beta in ("a", "a", "b"):
                await post(f"{base}/v1/chat/completions", cold, {"openai-beta": beta})
            assert len(host.asked) == 2
            await made_.apply(made_.settings, Keys())
            await post(f"{base}/v1/chat/completions", cold, {"openai-beta": "a"})
    assert len(host.asked) == 3


@pytest.mark.parametrize("stream", [True, False])
async def test_a_call_that_the_rules_refuse_becomes_words(tmp_path, stream):
    file = tmp_path / "rules.toml"
    file.write_text(RULES)
    model = ScriptedModel(lambda _: reply("I will.", call("rm", path="/"), call("ls", path="/")))
    tools = [
        {
            "name": name,
            "description": "",
            "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
        }
        for name in ("rm", "ls")
    ]
    body = {
        "model": "m",
        "max_tokens": 50,
        "messages": CHAT["messages"],
        "tools": tools,
        "stream": stream,
    }
    async with gateway({"other": model}) as (made_, base):
        ruled = Served(places=(Place(use="scripted-0"),), rules=str(file))
        await made_.apply(Settings(models={"m": ruled}), Keys())
        _, _, told = await post(f"{base}/v1/messages", body)
    assert b"The call of rm was refused: nothing is removed here" in told
    assert b'"name":"rm"' not in told
    assert b'"name":"ls"' in told


async def test_tools_of_the_operator_are_run_here_and_approvals_wait_in_the_journal():
    done = []

    @tool
    def order(item: str) -> str:
        """Order something."""
        done.append(item)
        return "ordered"

    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        done.append(amount)
        return "paid"

    async def load(_):
        return Toolbox([order, pay])

    script = [
        reply(call("order", item="tea")),
        reply("Tea is on its way."),
        reply(call("pay", amount=3)),
    ]
    model, journal = ScriptedModel(script), MemoryJournal()
    async with gateway({"other": model}, load_tools=load, journal=journal) as (made_, base):
        agent = Served(places=(Place(use="scripted-0"),), tools=("shop:box",), instructions="Sell.")
        await made_.apply(Settings(models={"m": agent}), Keys())
        told = json.loads((await post(f"{base}/v1/chat/completions", CHAT))[2])
        waits = json.loads((await post(f"{base}/v1/chat/completions", CHAT))[2])
    assert told["choices"][0]["message"]["content"] == "Tea is on its way."
    assert told["choices"][0]["finish_reason"] == "stop"
    assert done == ["tea"]
    words = waits["choices"][0]["message"]["content"]
    assert "yes to pay" in words
    paused = [run for run in journal.runs() if run in words]
    assert [type(entry).__name__ for entry in journal.entries(paused[0])][-1] == "RunPaused"


async def test_every_exchange_is_a_run_in_the_journal_and_shown_to_observers():
    journal, seen = MemoryJournal(), []
    async with listening(Host(lambda *_: (200, JSON, [HELLO]))) as up:
        models = {"m": served(place("openai_chat", up))}
        observers = [lambda run, entry: seen.append((run, entry))]
        async with gateway(models, journal=journal, observers=observers) as (_, base):
            await post(f"{base}/v1/chat/completions", CHAT)
            await post(f"{base}/v1/chat/completions", {**CHAT, "messages": "wrong"})
    runs = journal.runs()
    kinds = [type(entry).__name__ for entry in journal.entries(runs[0])]
    assert kinds == ["RunStarted", "RequestSent", "ReplyReceived", "RunEnded"]
    reply_ = next(entry.reply for entry in journal.entries(runs[0]) if hasattr(entry, "reply"))
    assert isinstance(reply_, Reply)
    assert reply_.text == "Hi"
    assert [type(entry).__name__ for run, entry in seen if run == runs[0]] == kinds


CONFIG = """
listen = "127.0.0.1:0"
[models]
fast = "openai:gpt-5-mini"
"claude-*" = "anthropic:*"
[models.careful]
places = [{ use = "anthropic:a", weight = 2.0 }, { use = "openai:b" }]
fallback = ["fast"]
[models.one]
use = "gemini:g"
base_url = "http://127.0.0.1:1"
exact = false
[bounds]
quiet_seconds = 3
"""


def test_a_file_of_settings():
    settings, mistakes = parse_settings(CONFIG)
    assert mistakes == ()
    assert settings.served_model("claude-opus").places[0].use == "anthropic:*"
    assert settings.served_model("nothing") is None
    assert settings.served_model("one") == Served(
        places=(Place(use="gemini:g", base_url="http://127.0.0.1:1"),), exact=False
    )
    assert settings.names() == ("fast", "careful", "one")
    assert settings.bounds.quiet_seconds == 3
    more = with_models(settings, ["fast=embedded", "x=openai:y"])
    assert more.served_model("fast").places == (Place(use="embedded"),)
    with pytest.raises(UsageError, match="NAME=SPEC"):
        with_models(settings, ["fast"])


def test_everything_that_is_wrong_with_a_file_is_said_with_its_line(tmp_path):
    file = tmp_path / "gateway.toml"
    file.write_text(
        'lissen = "x"\n[models.a]\nuse = "openai:b"\nfallback = ["gone"]\n[models.b]\nuse = "openai:*"\n'
        '[models.c]\nplaces = [{ use = "openai:b", wait = 3 }]\n[bounds]\nconcurrency = 0\n'
    )
    with pytest.raises(UsageError) as raised:
        read_settings(file)
    lines = str(raised.value).splitlines()[1:]
    assert [line.removeprefix(f"{file}:").partition(":")[0] for line in lines] == [
        "1",
        "4",
        "5",
        "8",
        "10",
    ]
    file.write_text("models = [\n")
    with pytest.raises(UsageError, match="not TOML"):
        read_settings(file)


def test_one_mistake_in_a_table_does_not_hide_the_next():
    _, mistakes = parse_settings(
        '[models.a]\nuse = "openai:b"\nexact = "no"\ncache_seconds = -1\n'
        '[bounds]\nconcurrency = "x"\nwat = 3\nquiet_seconds = 4\nrequest_bytes = -1\n'
    )
    assert [(each.line, each.words.split(":")[0]) for each in mistakes] == [
        (3, "models.a.exact"),
        (4, "models.a.cache_seconds"),
        (6, "bounds.concurrency"),
        (7, "bounds"),
        (9, "bounds.request_bytes"),
    ]


async def test_changed_files_are_taken_up_and_broken_ones_are_not(tmp_path: Path):
    file = tmp_path / "g.toml"
    use = "http://127.0.0.1:1/v1|a"
    file.write_text(f'[models]\nm = "{use}"\n')
    async with gateway({"m": ScriptedModel(lambda _: "Hi")}) as (made_, _):
        chores = BackgroundWork(made_, lambda: (read_settings(file), Keys()), (file,))
        running = asyncio.ensure_future(chores.run())
        try:
            file.write_text(f'[models]\nm = "{use}"\nn = "{use}"\n')
            chores.reload()
            await _until(lambda: "n" in made_.settings.models)
            file.write_text("[models\n")
            chores.reload()
            await asyncio.sleep(0.05)
            assert "n" in made_.settings.models
        finally:
            running.cancel()


async def _until(is_so):
    for _ in range(400):
        if is_so():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come to that")


async def test_files_that_the_settings_name_are_taken_up_when_they_change(tmp_path: Path):
    key, rules = tmp_path / "key", tmp_path / "rules.toml"
    key.write_text("first")
    rules.write_text("")
    host = Host(lambda *_: (200, JSON, [HELLO]))
    async with listening(host) as up:
        one = place("openai_chat", up, key_file=str(key))
        models = {"m": served(one), "n": served(one, rules=str(rules))}
        async with gateway(models) as (made_, base):
            chores = BackgroundWork(made_, lambda: (made_.settings, Keys()), ())
            running = asyncio.ensure_future(chores.run())
            await post(f"{base}/v1/chat/completions", CHAT)
            key.write_text("another")
            rules.write_text("this is [no rule")
            seen = []
            made_.apply = _noted(made_.apply, seen)
            await asyncio.sleep(2.5)
            running.cancel()
            assert isinstance(seen[0], UsageError)
            rules.write_text("")
            await made_.apply(made_.settings, Keys())
            await post(f"{base}/v1/chat/completions", CHAT)
    assert [headers["authorization"] for _, headers, _ in host.asked] == [
        "Bearer first",
        "Bearer another",
    ]


def _noted(apply, seen):
    async def noting(*given):
        try:
            seen.append(await apply(*given))
        except UsageError as error:
            seen.append(error)
            raise

    return noting


async def test_streams_go_on_when_their_place_is_not_served_any_more():
    def answer(*_):
        said = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
        end = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
        return 200, {"content-type": "text/event-stream"}, [said, 0.3, end]

    host = Host(answer)
    async with listening(host) as up:
        async with gateway({"m": served(place("openai_chat", up))}) as (made_, base):
            asked = asyncio.ensure_future(post(f"{base}/v1/chat/completions", {**CHAT, "stream": True}))
            await _until(lambda: host.asked)
            await asyncio.sleep(0.05)
            await made_.apply(
                Settings(models={"n": served(place("openai_chat", up, weight=2.0))}), Keys()
            )
            _, _, came = await asked
            assert came.endswith(b"data: [DONE]\n\n")
            assert (await post(f"{base}/v1/chat/completions", CHAT))[0] == 404


async def test_a_name_that_a_client_makes_up_is_no_part_of_a_path():
    host = Host(lambda *_: (200, JSON, [b"{}"]))
    async with listening(host) as up:
        starred = Served(places=(Place(use="gemini:*", base_url=up),))
        async with gateway({"*": starred}) as (_, base):
            for name in ("../secret", "x/../../y", "/x", "x?y=z", "x#y", "x%2e%2e/y"):
                body = {**CHAT, "model": name}
                assert (await post(f"{base}/v1/chat/completions", body))[0] == 404
    assert host.asked == []
    _, mistakes = parse_settings('[models]\n"*" = "/models/*.gguf"\n')
    assert "PROVIDER:*" in mistakes[0].words


def test_settings_and_keys_can_be_written_and_read():
    settings, _ = parse_settings(CONFIG)
    assert msgspec.json.decode(msgspec.json.encode(settings), type=Settings) == settings
