"""Good and hostile pieces of OpenAI's chat stream, as bytes."""

import json


def chunk(delta: dict, finish: str | None = None) -> bytes:
    """One event of the stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({"id": "r", "model": "m", "choices": [choice]})


def event(data: object) -> bytes:
    """Anything, framed as an event."""
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def calling(name: str, arguments: str, *, index: object = 0, id: str | None = "c1") -> bytes:  # noqa: A002
    """A call, whole, in one event."""
    return chunk(
        {"tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}]}
    )


DONE = b"data: [DONE]\n\n"
TEXT = (
    chunk({"role": "assistant", "content": "Do"}),
    chunk({"content": "ne."}),
    chunk({}, "stop"),
    DONE,
)
CALLS = (calling("look", '{"place": "attic"}'), chunk({}, "tool_calls"), DONE)
