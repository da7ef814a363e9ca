"""A run's record into what people read: messages, turns with calls beside their results, events.

Pure, and the same for a run that has ended, that is under way, or that happened inside another's call.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field, to_builtins

from rightcall.core.call import Call
from rightcall.core.entry import (
    CallChecked,
    CallDecided,
    CallFinished,
    CallStarted,
    Entry,
    HookAnswered,
    Nested,
    ReplyReceived,
    RequestSent,
    RunEnded,
    RunFailed,
    RunPaused,
    RunResumed,
    RunStarted,
    ToolsChanged,
)
from rightcall.core.message import Message, Reply, Results, User
from rightcall.core.parts import Usage
from rightcall.core.tokens import text_tokens
from rightcall.core.tool import Spec
from rightcall.serve.studio.run_events import event_of, tools_event
from rightcall.serve.studio.to_json import (
    Json,
    arguments_json,
    cached_share,
    citation_json,
    decided_json,
    decision_json,
    label_json,
    parts_json,
    reply_label,
    result_json,
    usage_json,
)

_REFUSED = {
    "invalid": "The arguments do not fit the tool's schema.",
    "unknown": "There is no tool of that name.",
    "truncated": "The reply stopped in the middle of the call.",
    "interrupted": "The process stopped while the tool ran; it may have done its work.",
    "timed_out": "The tool did not finish in time.",
    "cancelled": "The call was given up before it finished.",
    "failed": "The tool did not succeed.",
}

At = tuple[Entry, float | None]


class Extra(Struct, frozen=True):
    """What is not in the entries: recomputed labels, and the runtime's messages to the model."""

    labels: Mapping[str, Json] = field(default_factory=dict)
    """By the id of a call, or of an item."""
    notes: Mapping[int, Sequence[User]] = field(default_factory=dict)
    """By turn: messages to the model after it, besides results."""
    counts: Mapping[int, int] = field(default_factory=dict)
    """By turn: how many messages there were to send."""


def items_of(written: Sequence[At], run: str, extra: Extra | None = None) -> list[Json]:
    """Everything that happened in a run, in order, each with its position."""
    found = _Scene(written, run, extra or Extra()).items()
    return [item | {"place": place} for place, item in enumerate(found)]


class _Scene:
    """One run: the requested one, or one inside a call."""

    def __init__(self, written: Sequence[At], run: str, extra: Extra) -> None:
        self._written = written
        self._run = run
        self._extra = extra
        self._finished: dict[str, tuple[CallFinished, float | None]] = {}
        self._decided: dict[str, CallDecided] = {}
        self._checked: dict[str, CallChecked] = {}
        self._started: dict[str, float | None] = {}
        self._replies: dict[str, tuple[ReplyReceived, float | None]] = {}
        self._hooked: dict[str, HookAnswered] = {}
        self._inside: dict[str, list[At]] = {}
        self._agents: dict[str, str] = {}
        self._waiting: set[str] = set()
        self._is_over = False
        for entry, at in written:
            self._note(entry, at)

    def _note(self, entry: Entry, at: float | None) -> None:
        match entry:
            case Nested(path=path, agent=agent, entry=inside):
                self._inside.setdefault(path, []).append((inside, at))
                self._agents[path] = agent
            case CallFinished(key=key):
                self._finished[key] = (entry, at)
            case CallDecided(key=key):
                self._decided[key] = entry
            case CallChecked(key=key):
                self._checked[key] = entry
            case CallStarted(key=key):
                self._started[key] = at
            case ReplyReceived(key=key):
                self._replies[key] = (entry, at)
            case HookAnswered(key=key):
                self._hooked[key] = entry
            case RunPaused(call_ids=call_ids):
                self._waiting = set(call_ids)
            case RunResumed():
                self._waiting = set()
            case RunEnded() | RunFailed():
                self._is_over = True
            case _:
                pass

    def items(self) -> Iterator[Json]:
        """Everything that happened, in order."""
        shown: set[str] = set()
        specs = tuple[Spec, ...]()
        for number, (entry, at) in enumerate(self._written):
            match entry:
                case RunStarted():
                    specs = entry.specs
                    yield from self._messages(entry, at)
                case RequestSent(key=key) | ReplyReceived(key=key):
                    if key not in shown:
                        shown.add(key)
                        yield from self._turn(entry, at)
                case ToolsChanged(specs=changed):
                    yield tools_event(number, at, specs, changed)
                    specs = changed
                case _:
                    yield from event_of(number, at, entry)

    def _messages(self, entry: RunStarted, at: float | None) -> Iterator[Json]:
        """The messages before the model was asked; all but the last came before this run."""
        last = len(entry.messages) - 1
        for index, message in enumerate(entry.messages):
            yield from self._message(f"m{index}", message, at, index, is_history=index < last)

    def _message(
        self, name: str, message: Message, at: float | None, index: int, *, is_history: bool
    ) -> Iterator[Json]:
        told: Json = {"id": name, "kind": "message", "at": at, "history": is_history, "index": index}
        match message:
            case User(content, author):
                writer = "model" if author == "agent" else author
                label = self._extra.labels.get(name) or label_json(writer)
                parts = parts_json(content, self._run)
                can_edit = index >= 0 and author == "user"
                yield told | {"author": author, "parts": parts, "label": label, "can_edit": can_edit}
            case Reply():
                parts = parts_json(message.content, self._run)
                label = self._extra.labels.get(name) or reply_label(message)
                calls = [self._old_call(call) for call in message.calls]
                yield told | {"author": "model", "parts": parts, "label": label, "calls": calls}
            case Results(results):
                shown = [
                    {"shown_id": each.call_id, "name": each.name, **result_json(each, self._run)}
                    for each in results
                ]
                yield told | {"author": "tools", "parts": [], "label": None, "results": shown}

    def _old_call(self, call: Call) -> Json:
        """A call of an earlier run, whose record is not here."""
        return {
            "call_id": call.id,
            "shown_id": call.id,
            "name": call.name,
            "arguments": arguments_json(call),
            "arguments_text": call.arguments,
        }

    def _turn(self, entry: RequestSent | ReplyReceived, at: float | None) -> Iterator[Json]:
        key = entry.key
        turn = _number_of(key)
        sent = entry.messages if isinstance(entry, RequestSent) else None
        found = self._replies.get(key)
        of = self._extra.counts.get(turn)
        told: Json = {
            "id": f"t{turn}",
            "kind": "turn",
            "turn": turn,
            "key": key,
            "asked_at": at if isinstance(entry, RequestSent) else None,
            "sent_messages": sent,
            "of_messages": of,
            "is_cut": sent is not None and of is not None and sent < of,
        }
        if found is None:
            yield told | _no_reply(at, is_over=self._is_over)
        else:
            yield told | self._reply(found[0], found[1], turn)
        for index, note in enumerate(self._extra.notes.get(turn, ())):
            yield from self._message(f"n{turn}.{index}", note, None, -1, is_history=False)

    def _reply(self, entry: ReplyReceived, at: float | None, turn: int) -> Json:
        reply = entry.reply
        prefix = entry.key.removesuffix(".model")
        return {
            "at": at,
            "state": "broken" if reply.stop == "error" else "replied",
            "model": reply.answered_by or reply.model,
            "seconds": entry.seconds,
            "stop": reply.stop,
            "stop_word": reply.stop_word,
            "parts": parts_json(reply.content, self._run),
            "calls": [
                self._call(f"{prefix}.{index}.{call.name}", call, at)
                for index, call in enumerate(reply.calls)
            ],
            "usage": usage_json(reply.usage),
            "cached_share": cached_share(reply.usage),
            "label": self._extra.labels.get(f"t{turn}") or reply_label(reply),
            "has_raw": entry.raw is not None,
            "passed_over": [to_builtins(each) | {"type": "change"} for each in entry.passed_over],
            "citations": [citation_json(each, reply.text) for each in reply.citations],
            "notes": [parts_json(each.content, self._run) for each in entry.notes],
        }

    def _call(self, key: str, call: Call, replied_at: float | None) -> Json:
        end, ended_at = self._finished.get(key, (None, None))
        checked, decided = self._checked.get(key), self._decided.get(key)
        label = self._extra.labels.get(call.id)
        started = self._start_of(key, end, ended_at)
        return {
            "call_id": call.id,
            "shown_id": call.id,
            "key": key,
            "name": call.name,
            "arguments": arguments_json(call),
            "arguments_text": call.arguments,
            "state": self._state(key, call, end),
            "refused": checked.refused if checked else None,
            "repairs": [to_builtins(each) for each in checked.repairs] if checked else [],
            "decision": decided_json(decided) if decided else self._hook_decision(key),
            "result": result_json(end.result, self._run, label) if end else None,
            "original": result_json(end.original, self._run) if end and end.original else None,
            "why": _why(end, decided),
            "seconds": end.seconds if end else None,
            "attempts": end.attempts if end else 0,
            "usage": usage_json(end.usage) if end and end.usage else None,
            "error": end.error if end else "",
            "cause": end.cause if end else "",
            "started_at": started,
            "finished_at": ended_at,
            "early": _is_before(started, replied_at),
            "inside": self._look_inside(key),
            "tokens": text_tokens(end.result.text) if end else 0,
        }

    def _state(self, key: str, call: Call, end: CallFinished | None) -> str:
        if end is not None:
            is_run = end.attempts > 0 or end.result.outcome not in ("denied", "unknown", "invalid")
            return "done" if is_run else "not_run"
        if call.id in self._waiting or any(each.startswith(f"{key}/") for each in self._waiting):
            return "waiting"
        if self._is_over:
            return "interrupted" if key in self._started else "not_run"
        return "running"

    def _start_of(self, key: str, end: CallFinished | None, ended_at: float | None) -> float | None:
        """When a call began: as recorded, or its end minus its duration."""
        if (written := self._started.get(key)) is not None:
            return written
        return None if end is None or ended_at is None else ended_at - end.seconds

    def _hook_decision(self, key: str) -> Json | None:
        said = self._hooked.get(f"{key}.before_tool")
        return None if said is None or said.decision is None else decision_json(said.decision, "hook")

    def _look_inside(self, key: str) -> Json | None:
        if key not in self._inside:
            return None
        items = items_of(self._inside[key], self._run)
        return {"agent": self._agents[key], "items": items}


def _number_of(key: str) -> int:
    head = key.partition(".")[0].lstrip("t")
    return int(head) if head.isdigit() else 0


def _is_before(started: float | None, replied: float | None) -> bool:
    return started is not None and replied is not None and started < replied


def _no_reply(at: float | None, *, is_over: bool) -> Json:
    """A turn whose reply is not recorded."""
    return {
        "at": at,
        "state": "broken" if is_over else "asking",
        "model": "",
        "seconds": None,
        "stop": "",
        "stop_word": "",
        "parts": [],
        "calls": [],
        "usage": usage_json(Usage()),
        "cached_share": 0.0,
        "label": None,
        "has_raw": False,
        "passed_over": [],
        "citations": [],
        "notes": [],
    }


def _why(end: CallFinished | None, decided: CallDecided | None) -> str:
    """Why a call did not do what was asked, as text for people."""
    if end is None or not end.result.is_error:
        return ""
    if end.result.outcome == "denied":
        whom = {"policy": "The rules", "person": "A person", "hook": "A hook"}
        if decided is None:
            return "It was denied."
        reason = decided.reason or getattr(decided.decision, "reason", "")
        return f"{whom[decided.by]} said no{f': {reason}' if reason else ''}."
    return _REFUSED.get(end.result.outcome, "")
