"""Say what became of each event in a recorded event stream: the raw bytes of a model's reply.

For every event its place in the bytes, its name, its id and its data, then what a dialect's decoder made
of it; at the end the reply, or why there is none.
"""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rightcall.cli.exits import NO_ANSWER, OK
from rightcall.errors import UsageError
from rightcall.wire.dialects import DIALECTS

if TYPE_CHECKING:
    from rightcall.cli.streams import Step
    from rightcall.core.jsontext import JsonObject
    from rightcall.core.message import Reply

MAX_BYTES = 256 * 1024 * 1024
"""A dump of more bytes than this is not read."""
_WIDTH = 160


def add_arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="the dump; - for stdin")
    parser.add_argument(
        "--dialect",
        choices=sorted(DIALECTS),
        help="whose format it is; guessed from the first events unless given",
    )
    parser.add_argument("--json", action="store_true", help="a line of JSON for each event")
    parser.epilog = "exit codes: 0 the stream holds a whole reply, 1 it does not, 2 bad usage"


def run(options: Namespace) -> int:
    """Decode the dump, and tell."""
    from rightcall.cli.streams import guess, reply_in, walk  # noqa: PLC0415 - not for help

    data = _read(options.file)
    dialect: str | None = options.dialect or guess(data)
    tell = _tell_json if options.json else _tell
    steps = []
    for step in walk(data, dialect):
        tell(step)
        steps.append(step)
    reply, error = reply_in(steps), next((step.error for step in steps if step.error), "")
    if dialect is None:
        error = "these events are in no known dialect; name it with --dialect"
    if options.json:
        _end_json(dialect, reply, error)
    else:
        _end(dialect, reply, error)
    return NO_ANSWER if reply is None or error else OK


def _read(file: str) -> bytes:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with open(file, "rb") as opened:  # noqa: PTH123 - a light start
                data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise UsageError(f"{file} holds more than {MAX_BYTES:,} bytes")
    return data


def _tell(step: "Step") -> None:
    from rightcall.cli.safe import one_line  # noqa: PLC0415

    event = step.event
    if event is not None:
        name = f"{event.name} " if event.name else ""
        number = "" if event.id is None else f"id={event.id} "
        data = event.data[: 8 * _WIDTH].decode(errors="replace")
        print(f"{step.offset:>8}  {one_line(f'{name}{number}{data}', _WIDTH)}")
    else:
        print(f"{step.offset:>8}  ({'the end' if step.is_end else 'bytes outside of events'})")
    for became in _became(step):
        # The reply itself is told at the end.
        left_out = {"event"} if became["event"] != "reply_end" else became.keys() - {"stop"}
        facts = {key: value for key, value in became.items() if key not in left_out}
        print(f"{'':>8}  -> {became['event']} {one_line(_compact(facts), _WIDTH)}")
    if step.error:
        print(f"{'':>8}  !! {one_line(step.error, 4 * _WIDTH)}")


def _end(dialect: str | None, reply: "Reply | None", error: str) -> None:
    from rightcall.cli.safe import harmless, one_line  # noqa: PLC0415
    from rightcall.cli.words import tokens  # noqa: PLC0415

    print(f"\ndialect: {dialect or 'unknown'}")
    if reply is not None:
        word = f" ({one_line(reply.stop_word, _WIDTH)})" if reply.stop_word else ""
        print(f"stop: {reply.stop}{word}\nusage: {tokens(reply.usage)}")
        for call in reply.calls:
            print(harmless(f"call: {call.name} {call.arguments}"))
        if reply.text:
            print(harmless(f"text: {reply.text}"))
    if error:
        print(f"no reply: {one_line(error, 4 * _WIDTH)}")


def _tell_json(step: "Step") -> None:
    from rightcall.cli.described import line_of  # noqa: PLC0415

    event = step.event
    described = {
        "offset": step.offset,
        "name": None if event is None else event.name,
        "id": None if event is None else event.id,
        "data": None if event is None else event.data.decode(errors="replace"),
        "became": _became(step),
        "error": step.error or None,
    }
    sys.stdout.write(line_of(described))


def _end_json(dialect: str | None, reply: "Reply | None", error: str) -> None:
    from rightcall.cli.described import line_of, reply_object  # noqa: PLC0415

    told = None if reply is None else reply_object(reply)
    sys.stdout.write(line_of({"dialect": dialect, "reply": told, "error": error or None}))


def _became(step: "Step") -> "list[JsonObject]":
    from rightcall.cli.described import event_object  # noqa: PLC0415

    return [described for event in step.became if (described := event_object(event)) is not None]


def _compact(facts: "JsonObject") -> str:
    import json  # noqa: PLC0415

    return json.dumps(facts, ensure_ascii=False)
