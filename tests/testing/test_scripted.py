"""The scripted model: it says what was written down, in pieces, late or broken, as it was told."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall import Agent
from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ReasoningDelta,
    ReplyEnd,
    TextDelta,
    reply_events,
)
from rightcall.core.jsontext import dump
from rightcall.core.message import Reasoning, Reply, user_text
from rightcall.core.parts import Call, Text, Usage
from rightcall.core.request import Profile, Request
from rightcall.errors import TransportError, UsageError, VendorError
from rightcall.loop.ask import ReplyDraft
from rightcall.testing import Break, ScriptedModel, Turn, call, reply

HELLO = Request(messages=(user_text("Hello"),))
PARIS = call("weather", id="a", city="Paris")
WHOLE = reply("Let me see. ", Reasoning("Paris, then."), PARIS, call("time", id="b"), "So.")


COUNT = len([*reply_events(WHOLE, 4)])


async def events(model: ScriptedModel, request: Request = HELLO):
    return [event async for event in model.stream(request)]


async def watch(model: ScriptedModel, came: list) -> None:
    """Put what the model says into a list, which is there still when it ends in an error."""
    async for event in model.stream(HELLO):
        came += [(event, asyncio.get_running_loop().time())]


def shown(event):
    """The event as something that can be compared; a view of arguments is not part of it."""
    return (CallDelta, event.index, event.text) if isinstance(event, CallDelta) else event


async def test_a_reply_comes_as_the_events_of_its_parts_in_order():
    model = ScriptedModel([reply("Hi ", Reasoning("hm"), PARIS)], fragment=8)
    assert [shown(event) for event in await events(model)] == [
        TextDelta("Hi "),
        ReasoningDelta("hm"),
        CallStart(0, "weather", "a"),
        (CallDelta, 0, '{"city":'),
        (CallDelta, 0, '"Paris"}'),
        CallEnd(0, PARIS),
        ReplyEnd(reply("Hi ", Reasoning("hm"), PARIS)),
    ]


async def test_a_call_without_arguments_has_no_pieces_and_a_cut_one_no_end():
    cut = Call(id="a", name="look", arguments='{"a', truncated=True)
    cut_off = reply(call("time", ""), cut, stop="length")
    assert [type(event) for event in await events(ScriptedModel([cut_off]))] == [
        CallStart,
        CallEnd,
        CallStart,
        CallDelta,
        ReplyEnd,
    ]


texts = st.text(max_size=12)
parts = st.one_of(
    texts,
    st.builds(Reasoning, texts),
    st.builds(Call, id=st.uuids().map(str), name=st.just("look"), arguments=texts),
)


@given(st.lists(parts, max_size=4), st.none() | st.integers(1, 20))
def test_fragments_of_any_size_give_the_same_reply(given_parts, fragment):
    whole = reply(*given_parts)

    async def put_together():
        draft = ReplyDraft()
        async for event in ScriptedModel([whole], fragment=fragment).stream(HELLO):
            draft.add(event)
        return draft

    draft = asyncio.run(put_together())
    assert draft.end is not None
    assert draft.end.reply == whole
    # What came in pieces is the reply again, but for empty texts and where one text ended.
    assert _joined(draft.broken_reply("").content) == _joined(whole.content)


def _joined(content):
    joined = []
    for part in content:
        if isinstance(part, Call):
            joined.append(part)
        elif part.text:
            if joined and type(joined[-1]) is type(part):
                part = type(part)(joined.pop().text + part.text)  # noqa: PLW2901
            joined.append(part)
    return joined


@pytest.mark.parametrize("fragment", [1, 3, None])
async def test_no_piece_is_longer_than_the_fragment(fragment):
    model = ScriptedModel([WHOLE], fragment=fragment)
    deltas = (TextDelta, ReasoningDelta, CallDelta)
    longest = max(len(event.text) for event in await events(model) if isinstance(event, deltas))
    assert longest == (fragment or len(PARIS.arguments))


async def test_a_model_breaks_off_after_as_many_events_as_it_was_told():
    everything = [shown(event) for event in await events(ScriptedModel([WHOLE]))]
    for after in range(len(everything)):
        model = ScriptedModel([Turn(reply=WHOLE, breaks=Break(after))])
        assert [shown(event) for event in await events(model)] == everything[:after]


@pytest.mark.parametrize("after", [0, 1, 5, COUNT])
@pytest.mark.parametrize("error", [TransportError("lost"), VendorError("no", status=500)])
async def test_a_model_raises_what_it_was_told_after_as_many_events(after, error):
    model = ScriptedModel([Turn(reply=WHOLE, breaks=Break(after, error))])
    came = []
    with pytest.raises(type(error)) as caught:
        await watch(model, came)
    assert (caught.value, len(came)) == (error, after)


async def test_a_model_that_is_told_to_raise_later_than_it_has_words_raises_when_all_is_said():
    model = ScriptedModel([Turn(reply=WHOLE, breaks=Break(1000, TransportError("lost")))])
    came = []
    with pytest.raises(TransportError, match="lost"):
        await watch(model, came)
    assert (len(came), came[-1][0]) == (COUNT, ReplyEnd(WHOLE))


async def test_a_model_waits_before_its_reply_and_between_its_events():
    model = ScriptedModel([Turn(reply=reply("abc"), delay=0.05, pause=0.02)], fragment=1)
    started = asyncio.get_running_loop().time()
    came = []
    await watch(model, came)
    waited = [time - started for _, time in came]
    expected = [0.07, 0.09, 0.11, 0.13]
    assert all(time >= least - 0.001 for time, least in zip(waited, expected, strict=True)), waited


async def test_a_model_that_is_asked_more_often_than_its_script_says_fails_the_test():
    model = ScriptedModel(["One.", "Two."])
    await events(model)
    await events(model)
    with pytest.raises(UsageError, match="the script has only 2 replies and was asked for more"):
        await events(model)


async def test_a_script_that_was_not_played_to_its_end_fails_the_test():
    model = ScriptedModel(["One.", "Two.", "Three."])
    await events(model)
    with pytest.raises(AssertionError, match="the script has 2 replies that were not asked for"):
        model.assert_finished()
    await events(model)
    await events(model)
    model.assert_finished()


async def test_a_function_of_the_request_answers_as_often_as_it_is_asked():
    model = ScriptedModel(lambda request: f"{len(request.messages)} said: {request.messages[-1].text}")
    for _ in range(2):
        assert (await events(model))[-1] == ReplyEnd(reply("1 said: Hello"))
    model.assert_finished()


async def test_a_model_remembers_what_it_was_asked():
    model = ScriptedModel(["One.", "Two."])
    other = Request(messages=(user_text("Bye"),), system="Be brief.")
    await events(model)
    await events(model, other)
    assert model.requests == [HELLO, other]


def test_a_model_pretends_to_be_what_its_profile_says():
    profile = Profile(context_window=1000, structured="native")
    assert ScriptedModel([], profile=profile).profile == profile
    assert ScriptedModel([]).profile == Profile()


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (
            reply("Hi"),
            Reply((Text("Hi"),), "end", usage=Usage(input_tokens=10, output_tokens=5)),
        ),
        (
            reply(PARIS, usage=Usage(input_tokens=1)),
            Reply((PARIS,), "calls", usage=Usage(input_tokens=1)),
        ),
        (reply(PARIS, stop="length").stop, "length"),
        (reply().content, ()),
        (call("look"), Call(id="", name="look", arguments="{}")),
        (call("look", at=[1], name="x").arguments, '{"at":[1],"name":"x"}'),
        (call("look", "{broken").arguments, "{broken"),
        (call("look", id="a").id, "a"),
    ],
)
def test_replies_and_calls_are_short_to_write(made, expected):
    assert made == expected


async def test_two_readers_of_one_model_do_not_disturb_each_other():
    model = ScriptedModel(["abc", "xyz"], fragment=1)
    one, two = model.stream(HELLO), model.stream(HELLO)
    texts = ["", ""]
    for _ in range(3):
        for at, stream in enumerate((one, two)):
            texts[at] += (await anext(stream)).text
    assert texts == ["abc", "xyz"]


def test_a_parameter_may_be_called_text():
    assert call("note", text="Buy tea.").arguments == '{"text":"Buy tea."}'
    assert call("note", text="{", place="x").arguments == '{"text":"{","place":"x"}'
    with pytest.raises(UsageError, match=r"a text is all of the arguments; text=\?"):
        call("note", "{", text="x")


@pytest.mark.parametrize("text", ['{"city": "Pa', "[]", ""])
def test_who_means_the_old_text_is_told_and_not_misunderstood_in_silence(text):
    with pytest.warns(UserWarning, match="arguments as they are come second"):
        assert call("look", text=text).arguments == dump({"text": text})


def test_arguments_that_are_called_as_the_calls_own_are_given_in_a_mapping():
    assert call("look_up", {"id": 3, "text": "x"}, id="c1", more=1) == Call(
        id="c1", name="look_up", arguments='{"id":3,"text":"x","more":1}'
    )
    with pytest.raises(UsageError, match=r"in a mapping: call\('look_up', {'id': 3}\)"):
        call("look_up", id=3)


def test_a_script_that_is_one_text_is_no_list_of_letters():
    with pytest.raises(UsageError, match=r"a script is a list of replies: \['Hello'\]"):
        ScriptedModel("Hello")


async def test_a_stop_that_no_model_has_is_named_with_those_that_there_are():
    model = ScriptedModel([Reply((Text("Hi."),), stop="finished")])
    with pytest.raises(
        UsageError, match=r"ends with stop='finished', which is none of end, calls, length"
    ):
        await Agent(model).run("Hello.")
