"""What a run has come to so far, whether or not it comes to its end."""

import pytest

from rightcall.cli.summary import Summary, SummaryProgress
from rightcall.core.events import CallEnd, CallStart, ReplyEnd, ResultEnd, TextDelta, TurnStart
from rightcall.core.history import mend
from rightcall.core.message import Reply, Results, user_text
from rightcall.core.parts import Call, Result, Text, Usage
from rightcall.errors import VendorError

LOOK = Call(id="1", name="look", arguments="{}")
SEND = Call(id="2", name="send", arguments="{}")
BOTH = Reply((Text("Let me."), LOOK, SEND), "calls", usage=Usage(input_tokens=10, output_tokens=5))
SEEN = Result(call_id="1", name="look", outcome="returned", content=(Text("a cat"),))
SENT = Result(call_id="2", name="send", outcome="returned", content=(Text("sent"),))
BEFORE = (user_text("Hello"), Reply((Text("Hi."),)))

CALLED = [
    TurnStart(1),
    TextDelta("Let me."),
    CallStart(0, "look", "1"),
    CallEnd(0, LOOK),
    ReplyEnd(BOTH),
]
DONE = [*CALLED, ResultEnd(SEEN, 0.5), ResultEnd(SENT)]


def interrupted(events: list) -> Summary:
    progress = SummaryProgress("Look and send.", BEFORE)
    for event in events:
        progress.see(event)
    return progress.summarise_interruption(1.5)


def test_before_anything_came_there_is_only_the_question():
    summary = interrupted([TurnStart(1)])
    assert summary == Summary(
        text="",
        reason="interrupted",
        turns=1,
        seconds=1.5,
        transcript=(*BEFORE, user_text("Look and send.")),
    )
    assert (summary.is_answer, summary.code) == (False, 130)


def test_words_of_a_reply_that_never_ended_are_kept_and_its_calls_are_not():
    summary = interrupted([TurnStart(1), TextDelta("Let "), TextDelta("me."), CallEnd(0, LOOK)])
    broken = Reply((Text("Let me."),), "error")
    assert (summary.text, summary.transcript[2:]) == ("Let me.", (user_text("Look and send."), broken))


@pytest.mark.parametrize(
    ("events", "outcomes"),
    [
        (CALLED, ["interrupted", "interrupted"]),
        (DONE[:-1], ["returned", "interrupted"]),
        (DONE, ["returned", "returned"]),
        ([*DONE[:-2], DONE[-1], DONE[-2]], ["returned", "returned"]),
    ],
    ids=["none", "one", "both", "out-of-order"],
)
def test_every_call_of_an_interrupted_run_has_a_result(events, outcomes):
    summary = interrupted(events)
    _, reply, results = summary.transcript[2:]
    assert isinstance(results, Results)
    assert (reply, [result.outcome for result in results.results]) == (BOTH, outcomes)
    assert mend(summary.transcript, strict=True).messages == summary.transcript
    assert summary.usage == Usage(input_tokens=10, output_tokens=5)


def test_what_was_done_is_remembered_with_how_long_it_took():
    summary = interrupted([*DONE, TurnStart(2), TextDelta("A c")])
    assert [(each.name, each.outcome, each.seconds) for each in summary.calls] == [
        ("look", "returned", 0.5),
        ("send", "returned", 0.0),
    ]
    assert (summary.turns, summary.text) == (2, "A c")


def test_an_error_without_a_result_is_an_end_all_the_same():
    progress = SummaryProgress("Hello")
    progress.see(TurnStart(1))
    summary = progress.summarise(0.5, VendorError("overloaded"))
    assert (summary.reason, summary.trouble, summary.code) == ("error", "overloaded", 1)


@pytest.mark.parametrize(
    ("reason", "detail", "trouble", "code"),
    [
        ("end", "", "", 0),
        ("stop_sequence", "", "", 0),
        ("output", "", "", 0),
        ("output", "it does not fit", "output: it does not fit", 1),
        ("filtered", "", "the vendor's filter stopped the reply", 1),
        ("error", "", "the reply broke off", 1),
        ("veto", "no", "veto: no", 1),
    ],
)
def test_why_there_is_no_answer_is_said_in_words(reason, detail, trouble, code):
    summary = Summary(text="", reason=reason, detail=detail)
    assert (summary.trouble, summary.code) == (trouble, code)
