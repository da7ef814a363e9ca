"""Events and summaries into objects of JSON's kinds, in a shape that programs may rely on.

``docs/cli.md`` says what each holds. Members may be added; none changes its meaning or goes away.
"""

import json
from typing import assert_never

from rightcall.cli.summary import Summary
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
from rightcall.core.jsontext import JsonObject
from rightcall.core.message import Reply
from rightcall.core.parts import Media
from rightcall.core.progress import CallProgress
from rightcall.core.result import Result
from rightcall.core.usage import Usage
from rightcall.loop.events import Event
from rightcall.loop.result import RunEnd


def line_of(value: JsonObject) -> str:
    """One line of JSON, in ASCII: no screen, pipe or encoding can do anything to it."""
    return json.dumps(value, separators=(",", ":")) + "\n"


def event_object(event: Event) -> JsonObject | None:
    """An event as an object; None for a run's end, whose object is that of its summary."""
    match event:
        case TurnStart(turn):
            return {"event": "turn_start", "turn": turn}
        case TextDelta(text):
            return {"event": "text_delta", "text": text}
        case ReasoningDelta(text):
            return {"event": "reasoning_delta", "text": text}
        case CallStart(index, name, call_id):
            return {"event": "call_start", "index": index, "id": call_id, "name": name}
        case CallDelta(index, text):
            return {"event": "call_delta", "index": index, "text": text}
        case CallEnd(index, call):
            facts = {"id": call.id, "name": call.name, "arguments": call.arguments}
            return {"event": "call_end", "index": index, **facts}
        case ReplyEnd(reply):
            return {"event": "reply_end", **reply_object(reply)}
        case CallProgress(call_id, done, total, text):
            far = {"done": done, "total": total, "text": text}
            return {"event": "call_progress", "id": call_id, **far}
        case ResultEnd(result, seconds):
            return {"event": "result_end", **_result_object(result), "seconds": round(seconds, 6)}
        case RunEnd():
            return None
    assert_never(event)


def summary_object(summary: Summary) -> JsonObject:
    """A run's end as an object: always the last of a run."""
    return {
        "event": "run_end",
        "run": summary.run,
        "text": summary.text,
        "stop": {"reason": summary.reason, "limit": summary.limit, "detail": summary.detail},
        "usage": usage_object(summary.usage),
        "turns": summary.turns,
        "calls": [
            {
                "id": record.call.id,
                "name": record.name,
                "arguments": record.arguments,
                "outcome": record.outcome,
                "text": record.result.text,
                "seconds": round(record.seconds, 6),
            }
            for record in summary.calls
        ],
        "seconds": round(summary.seconds, 6),
    }


def reply_object(reply: Reply) -> JsonObject:
    """A whole reply, without what only its vendor understands."""
    return {
        "text": reply.text,
        "calls": [
            {
                "id": call.id,
                "name": call.name,
                "arguments": call.arguments,
                "truncated": call.truncated,
            }
            for call in reply.calls
        ],
        "stop": reply.stop,
        "stop_word": reply.stop_word,
        "model": reply.model,
        "usage": usage_object(reply.usage),
    }


def usage_object(usage: Usage) -> JsonObject:
    """Every count, zeros too; the cost is null where the price is not known."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "cache_written_tokens": usage.cache_written_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cost": usage.cost,
    }


def _result_object(result: Result) -> JsonObject:
    media: list[JsonObject] = [
        {"media_type": part.media_type, "bytes": len(part.data)}
        for part in result.content
        if isinstance(part, Media)
    ]
    return {
        "id": result.call_id,
        "name": result.name,
        "outcome": result.outcome,
        "text": result.text,
        "media": media,
    }
