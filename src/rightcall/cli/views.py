"""Shows a run as lines: text for people, pipes and logs, or JSON for programs.

``docs/cli.md`` documents the JSON objects, and programs may rely on it. Fields may be added; none is
changed or removed.
"""

from typing import TextIO, assert_never

from msgspec.structs import asdict

from rightcall.cli.formatting import (
    cost_words,
    interruption_words,
    json_line,
    one_line,
    result_line,
    write,
)
from rightcall.cli.summary import INTERRUPTION, OutputView, Summary
from rightcall.core.events import (
    AgentChange,
    CallDelta,
    CallEnd,
    CallStart,
    CompactionEnd,
    CompactionStart,
    MessageEnd,
    ModelChange,
    OutputDelta,
    ReasoningDelta,
    ReasoningEnd,
    ReplyEnd,
    ResultEnd,
    RetryStart,
    SubagentEvent,
    TextDelta,
    TurnStart,
)
from rightcall.core.handler import CallProgress
from rightcall.core.jsontext import JsonObject
from rightcall.core.message import Reply
from rightcall.core.parts import Call, Media
from rightcall.core.sanitize import printable
from rightcall.loop.events import Event
from rightcall.loop.result import RunEnd

_WIDTH = 200


class PlainView(OutputView):
    """For pipes, files, logs and terminals that only print.

    The answer is written when the run ends, because only then is it known: text before a call is not
    part of it.
    """

    def __init__(
        self, out: TextIO, people: TextIO, *, loading: str, quiet: bool = False, reasoning: bool = False
    ) -> None:
        super().__init__(people, reasoning=reasoning)
        self._out = out
        self._loading = loading
        self._quiet = quiet
        self._begun = False
        self._said: list[str] = []
        """The model's text since the last line about it."""
        self._thought: list[str] = []

    def show(self, event: Event) -> None:
        """Show calls and their results."""
        self._begun = self._begun or not isinstance(event, TurnStart)
        match event:
            case TurnStart():
                self._said = []
                self._thought = []
            case MessageEnd(message):
                self._say(f"user: {one_line(message.text, _WIDTH)}")
            case TextDelta(text) | OutputDelta(text, index=None):
                self._tell_thoughts()
                self._said.append(text)
            case ReasoningDelta(text) if self.reasoning:
                self._thought.append(text)
            case CallEnd(_, call):
                self._tell_thoughts()
                self._tell_said()
                self._say(f"call: {printable(call.name)} {one_line(call.arguments, _WIDTH)}")
            case ResultEnd(result, seconds):
                self._say(
                    f"{result.outcome}: {printable(result.name)} in {seconds:.1f} s: "
                    f"{result_line(result, _WIDTH)}"
                )
            case SubagentEvent(agent, _, CallEnd(_, call)):
                name = f"{printable(agent)}: {printable(call.name)}"
                self._say(f"call: {name} {one_line(call.arguments, _WIDTH)}")
            case ModelChange(failed, why, model):
                self._say(
                    f"{printable(failed)} failed, asking {printable(model)}: {one_line(why, _WIDTH)}"
                )
            case CompactionEnd(_, before, after):
                self._say(f"earlier messages were shortened: {before:,} tokens became {after:,}")
            case ReplyEnd(reply):
                self._tell_thoughts()
                if reply.calls:
                    self._tell_said()
            case _:
                pass

    def waiting(self) -> None:
        """Tell a person, once, that the model is slow to begin."""
        if not self._begun and self.people.isatty():
            self._begun = True
            self._say(self._loading)

    def end(self, summary: Summary) -> None:
        """The answer and its cost; or why there is none."""
        if summary.text:
            # Output that does not have the requested form is not an answer for the reader of stdout.
            write(summary.text, self.people if summary.reason == "no_output" else self._out)
        self._out.flush()
        if summary.reason == INTERRUPTION:
            self._complain(interruption_words(summary))
        elif summary.trouble:
            self._complain(summary.trouble)
        self._say(cost_words(summary))

    def _tell_said(self) -> None:
        """The model's text before a call."""
        if text := "".join(self._said).strip():
            self._say(f"said: {one_line(text, _WIDTH)}")
        self._said = []

    def _tell_thoughts(self) -> None:
        if text := "".join(self._thought).strip():
            # The reasoning was requested, so all of it is shown, even if nothing else is.
            print(f"thought: {printable(text)}", file=self.people, flush=True)
        self._thought = []

    def _say(self, line: str) -> None:
        if not self._quiet:
            print(line, file=self.people, flush=True)

    def _complain(self, words: str) -> None:
        print(f"rightcall: {printable(words)}", file=self.people, flush=True)


class JsonLinesView(OutputView):
    """JSON lines for programs."""

    def __init__(self, out: TextIO, people: TextIO) -> None:
        super().__init__(people)
        self._out = out

    def show(self, event: Event) -> None:
        """Write the event's object, and flush."""
        if (described := event_object(event)) is not None:
            self._out.write(json_line(described))
            self._out.flush()

    def end(self, summary: Summary) -> None:
        """Write the last object."""
        self._out.write(json_line(summary_object(summary)))
        self._out.flush()


def event_object(event: Event) -> JsonObject | None:  # noqa: C901 - one case an event
    """An event as an object; None for a run's end, which the summary's object represents."""
    match event:
        case TurnStart(turn):
            return {"event": "turn_start", "turn": turn}
        case TextDelta(text):
            return {"event": "text_delta", "text": text}
        case OutputDelta(text):
            return {"event": "output_delta", "text": text}
        case ReasoningDelta(text):
            return {"event": "reasoning_delta", "text": text}
        case CallStart(index, name, call_id):
            return {"event": "call_start", "index": index, "id": call_id, "name": name}
        case CallDelta(index, text):
            return {"event": "call_delta", "index": index, "text": text}
        case CallEnd(index, call):
            return {"event": "call_end", "index": index, **_call_object(call)}
        case ReplyEnd(reply):
            return {"event": "reply_end", **reply_object(reply)}
        case CallProgress(call_id, done, total, text):
            far = {"done": done, "total": total, "text": text}
            return {"event": "call_progress", "id": call_id, **far}
        case ResultEnd(result, seconds):
            named = {"id": result.call_id, "name": result.name, "outcome": result.outcome}
            media = [_media_object(part) for part in result.content if isinstance(part, Media)]
            took = {"seconds": round(seconds, 6)}
            return {"event": "result_end", **named, "text": result.text, "media": media, **took}
        case ReasoningEnd(reasoning):
            return {"event": "reasoning_end", "text": reasoning.text}
        case RetryStart(attempt, seconds, kind, reason):
            why = {"kind": kind, "reason": reason}
            return {"event": "retry_start", "attempt": attempt, "seconds": round(seconds, 6), **why}
        case ModelChange(failed, why, model):
            return {"event": "model_change", "failed": failed, "why": why, "model": model}
        case CompactionStart(turn):
            return {"event": "compaction_start", "turn": turn}
        case CompactionEnd(message, before, after):
            tokens = {"before": before, "after": after}
            return {"event": "compaction_end", "text": message.text, **tokens}
        case SubagentEvent(agent, call_id, inner):
            shown = event_object(inner)
            return {"event": "subagent", "agent": agent, "call_id": call_id, "inner": shown}
        case MessageEnd(message):
            return {"event": "message_end", "text": message.text}
        case AgentChange(agent, before):
            return {"event": "agent_change", "agent": agent, "before": before}
        case RunEnd():
            return None
    assert_never(event)


def summary_object(summary: Summary) -> JsonObject:
    """The object for a run's end: always the last of a run."""
    return {
        "event": "run_end",
        "run": summary.run,
        "text": summary.text,
        "stop": {"reason": summary.reason, "limit": summary.limit, "detail": summary.detail},
        "usage": asdict(summary.usage),
        "turns": summary.turns,
        "calls": [
            {
                "id": record.call.id,
                "name": record.name,
                "arguments": record.arguments,
                "outcome": record.outcome,
                "text": record.result.text,
                "error": record.error,
                "seconds": round(record.seconds, 6),
            }
            for record in summary.calls
        ],
        "seconds": round(summary.seconds, 6),
    }


def reply_object(reply: Reply) -> JsonObject:
    """A whole reply, without fields that only its vendor understands."""
    return {
        "text": reply.text,
        "calls": [{**_call_object(call), "truncated": call.truncated} for call in reply.calls],
        "stop": reply.stop,
        "stop_word": reply.stop_word,
        "model": reply.model,
        "usage": asdict(reply.usage),
    }


def _call_object(call: Call) -> JsonObject:
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def _media_object(media: Media) -> JsonObject:
    match media.way:
        case "address":
            return {"media_type": media.media_type, "url": media.url}
        case "id":
            return {"media_type": media.media_type, "id": media.id}
        case _:
            return {"media_type": media.media_type, "bytes": len(media.data)}
