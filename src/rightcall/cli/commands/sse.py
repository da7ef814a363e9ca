"""Show how each event of a recorded stream is decoded: the raw bytes of a model's reply."""

import json
import sys
from argparse import Namespace
from pathlib import Path

from msgspec.structs import replace

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.streams import Step, guess, reply_in, walk
from rightcall.cli.views import event_object, reply_object
from rightcall.cli.wiretap import BETWEEN
from rightcall.cli.wording import json_line, one_line, usage_words
from rightcall.core.jsontext import JsonObject
from rightcall.core.message import Reply
from rightcall.core.sanitize import printable
from rightcall.errors import UsageError

MAX_BYTES = 256 * 1024 * 1024
"""The largest dump that is read, in bytes."""
_WIDTH = 160


def run(options: Namespace) -> int:
    """Decode the dump, and print it."""
    data, at, code = _read(options.file), 0, OK
    # ask --raw writes a separator between replies; after it another reply begins.
    parts = data.split(BETWEEN)
    for number, part in enumerate(parts, 1):
        if len(parts) > 1 and not options.json:
            print(f"reply {number} of {len(parts)}")
        code = max(code, _tell_reply(options, part, at))
        at += len(part) + len(BETWEEN)
    return code


def _tell_reply(options: Namespace, data: bytes, at: int) -> int:
    dialect: str | None = options.dialect or guess(data)
    tell = _tell_json if options.json else _tell
    steps = []
    for each in walk(data, dialect):
        step = replace(each, offset=each.offset + at)
        tell(step)
        steps.append(step)
    reply, error = reply_in(steps), next((step.error for step in steps if step.error), "")
    if dialect is None:
        error = "these events are in no known dialect; name it with --dialect"
    end = _end_json if options.json else _end
    end(dialect, reply, error)
    return NO_ANSWER if reply is None or error else OK


def _read(file: str) -> bytes:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise UsageError(f"{file} holds more than {MAX_BYTES:,} bytes")
    return data


def _tell(step: Step) -> None:
    event = step.event
    if event is not None:
        name = f"{event.name} " if event.name else ""
        number = "" if event.id is None else f"id={event.id} "
        data = event.data[: 8 * _WIDTH].decode(errors="replace")
        print(f"{step.offset:>8}  {one_line(f'{name}{number}{data}', _WIDTH)}")
    else:
        print(f"{step.offset:>8}  ({'the end' if step.is_end else 'bytes outside of events'})")
    for became in _became(step):
        # The reply itself is printed at the end.
        left_out = {"event"} if became["event"] != "reply_end" else became.keys() - {"stop"}
        facts = {key: value for key, value in became.items() if key not in left_out}
        print(f"{'':>8}  -> {became['event']} {one_line(json.dumps(facts, ensure_ascii=False), _WIDTH)}")
    if step.error:
        print(f"{'':>8}  !! {one_line(step.error, 4 * _WIDTH)}")


def _end(dialect: str | None, reply: Reply | None, error: str) -> None:
    print(f"\ndialect: {dialect or 'unknown'}")
    if reply is not None:
        word = f" ({one_line(reply.stop_word, _WIDTH)})" if reply.stop_word else ""
        print(f"stop: {reply.stop}{word}\nusage: {usage_words(reply.usage)}")
        for call in reply.calls:
            print(printable(f"call: {call.name} {call.arguments}"))
        if reply.text:
            print(printable(f"text: {reply.text}"))
    if error:
        print(f"no reply: {one_line(error, 4 * _WIDTH)}")


def _tell_json(step: Step) -> None:
    event = step.event
    described = {
        "offset": step.offset,
        "name": None if event is None else event.name,
        "id": None if event is None else event.id,
        "data": None if event is None else event.data.decode(errors="replace"),
        "became": _became(step),
        "error": step.error or None,
    }
    sys.stdout.write(json_line(described))


def _end_json(dialect: str | None, reply: Reply | None, error: str) -> None:
    told = None if reply is None else reply_object(reply)
    sys.stdout.write(json_line({"dialect": dialect, "reply": told, "error": error or None}))


def _became(step: Step) -> list[JsonObject]:
    return [described for event in step.became if (described := event_object(event)) is not None]
