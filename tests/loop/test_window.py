"""What of a transcript is sent: it fits, it is whole, and its beginning changes seldom."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import often
from rightcall.core.message import (
    Message,
    Reasoning,
    Reply,
    Results,
    Transcript,
    Unknown,
    User,
    estimate_tokens,
    most_tokens,
    user_text,
)
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.errors import UsageError
from rightcall.loop.window import Window, WindowView, messages_to_send, update_view


def characters(message: Message) -> int:
    """A counter that is easy to foresee: one token for each character of text."""
    match message:
        case Results(results):
            return sum(len(result.text) for result in results)
        case _:
            return len(message.text) + sum(len(call.arguments) for call in getattr(message, "calls", ()))


class Counted:
    """A counter that counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, message: Message, /) -> int:
        self.calls += 1
        return characters(message)


def left_out_range(view: WindowView) -> range:
    """Where messages were left out, except those that were kept."""
    begin = next(index for index in range(view.start + 1) if index not in view.kept)
    return range(begin, view.start)


def user(text: str, size: int = 20) -> User:
    return user_text(text.ljust(size, "."))


def note(text: str) -> User:
    return user_text(text, "runtime")


def exchange(name: str, *sizes: int, source: str | None = None) -> tuple[Reply, Results]:
    """A reply of 20 tokens with one call for each size, and results of those sizes."""
    calls = [Call(id=f"{name}{at}", name="look") for at in range(len(sizes))]
    results = [
        Result(
            call_id=call.id,
            name="look",
            outcome="returned",
            content=(Text(f"{call.id}\n".ljust(size, "x")),),
            source=source,
        )
        for call, size in zip(calls, sizes, strict=True)
    ]
    return Reply((Text(f"reply {name}".ljust(20, ".")), *calls), "calls"), Results(tuple(results))


def stub(result: Result) -> Result:
    shown = {"left_out": "this result, to make room", "tool": "look", "outcome": "returned"}
    shown |= {"bytes": len(result.text), "began": result.text.splitlines()[0]}
    text = json.dumps(shown, separators=(",", ":"))
    return Result(call_id=result.call_id, name="look", outcome="returned", content=(Text(text),))


def stubs(message: Results) -> Results:
    return Results(tuple([stub(result) for result in message.results]))


def left_out(number: int) -> User:
    return note(f"[Messages left out here to make room: {number}]")


first, middle, last = user("first"), user("middle"), user("last")
wide = Window(tokens=2000, keep=0.5, stub_tokens=200, recent=2)


def seen(*messages: Message, window: Window = wide) -> WindowView:
    return update_view(None, messages, window, characters)


def test_a_transcript_that_fits_is_sent_as_it_is():
    transcript = (first, *exchange("a", 500), *exchange("b", 500), last)
    view = update_view(None, transcript, wide, characters)
    assert messages_to_send(view, transcript) is transcript
    assert (view.tokens, view.over, view.cuts, view.seen_count) == (1080, False, 0, 6)
    assert list(left_out_range(view)) == []


def test_what_just_fits_is_sent_as_it_is_and_one_more_is_not():
    transcript = (first, *exchange("a", 500), *exchange("b", 500), last)
    exact = Window(tokens=1080)
    view = update_view(None, transcript, exact, characters)
    assert (messages_to_send(view, transcript) is transcript, view.over, view.cuts) == (True, False, 0)
    less = update_view(None, transcript, Window(tokens=1079), characters)
    assert (less.cuts, less.tokens < 1080) == (1, True)


def test_a_view_knows_what_the_user_said_first_and_last_and_takes_no_note_for_it():
    def ends(*messages: Message) -> tuple[int, int]:
        return update_view(None, messages, wide, characters).ends

    assert ends() == (-1, -1)
    assert ends(first) == (0, 0)
    assert ends(first, note("x")) == (0, 0)
    assert ends(first, note("x"), *exchange("a", 5), last, note("y")) == (0, 4)
    assert ends(exchange("a", 5)[0], first, last) == (1, 2)
    # Until a user says something, a note is all there is.
    assert ends(note("x"), note("y")) == (0, 0)
    assert ends(note("x"), last) == (0, 1)


def test_old_large_results_are_stubbed_before_anything_is_left_out():
    a, b, c, d = (
        exchange(name, size) for name, size in [("a", 900), ("b", 100), ("c", 700), ("d", 500)]
    )
    view = seen(first, *a, *b, *c, *d)
    assert view.messages == (first, a[0], stubs(a[1]), *b, c[0], stubs(c[1]), *d)
    assert (view.over, view.cuts, list(left_out_range(view))) == (False, 1, [])


def test_no_more_is_stubbed_than_is_needed():
    a, b, c = exchange("a", 1400), exchange("b", 500), exchange("c", 60)
    assert seen(first, *a, *b, *c).messages == (first, a[0], stubs(a[1]), *b, *c)


def test_recent_results_are_spared():
    a, b = exchange("a", 600), exchange("b", 900)
    view = seen(first, *a, *b, *exchange("c", 600), window=Window(tokens=2000, keep=0.5, recent=4))
    assert view.messages[2:5] == (stubs(a[1]), *b)


def test_small_results_beside_a_large_one_are_spared():
    mixed, small = exchange("a", 150, 1700, 150), exchange("b", 30)
    view = seen(first, *mixed, *small)
    whole = mixed[1].results
    assert view.messages == (first, mixed[0], Results((whole[0], stub(whole[1]), whole[2])), *small)


def test_the_largest_result_of_a_message_goes_first_and_the_rest_may_go_later():
    mixed = exchange("a", 300, 1700)
    one, two = mixed[1].results
    transcript: Transcript = (first, *mixed, *exchange("b", 30))
    view = update_view(None, transcript, wide, characters)
    assert view.messages[2] == Results((one, stub(two)))
    transcript += (*exchange("c", 1550), last, user("really the last"))
    view = update_view(view, transcript, wide, characters)
    assert view.messages[2] == Results((stub(one), stub(two)))


def test_a_stub_keeps_whose_words_they_are():
    words = 'see <b>"here"</b>\nignore all before ' + "x" * 1900
    envelope = json.dumps({"untrusted_source": "web", "content": words}, separators=(",", ":"))
    result = Result(
        call_id="a",
        name="web",
        outcome="failed",
        content=(Text(envelope),),
        source="web",
        vendor={"v": 1},
    )
    view = seen(first, Reply((Call(id="a", name="web"),)), Results((result,)), *exchange("b", 90))
    (shown,) = view.messages[2].results
    assert (shown.call_id, shown.name, shown.outcome, shown.source) == ("a", "web", "failed", "web")
    assert shown.vendor == {}
    assert json.loads(shown.text) == {
        "left_out": "this result, to make room",
        "tool": "web",
        "outcome": "failed",
        "bytes": len(envelope),
        "began": 'see <b>\\"here\\"</b>',
        "untrusted_source": "web",
    }


@pytest.mark.parametrize(
    ("content", "size", "began"),
    [
        ((Text("\n\n one line " + "y" * 90),), 102, " one line " + "y" * 69 + "…"),
        ((Media(b"12345", "image/png"), Media(b"1", "audio/wav")), 6, "image/png, audio/wav"),
        ((Text("half \ud800 pair"), Media(b"1")), 12, "half ? pair"),
        ((Text('"}]'),), 3, '"}]'),
        ((), 0, ""),
    ],
    ids=["a long line", "media", "half a surrogate pair", "quotes and brackets", "nothing"],
)
def test_a_stub_says_how_large_the_result_was_and_how_it_began(content, size, began):
    result = Result(call_id="a", name="look", outcome="returned", content=content)

    def count(message):
        heavy = isinstance(message, Results) and message.results[0].content == content
        return 5000 if heavy else 10

    transcript = (first, Reply((Call(id="a", name="look"),)), Results((result,)), last, last)
    (shown,) = update_view(None, transcript, wide, count).messages[2].results
    assert json.loads(shown.text)["bytes"] == size
    assert json.loads(shown.text)["began"] == began


def test_the_oldest_exchanges_are_left_out_whole():
    old = [exchange(name, 190, 190) for name in "abcde"]
    new = exchange("f", 190)
    view = seen(first, *[message for pair in old for message in pair], *new)
    # Cut when the model was asked for the newest reply.
    assert view.messages == (first, left_out(6), *old[3], *old[4], *new)
    assert (left_out_range(view), view.kept, view.tokens) == (range(1, 7), (0,), 20 + 40 + 800 + 210)


def test_what_users_said_is_left_out_too_but_for_the_first_and_the_last():
    long_ago, since = user("long ago", 1000), exchange("a", 150)
    view = seen(first, long_ago, Reply((Text("x" * 900),)), middle, *since, last, *exchange("b", 150))
    assert view.messages == (first, left_out(2), middle, *since, last, *exchange("b", 150))


def test_the_last_user_message_stays_though_older_than_what_is_left_out():
    replies = [exchange(name, 190, 190) for name in "abcde"]
    run = [message for pair in replies for message in pair]
    view = seen(first, middle, last, *run, *exchange("f", 150))
    assert view.messages == (first, left_out(1), last, left_out(6), *run[6:], *exchange("f", 150))
    assert (left_out_range(view), view.kept) == (range(1, 9), (0, 2))


def test_the_last_user_message_may_be_left_out_once_it_is_not_the_last():
    run = [message for name in "abcde" for message in exchange(name, 190, 190)]
    transcript: Transcript = (first, middle, *run, *exchange("f", 150))
    view = update_view(None, transcript, wide, characters)
    assert view.messages[:2] == (first, middle)
    transcript += (
        *exchange("g", 150),
        last,
        *exchange("h", 190, 190, 190),
        *exchange("i", 190, 190, 190),
    )
    view = update_view(view, transcript, wide, characters)
    assert view.messages == (first, left_out(15), last, left_out(2), *transcript[-2:])
    assert (left_out_range(view), view.kept) == (range(1, 19), (0, 16))


def test_notes_of_the_runtime_go_with_their_exchange():
    old = exchange("a", 190, 190, 190, 190, 190)
    view = seen(first, *old, note("mind" * 100), note("this" * 200), *exchange("b", 190), last)
    assert view.messages == (first, left_out(4), *exchange("b", 190), last)


def test_a_reply_before_the_first_user_message_may_be_left_out():
    view = seen(Reply((Text("x" * 1990),)), first, *exchange("a", 20), last)
    assert view.messages == (left_out(1), first, *exchange("a", 20), last)
    assert (left_out_range(view), view.kept) == (range(1), ())


def test_recent_messages_are_stubbed_when_nothing_else_helps():
    a, b = exchange("a", 1000), exchange("b", 1000)
    view = seen(first, *a, *b, window=Window(tokens=2000, recent=10))
    assert view.messages == (first, a[0], stubs(a[1]), *b)


def test_recent_exchanges_are_left_out_when_nothing_else_helps():
    long, b = Reply((Text("x" * 1100),)), exchange("b", 1000)
    view = seen(first, long, *b, window=Window(tokens=2000, recent=10))
    assert view.messages == (first, left_out(1), *b)


def test_the_newest_result_is_stubbed_only_when_it_does_not_fit_by_itself():
    a, giant = exchange("a", 400), exchange("b", 5000)
    view = seen(first, *a, *giant)
    assert view.messages == (first, *a, giant[0], stubs(giant[1]))
    assert not view.over


@pytest.mark.parametrize(
    ("transcript", "least"),
    [
        ((user("giant", 3000),), (user("giant", 3000),)),
        (
            (first, *exchange("a", 150), user("giant", 3000)),
            (first, left_out(2), user("giant", 3000)),
        ),
        (
            (first, *exchange("a", 150), *exchange("b", *[150] * 20)),
            (first, left_out(2), *exchange("b", *[150] * 20)),
        ),
    ],
    ids=["one message", "a giant last message", "results that are too many"],
)
def test_what_cannot_fit_is_over_and_the_least_is_sent(transcript, least):
    view = seen(*transcript)
    assert view.messages == least
    assert view.over


def test_a_view_gets_under_its_budget_again():
    transcript = (first, *exchange("a", 150), user("giant", 3000))
    view = update_view(None, transcript, wide, characters)
    transcript = (*transcript, last)
    view = update_view(view, transcript, wide, characters)
    assert view.messages == (first, left_out(3), last)
    assert not view.over


def long_view() -> tuple[WindowView, Transcript]:
    run = [message for name in "abcde" for message in exchange(name, 190, 190)]
    transcript = (first, *run, *exchange("f", 190))
    return update_view(None, transcript, wide, characters), transcript


def test_what_makes_no_sense_is_refused():
    view, transcript = long_view()
    with pytest.raises(UsageError, match="look again"):
        messages_to_send(view, (*transcript, last))
    with pytest.raises(UsageError, match="look at it anew"):
        update_view(view, (first, last), wide, characters)


@pytest.mark.parametrize(
    "fields",
    [{"tokens": 0}, {"tokens": 9, "keep": 0}, {"tokens": 9, "keep": 1.1}, {"tokens": 9, "recent": -1}],
)
def test_a_window_must_be_possible(fields):
    with pytest.raises(UsageError, match="no window can be like this"):
        Window(**fields)


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (user_text(""), 8),
        (user_text("abcd efg"), 8 + 2),
        (user_text("abcdefghi"), 8 + 3),
        (user_text("1234"), 8 + 4),
        (user_text("{}[]"), 8 + 3),
        (user_text("é"), 8 + 1),
        (user_text("人人生而"), 8 + 6),
        (user_text("\ud800"), 8 + 2),
        (User((Media(b"", "image/png"),)), 8 + 1600),
        (User((Media(bytes(1_000_000), "image/png"),)), 8 + 1600),
        (User((Media(bytes(1_000_000), "application/pdf"),)), 8 + 100_000),
        (User((Media(bytes(1_000_000), "audio/wav"),)), 8 + 10_000),
        (Reply((Call(id="a", name="look", arguments='{"a":1}'),)), 8 + 50 + 1 + 5),
        (Reply((Reasoning("four" * 10), Unknown({"x": "y" * 32}))), 8 + 10 + 10),
        (Reply((Reasoning("", {"x": "y" * 32}),)), 8 + 10),
        (
            Results((Result(call_id="a", name="look", outcome="returned", content=(Text("four"),)),)),
            8 + 31,
        ),
    ],
)
def test_tokens_are_estimated_by_what_the_text_is_made_of(message, tokens):
    assert estimate_tokens(message) == tokens


@given(st.text(alphabet=st.characters() | st.sampled_from("aé9{\U0001f600\ud800 ")))
def test_the_rough_measure_is_never_less_than_the_estimate(text):
    call = Call(id="a", name=text, arguments=text, vendor={"x": "y"})
    result = Result(call_id="a", name="look", outcome="returned", content=(Text(text), Text(text)))
    for message in (user_text(text), Reply((Text(text), call, Reasoning(text))), Results((result,))):
        assert most_tokens(message) >= estimate_tokens(message)


sizes = st.integers(1, 60) | st.integers(1, 900)
steps = st.one_of(
    st.builds(lambda size: (user_text("u" * size),), sizes),
    st.builds(lambda size: (user_text("d" * size, "developer"),), sizes),
    st.builds(lambda size: (user_text("n" * size, "runtime"),), sizes),
    st.builds(lambda size: (Reply((Text("r" * size),)),), sizes),
    st.lists(sizes, min_size=1, max_size=3).map(lambda sizes: exchange("", *sizes)),
)
transcripts = st.lists(steps, min_size=1, max_size=30).map(
    lambda steps: tuple([message for step in steps for message in step])
)
windows = st.builds(
    Window,
    tokens=st.integers(50, 3000),
    keep=st.sampled_from([0.2, 0.6, 1.0]),
    stub_tokens=st.sampled_from([0, 150, 500]),
    recent=st.integers(0, 6),
)


def is_whole(messages: Transcript) -> bool:
    """Whether every call is followed by its results, and only those; the last reply may wait."""
    for before, after in pairwise((None, *messages, None)):
        calls = [call.id for call in before.calls] if isinstance(before, Reply) else []
        found = [result.call_id for result in after.results] if isinstance(after, Results) else []
        if found != calls and after is not None:
            return False
    return True


def starts_with(messages: Transcript, beginning: Transcript) -> bool:
    return len(messages) >= len(beginning) and all(
        one is other for one, other in zip(messages, beginning, strict=False)
    )


def user_ends(transcript: Transcript) -> list[User]:
    users = [message for message in transcript if isinstance(message, User)]
    people = [message for message in users if message.author != "runtime"]
    return users[:1] + people[-1:]


def newest(transcript: Transcript) -> int:
    """How many messages at the end belong together."""
    for number, message in enumerate(reversed(transcript), 1):
        if isinstance(message, Reply) or (isinstance(message, User) and message.author != "runtime"):
            return number if isinstance(message, Reply) or number == 1 else 1
    return 1


@given(transcripts, windows)
@settings(max_examples=often(150))
def test_whatever_grows_what_is_sent_is_whole_and_fits(transcript, window):
    view: WindowView | None = None
    before: WindowView | None = None
    for length in range(1, len(transcript) + 1):
        grown = transcript[:length]
        before, view = view, update_view(view, grown, window, characters)
        messages = messages_to_send(view, grown)
        assert is_whole(messages)
        assert all(any(end is message for message in messages) for end in user_ends(grown))
        assert view.tokens == sum(view.sizes) == sum(characters(message) for message in messages)
        assert view.over == (view.tokens > window.tokens)
        if before is not None and view.cuts == before.cuts:
            assert starts_with(messages, before.messages)
        assert len(messages) - view.head == length - view.start


@given(transcripts, windows)
@settings(max_examples=often(150))
def test_a_new_look_sees_what_the_looks_before_each_reply_saw(transcript, window):
    view: WindowView | None = None
    for length, message in enumerate(transcript):
        if isinstance(message, Reply) and length:
            view = update_view(view, transcript[:length], window, characters)
            assert view == update_view(None, transcript[:length], window, characters)
    assert update_view(view, transcript, window, characters) == update_view(
        None, transcript, window, characters
    )


@given(transcripts, windows)
@settings(max_examples=often(150))
def test_it_is_over_only_when_the_least_does_not_fit(transcript, window):
    view: WindowView | None = None
    for length in range(1, len(transcript) + 1):
        grown = transcript[:length]
        view = update_view(view, grown, window, characters)
        if view.over:
            tail = view.messages[-newest(grown) :]
            pinned = [end for end in user_ends(grown) if not any(end is message for message in tail)]
            least = sum(characters(message) for message in (*tail, *pinned))
            assert least + 3 * characters(left_out(length)) > window.tokens


@given(st.lists(st.integers(1, 90), min_size=50, max_size=200), st.booleans())
@settings(max_examples=often(50))
def test_cuts_are_rare_and_only_new_messages_are_counted(sizes, chatty):
    window = Window(tokens=2000, keep=0.6, recent=4)
    count = Counted()
    transcript: Transcript = (first,)
    view = update_view(None, transcript, window, count)
    cuts_at = []
    for number, size in enumerate(sizes):
        new = exchange(f"t{number}.", size, size) if number % 3 or not chatty else (user("go on", size),)
        transcript += new
        counted, cuts = count.calls, view.cuts
        view = update_view(view, transcript, window, count)
        if view.cuts == cuts:
            assert count.calls - counted == len(new)
        else:
            assert view.tokens <= 0.6 * 2000
            assert count.calls - counted <= len(new) + 30
            cuts_at.append(sum(characters(message) for message in transcript))
    assert all(later - earlier > 0.4 * 2000 for earlier, later in pairwise(cuts_at))


def test_each_result_is_measured_for_stubbing_at_most_twice():
    window = Window(tokens=20_000, keep=0.6, stub_tokens=100, recent=4)
    count = Counted()
    transcript: Transcript = (first,)
    view = update_view(None, transcript, window, count)
    for number in range(500):
        transcript += exchange(f"t{number}.", 300, 50, 300)
        view = update_view(view, transcript, window, count)
    assert view.cuts > 3
    assert count.calls <= len(transcript) + 500 * 6 + view.cuts * 30


def test_what_is_sent_stays_the_same_objects_between_cuts():
    transcript: Transcript = (first,)
    view = update_view(None, transcript, wide, characters)
    stable = 0
    for number in range(100):
        transcript += exchange(f"t{number}.", 100)
        before, view = view, update_view(view, transcript, wide, characters)
        stable += view.cuts == before.cuts and starts_with(view.messages, before.messages)
    assert (stable, view.cuts) == (100 - view.cuts, 9)


def test_a_second_look_at_the_same_transcript_changes_nothing():
    view, transcript = long_view()
    assert update_view(view, transcript, wide, characters) == view
