"""A run as it happens, on a screen."""

import io

from rightcall.cli.richview import MOST_ARGUMENTS, RichView
from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ReasoningDelta,
    ReplyEnd,
    ResultEnd,
    TextDelta,
    TurnStart,
)
from rightcall.core.handler import CallProgress
from rightcall.core.message import Reply
from rightcall.core.parts import Call, Media, Result, Text


class Screen(io.StringIO):
    encoding = "utf-8"


def drawn(*events: object, reasoning: bool = False) -> list[str]:
    """What a screen without colours shows of these events."""
    screen = Screen()
    view = RichView(screen, loading="loading …", reasoning=reasoning)
    for event in events:
        view.show(event)
    return screen.getvalue().splitlines()


def test_what_is_of_one_kind_stays_on_one_line_and_another_kind_begins_a_new_one():
    pieces = [
        ReasoningDelta("Hm"),
        ReasoningDelta("."),
        TextDelta("Let "),
        TextDelta("me.\n"),
        TextDelta("So"),
    ]
    assert drawn(TurnStart(1), *pieces, reasoning=True) == ["Hm.", "Let me.", "So"]


def test_thoughts_are_folded_into_a_line_unless_they_are_asked_for():
    pieces = [ReasoningDelta("Hm"), ReasoningDelta("."), TextDelta("So")]
    lines = drawn(TurnStart(1), *pieces)
    assert [lines[0].split()[:2], lines[-1]] == [["thought", "for"], "So"]
    assert "Hm" not in "".join(lines)


def test_calls_that_are_written_at_the_same_time_take_turns():
    assert drawn(
        CallStart(0, "look"),
        CallDelta(0, '{"a":'),
        CallStart(1, "send"),
        CallDelta(1, '{"b":'),
        CallDelta(0, "1}"),
        CallEnd(0, Call(id="1", name="look", arguments='{"a":1}')),
        CallDelta(1, "\n2}"),
        CallEnd(1, Call(id="2", name="send", arguments='{"b":\n2}')),
    ) == ['→ look {"a":', '→ send {"b":', "→ look … 1}", "→ send …  2}"]


def test_long_arguments_are_cut_once():
    lines = drawn(CallStart(0, "write"), *[CallDelta(0, "x" * 700) for _ in range(9)])
    assert lines == ["→ write " + "x" * MOST_ARGUMENTS + "…"]


def test_results_are_one_line_and_media_are_told_by_their_size():
    text = Result(call_id="1", name="look", outcome="returned", content=(Text("a\ncat"),))
    image = Result(call_id="2", name="draw", outcome="returned", content=(Media(b"123", "image/png"),))
    failed = Result(call_id="3", name="send", outcome="timed_out", content=(Text("too slow"),))
    assert drawn(ResultEnd(text, 0.26), ResultEnd(image), ResultEnd(failed, 30.0)) == [
        "← look 0.3 s a cat",
        "← draw 0.0 s [image/png, 3 bytes]",
        "x send timed_out 30.0 s too slow",
    ]


def test_nothing_moves_in_the_middle_of_a_line_or_while_somebody_is_asked():
    screen = Screen()
    view = RichView(screen, loading="loading …")
    view.show(TextDelta("Half a line"))
    view.waiting()
    assert screen.getvalue() == "Half a line"
    view.show(TextDelta("\n"))
    view.hush()
    view.waiting()
    assert screen.getvalue() == "Half a line\n"


def test_a_model_that_has_answered_is_not_loaded_again():
    view = RichView(Screen(), loading="loading …")
    view.show(TurnStart(1))
    assert view._doing == "loading …"
    view.show(ReplyEnd(Reply((Text("Hi."),))))
    view.show(TurnStart(1))
    assert view._doing == "waiting for the model"


def test_how_far_a_call_is_goes_with_what_moves():
    screen = Screen()
    view = RichView(screen, loading="loading …")
    view.show(CallEnd(0, Call(id="1", name="fetch")))
    view.show(CallEnd(1, Call(id="2", name="look")))
    assert view._doing == "running fetch, look"
    view.show(CallProgress("1", 3, 10, "unpacking\x1b[2J"))
    assert view._doing == "running fetch: 3 of 10, unpacking␛[2J"
    view.show(CallProgress("1", 0.5))
    assert view._doing == "running fetch: 0.5"
    view.show(ResultEnd(Result(call_id="1", name="fetch", outcome="returned", content=())))
    assert view._doing == "running look"
    assert "\x1b[2J" not in screen.getvalue()
