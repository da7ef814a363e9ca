"""Entries that are not part of the conversation into events that are shown between its turns."""

from collections.abc import Iterator, Sequence

from rightcall.core.entry import (
    MODEL_NOTE,
    CallDropped,
    Entry,
    HookAnswered,
    RunEnded,
    RunFailed,
    RunPaused,
    RunResumed,
    StepDone,
)
from rightcall.core.tool import Spec
from rightcall.serve.studio.to_json import Json, decision_json


def tools_event(number: int, at: float | None, before: Sequence[Spec], now: Sequence[Spec]) -> Json:
    """The event that other tools are offered from now on."""
    had, has = [spec.name for spec in before], [spec.name for spec in now]
    data = {
        "added": [name for name in has if name not in had],
        "removed": [name for name in had if name not in has],
    }
    return _shown(number, at, "tools", "Other tools are offered from here on", "", data)


def event_of(number: int, at: float | None, entry: Entry) -> Iterator[Json]:
    """The event of an entry that is neither a message nor a turn."""
    match entry:
        case RunPaused(call_ids=call_ids):
            text = f"{len(call_ids)} call{'s wait' if len(call_ids) > 1 else ' waits'} for a decision"
            yield _shown(number, at, "paused", "Paused for a person", text)
        case RunResumed(decisions=decisions):
            told = [
                {"shown_id": call_id, "decision": decision_json(each)}
                for call_id, each in decisions.items()
            ]
            yield _shown(number, at, "resumed", "A person decided", "", {"decisions": told})
        case CallDropped(call=call, result=result):
            text = (
                f"{call.name}: {result.outcome} after {entry.seconds:.2f} s; the model has not read it"
            )
            data = {"call": call.id, "arguments": call.arguments, "result": result.text}
            yield _shown(number, at, "dropped", "A call was started early and dropped", text, data)
        case RunFailed(code=code, message=message):
            yield _shown(number, at, "failed", f"Broke off: {code}", message)
        case RunEnded(stop=stop):
            yield _shown(number, at, "ended", "The end", str(stop), {"reason": stop.reason})
        case StepDone(key=key, value=value):
            yield from _step(number, at, key, value)
        case HookAnswered(hook="before_model"):
            words = entry.veto or ", ".join(each.text for each in entry.notes)
            title = "A hook forbade to go on" if entry.veto is not None else "A hook changed the request"
            if entry.veto is not None or entry.request is not None or entry.notes:
                yield _shown(number, at, "hook", title, words)
        case _:
            pass


def _step(number: int, at: float | None, key: str, value: str) -> Iterator[Json]:
    if key.endswith(".summary"):
        yield _shown(number, at, "summary", "What no longer fits was summed up", value)
    elif key.endswith(".output") and value:
        yield _shown(number, at, "output", "The answer has not the form that was asked for", value)
    elif key == "grant":
        yield _shown(number, at, "grant", "What the request may do was fixed", value)
    elif key == MODEL_NOTE:
        yield _shown(number, at, "note", "The model, as it was asked for", value)


def _shown(
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
