"""Several models as one: who is asked, for what, with what of the transcript, and what is said of it."""

import asyncio
import json

import pytest

import rightcall as rc
from agent.kit import Desk, told
from request.server import Server, serving, whole
from rightcall.core.entry import ReplyReceived
from rightcall.core.events import ModelChange, TextDelta, TurnStart
from rightcall.core.message import Reasoning
from rightcall.core.request import Profile
from rightcall.errors import TransportError, TransportTimeout, UsageError, VendorError
from rightcall.loop.result import RunEnd
from rightcall.models.fallback_model import DOWN_OR_BUSY, kind_of
from rightcall.testing import Break, ScriptedModel, Turn, call, reply

BUSY = VendorError("too many requests", status=429, retryable=True)
CHAT = b'{"model":"gpt","choices":[{"index":0,"message":{"content":"Sunny."},"finish_reason":"stop"}]}'
THOUGHT = json.dumps(
    {
        "id": "m",
        "model": "claude",
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "I look.", "signature": "signed-by-anthropic"},
            {"type": "tool_use", "id": "a", "name": "find", "input": {"what": "x"}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
).encode()
OVERLOADED = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'


def down(error: Exception = BUSY, after: int = 0) -> Turn:
    return Turn(reply=reply("Half of"), breaks=Break(after, error))


def scripted(name: str, *script, **profile) -> ScriptedModel:
    return ScriptedModel(list(script), profile=Profile(**profile), name=name)


def claude(server: Server, **options):
    return rc.connect("anthropic:claude", base_url=server.url, api_key="k", streaming=False, **options)


def gpt(server: Server):
    return rc.connect("openai:gpt", base_url=server.url, api_key="k", streaming=False)


async def test_when_one_vendor_is_overloaded_another_goes_on_with_the_transcript():
    journal, desk = rc.record.MemoryJournal(), Desk()
    async with (
        serving(whole(THOUGHT), whole(OVERLOADED, 529)) as first,
        serving(whole(CHAT)) as second,
        claude(first, retry=rc.models.Retry(attempts=2, base=0.001)) as one,
        gpt(second) as two,
    ):
        agent = rc.Agent(rc.models.fallback(one, two), [desk.tool("find", "read")], journal=journal)
        result = await agent.run("Weather?", run="r")
    assert (result.text, result.models) == ("Sunny.", ("anthropic:claude", "openai:gpt"))
    # Asked, asked again, and then asked once more before it was given up.
    assert (len(first.requests), len(second.requests)) == (3, 1)
    sent = second.requests[0][2].decode()
    assert "signed-by-anthropic" not in sent
    assert "I look." not in sent
    assert [each["role"] for each in json.loads(sent)["messages"]] == ["user", "assistant", "tool"]
    replies = [entry for entry in journal.entries("r") if isinstance(entry, ReplyReceived)]
    assert [[each.failed for each in entry.passed_over] for entry in replies] == [
        [],
        ["anthropic:claude"],
    ]
    assert "Overloaded" in replies[1].passed_over[0].why
    assert (await rc.replay(journal, "r")).transcript == result.transcript


async def test_models_named_in_a_list_are_connected_tried_less_often_and_closed(monkeypatch):
    async with serving(whole(OVERLOADED, 503)) as first, serving(whole(CHAT)) as second:
        names = [f"{first.url}|one", f"{second.url}|two"]
        async with rc.Agent(names) as agent:
            result = await agent.run("Well?")
            assert (result.text, result.models) == ("Sunny.", (names[1],))
            assert len(first.requests) == 2
            assert second.open == 1
        await asyncio.sleep(0.01)
        assert second.open == 0


async def test_a_model_that_cannot_be_reached_is_passed_over_and_the_stream_says_so():
    two = scripted("two", "Here.")
    agent = rc.Agent([scripted("one", down(TransportError("refused"))), two])
    events = [event async for event in agent.stream("Go.")]
    assert events[:2] == [TurnStart(1), ModelChange("one", "refused", "two")]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Here."
    assert events[-1].result.models == ("two",)


async def test_the_run_stays_with_the_model_that_answers_and_the_next_begins_with_the_first():
    desk = Desk()
    calls = [reply(call("find", what=str(at))) for at in range(2)]
    one = scripted("one", down(), "I am back.")
    two = scripted("two", *calls, "Done.")
    agent = rc.Agent([one, two], [desk.tool("find")])
    first = await agent.run("Go.")
    assert (first.models, len(one.requests)) == (("two",) * 3, 1)
    second = await agent.run("Go.", history=first.transcript)
    assert second.models == ("one",)


async def test_a_model_that_fails_later_gives_way_and_all_are_tried_before_the_run_fails():
    one, two = scripted("one", down(), "I am back."), scripted("two", reply(call("nope")), down())
    result = await rc.Agent(rc.models.fallback(one, two)).run("Go.")
    assert result.models == ("two", "one")
    broken = rc.Agent([scripted("a", down(TransportError("gone"))), scripted("b", down())])
    with pytest.raises(VendorError, match="too many") as caught:
        await broken.run("Go.")
    assert caught.value.__notes__ == ["before that, a failed: gone"]


async def test_nothing_is_given_twice_when_a_stream_breaks_and_the_answer_is_asked_for_again():
    one, two = scripted("one", down(after=1)), scripted("two", "The whole of it.")
    events = [event async for event in rc.Agent([one, two]).stream("Go.")]
    turns: list[list[str]] = []
    for event in events:
        if isinstance(event, TurnStart):
            turns.append([])
        elif isinstance(event, TextDelta):
            turns[-1].append(event.text)
    assert ["".join(texts) for texts in turns] == ["Half", "The whole of it."]
    result = events[-1].result
    assert (result.text, result.models) == ("The whole of it.", ("one", "two"))
    (change,) = [event for event in events if isinstance(event, ModelChange)]
    assert (change.failed, change.model) == ("one", "two")
    assert [each.stop for each in result.replies] == ["error", "end"]


async def test_an_answer_that_broke_off_ends_the_run_where_that_was_said():
    one, two = scripted("one", down(after=1)), scripted("two")
    result = await rc.Agent([one, two], retry_broken=False).run("Go.")
    assert (result.stop.reason, two.requests) == ("error", [])


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TransportError("x"), "connection"),
        (ConnectionResetError("x"), "connection"),
        (TransportTimeout("x"), "timeout"),
        (TimeoutError("x"), "timeout"),
        (rc.errors.TruncatedStream("x"), "protocol"),
        (VendorError("x", status=429), "rate_limit"),
        (VendorError("x", status=529), "overloaded"),
        (VendorError("x", status=503), "overloaded"),
        (VendorError("x", status=500), "server"),
        (VendorError("x", status=408), "timeout"),
        (VendorError("x", status=401), "auth"),
        (VendorError("x", status=404), "not_found"),
        (VendorError("x", status=400), "bad_request"),
        (VendorError("x", retryable=True), "server"),
        (ValueError("x"), "other"),
    ],
)
async def test_the_next_is_asked_for_what_is_down_or_busy_and_for_nothing_else(error, kind):
    assert kind_of(error) == kind
    agent = rc.Agent([scripted("one", down(error)), scripted("two", "Here.")])
    if kind in DOWN_OR_BUSY:
        assert (await agent.run("Go.")).text == "Here."
    else:
        with pytest.raises(type(error)):
            await agent.run("Go.")


@pytest.mark.parametrize(
    "on",
    ["auth", VendorError, lambda error: error.status == 401, ["timeout", "auth"]],
    ids=["kind", "type", "function", "several"],
)
async def test_what_the_next_is_asked_for_can_be_said(on):
    refused = VendorError("no key", status=401)
    models = [scripted("one", down(refused)), scripted("two", "Here.")]
    assert (await rc.Agent(rc.models.fallback(*models, on=on)).run("Go.")).text == "Here."


@pytest.mark.parametrize(
    ("arguments", "on", "words"),
    [((), (), "at least one"), (("x",), "tiemout", "no kind of error 'tiemout'"), (("x",), [3], "int")],
)
def test_what_makes_no_fallback_is_refused(arguments, on, words):
    with pytest.raises(UsageError, match=words):
        rc.models.fallback(*arguments, on=on)


async def test_a_fallback_all_of_whose_models_are_down_gives_way_to_the_next():
    both = rc.models.fallback(scripted("one", down()), scripted("two", down()))
    result = await rc.Agent(rc.models.fallback(both, scripted("three", "Sunny."))).run("Weather?")
    assert (result.text, result.models) == ("Sunny.", ("three",))


async def test_an_answer_of_a_form_is_asked_for_as_the_model_that_is_asked_can_give_it():
    one = scripted("one", down(), structured="native")
    two = scripted("two", '{"answer": 5}', structured="text")
    result = await rc.Agent([one, two], output=int).run("How many?")
    assert result.output == 5
    assert (one.requests[0].output is None, two.requests[0].output) == (False, None)
    assert "JSON that fits this schema" in two.requests[0].system


async def test_a_model_that_cannot_be_forced_is_asked_and_one_with_less_room_is_sent_less():
    desk = Desk()
    one = scripted("one", down(), context_window=100_000)
    two = scripted("two", "Done.", forced_choice=False, context_window=2_000)
    history = [rc.User((rc.models.Text("word " * 300),)) for _ in range(20)]
    agent = rc.Agent([one, two], [desk.tool("find")])
    result = await agent.run("Go.", history=history, choice="required")
    assert (one.requests[0].choice, two.requests[0].choice) == ("required", "auto")
    assert len(one.requests[0].messages) == 21
    assert len(two.requests[0].messages) < 12
    assert len(result.transcript) == 22


async def test_thoughts_go_back_to_the_model_that_had_them_and_to_no_other():
    def thinks(word):
        return reply(Reasoning(word, {"anthropic": {"signature": word}}), call("nope"))

    one = scripted("one", thinks("first"), down(), "Done.")
    two = scripted("two", thinks("second"), down())
    result = await rc.Agent([one, two]).run("Go.")
    assert result.models == ("one", "two", "one")

    def thoughts(request):
        replies = [message for message in request.messages if isinstance(message, rc.Reply)]
        return [each.reasoning for each in replies]

    assert [thoughts(request) for request in two.requests] == [[""], ["", "second"]]
    assert thoughts(one.requests[-1]) == ["first", ""]
    # A message that was made fit once is the same object ever after, so that it is written once.
    assert two.requests[0].messages[1] is two.requests[1].messages[1]


async def test_two_models_of_one_name_can_be_told_apart():
    both = rc.models.fallback(scripted("same", down()), scripted("same", "Here."))
    assert [member.name for member in both.members] == ["same", "same #2"]
    assert (await rc.Agent(both).run("Go.")).models == ("same #2",)


def test_a_fallback_runs_where_nothing_can_be_awaited():
    agent = rc.Agent([scripted("one", down()), scripted("two", "Here.")])
    assert agent.run_sync("Go.").models == ("two",)


async def test_a_run_ends_with_what_it_had_where_the_deadline_is_the_runs_own():
    agent = rc.Agent([scripted("one", Turn(delay=50)), scripted("two", "Here.")])
    async for event in agent.stream("Go.", budget=rc.Budget(seconds=0.05)):
        if isinstance(event, RunEnd):
            assert (event.result.stop.limit, told(event.result.transcript)) == (
                "seconds",
                ["user: Go.", "model: "],
            )


@pytest.mark.parametrize(
    ("extra", "first_gets", "second_gets"),
    [
        ({"service_tier": "auto"}, "auto", None),
        ({"anthropic": {"service_tier": "a"}, "openai_chat": {"service_tier": "b"}}, "a", "b"),
    ],
)
async def test_what_is_said_in_one_vendors_words_is_not_said_to_another(extra, first_gets, second_gets):
    async with (
        serving(whole(OVERLOADED, 529)) as first,
        serving(whole(CHAT)) as second,
        claude(first, retry=rc.models.Retry(attempts=1)) as one,
        gpt(second) as two,
    ):
        tools = [{"type": "web_search_20250305", "name": "web_search"}]
        options: rc.models.ModelOptions = {"extra": extra, "vendor_tools": tools, "temperature": 0.5}
        result = await rc.Agent([one, two], options=options).run("Go.")
        asked = [json.loads(server.requests[0][2]) for server in (first, second)]
    assert result.models == ("openai:gpt",)
    assert [each.get("service_tier") for each in asked] == [first_gets, second_gets]
    assert ["tools" in each for each in asked] == [True, False]
    assert [each["temperature"] for each in asked] == [0.5, 0.5]


async def test_words_for_a_dialect_that_nobody_speaks_are_refused():
    agent = rc.Agent([scripted("one"), scripted("two")], options={"extra": {"gemini": {"a": 1}}})
    with pytest.raises(UsageError, match=r"no model of fallback.* speaks gemini"):
        await agent.run("Go.")
