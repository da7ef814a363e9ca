"""A transcript in which every call has exactly one result, whatever it was made from."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rightcall.core.history import NO_RESULT, History, HistoryRepair, made_up_id, mend, with_ids
from rightcall.core.message import Message, Reply, Results, Transcript, User, user_text
from rightcall.core.parts import Call, Result, Text
from rightcall.errors import UsageError


def asked(*calls: str) -> Reply:
    """A reply with calls, each written ``id`` or ``id:name``."""
    parts = [call.partition(":") for call in calls]
    content = (Text("let me see"), *[Call(id=key, name=name or "look") for key, _, name in parts])
    return Reply(content, "calls")


def answer(call_id: str, text: str = "fine", name: str = "look") -> Result:
    return Result(call_id=call_id, name=name, outcome="returned", content=(Text(text),))


def answers(*ids: str) -> Results:
    return Results(tuple([answer(key, f"about {key}") for key in ids]))


def missing(call_id: str, name: str = "look") -> Result:
    return Result(call_id=call_id, name=name, outcome="interrupted", content=(Text(NO_RESULT),))


hello, more, done = user_text("hello"), user_text("and this"), Reply((Text("done"),))

DEFECTS: dict[str, tuple[list[Message], list[Message], list[tuple[str, str]]]] = {
    "a call without a result": (
        [hello, asked("a", "b"), answers("a"), done],
        [hello, asked("a", "b"), Results((answer("a", "about a"), missing("b"))), done],
        [("messages[1].calls[1]", "the call has no result; one was put in that says so")],
    ),
    "a last reply without results": (
        [hello, asked("a")],
        [hello, asked("a"), Results((missing("a"),))],
        [("messages[1].calls[0]", "the call has no result; one was put in that says so")],
    ),
    "a user who spoke instead": (
        [hello, asked("a"), more],
        [hello, asked("a"), Results((missing("a"),)), more],
        [("messages[1].calls[0]", "the call has no result; one was put in that says so")],
    ),
    "a result for no call": (
        [hello, asked("a"), answers("x", "a")],
        [hello, asked("a"), answers("a")],
        [("messages[2].results[0]", 'the reply before has no call "x"; the result was dropped')],
    ),
    "results for nothing at all": (
        [answers("x"), hello, done, answers("y")],
        [hello, done],
        [
            ("messages[0].results[0]", 'the reply before has no call "x"; the result was dropped'),
            ("messages[3].results[0]", 'the reply before has no call "y"; the result was dropped'),
        ],
    ),
    "a result that comes a reply too late": (
        [hello, asked("a"), done, answers("a")],
        [hello, asked("a"), Results((missing("a"),)), done],
        [
            ("messages[1].calls[0]", "the call has no result; one was put in that says so"),
            ("messages[3].results[0]", 'the reply before has no call "a"; the result was dropped'),
        ],
    ),
    "a second result for one call": (
        [hello, asked("a"), Results((answer("a", "first"), answer("a", "second")))],
        [hello, asked("a"), Results((answer("a", "first"),))],
        [
            (
                "messages[2].results[1]",
                'the call "a" has another result already; the result was dropped',
            )
        ],
    ),
    "results in another order": (
        [hello, asked("a", "b", "c"), answers("c", "a", "b")],
        [hello, asked("a", "b", "c"), answers("a", "b", "c")],
        [("messages[2]", "the results are not in the order of their calls; they were put in order")],
    ),
    "results spread over several messages": (
        [hello, asked("a", "b", "c"), answers("a"), answers("b"), more, answers("c")],
        [hello, asked("a", "b", "c"), answers("a", "b", "c"), more],
        [
            (
                "messages[3]",
                "more results for the calls of messages[1]; they were gathered into messages[2]",
            ),
            (
                "messages[5]",
                "more results for the calls of messages[1]; they were gathered into messages[2]",
            ),
        ],
    ),
    "a user message before the results": (
        [hello, asked("a"), more, answers("a")],
        [hello, asked("a"), answers("a"), more],
        [
            (
                "messages[2]",
                "the message stands between calls and their results; it was moved after the results",
            )
        ],
    ),
    "an empty results message": (
        [hello, Results(()), asked("a"), answers("a"), Results(())],
        [hello, asked("a"), answers("a")],
        [
            ("messages[1]", "the message holds no results; it was dropped"),
            ("messages[4]", "the message holds no results; it was dropped"),
        ],
    ),
    "calls without ids": (
        [hello, asked(":look", ":find"), Results((answer("", "2", "find"), answer("", "1", "look")))],
        [
            hello,
            asked("call_1_0:look", "call_1_1:find"),
            Results((answer("call_1_0", "1", "look"), answer("call_1_1", "2", "find"))),
        ],
        [
            ("messages[1].calls[0]", 'the call has no id; it and its result now have "call_1_0"'),
            ("messages[1].calls[1]", 'the call has no id; it and its result now have "call_1_1"'),
            ("messages[2]", "the results are not in the order of their calls; they were put in order"),
        ],
    ),
    "an id given twice in one reply": (
        [hello, asked("a", "a"), Results((answer("a", "1"), answer("a", "2")))],
        [hello, asked("a", "call_1_1"), Results((answer("a", "1"), answer("call_1_1", "2")))],
        [("messages[1].calls[1]", 'the id "a" was given before; it and its result now have "call_1_1"')],
    ),
    "an id given twice to different tools": (
        [hello, asked("a:look", "a:find"), Results((answer("a", "2", "find"), answer("a", "1")))],
        [
            hello,
            asked("a:look", "call_1_1:find"),
            Results((answer("a", "1"), answer("call_1_1", "2", "find"))),
        ],
        [
            (
                "messages[1].calls[1]",
                'the id "a" was given before; it and its result now have "call_1_1"',
            ),
            ("messages[2]", "the results are not in the order of their calls; they were put in order"),
        ],
    ),
    "an id given again later": (
        [hello, asked("a"), answers("a"), asked("a"), answers("a")],
        [
            hello,
            asked("a"),
            answers("a"),
            asked("call_3_0"),
            Results((answer("call_3_0", "about a"),)),
        ],
        [("messages[3].calls[0]", 'the id "a" was given before; it and its result now have "call_3_0"')],
    ),
    "a made-up id that exists already, further on": (
        [asked(""), Results((answer(""),)), asked("call_0_0"), answers("call_0_0")],
        [
            asked("call_0_0_2"),
            Results((answer("call_0_0_2"),)),
            asked("call_0_0"),
            answers("call_0_0"),
        ],
        [("messages[0].calls[0]", 'the call has no id; it and its result now have "call_0_0_2"')],
    ),
    "a result without an id for a call that has one": (
        [hello, asked("a:look", "b:find"), Results((answer("", "2", "find"), answer("a", "1")))],
        [hello, asked("a:look", "b:find"), Results((answer("a", "1"), answer("b", "2", "find")))],
        [
            ("messages[2]", "the results are not in the order of their calls; they were put in order"),
            ("messages[2].results[0]", 'the result names no call; it was matched by name to "b"'),
        ],
    ),
    "a result without an id that fits no call": (
        [hello, asked("a"), Results((answer("a"), answer("", name="find")))],
        [hello, asked("a"), Results((answer("a"),))],
        [
            (
                "messages[2].results[1]",
                "the result names no call, and none is left for it; the result was dropped",
            )
        ],
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_every_defect_is_repaired_and_named(name):
    broken, mended, repairs = DEFECTS[name]
    assert mend(broken) == History(tuple(mended), tuple([HistoryRepair(*repair) for repair in repairs]))


@pytest.mark.parametrize("name", DEFECTS)
def test_strict_refuses_the_first_defect_with_its_place(name):
    broken, _, ((path, what), *_) = DEFECTS[name]
    with pytest.raises(UsageError) as caught:
        mend(broken, strict=True)
    assert str(caught.value) == f"{path}: {what.rpartition('; ')[0]}"


def test_what_needs_no_repair_comes_back_as_the_same_tuple():
    transcript = (hello, asked("a", "b"), answers("a", "b"), more, asked("c"), answers("c"), done)
    history = mend(transcript, strict=True)
    assert history.messages is transcript
    assert history.repairs == ()


def test_any_iterable_is_taken():
    assert mend(iter([hello, done])) == History((hello, done))


@pytest.mark.parametrize(
    "transcript",
    [
        (hello, asked("a", "b")),
        (hello, asked("a", "b"), answers("b")),
        (hello, asked("z"), answers("z"), asked("a")),
    ],
    ids=["no results", "some results", "an answered reply before"],
)
def test_an_open_end_may_stay_unanswered(transcript):
    history = mend(transcript, strict=True, open_end=True)
    assert history.messages is transcript
    assert history.repairs == ()


@pytest.mark.parametrize(
    "transcript",
    [(hello, asked("a"), done), (hello, asked("a"), more)],
    ids=["a reply follows", "a user message follows"],
)
def test_an_unanswered_call_is_answered_when_something_was_said_since(transcript):
    assert mend(transcript, open_end=True) == mend(transcript)


def test_untouched_messages_stay_the_same_objects():
    transcript = (hello, asked("a"), answers("a"), asked("b"), more)
    mended = mend(transcript).messages
    assert [mended[at] is transcript[at] for at in range(4)] == [True] * 4
    assert mended[5] is more


def test_a_made_up_id_is_the_same_every_time_and_not_taken():
    assert made_up_id(3, 1, ()) == "call_3_1"
    assert made_up_id(3, 1, {"call_3_1", "call_3_1_2"}) == "call_3_1_3"


def test_a_fresh_reply_gets_ids_where_they_are_missing_or_taken():
    assert with_ids(asked("", "a", "b", "b"), 5, {"a", "call_5_0"}) == asked(
        "call_5_0_2", "call_5_1", "b", "call_5_3"
    )


def test_a_made_up_id_avoids_those_of_the_same_reply():
    assert with_ids(asked("", "call_1_0"), 1, ()) == asked("call_1_0_2", "call_1_0")


@pytest.mark.parametrize("reply", [asked("a", "b"), done], ids=["with calls", "without calls"])
def test_a_reply_with_good_ids_comes_back_as_the_same_object(reply):
    assert with_ids(reply, 1, {"c"}) is reply


ids = st.sampled_from(["", "", "a", "b", "c", "call_0_0", "call_1_0", "call_2_1_2"])
names = st.sampled_from(["look", "find"])
texts = st.integers(0, 10**9).map(str)
calls = st.builds(Call, id=ids, name=names, arguments=texts)
results = st.builds(
    Result,
    call_id=ids,
    name=names,
    outcome=st.just("returned"),
    content=st.tuples(st.builds(Text, texts)),
)
messages = st.one_of(
    st.builds(user_text, texts, st.sampled_from(["user", "developer", "runtime"])),
    st.lists(calls | st.builds(Text, texts), max_size=4).map(lambda parts: Reply(tuple(parts))),
    st.lists(results, max_size=4).map(lambda items: Results(tuple(items))),
)
anything = st.lists(messages, max_size=10).map(tuple)


def is_whole(transcript: Transcript, *, open_end: bool = False) -> bool:
    """The invariant, said another way than the code says it."""
    wanted = [call.id for message in transcript if isinstance(message, Reply) for call in message.calls]
    if not all(wanted) or len(set(wanted)) < len(wanted):
        return False
    for before, after in pairwise((None, *transcript, None)):
        calls = [call.id for call in before.calls] if isinstance(before, Reply) else []
        found = [result.call_id for result in after.results] if isinstance(after, Results) else []
        if isinstance(after, Results) and not found:
            return False
        is_end = after is None or (isinstance(after, Results) and after is transcript[-1])
        if found != calls and not (
            open_end and is_end and found == [key for key in calls if key in found]
        ):
            return False
    return True


def said_by_users(transcript: Transcript) -> list[User]:
    return [message for message in transcript if isinstance(message, User)]


def said_by_model(transcript: Transcript) -> list[Reply]:
    return [message for message in transcript if isinstance(message, Reply)]


def without_ids(reply: Reply) -> list[object]:
    return [
        (part.name, part.arguments) if isinstance(part, Call) else part for part in reply.content
    ] + [reply.stop, reply.usage]


@given(anything, st.booleans())
@example((asked("a"), more, Results(())), True)
def test_anything_at_all_becomes_whole(transcript, open_end):
    history = mend(transcript, open_end=open_end)
    assert is_whole(history.messages, open_end=open_end)


@given(anything, st.booleans())
def test_mending_twice_is_mending_once(transcript, open_end):
    history = mend(transcript, open_end=open_end)
    again = mend(history.messages, strict=True, open_end=open_end)
    assert again.messages is history.messages
    assert again.repairs == ()


@given(anything, st.booleans())
def test_there_is_a_repair_exactly_when_something_changed(transcript, open_end):
    history = mend(transcript, open_end=open_end)
    assert (history.messages is transcript) == (history.repairs == ())
    assert (history.messages == transcript) == (history.repairs == ())


@given(anything)
def test_nothing_that_was_said_is_lost_or_reordered(transcript):
    mended = mend(transcript).messages
    assert said_by_users(mended) == said_by_users(transcript)
    assert [without_ids(reply) for reply in said_by_model(mended)] == [
        without_ids(reply) for reply in said_by_model(transcript)
    ]


def results_by_reply(transcript: Transcript) -> list[list[Result]]:
    """All results between each reply and the next."""
    found: list[list[Result]] = []
    for message in transcript:
        if isinstance(message, Reply):
            found.append([])
        elif isinstance(message, Results) and found:
            found[-1] += message.results
    return found


@given(anything)
def test_no_result_that_names_its_call_is_lost(transcript):
    before, after = results_by_reply(transcript), results_by_reply(mend(transcript).messages)
    for reply, found, kept in zip(said_by_model(transcript), before, after, strict=True):
        for key in {call.id for call in reply.calls} - {""}:
            calls_of_key = [call for call in reply.calls if call.id == key]
            naming = [result.content for result in found if result.call_id == key]
            surviving = [content for content in naming if content in [result.content for result in kept]]
            assert len(surviving) >= min(len(calls_of_key), len(naming))


@given(anything)
def test_strict_raises_exactly_when_there_is_something_to_repair(transcript):
    history = mend(transcript)
    if not history.repairs:
        assert mend(transcript, strict=True) == history
    else:
        with pytest.raises(UsageError) as caught:
            mend(transcript, strict=True)
        assert str(caught.value).startswith(f"{history.repairs[0].path}: ")
