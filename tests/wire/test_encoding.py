"""What is cached from one request of a conversation to the next changes no byte of what is sent."""

import json
import sys
from collections.abc import Callable
from copy import deepcopy
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rightcall.core.message import Message, Reasoning, Reply, Results, Transcript, User, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.request import EncodedRequest, Named, Request
from rightcall.errors import EncodeError
from rightcall.wire import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    gemini_interactions,
    ollama,
    openai_chat,
    openai_responses,
)
from rightcall.wire.payload import EncodeCache
from wire.conversations import (
    CITY,
    FIND,
    LOOK,
    MARK,
    MEMORY,
    SHELL,
    TURNED,
    broken,
    conversations,
    messages,
    replies,
    settings,
)

DIALECTS: dict[str, tuple[Any, str]] = {
    "anthropic": (anthropic, "claude"),
    "bedrock": (bedrock, "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    "bedrock, Mistral": (bedrock, "mistral.mistral-large-2402-v1:0"),
    "cohere": (cohere, "command-a-reasoning-08-2025"),
    "gemini": (gemini, "gemini-3-pro"),
    "gemini_interactions": (gemini_interactions, "gemini-3.6-flash"),
    "ollama": (ollama, "qwen3"),
    "gemini, before": (gemini, "gemini-2.5-pro"),
    "openai_chat": (openai_chat, "gpt"),
    "openai_chat, OpenAI": (openai_chat.dialect_at("https://api.openai.com/v1"), "gpt"),
    "openai_chat, Mistral": (openai_chat.dialect_at("https://api.mistral.ai/v1"), "large"),
    "openai_chat, DeepSeek": (openai_chat.dialect_at("https://api.deepseek.com"), "chat"),
    "openai_responses": (openai_responses, "gpt"),
}
every_dialect = pytest.mark.parametrize("name", DIALECTS)


def attempt(
    name: str, request: Request, cache: EncodeCache | None = None
) -> EncodedRequest | tuple[str, str]:
    """What is sent, or what is said against it."""
    dialect, model = DIALECTS[name]
    try:
        return dialect.encode(request, model=model, stream=True, cache=cache)
    except EncodeError as error:
        return type(error).__name__, str(error)


def is_the_same(name: str, cache: EncodeCache, asked: Transcript, how: dict[str, Any]) -> bool:
    alone = attempt(name, Request(messages=asked, **how))
    return attempt(name, Request(messages=asked, **how), cache) == alone


@every_dialect
@given(conversations, settings)
def test_a_conversation_that_grows_is_sent_as_if_it_were_new(name, conversation, how):
    cache = EncodeCache()
    for end in range(len(conversation) + 1):
        assert is_the_same(name, cache, conversation[:end], how)


def longer(now: Transcript, new: Message) -> Transcript:
    return (*now, new)


def shorter(now: Transcript, _: Message) -> Transcript:
    return now[: len(now) // 2]


def other(_: Transcript, new: Message) -> Transcript:
    return (new,)


def with_equal(now: Transcript, _: Message) -> Transcript:
    return (*now[:-2], *deepcopy(now[-2:]))


def with_another(now: Transcript, new: Message) -> Transcript:
    return (*now[:-2], new, *now[-1:])


def the_same(now: Transcript, _: Message) -> Transcript:
    return now


moves = st.sampled_from([longer, longer, longer, shorter, other, with_equal, with_another, the_same])


@every_dialect
@given(
    conversations,
    st.lists(settings, min_size=1, max_size=3),
    st.lists(st.tuples(moves, messages | replies | broken, st.integers(0, 2)), max_size=12),
)
def test_a_conversation_that_jumps_is_sent_as_if_it_were_new(name, conversation, hows, steps):
    cache = EncodeCache()
    for move, message, at in steps:
        assert is_the_same(name, cache, conversation, hows[at % len(hows)])
        conversation = move(conversation, message)
    assert is_the_same(name, cache, conversation, hows[0])


WIDE = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(25)}}
KNOWN = {"specs": (LOOK, SHELL), "system": "Be brief."}
HOWS: dict[str, dict[str, Any]] = {
    "plain": KNOWN,
    "no tools": {},
    "native tools": {**KNOWN, "specs": (SHELL, MEMORY)},
    "another system": {**KNOWN, "system": "Be long."},
    "strict": {**KNOWN, "options": {"strict": True}},
    "strict output": {**KNOWN, "output": CITY, "options": {"strict": True}},
    "too much output": {**KNOWN, "output": WIDE, "options": {"strict": True}},
    "named": {**KNOWN, "choice": Named("shell")},
    "uncached": {**KNOWN, "options": {"cache": False}},
    "vendor tools": {"options": {"vendor_tools": [{"type": "shell"}]}},
    "other tools": {**KNOWN, "options": {"extra": {"tools": [{"type": "web"}]}}},
    "other words": {**KNOWN, "options": {"extra": {"messages": [], "contents": [], "input": ["x"]}}},
    "a budget": {**KNOWN, "options": {"reasoning": 2000}},
}
RUN_IN_SHELL: Transcript = (
    user_text("Hello"),
    Reply(
        (
            Call(
                id="c", name="shell", arguments="{}", vendor={"openai_responses": {"type": "shell_call"}}
            ),
        ),
        "calls",
    ),
    Results((Result(call_id="c", name="shell", outcome="returned", content=(Text("ok"),)),)),
)


@every_dialect
@pytest.mark.parametrize("first", HOWS)
def test_settings_may_change_during_a_run(name, first):
    for second in HOWS:
        cache = EncodeCache()
        for how in (first, second, first):
            assert is_the_same(name, cache, RUN_IN_SHELL, HOWS[how]), second


@given(conversations, st.lists(settings, min_size=1, max_size=2))
def test_one_run_may_ask_many_models(conversation, hows):
    cache = EncodeCache()
    for end in range(0, len(conversation) + 1, 3):
        for name in DIALECTS:
            assert is_the_same(name, cache, conversation[:end], hows[end % len(hows)]), name


@every_dialect
def test_after_a_refusal_the_conversation_goes_on(name):
    cache = EncodeCache()
    talk: Transcript = (user_text("Hello"), Reply((Text("Hi"),)), user_text("So"))
    for new in (user_text("\ud800"), User((Text("a"), Media(b"x", "audio/wav")))):
        refused = (*talk, user_text("before"), new)
        assert is_the_same(name, cache, refused, {})
        assert is_the_same(name, cache, (*refused, Reply((Text("No"),)), user_text("And")), {})
        assert isinstance(attempt(name, Request(messages=talk), cache), EncodedRequest)
        assert is_the_same(name, cache, talk, {})


def test_what_cannot_be_shown_is_refused_once_and_noted_when_there_is_a_reply():
    cache = EncodeCache()
    sound = (user_text("Hello"), User((Media(b"x", "audio/wav"),)))
    assert attempt("anthropic", Request(messages=sound), cache)[0] == "EncodeError"
    replied = attempt("anthropic", Request(messages=(*sound, Reply((Text("a"),)))), cache)
    assert isinstance(replied, EncodedRequest)
    assert b"not shown" in replied.body


@every_dialect
@pytest.mark.parametrize(
    "changed",
    [
        replace(LOOK, parameters=TURNED),
        replace(LOOK, parameters={**CITY, "maxProperties": 1.0}),
        replace(LOOK, description="Look again."),
    ],
    ids=["order", "number", "words"],
)
def test_tools_that_are_merely_equal_are_written_again(name, changed):
    cache = EncodeCache()
    first = replace(LOOK, parameters={**CITY, "maxProperties": 1})
    for spec in (LOOK, changed, first, changed, LOOK):
        assert is_the_same(name, cache, (user_text("Hello"),), {"specs": (spec,)})


def turn(number: int) -> tuple[Message, Message]:
    call = Call(id=f"call_{number:03}", name="look", arguments='{"city": "Rome"}')
    thought = Reasoning("Hm.", {"anthropic": {"type": "thinking", "signature": "s"}})
    answer = Result(call_id=call.id, name="look", outcome="returned", content=(Text("Sunny. " * 9),))
    return Reply((thought, Text("I look."), call), "calls"), Results((answer,))


def run(turns: int) -> Transcript:
    return (user_text("Hello"), *[message for number in range(turns) for message in turn(number)])


def requests(turns: int) -> list[Request]:
    """Those of a run with so many calls."""
    talk, specs = run(turns), (LOOK, FIND)
    return [
        Request(messages=talk[:end], specs=specs, system="Be brief.")
        for end in range(1, len(talk) + 1, 2)
    ]


@every_dialect
def test_each_message_of_a_run_is_written_once(name, monkeypatch):
    genuine, seen = EncodeCache.write_messages, []

    def counted(
        cache: EncodeCache, key: str, messages: Transcript, begin: Any, write: Callable[..., None]
    ) -> Any:
        def count(writer: Any, message: Message, at: int) -> None:
            seen.append(at)
            write(writer, message, at)

        return genuine(cache, key, messages, begin, count)

    monkeypatch.setattr(EncodeCache, "write_messages", counted)
    dialect, model = DIALECTS[name]
    encode = dialect.encoder()
    for request in requests(100):
        encode(request, model=model, stream=True)
    assert seen == list(range(201))


@every_dialect
@pytest.mark.parametrize(
    "how",
    [
        {"messages": (user_text("\ud800"),)},
        {"messages": (user_text("Hi"), Reply((Text("\udfff"),)), user_text("So"))},
        {"messages": (user_text("Hi"),), "system": "\ud800"},
        {"messages": (user_text("Hi"),), "specs": (replace(LOOK, description="\ud800"),)},
        {"messages": (user_text("Hi"),), "options": {"extra": {"x": object()}}},
        {"messages": (user_text("Hi"),), "options": {"extra": {"x": 2**70}}},
    ],
    ids=["said", "replied", "system", "a tool", "no JSON", "a number"],
)
def test_what_cannot_be_written_is_refused_in_our_own_words(name, how):
    sent = attempt(name, Request(**how))
    assert isinstance(sent, EncodedRequest) or sent[0] == "EncodeError"
    if "options" not in how:
        assert sent[1].endswith("half of a surrogate pair cannot be sent.")


def calls_in(act: Callable[[], object]) -> int:
    """How many functions are called, of Python's and of C's."""
    count = 0

    def look(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        act()
    finally:
        sys.setprofile(before)
    return count


@every_dialect
def test_a_later_turn_takes_no_more_steps(name):
    cache = EncodeCache()
    steps = [calls_in(lambda each=each: attempt(name, each, cache)) for each in requests(60)]
    # Not all of them, as the garbage collector takes a few steps of its own now and then.
    assert median(steps[10:20]) == median(steps[-10:])
    alone = calls_in(lambda: attempt(name, requests(60)[-1]))
    assert steps[-1] < alone / 5


@pytest.mark.parametrize("cached", [True, False])
def test_marks_and_stripping_leave_what_is_kept_as_it_was(cached):
    cache = EncodeCache()
    how = {"options": {"cache": cached}}
    talk: Transcript = (user_text("Hello"),)
    for number in range(8):
        talk = (*talk, Reply((Text(f"Dear {number} \n"),), "pause"))
        assert is_the_same("anthropic", cache, talk, how)
        assert is_the_same("anthropic", cache, talk, {"options": {"cache": not cached}})
        talk = (*talk, user_text(f"{number}"), user_text("more"))
        assert is_the_same("anthropic", cache, talk, how)


def marked(talk: Transcript, **more: Any) -> list[int]:
    """Which messages have a mark at their end, and how many marks there are in all."""
    sent = attempt("anthropic", Request(messages=talk, system="s", specs=(LOOK,), **more))
    assert isinstance(sent, EncodedRequest)
    turns = json.loads(sent.body)["messages"]
    ends = [at for at, turn in enumerate(turns) if "cache_control" in turn["content"][-1]]
    return [*ends, sent.body.count(b"cache_control")]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ((), [18, 20, 4]),
        ((user_text("So"),), [18, 20, 4]),
        ((Reply((Text("Well"),), "pause"),), [18, 20, 4]),
        ((Reply((Reasoning("Hm.", {"anthropic": {"type": "thinking"}}),), "pause"),), [18, 20, 4]),
        ((Reply((Text("Well"),)), user_text("So")), [20, 22, 4]),
    ],
    ids=["results", "a word", "a pause", "a thought", "an answer"],
)
def test_the_last_two_of_the_users_turns_are_marked_however_long_it_has_been(end, expected):
    assert marked((*run(10), *end)) == expected


@pytest.mark.parametrize(("given_", "expected"), [(1, [20, 4]), (3, [20, 4]), (4, [4]), (5, [5])])
def test_marks_given_long_ago_count(given_, expected):
    block = {"type": "x", **MARK}
    first = User((Text("Hello"),), vendor={"anthropic": [block] * given_})
    assert marked((first, *run(10)[1:])) == expected


def test_a_call_is_native_only_while_the_request_has_the_tool():
    cache = EncodeCache()
    for how, kind in (
        ("plain", "shell_call"),
        ("other tools", "function_call"),
        ("plain", "shell_call"),
    ):
        request = Request(messages=RUN_IN_SHELL, **HOWS[how])
        sent = attempt("openai_responses", request, cache)
        assert isinstance(sent, EncodedRequest)
        assert [item["type"] for item in json.loads(sent.body)["input"]][1:] == [kind, f"{kind}_output"]
