"""A run's record into spans of time, to scale: the model, concurrent tools, waits for people."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import asdict

from rightcall.core.entry import (
    CallFinished,
    CallStarted,
    Nested,
    ReplyReceived,
    RequestSent,
    RunEnded,
    RunFailed,
    RunPaused,
    RunResumed,
)
from rightcall.serve.studio.run_items import At
from rightcall.serve.studio.to_json import Json

_SHORTEST = 0.001
"""Seconds that a span has at least."""


class TimelineSpan(Struct, kw_only=True):
    """A span, in seconds since 1970."""

    id: str
    item: str
    kind: str
    name: str
    turn: int
    start: float
    end: float
    open: bool = False
    """Whether it has not ended."""
    outcome: str = ""
    is_error: bool = False
    early: bool = False
    depth: int = 0
    words: str = ""
    lane: int = 0


def timeline_of(written: Sequence[At], now: float | None) -> Json:
    """The spans of a run; ``now`` is the current time, for a run that is under way."""
    has_times = bool(written) and written[0][1] is not None
    timed = written if has_times else _invent_times(written)
    times = [at for _, at in timed if at is not None]
    begun = times[0] if times else 0.0
    spans = list(_spans(timed, now, 0, ""))
    # Assign each span a lane in which no other span overlaps it; the first lane is the model's.
    spans.sort(key=lambda each: (each.start, each.kind != "model"))
    ends: dict[int, float] = {}
    for each in spans:
        if each.kind in ("model", "wait") and not each.depth:
            each.lane = 0
            continue
        each.lane = 1
        while each.lane in ends and ends[each.lane] > each.start + _SHORTEST / 2:
            each.lane += 1
        ends[each.lane] = each.end
    end = max([*times, *[each.end for each in spans]], default=begun)
    begun = min([begun, *[each.start for each in spans]])
    shown = []
    for each in spans:
        start = round(each.start - begun, 6)
        shown.append(asdict(each) | {"start": start, "end": round(each.end - begun, 6)})
    return {
        "start": begun,
        "seconds": round(end - begun, 6),
        "how": "written" if has_times else "made up",
        "note": "" if has_times else "This journal keeps no times: lengths are true, places are not.",
        "lanes": len(ends) + 1,
        "is_live": any(each.open for each in spans),
        "spans": shown,
    }


def _spans(written: Sequence[At], now: float | None, depth: int, path: str) -> Iterator[TimelineSpan]:
    walk = _SpanWalk(now, depth, path)
    inside: dict[str, list[At]] = {}
    found: list[TimelineSpan] = []
    last: float | None = None
    for entry, at in written:
        if isinstance(entry, Nested):
            inside.setdefault(entry.path, []).append((entry.entry, at))
        elif at is not None:
            found += walk.take(entry, at)
        if at is not None:
            last = at
    found += walk.rest(last)
    for span in found:
        if span.kind == "tool" and span.id.removeprefix(path) in inside:
            span.kind = "agent"
    yield from found
    for key, below in inside.items():
        yield from _spans(below, now, depth + 1, f"{path}{key}/")


class _SpanWalk:
    """Goes through the entries of one run."""

    def __init__(self, now: float | None, depth: int, path: str) -> None:
        self._now = now
        self._depth = depth
        self._path = path
        self._asked: dict[str, float] = {}
        self._started: dict[str, float] = {}
        self._replied = 0.0
        self._paused: tuple[str, float] | None = None

    def take(self, entry: object, at: float) -> Iterator[TimelineSpan]:
        match entry:
            case RequestSent(key=key):
                self._asked[key] = at
            case ReplyReceived(key=key, reply=reply, seconds=seconds):
                # The request was recorded before it was sent; the reply has its own duration.
                asked = self._asked.pop(key, at - seconds)
                self._replied = at
                usage = reply.usage
                words = f"{seconds:.2f} s, {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
                yield self._span(
                    key, "model", reply.answered_by or reply.model or "model", max(asked, at - seconds),
                    at, reply.stop, words=words, is_error=reply.stop == "error",
                )  # fmt: skip
            case CallStarted(key=key):
                self._started[key] = at
            case CallFinished(key=key, result=result, seconds=seconds):
                start = min(self._started.pop(key, at), at - seconds)
                if result.outcome != "interrupted":
                    words = f"{seconds:.2f} s"
                    if entry.attempts > 1:
                        words += f", {entry.attempts} tries"
                    yield self._span(
                        key, "tool", result.name, start, at, result.outcome, words=words,
                        is_error=result.is_error, early=start < self._replied,
                    )  # fmt: skip
            case RunPaused(key=key):
                self._paused = (key, at)
            case RunResumed() if self._paused is not None:
                key, since = self._paused
                self._paused = None
                yield self._span(
                    key, "wait", "a person", since, at, "decided", words=f"{at - since:.1f} s"
                )
            case RunEnded() | RunFailed():
                self._asked = {}
                self._started = {}
                self._paused = None
            case _:
                pass

    def rest(self, last: float | None) -> Iterator[TimelineSpan]:
        """The spans that have not ended; in a run that is under way, they reach until now."""
        is_open = self._now is not None
        end = self._now if is_open else last
        if end is None:
            return
        for key, start in self._asked.items():
            yield self._span(key, "model", "model", start, end, "asking", open=is_open)
        for key, start in self._started.items():
            name = key.split(".", 2)[-1]
            yield self._span(key, "tool", name, start, end, "running", open=is_open)
        if self._paused is not None:
            key, since = self._paused
            yield self._span(key, "wait", "a person", since, end, "waiting", open=is_open)

    def _span(
        self, key: str, kind: str, name: str, start: float, end: float, outcome: str, **more: object
    ) -> TimelineSpan:
        head = (self._path or key).partition(".")[0]
        turn = int(head[1:]) if head[1:].isdigit() else 0
        return TimelineSpan(
            id=f"{self._path}{key}",
            item=f"t{turn}",
            kind=kind,
            name=name,
            turn=turn,
            start=start,
            end=max(end, start + _SHORTEST),
            outcome=outcome,
            depth=self._depth,
            **more,  # type: ignore[arg-type]
        )


def _invent_times(written: Sequence[At]) -> list[At]:
    """Entries with the times that they would have, one after the other, from 0."""
    clock = 0.0
    found = list[At]()
    for entry, _ in written:
        inner = entry
        while isinstance(inner, Nested):
            inner = inner.entry
        if isinstance(inner, ReplyReceived | CallFinished) and inner is entry:
            clock += inner.seconds
        found.append((entry, clock))
    return found
