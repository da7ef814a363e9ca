"""The scenarios as Ollama's own Chat says them."""

import json
from typing import Any

from rightcall.core.message import Reply
from rightcall.core.parts import Call, Text, Usage
from rightcall.core.ports import Dialect
from rightcall.wire import ollama

dialect: Dialect = ollama
MODEL = "qwen3"
MARKS = ()
SECRET = "I must look."
USAGE = Usage(input_tokens=20, output_tokens=10)
COUNTS = {
    "total_duration": 5_191_566_416,
    "load_duration": 2_154_458,
    "prompt_eval_count": 20,
    "prompt_eval_duration": 383_809_000,
    "eval_count": 10,
    "eval_duration": 4_799_921_000,
}

Json = dict[str, Any]


def line(message: Json, *, done: bool = False, **more: Any) -> Json:
    made = {"model": MODEL, "created_at": "2026-11-16T00:00:00Z"}
    return {**made, "message": {"role": "assistant", "content": "", **message}, "done": done, **more}


def stream(*lines: Json) -> bytes:
    return b"".join(json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in lines)


def wire(lines: list[Json], message: Json, stop: str = "stop", **more: Any) -> tuple[bytes, bytes]:
    over = {"done_reason": stop, **COUNTS, **more}
    whole = json.dumps(line(message, done=True, **over), ensure_ascii=False).encode()
    return stream(*lines, line({}, done=True, **over)), whole


def used(id_: str, arguments: Any, name: str = "look", at: int = 0) -> Json:
    return {"id": id_, "function": {"index": at, "name": name, "arguments": arguments}}


def calls(*made: Json) -> Json:
    return {"tool_calls": list(made)}


FACE = "\N{GRINNING FACE}"
ONE = used("call_1", {"q": "x"})
TWO = used("call_2", {"q": "y"}, at=1)
SPLIT = used("call_1", {"q": f"\u2028é{FACE}"})
OPEN = stream(line({"content": "Let me "}), line({"content": "look."}), line(calls(ONE)))
ERROR = {"error": "Overloaded"}

WIRES: dict[str, tuple[bytes, bytes]] = {
    "single-call": wire([line(calls(ONE))], calls(ONE)),
    "parallel-calls": wire([line(calls(ONE)), line(calls(TWO))], calls(ONE, TWO)),
    "no-arguments": wire([line(calls(used("call_1", {}, "now")))], calls(used("call_1", {}, "now"))),
    "empty-arguments": wire(
        [line(calls(used("call_1", None, "now")))], calls(used("call_1", None, "now"))
    ),
    "unicode": wire(
        [line({"content": "a\u2028b"}), line({"content": FACE}), line(calls(SPLIT))],
        {"content": f"a\u2028b{FACE}", **calls(SPLIT)},
    ),
    "truncated-call": wire(
        [line({"content": "Let me "}), line({"content": "look."})],
        {"content": "Let me look."},
        stop="length",
    ),
    "refusal": wire([], {}),
    "unknown": wire(
        [line({"content": "Hi"}), {**line({}), "mystery": 1}], {"content": "Hi", "mystery": [1]}
    ),
    "stop-sequence": wire(
        [line({"content": "One, "}), line({"content": "two"})], {"content": "One, two"}
    ),
    "usage": wire([line({"content": "Hi"})], {"content": "Hi"}, prompt_eval_count=100, eval_count=50),
    "reasoning": wire(
        [
            line({"thinking": "I must "}),
            line({"thinking": "look."}),
            line({"content": "Let me look."}),
            line(calls(ONE)),
        ],
        {"thinking": SECRET, "content": "Let me look.", **calls(ONE)},
    ),
    "cited": wire([line({"content": "It "}), line({"content": "rains."})], {"content": "It rains."}),
    "made": wire([], {}),
    "error-mid-stream": (stream(line({"content": "Hi"}), ERROR), json.dumps(ERROR).encode()),
}
SECRETS = (SECRET.encode(),)
RETURNED: dict[str, list[Any]] = {
    "reasoning": [
        {"role": "assistant", "content": "Let me look.", "thinking": SECRET, **calls(ONE)},
    ],
    "unknown": [{"role": "assistant", "content": "Hi"}],
}
INSTEAD: dict[tuple[str, str], Any] = {}
for _form in ("streamed", "whole"):
    INSTEAD |= {
        ("empty-arguments", _form): Reply(
            (Call(id="call_1", name="now", arguments="{}"),), "calls", usage=USAGE
        ),
        ("truncated-call", _form): Reply((Text("Let me look."),), "length", usage=USAGE),
        ("refusal", _form): Reply((), "end", usage=USAGE),
        ("unknown", _form): Reply((Text("Hi"),), "end", usage=USAGE),
        ("stop-sequence", _form): Reply((Text("One, two"),), "end", usage=USAGE),
        ("usage", _form): Reply((Text("Hi"),), usage=Usage(input_tokens=100, output_tokens=50)),
        ("cited", _form): Reply((Text("It rains."),), "end", usage=USAGE),
        ("made", _form): Reply((), "end", usage=USAGE),
    }

ANSWER = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
SAID: dict[str, Json | str] = {
    "choice-auto": {},
    "choice-required": "choice",
    "choice-none": {"tools": None},
    "choice-named": "choice",
    "parallel-off": {},
    "strict-on": "tool 'look'",
    "strict-too-much": "tool 'look'",
    "strict-open": "tool 'look'",
    "structured-output": {"format": ANSWER},
    "logprobs": {"logprobs": True, "top_logprobs": 2},
    "stop-sequences": {"options": {"num_predict": 100, "stop": ["END", "\n\n"]}},
}


def model_turn(body: Json) -> list[Any]:
    """What the model said, as it is given back."""
    return [message for message in body["messages"] if message["role"] == "assistant"]


def outline(body: Json) -> list[tuple[Any, ...]]:
    """An independent reading of a request: who said what, which call, which result."""
    found: list[tuple[Any, ...]] = []
    for message in body["messages"]:
        words = message["content"]
        match message["role"]:
            case "user":
                found.append(("user", words))
            case "tool":
                plain, is_error = words.removeprefix("Error: "), words.startswith("Error: ")
                found.append(("result", message["tool_call_id"], plain, is_error))
            case "assistant":
                found += [("model", words)] if words else []
                for call in message.get("tool_calls", ()):
                    function = call["function"]
                    found.append(("call", call["id"], function["name"], function["arguments"]))
            case _:
                pass
    return found
