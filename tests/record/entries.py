"""One entry of every kind, with everything in it that an entry can hold, and no secret."""

from rightcall.core.budget import Budget, Stop
from rightcall.core.decision import Allow, Answer, Deny, Rewrite
from rightcall.core.entry import (
    CallChecked,
    CallDecided,
    CallDropped,
    CallFinished,
    CallStarted,
    HistoryCompacted,
    HookAnswered,
    MessageQueued,
    MessagesDelivered,
    Nested,
    ReplyReceived,
    RequestChange,
    RequestSent,
    RunEnded,
    RunFailed,
    RunPaused,
    RunResumed,
    RunStarted,
    StepDone,
    ToolsChanged,
    UnchangedMessages,
)
from rightcall.core.message import CompactionMark, Reasoning, Reply, Results, Unknown, User, user_text
from rightcall.core.parts import Call, Media, Repair, Result, Text, Usage
from rightcall.core.request import Named, RequiredOutput
from rightcall.core.tool import Spec

EVERY_BYTE = bytes(range(256))
PICTURE = Media(EVERY_BYTE, "image/png", "a ✓.png")
SCHEMA = {
    "type": "object",
    "properties": {"password": {"type": "string"}, "max_tokens": {"type": "integer", "default": 5}},
    "required": ["password"],
}
REPLY = Reply(
    (
        Reasoning("hm\u2028\n", {"anthropic": {"signature": "EqQBCgIYAhIM+/=="}}),
        Text("Zürich 東京 😀\x00\x1f\u2028"),
        Call(id="c1", name="get_weather", arguments='{"city": "Paris", "days": 3', truncated=True),
        Call(
            id="c2", name="get_token", arguments="", vendor={"gemini": {"thought": [1, 2.5, None, True]}}
        ),
        PICTURE,
        Unknown({"openai": {"type": "new", "nested": [[{}]]}}),
    ),
    stop="calls",
    stop_word="tool_use",
    usage=Usage(input_tokens=12, output_tokens=7, cached_tokens=3, cost=0.25),
    model="model-1",
    vendor={"openai": {"id": "resp_1"}},
)
RESULT = Result(
    call_id="c1",
    name="get_weather",
    outcome="returned",
    content=(Text('{"degrees": 21}'), PICTURE),
    source="the web",
    vendor={"x": 1},
)

EVERY_ENTRY = (
    RunStarted(
        messages=(
            user_text("Weather?"),
            User((Text("and this"), PICTURE), "developer", {"x": "y"}),
            REPLY,
            Results((RESULT,)),
        ),
        budget=Budget(turns=3, cost=None),
        system="Be brief.",
        specs=(Spec(name="login", description="Logs in.", parameters=SCHEMA, examples=({"days": 1},)),),
        choice=Named("login"),
        sticky_choice=True,
        wanted=RequiredOutput(tool="answer", mode="tool", schema=SCHEMA),
        parent="run-0",
    ),
    RequestSent(key="t1.model", messages=4),
    HookAnswered(
        key="t1.before_model",
        hook="before_model",
        notes=(user_text("Be quick.", "developer"),),
        request=RequestChange(messages=(user_text("Weather?"),), options={"seed": 1}),
    ),
    HookAnswered(key="t1.0.before_tool", hook="before_tool", call_id="1", decision=Rewrite({"days": 2})),
    Nested(path="t1.0", agent="helper", entry=RequestSent(key="t1.model", messages=1)),
    ReplyReceived(key="t1.model", reply=REPLY, seconds=1.25, raw=EVERY_BYTE),
    ToolsChanged(
        key="t2.tools", specs=(Spec(name="logout", description="Logs out.", parameters=SCHEMA),)
    ),
    CallChecked(
        key="t1.0.get_weather",
        call_id="c1",
        refused="invalid",
        repairs=(Repair("$.days", "3", 3), Repair("$.extra", {"a": [1]}, None, removed=True)),
    ),
    CallDecided(key="t1.0.get_weather", call_id="c1", decision=Rewrite({"city": "Rome"}), by="hook"),
    CallStarted(key="t1.0.get_weather", call_id="c1"),
    CallFinished(
        key="t1.0.get_weather",
        result=RESULT,
        seconds=0.5,
        attempts=2,
        usage=Usage(input_tokens=1),
        error='Traceback (most recent call last):\n  File "x.py"\nValueError: "no"',
    ),
    CallDropped(
        key="t1.0.get_weather",
        call=Call(id="c1", name="get_weather", arguments='{"city": "Par"}'),
        result=RESULT,
        seconds=0.25,
        attempts=1,
        usage=Usage(output_tokens=2),
        error="ValueError",
        cause="no",
    ),
    StepDone(key="t2.output", value="A complaint."),
    HistoryCompacted(
        key="t3.compact",
        message=User(
            (Text("A summary."),),
            "runtime",
            compaction=CompactionMark(
                kept=3,
                pinned=(9, 7),
                left_out=12,
                summary="A summary.",
                shortened=2,
                large=2_000,
                whole=("rules",),
                tainted=True,
            ),
        ),
        reason="overflow",
        before=6_400,
        after=3_300,
        seconds=1.5,
        usage=Usage(input_tokens=2, output_tokens=1),
        problem="no summary within 120 s",
    ),
    HookAnswered(
        key="t2.before_model",
        hook="before_model",
        veto="closed",
        notes=(user_text("Mind the gap.", "developer"),),
        request=RequestChange(
            messages=(UnchangedMessages(0, 2), user_text("Short.")),
            choice=Named("find"),
            max_tokens=None,
            options={"seed": 1},
        ),
    ),
    Nested(
        path="t2.0.helper",
        agent="helper",
        entry=Nested(path="t1.1.deep", agent="deep", entry=CallStarted(key="t1.0.find", call_id="c9")),
    ),
    MessageQueued(key="said.1", number=1, message=user_text("And?"), now=True, id="sms 1"),
    MessagesDelivered(key="t2.said", last=1, messages=(user_text("And?"),), stop=True),
    RunPaused(key="t2.paused", call_ids=("c3", "c4")),
    RunResumed(decisions={"c3": Allow(), "c4": Deny("no"), "c5": Answer("42")}),
    RunEnded(stop=Stop("limit", "tokens", "2,000,000 tokens")),
    RunFailed(code="vendor", message="overloaded"),
)
