"""What encoding a request and decoding a reply take in each dialect, in instructions.

Counted by valgrind's callgrind, so that it is the same whatever else the machine is doing: it writes
down what it has counted whenever a process asks for its parent, which this one does before and after
each thing. ``--against SRC`` counts another version of rightcall too, whose ``src`` that is, and prints
how many times of its counts these are. Run: ``python bench/dialects.py``.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from pathlib import Path

from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Message, Reply, Results, user_text
from rightcall.core.parts import Call, Result, Text, Usage
from rightcall.core.request import Request
from rightcall.core.tool import Spec
from rightcall.wire.dialects import load

MODELS = {
    "anthropic": "claude-opus-4-8",
    "gemini": "gemini-3-pro",
    "openai_chat": "gpt-5",
    "openai_responses": "gpt-5",
}
WORK = ("stream", "whole", "request", "turns")
OFTEN = 2
TURNS = 20
TOOLS = 10
WORDS = 100
"""Deltas of text in the reply."""
SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Where."},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city"],
}
SPECS = tuple(
    Spec(name=f"weather_{at}", description="The weather of a city.", parameters=SCHEMA)
    for at in range(TOOLS)
)


def replied() -> Reply:
    """What is streamed, and what comes whole."""
    calls = [
        Call(id=f"call_{at}", name="weather_1", arguments='{"city": "' + "Ro " * WORDS + '"}')
        for at in range(2)
    ]
    return Reply(
        (Text("word " * WORDS), *calls), "calls", usage=Usage(input_tokens=900, output_tokens=900)
    )


def write_replies(folder: Path) -> None:
    """Each dialect's reply, as a stream and whole."""
    from rightcall.core.events import reply_events  # noqa: PLC0415 - an earlier version need not have these
    from rightcall.core.request import ClientRequest, ReplyHeader  # noqa: PLC0415
    from rightcall.wire.dialects import load_server  # noqa: PLC0415

    asked = ClientRequest(request=Request(messages=(user_text("Hi"),)), model="m", stream=True)
    answer = ReplyHeader(id="abc123", model="m", created=5)
    for name in MODELS:
        server = load_server(name)
        writer = server.writer(asked, answer)
        pieces = [writer.start(), *[writer.write(event) for event in reply_events(replied(), 5)]]
        (folder / f"{name}.stream").write_bytes(b"".join(pieces))
        (folder / f"{name}.whole").write_bytes(server.encode_reply(replied(), asked, answer))


def conversation() -> tuple[Message, ...]:
    """Turns of a question, a call and its result, and an answer."""
    messages: list[Message] = []
    for turn in range(TURNS):
        call = Call(id=f"call_{turn}", name="weather_1", arguments='{"city": "Rome", "days": 3}')
        seen = (Text('{"high": 21, "low": 9, "sky": "clear"}'),)
        result = Result(call_id=call.id, name=call.name, outcome="returned", content=seen)
        messages += [
            user_text("What is the weather in Rome?"),
            Reply((call,), "calls"),
            Results((result,)),
            Reply((Text("It is clear, with up to 21 degrees."),)),
        ]
    return (*messages, user_text("And tomorrow?"))


def decoded(name: str, pieces: list[bytes]) -> None:
    decoder = load(name).decoder()
    for piece in pieces:
        decoder.feed(piece)
    decoder.finish()


def asked_in_turns(name: str, messages: tuple[Message, ...]) -> None:
    """A conversation that is sent again with each turn, as a run does."""
    encode = load(name).encoder()
    for end in range(1, len(messages) + 1, 4):
        encode(Request(messages=messages[:end], specs=SPECS), model=MODELS[name], stream=True)


def work(what: str, name: str, folder: Path) -> Callable[[], object]:
    """The thing to be counted."""
    match what:
        case "stream":
            body = (folder / f"{name}.stream").read_bytes()
            pieces = [piece + b"\n\n" for piece in body.split(b"\n\n") if piece]
            return partial(decoded, name, pieces)
        case "whole":
            return partial(load(name).decode, (folder / f"{name}.whole").read_bytes())
        case "request":
            request = Request(messages=conversation(), specs=SPECS, system="Be brief.")
            return partial(load(name).encode, request, model=MODELS[name], stream=True)
        case _:
            return partial(asked_in_turns, name, conversation())


def counted(folder: Path) -> None:
    """Do everything, and mark where each begins and ends."""
    for name, what in product(MODELS, WORK):
        do = work(what, name, folder)
        do()
        os.getppid()
        for _ in range(OFTEN):
            do()
        os.getppid()


def counts(source: Path, folder: Path) -> Mapping[tuple[str, str], float]:
    """Instructions that doing each thing once takes."""
    out = folder / f"count.{len(list(folder.iterdir()))}"
    subprocess.run(
        [
            *("valgrind", "--tool=callgrind", "--dump-before=getppid", f"--callgrind-out-file={out}"),
            *(sys.executable, __file__, "--work", str(folder)),
        ],
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "PYTHONHASHSEED": "0", "PYTHONPATH": str(source)},
    )
    found = {}
    for at, each in enumerate(product(MODELS, WORK), 1):
        written = Path(f"{out}.{2 * at}").read_text()
        told = re.search(r"^(?:totals|summary): (\d+)", written, re.MULTILINE)
        assert told, each
        found[each] = int(told[1]) / OFTEN
    return found


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--against", type=Path)
    reader.add_argument("--work", type=Path)
    given = reader.parse_args()
    if given.work:
        counted(given.work)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_replies(Path(folder))
        now = counts(Path(__file__).parent.parent / "src", Path(folder))
        before = counts(given.against, Path(folder)) if given.against else {}
    for each, count in now.items():
        times = f"  {count / before[each]:.2f} times" if each in before else ""
        print(f"{each[0]:18}{each[1]:9}{count / 1e6:9.3f} million{times}")


if __name__ == "__main__":
    main()
