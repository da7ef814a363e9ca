"""The objects that a Restate server stores for us: journals, long values, live events, limits.

The server runs the handlers of one object one at a time, in a worker, and stores the state that they
set. A handler is run again if its worker dies, and must then do the same: so the current time is passed
in with the call. Only the parts of an object's state that a call needs are read.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

from msgspec.json import encode

from rightcall.core.optional_libraries import load
from rightcall.durable.engine import JOURNAL_VERSION

JOURNAL = f"rightcall{JOURNAL_VERSION}_journal"
BLOB = f"rightcall{JOURNAL_VERSION}_blob"
LIVE = f"rightcall{JOURNAL_VERSION}_live"
SAID = f"rightcall{JOURNAL_VERSION}_said"
LIMIT = f"rightcall{JOURNAL_VERSION}_limit"
WATCHERS = "watchers"
"""The one live-events object without events: it holds until when each run is watched."""
_BUSY = 0.2
"""Seconds until a segment asks again after it found the limit of running segments reached."""
_KEPT = 256
"""How many publications of a run can be read at a time: those of ten seconds."""
_HEAD = "head"
_NEW: Mapping[str, Any] = {
    "attempt": 0,
    "left": 0,
    "steps": 0,
    "over": "",
    "worker": "",
    "forked_from": "",
    "at": 0.0,
}


async def _head(context: Any) -> dict[str, Any]:
    return await context.get(_HEAD) or dict(_NEW)


def _refusal(head: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    """Who holds the segment, if it is not the execution that calls; empty if it is."""
    if head["over"]:
        return f"nobody: it is {head['over']}"
    if head["attempt"] == told["attempt"]:
        return ""
    return str(head["worker"])


def _keep(context: Any, head: dict[str, Any], key: str, value: str, at: float) -> None:
    context.set(f"s/{head['steps']:09d}", {"key": key, "value": value, "at": at})
    head |= {"steps": head["steps"] + 1, "at": at}


async def begin(context: Any, told: dict[str, Any]) -> dict[str, Any]:
    """Give the segment to an execution: from now on no older one can record."""
    head = await _head(context)
    if head["over"]:
        return {"over": head["over"]}
    head |= {"attempt": head["attempt"] + 1, "worker": told["worker"], "at": told["at"]}
    context.set(_HEAD, head)
    context.set("job", told["job"])
    return {"over": "", "attempt": head["attempt"], "deaths": head["attempt"] - 1 - head["left"]}


async def record(context: Any, told: dict[str, Any]) -> str:
    """Store a step of the execution that holds the segment."""
    head = await _head(context)
    if held := _refusal(head, told):
        return held
    _keep(context, head, told["key"], told["value"], told["at"])
    context.set(_HEAD, head)
    return ""


async def leave(context: Any, told: dict[str, Any]) -> str:
    """Note that an execution stopped although its process lives, so that it does not count as a death.

    Another execution may hold the segment by now, so the holder is not checked.
    """
    head = await _head(context)
    if not head["over"] and told["attempt"] <= head["attempt"]:
        context.set(_HEAD, head | {"left": head["left"] + 1})
    return ""


async def finish(context: Any, told: dict[str, Any]) -> str:
    """Store how the segment ended."""
    head = await _head(context)
    if held := _refusal(head, told):
        return held
    context.set("end", told["end"])
    context.set(_HEAD, head | {"over": told["end"]["status"], "at": told["at"]})
    return ""


async def fence(context: Any, told: dict[str, Any]) -> None:
    """End the segment here: a process that still executes it can record nothing more."""
    head = await _head(context)
    if not head["over"]:
        context.set(_HEAD, head | {"over": "cancelled", "at": told["at"]})
        context.set("end", {"status": "cancelled"})


async def seed(context: Any, told: dict[str, Any]) -> None:
    """Begin a fork with the steps that it copies from its run."""
    context.clear_all()
    head = dict(_NEW) | {"forked_from": told["forked_from"], "at": told["at"]}
    for step in told["steps"]:
        _keep(context, head, step["key"], step["value"], step["at"])
    context.set(_HEAD, head)


async def forget(context: Any, _: dict[str, Any]) -> None:
    """Delete the whole state."""
    context.clear_all()


async def own(context: Any, told: dict[str, Any]) -> bool:
    """Add a run as an owner; returns whether the value is stored already."""
    keys = await context.state_keys()
    context.set(f"for/{told['run']}", {"at": told["at"]})
    return "whole" in keys


async def piece(context: Any, data: bytes) -> None:
    """Store a piece: its number in six digits, then the bytes."""
    number = data[:6].decode()
    context.set(f"p/{number}", data[6:], serde=load("restate.serde").BytesSerde())


async def whole(context: Any, pieces: int) -> None:
    """Note that all pieces are stored."""
    context.set("whole", pieces)


async def disown(context: Any, told: dict[str, Any]) -> bool:
    """Remove a run as an owner; returns whether it was the last, and the value is deleted."""
    name = f"for/{told['run']}"
    keys = await context.state_keys()
    if name not in keys:
        return False
    if any(key.startswith("for/") and key != name for key in keys):
        context.clear(name)
        return False
    context.clear_all()
    return True


def events_of(run: str) -> str:
    """The name of the object with the live events of a run."""
    return f"run/{run}"


async def watch(context: Any, told: dict[str, Any]) -> None:
    """Note, in the watchers object, that a run is watched, for so many seconds."""
    context.set(told["run"], told["until"])
    delay = timedelta(seconds=told["seconds"])
    context.generic_send(LIVE, "unwatch", encode(told), key=WATCHERS, send_delay=delay)


async def unwatch(context: Any, told: dict[str, Any]) -> None:
    """Delete the live events of a run, unless a watcher has registered again since."""
    if await context.get(told["run"]) == told["until"]:
        context.clear(told["run"])
        context.generic_send(LIVE, "forget", b"{}", key=events_of(told["run"]))


async def publish(context: Any, told: dict[str, Any]) -> None:
    """Store live events of a run for its watchers, and delete the oldest.

    Their numbers come from the time, so that they keep growing even after all were deleted.
    """
    kept = sorted(key for key in await context.state_keys() if key.startswith("e/"))
    after = int(kept[-1].removeprefix("e/")) + 1 if kept else 0
    context.set(f"e/{max(after, int(told['at'] * 1000)):015d}", told["texts"])
    for key in kept[:-_KEPT]:
        context.clear(key)


async def say(context: Any, told: dict[str, Any]) -> bool:
    """Store a message to a run after all others; false if the run takes no more."""
    state: dict[str, Any] = await context.get(_HEAD) or {"last": 0, "closed": False}
    if f"n/{told['name']}" in await context.state_keys():
        return True
    if state["closed"]:
        return False
    number = state["last"] + 1
    context.set(f"m/{number:09d}", {"said": told["said"], "urgent": told["urgent"]})
    context.set(f"n/{told['name']}", number)
    context.set(_HEAD, state | {"last": number})
    return True


async def close(context: Any, told: dict[str, Any]) -> bool:
    """Take no more messages to a run, unless there is one with a greater number."""
    state: dict[str, Any] = await context.get(_HEAD) or {"last": 0, "closed": False}
    if state["last"] > told["number"]:
        return bool(state["closed"])
    context.set(_HEAD, state | {"closed": True})
    return True


async def take(context: Any, told: dict[str, Any]) -> float:
    """Count a segment as running, and return 0; or return the seconds after which to ask again.

    A segment that counts as running already may go on: its worker died, or was closed.
    """
    going: list[str] = await context.get("going") or []
    starts: list[float] = await context.get("starts") or []
    if told["segment"] in going:
        return 0.0
    if told["everywhere"] is not None and len(going) >= told["everywhere"]:
        return _BUSY
    if told["rate"] is not None:
        most, seconds = told["rate"]
        starts = [at for at in starts if at > told["now"] - seconds]
        if len(starts) >= most:
            return max(float(starts[0] + seconds - told["now"]), 0.001)
        context.set("starts", [*starts, told["now"]])
    if told["everywhere"] is not None:
        context.set("going", [*going, told["segment"]])
    return 0.0


async def release(context: Any, told: dict[str, Any]) -> None:
    """No longer count a segment that has ended as running."""
    going: list[str] = await context.get("going") or []
    if told["segment"] in going:
        context.set("going", [each for each in going if each != told["segment"]])


def journals() -> Any:
    """The object that stores the journal of a segment, by its id."""
    return _object(JOURNAL, begin, record, leave, finish, fence, seed, forget)


def limits() -> Any:
    """The object that counts the running and started segments of a queue, or of a lane of it."""
    return _object(LIMIT, take, release)


def live() -> Any:
    """The objects of live events: one that holds which runs are watched, and one for each of those."""
    return _object(LIVE, watch, unwatch, publish, forget)


def messages() -> Any:
    """The object that stores the messages to a run, by the run's name."""
    return _object(SAID, say, close, forget)


def blobs() -> Any:
    """The object that stores one long value, by its hash: in pieces, and with its owners."""
    blob = _object(BLOB, own, whole, disown)
    as_bytes = load("restate.serde").BytesSerde()
    blob.handler(accept="application/octet-stream", input_serde=as_bytes)(piece)
    return blob


def _object(name: str, *handlers: Callable[..., Awaitable[Any]]) -> Any:
    made = load("restate").VirtualObject(
        name,
        enable_lazy_state=True,
        # A call's input need not be kept once it has ended: only the state counts.
        journal_retention=timedelta(0),
        invocation_retry_policy=soon_and_for_ever(),
    )
    for handler in handlers:
        made.handler()(handler)
    return made


def soon_and_for_ever() -> Any:
    """How often the server retries while no worker answers.

    By default it would wait longer and longer, and at last for a person; meanwhile every other call of
    the same object waits behind that one.
    """
    return load("restate").InvocationRetryPolicy(
        initial_interval=timedelta(milliseconds=50),
        exponentiation_factor=2.0,
        max_interval=timedelta(seconds=1),
        max_attempts=1_000_000_000,
    )
