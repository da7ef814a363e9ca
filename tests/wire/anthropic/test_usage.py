"""What a reply that took several iterations comes to."""

import json
from typing import Any

import pytest

from later import Later
from rightcall.core.parts import Usage
from rightcall.wire import anthropic
from wire.recorded import reply_of, same_at_every_cut


def counts(kind: str = "", /, **more: int) -> dict[str, Any]:
    told = {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0}
    named = {"type": kind, **({"model": "claude-y"} if "_" in kind else {})} if kind else {}
    return {**named, **told, "cache_creation_input_tokens": 0, **more}


ROWS = {
    "compaction, which the whole leaves out": (
        counts(input_tokens=600, output_tokens=12),
        [
            counts("compaction", input_tokens=60_000, output_tokens=385),
            counts("message", input_tokens=600, output_tokens=12),
        ],
        Usage(input_tokens=60_600, output_tokens=397),
    ),
    "a pause after compaction": (
        counts(),
        [counts("compaction", input_tokens=50_000, output_tokens=300, cache_read_input_tokens=7)],
        Usage(input_tokens=50_007, output_tokens=300, cached_tokens=7),
    ),
    "an advisor, with the whole's input that of the first iteration": (
        counts(input_tokens=412, output_tokens=531),
        [
            counts("message", input_tokens=412, output_tokens=89),
            counts("advisor_message", input_tokens=823, output_tokens=1612),
            counts("message", input_tokens=1348, output_tokens=442, cache_creation_input_tokens=5),
        ],
        Usage(input_tokens=2588, output_tokens=2143, cache_written_tokens=5),
    ),
    "a fallback, after a model that declined": (
        counts(input_tokens=300, output_tokens=40),
        [
            counts("message", input_tokens=300, output_tokens=3),
            counts("fallback_message", input_tokens=300, output_tokens=40),
        ],
        Usage(input_tokens=600, output_tokens=43),
    ),
    "a loop of the vendor's own tools, which the whole has in it": (
        counts(input_tokens=900, output_tokens=70),
        [
            counts("message", input_tokens=400, output_tokens=30),
            counts("message", input_tokens=500, output_tokens=40),
        ],
        Usage(input_tokens=900, output_tokens=70),
    ),
}


@pytest.mark.parametrize(("whole", "iterations", "expected"), ROWS.values(), ids=ROWS)
def test_every_iteration_is_counted_once_streamed_or_whole(whole, iterations, expected):
    usage = {**whole, "iterations": iterations}
    Later("anthropic.types.beta").BetaUsage.model_validate(usage, strict=True)
    first = {"input_tokens": whole["input_tokens"], "output_tokens": 1}
    message = {"type": "message", "role": "assistant", "model": "m", "content": []}
    events = [
        {"type": "message_start", "message": {**message, "usage": first}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    ]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
    others = [each for each in iterations if each["type"] in ("advisor_message", "fallback_message")]
    sent = json.dumps({**message, "stop_reason": "end_turn", "usage": usage})
    for reply in (reply_of(same_at_every_cut(anthropic, body)), anthropic.decode(sent.encode())):
        assert reply.usage == expected
        assert [(each.input_tokens, each.output_tokens) for each in reply.elsewhere.values()] == [
            (each["input_tokens"], each["output_tokens"]) for each in others
        ]
        assert set(reply.elsewhere) <= {"claude-y"}


def test_a_gateway_that_says_what_it_charged_is_believed():
    usage = {"input_tokens": 5, "output_tokens": 1, "cost": 0.5}
    sent = json.dumps({"type": "message", "content": [], "stop_reason": "end_turn", "usage": usage})
    assert anthropic.decode(sent.encode()).usage.cost == 0.5
