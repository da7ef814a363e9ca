"""A run's record into what people read: messages, turns with calls beside their results, events.

Pure, and the same for a run that has ended, that is under way, or that happened inside another's call.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field, to_builtins

from rightcall.core.entry import (
    MODEL_NOTE,
    CallChecked,
    CallDecided,
    CallDropped,
    CallFinished,
    CallStarted,
    Entry,
    HistoryCompacted,
    HookAnswered,
    MessageQueued,
    Nested,
    ReplyReceived,
    RequestSent,
    RunEnded,
    RunFailed,
    RunPaused,
    RunResumed,
    RunStarted,
    StepDone,
    ToolsChanged,
)
from rightcall.core.message import Message, Reply, Results, User, text_tokens
from rightcall.core.parts import Call, Usage
from rightcall.core.tool import Spec
from rightcall.loop.handoffs import HANDED_OVER, read_handed_over
from rightcall.record.steps import ANSWERED
from rightcall.serve.studio.to_json import (
    Json,
    arguments_json,
    cached_share,
    citation_json,
    decision_json,
    label_json,
    parts_json,
    reply_label,
    result_json,
    usage_json,
)


def event_of(number: int, at: float | None, entry: Entry) -> Iterator[Json]:
    """The event of an entry that is neither a message nor a turn."""
    match entry:
        case RunPaused(call_ids=call_ids):
            text = f"{len(call_ids)} call{'s wait' if len(call_ids) > 1 else ' waits'} for a decision"
            yield _event_json(number, at, "paused", "Paused for a person", text)
        case RunResumed(decisions=decisions):
            decided = []
            for call_id, decision in decisions.items():
                decided.append({"shown_id": call_id, "decision": decision_json(decision)})
            yield _event_json(number, at, "resumed", "A person decided", "", {"decisions": decided})
        case CallDropped(call=call, result=result):
            text = (
                f"{call.name}: {result.outcome} after {entry.seconds:.2f} s; the model has not read it"
            )
            data = {"call": call.id, "arguments": call.arguments, "result": result.text}
            yield _event_json(number, at, "dropped", "A call was started early and dropped", text, data)
        case MessageQueued(message=None):
            yield _event_json(number, at, "queued", "Somebody stopped the run", "")
        case MessageQueued(message=User() as message):
            when = "to be read at once" if entry.now else "for its next turn"
            title = f"A message was added to the run, {when}"
            yield _event_json(number, at, "queued", title, message.text)
        case RunFailed(code=code, message=message):
            yield _event_json(number, at, "failed", f"Broke off: {code}", message)
        case RunEnded(stop=stop):
            yield _event_json(number, at, "ended", "The end", str(stop), {"reason": stop.reason})
        case HistoryCompacted(message=message, problem=problem):
            mark = message.compaction
            title = "Large results of earlier calls were shortened"
            if mark is not None and mark.kept is not None:
                title = f"{mark.left_out} earlier messages were summarised"
            text = message.text if mark is None else mark.summary
            numbers: Json = {
                "before": entry.before,
                "after": entry.after,
                "reason": entry.reason,
                "seconds": entry.seconds,
                "usage": usage_json(entry.usage),
                "problem": problem,
            }
            yield _event_json(number, at, "summary", title, text, numbers)
        case StepDone(key=key, value=value):
            yield from _step_events(number, at, key, value)
        case HookAnswered(hook="before_model"):
            words = entry.veto or ", ".join(each.text for each in entry.notes)
            title = "A hook changed the request"
            if entry.veto is not None:
                title = "A hook forbade to go on"
            if entry.veto is not None or entry.request is not None or entry.notes:
                yield _event_json(number, at, "hook", title, words)
        case _:
            pass


def _step_events(number: int, at: float | None, key: str, value: str) -> Iterator[Json]:
    """The event of a step that is neither a reply nor a call."""
    if key.endswith(".summary"):
        # As versions before 0.3 recorded it.
        yield _event_json(number, at, "summary", "What no longer fits was summed up", value)
    elif key.endswith(".output") and value:
        title = "The answer has not the form that was asked for"
        yield _event_json(number, at, "output", title, value)
    elif key.endswith(HANDED_OVER):
        handed = read_handed_over(StepDone(key=key, value=value))
        title = f"Handed over to {handed.agent}"
        yield _event_json(number, at, "handoff", title, handed.system, {"agent": handed.agent})
    elif key == "intents":
        yield _event_json(number, at, "intents", "What the request may do was stated", value)
    elif key == MODEL_NOTE:
        yield _event_json(number, at, "note", "The model, as it was asked for", value)


def _event_json(
    number: int, at: float | None, event: str, title: str, text: str, data: Json | None = None
) -> Json:
    return {
        "id": f"e{number}",
        "kind": "event",
        "event": event,
        "at": at,
        "title": title,
        "text": text,
        "data": data or {},
    }


_NOT_ENDED: Json = {
    "result": None, "original": None, "seconds": None, "attempts": 0, "usage": None, "error": "",
    "cause": "", "tokens": 0,
}  # fmt: skip
"""What a call has when it has ended."""
_REFUSED = {
    "invalid": "The arguments do not fit the tool's schema.",
    "unknown": "There is no tool of that name.",
    "not_offered": "The turn did not offer this tool.",
    "given_up": "The tool failed too often in a row; the run leaves it alone.",
    "truncated": "The reply stopped in the middle of the call.",
    "interrupted": "The process stopped while the tool ran; it may have done its work.",
    "timed_out": "The tool did not finish in time.",
    "cancelled": "The call was given up before it finished.",
    "failed": "The tool did not succeed.",
}

_NEVER_RUN = ("denied", "unknown", "not_offered", "given_up", "invalid")

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
                # The answer that came later takes the place of what was said until then.
                self._finished[key.removesuffix(ANSWERED)] = (entry, at)
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
                    # The messages before the model was asked; all but the last came before this run.
                    last = len(entry.messages) - 1
                    for index, message in enumerate(entry.messages):
                        is_history = index < last
                        yield self._message(f"m{index}", message, at, index, is_history=is_history)
                case RequestSent(key=key) | ReplyReceived(key=key):
                    if key not in shown:
                        shown.add(key)
                        yield from self._turn(entry, at)
                case ToolsChanged(specs=changed):
                    # The event that other tools are offered from now on.
                    had = [spec.name for spec in specs]
                    has = [spec.name for spec in changed]
                    data = {
                        "added": [name for name in has if name not in had],
                        "removed": [name for name in had if name not in has],
                    }
                    yield _event_json(
                        number, at, "tools", "Other tools are offered from here on", "", data
                    )
                    specs = changed
                case _:
                    yield from event_of(number, at, entry)

    def _message(
        self, name: str, message: Message, at: float | None, index: int, *, is_history: bool
    ) -> Json:
        told: Json = {"id": name, "kind": "message", "at": at, "history": is_history, "index": index}
        match message:
            case User(content, author):
                is_models = author == "agent" or message.compaction is not None
                writer = "model" if is_models else author
                label = self._extra.labels.get(name) or label_json(writer)
                parts = parts_json(content, self._run)
                can_edit = index >= 0 and author == "user"
                return told | {"author": author, "parts": parts, "label": label, "can_edit": can_edit}
            case Reply():
                parts = parts_json(message.content, self._run)
                label = self._extra.labels.get(name) or reply_label(message)
                # Calls of an earlier run, whose record is not here.
                calls = [_call_json(call) for call in message.calls]
                return told | {"author": "model", "parts": parts, "label": label, "calls": calls}
            case Results(results):
                shown = []
                for result in results:
                    head = {"shown_id": result.call_id, "name": result.name}
                    shown.append(head | result_json(result, self._run))
                return told | {"author": "tools", "parts": [], "label": None, "results": shown}

    def _turn(self, entry: RequestSent | ReplyReceived, at: float | None) -> Iterator[Json]:
        key = entry.key
        head = key.partition(".")[0].lstrip("t")
        turn = 0
        if head.isdigit():
            turn = int(head)
        sent = None
        if isinstance(entry, RequestSent):
            sent = entry.messages
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
            yield self._message(f"n{turn}.{index}", note, None, -1, is_history=False)

    def _reply(self, entry: ReplyReceived, at: float | None, turn: int) -> Json:
        reply = entry.reply
        prefix = entry.key.removesuffix(".model")
        calls = []
        for index, call in enumerate(reply.calls):
            calls.append(self._call(f"{prefix}.{index}.{call.name}", call, at))
        return {
            "at": at,
            "state": "broken" if reply.stop == "error" else "replied",
            "model": reply.answered_by or reply.model,
            "seconds": entry.seconds,
            "stop": reply.stop,
            "stop_word": reply.stop_word,
            "parts": parts_json(reply.content, self._run),
            "calls": calls,
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
        checked = self._checked.get(key)
        decided = self._decided.get(key)
        label = self._extra.labels.get(call.id)
        started = self._started.get(key)
        if started is None and end is not None and ended_at is not None:
            # When it began was not recorded: its end, minus its duration.
            started = ended_at - end.seconds
        hooked = self._hooked.get(f"{key}.before_tool")
        decision = None
        if decided is not None:
            decision = decision_json(decided.decision, decided.by, decided.reason, decided.evidence)
        elif hooked is not None and hooked.decision is not None:
            decision = decision_json(hooked.decision, "hook")
        shown = _call_json(call) | {
            "key": key,
            "state": self._state(key, call, end),
            "refused": None,
            "repairs": [],
            "decision": decision,
            "why": _why(end, decided),
            "started_at": started,
            "finished_at": ended_at,
            "early": started is not None and replied_at is not None and started < replied_at,
            "inside": None,
            **_NOT_ENDED,
        }
        if checked is not None:
            shown["refused"] = checked.refused
            shown["repairs"] = [to_builtins(each) for each in checked.repairs]
        if key in self._inside:
            items = items_of(self._inside[key], self._run)
            shown["inside"] = {"agent": self._agents[key], "items": items}
        if end is not None:
            for name in ("seconds", "attempts", "error", "cause"):
                shown[name] = getattr(end, name)
            shown["result"] = result_json(end.result, self._run, label)
            shown["tokens"] = text_tokens(end.result.text)
            if end.original:
                shown["original"] = result_json(end.original, self._run)
            if end.usage:
                shown["usage"] = usage_json(end.usage)
        return shown

    def _state(self, key: str, call: Call, end: CallFinished | None) -> str:
        if end is not None:
            was_run = end.attempts > 0 or end.result.outcome not in _NEVER_RUN
            return "done" if was_run else "not_run"
        if call.id in self._waiting or any(each.startswith(f"{key}/") for each in self._waiting):
            return "waiting"
        if not self._is_over:
            return "running"
        return "interrupted" if key in self._started else "not_run"


def _call_json(call: Call) -> Json:
    """What the model wrote of a call."""
    return {
        "call_id": call.id,
        "shown_id": call.id,
        "name": call.name,
        "arguments": arguments_json(call),
        "arguments_text": call.arguments,
    }


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
