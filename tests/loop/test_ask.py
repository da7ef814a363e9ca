"""The reply as far as it came, when its stream broke."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.core.events import CallDelta, CallEnd, CallStart, ReasoningDelta, ReplyEnd, TextDelta
from rightcall.core.message import Reasoning, Reply
from rightcall.core.parts import Call, Text
from rightcall.loop.ask import ReplyDraft

WHOLE = Call(id="a", name="look", arguments='{"at":1}', vendor={"v": 1})

ROWS = [
    pytest.param([], (), id="nothing"),
    pytest.param([TextDelta("a"), TextDelta("b")], (Text("ab"),), id="text"),
    pytest.param(
        [TextDelta("a"), ReasoningDelta("b"), ReasoningDelta("c"), TextDelta("d")],
        (Text("a"), Reasoning("bc"), Text("d")),
        id="text and reasoning",
    ),
    pytest.param(
        [CallStart(0, "look", "a")], (Call(id="a", name="look", truncated=True),), id="a call that began"
    ),
    pytest.param(
        [CallStart(0, "look", "a"), CallDelta(0, '{"at'), CallDelta(0, '":')],
        (Call(id="a", name="look", arguments='{"at":', truncated=True),),
        id="a call that was cut",
    ),
    pytest.param(
        [CallStart(0, "look", "a"), CallDelta(0, '{"at":1}')],
        (Call(id="a", name="look", arguments='{"at":1}', truncated=True),),
        id="a call that looks whole and has not ended",
    ),
    pytest.param([CallStart(0, "look", "a"), CallEnd(0, WHOLE)], (WHOLE,), id="a call that ended"),
    pytest.param([CallEnd(0, WHOLE)], (WHOLE,), id="a call that was not begun"),
    pytest.param(
        [CallStart(0, "x"), CallStart(1, "y"), CallDelta(1, "1"), CallDelta(0, "0"), TextDelta("so")],
        (
            Call(id="", name="x", arguments="0", truncated=True),
            Call(id="", name="y", arguments="1", truncated=True),
            Text("so"),
        ),
        id="two calls at once",
    ),
    pytest.param(
        [CallStart(0, "x", "a"), CallDelta(0, "1"), CallStart(0, "y", "b"), CallDelta(0, "2")],
        (
            Call(id="a", name="x", arguments="1", truncated=True),
            Call(id="b", name="y", arguments="2", truncated=True),
        ),
        id="an index that is given twice",
    ),
    pytest.param([CallDelta(7, "lost"), TextDelta("so")], (Text("so"),), id="a piece of no call"),
]


@pytest.mark.parametrize(("events", "content"), ROWS)
def test_a_broken_reply_holds_what_came(events, content):
    draft = ReplyDraft()
    for event in events:
        draft.add(event)
    assert draft.broken_reply("why") == Reply(content, "error", "why")
    assert (draft.end, draft.is_empty) == (None, not content)


def test_a_whole_reply_is_the_one_that_was_sent_whatever_came_before():
    draft = ReplyDraft()
    draft.add(TextDelta("so"))
    draft.add(ReplyEnd(Reply((WHOLE,), "calls")))
    assert (draft.end, draft.is_empty) == (ReplyEnd(Reply((WHOLE,), "calls")), False)


def test_an_empty_reply_that_has_ended_is_not_nothing():
    draft = ReplyDraft()
    draft.add(ReplyEnd(Reply(())))
    assert not draft.is_empty


@given(st.lists(st.sampled_from([TextDelta, ReasoningDelta]), max_size=20), st.data())
def test_no_text_is_lost_or_put_elsewhere(kinds, data):
    texts = [data.draw(st.text(min_size=1, max_size=3)) for _ in kinds]
    draft = ReplyDraft()
    for kind, text in zip(kinds, texts, strict=True):
        draft.add(kind(text))
    content = draft.broken_reply("").content
    assert "".join(part.text for part in content) == "".join(texts)
    shown = [TextDelta if isinstance(part, Text) else ReasoningDelta for part in content]
    runs = [kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] is not kind]
    assert shown == runs
