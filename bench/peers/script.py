"""What the vendor says: the replies of each kind of work, as the bytes of two dialects.

Standard library only: every peer's environment reads this file.
"""

import json
from dataclasses import dataclass

CITY = "Reykjavik district "
ANSWER = "It is sunny in every one of the places that you asked about today."
PIECE = 4


@dataclass(frozen=True)
class Script:
    """A conversation: ``turns`` replies of ``calls`` calls each, then the answer."""

    turns: int = 1
    calls: int = 1
    letters: int = 0
    """Letters that each call's argument is filled up with."""
    seconds: float = 0.0
    """How long the first reply takes to come, its calls first; the tools take as long."""

    def city(self, turn: int, call: int) -> str:
        return (f"{CITY}{turn}.{call}").ljust(self.letters, "x")

    def arguments(self, turn: int, call: int) -> str:
        return json.dumps({"city": self.city(turn, call), "unit": "celsius"})


SCRIPTS = {
    "turns1": Script(),
    "turns3": Script(turns=3),
    "turns10": Script(turns=10),
    "turns100": Script(turns=100),
    "calls8": Script(calls=8),
    "parallel": Script(calls=8),
    "sleep": Script(),
    "deltas": Script(letters=200_000),
    "slow": Script(calls=4, seconds=1.0),
}


def pieces(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def chat_frames(script: Script, turn: int) -> list[bytes]:
    """OpenAI Chat, streamed."""

    def frame(delta: object, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        return b"data: " + dense({**head, "choices": [choice], "usage": None}) + b"\n\n"

    frames = [frame({"role": "assistant", "content": None})]
    if turn < script.turns:
        for index in range(script.calls):
            function = {"name": "get_weather", "arguments": ""}
            start = {"index": index, "id": f"call_{turn}_{index}", "type": "function"}
            frames.append(frame({"tool_calls": [{**start, "function": function}]}))
            frames += [
                frame({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
                for piece in pieces(script.arguments(turn, index))
            ]
    if turn >= script.turns or script.seconds:
        frames += [frame({"content": piece}) for piece in pieces(ANSWER)]
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return [
        *frames,
        frame({}, "tool_calls" if turn < script.turns else "stop"),
        b"data: " + dense({**head, "choices": [], "usage": usage}) + b"\n\n",
        b"data: [DONE]\n\n",
    ]


def chat_whole(script: Script, turn: int) -> bytes:
    """OpenAI Chat, not streamed."""
    more = turn < script.turns
    calls = [
        {
            "id": f"call_{turn}_{index}",
            "type": "function",
            "function": {"name": "get_weather", "arguments": script.arguments(turn, index)},
        }
        for index in range(script.calls)
    ]
    said = {"content": None, "tool_calls": calls} if more else {"content": ANSWER}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "refusal": None, **said},
        "logprobs": None,
        "finish_reason": "tool_calls" if more else "stop",
    }
    return dense(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }
    )


def messages_frames(script: Script, turn: int) -> list[bytes]:
    """Anthropic Messages, streamed."""

    def frame(value: dict[str, object]) -> bytes:
        return b"event: %s\ndata: %s\n\n" % (str(value["type"]).encode(), dense(value))

    def block(index: int, start: object, deltas: list[dict[str, str]]) -> list[bytes]:
        return [
            frame({"type": "content_block_start", "index": index, "content_block": start}),
            *[frame({"type": "content_block_delta", "index": index, "delta": each}) for each in deltas],
            frame({"type": "content_block_stop", "index": index}),
        ]

    more = turn < script.turns
    usage = {"input_tokens": 100, "output_tokens": 1}
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    ends = {"stop_reason": None, "stop_sequence": None}
    frames = [frame({"type": "message_start", "message": {**start, **ends, "usage": usage}})]
    for index in range(script.calls if more else 0):
        used = {"type": "tool_use", "id": f"call_{turn}_{index}", "name": "get_weather", "input": {}}
        fragments = pieces(script.arguments(turn, index))
        deltas = [{"type": "input_json_delta", "partial_json": each} for each in fragments]
        frames += block(index, used, deltas)
    if not more or script.seconds:
        deltas = [{"type": "text_delta", "text": each} for each in pieces(ANSWER)]
        frames += block(script.calls if more else 0, {"type": "text", "text": ""}, deltas)
    stop = {"stop_reason": "tool_use" if more else "end_turn", "stop_sequence": None}
    return [
        *frames,
        frame({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 20}}),
        frame({"type": "message_stop"}),
    ]


def messages_whole(script: Script, turn: int) -> bytes:
    """Anthropic Messages, not streamed."""
    more = turn < script.turns
    calls: list[object] = [
        {
            "type": "tool_use",
            "id": f"call_{turn}_{index}",
            "name": "get_weather",
            "input": json.loads(script.arguments(turn, index)),
        }
        for index in range(script.calls)
    ]
    return dense(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": calls if more else [{"type": "text", "text": ANSWER}],
            "stop_reason": "tool_use" if more else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 20},
        }
    )


def dense(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
