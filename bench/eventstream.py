"""One Bedrock reply of 50,000 small argument deltas: rightcall's decoder, and bare parsing.

Bare parsing is what nobody can do without: struct for the lengths, zlib for both checksums, JSON for the
payload. The bytes come in pieces of 16 KiB. Run: ``python bench/eventstream.py``.
"""

import json
import platform
import statistics
import struct
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any
from zlib import crc32

import msgspec

from rightcall.core.events import ReplyEnd
from rightcall.wire import bedrock

DELTAS = 50_000
ROUNDS = 7
PIECE = "abc "
SIZE = DELTAS * len(PIECE)
Loads = Callable[[bytes], Any]


def message(event: str, payload: object) -> bytes:
    named = {":event-type": event, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in named.items()
    )
    body = json.dumps(payload).encode()
    lengths = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    begun = lengths + struct.pack(">I", crc32(lengths)) + headers + body
    return begun + struct.pack(">I", crc32(begun))


def stream() -> list[bytes]:
    delta = {"contentBlockIndex": 0, "delta": {"toolUse": {"input": PIECE}}, "p": "abcdefghijklmno"}
    start = {"start": {"toolUse": {"toolUseId": "c", "name": "write"}}, "contentBlockIndex": 0}
    body = b"".join(
        [
            message("messageStart", {"role": "assistant"}),
            message("contentBlockStart", start),
            message("contentBlockDelta", delta) * DELTAS,
            message("contentBlockStop", {"contentBlockIndex": 0}),
            message("messageStop", {"stopReason": "tool_use"}),
            message("metadata", {"usage": {"inputTokens": 1, "outputTokens": 9}}),
        ]
    )
    return [body[at : at + 16384] for at in range(0, len(body), 16384)]


def payloads(chunks: list[bytes]) -> Iterator[bytes]:
    unpack, rest = struct.Struct(">III").unpack_from, b""
    for chunk in chunks:
        data, at = rest + chunk, 0
        while len(data) - at >= 12:
            length, headers, checksum = unpack(data, at)
            if length > len(data) - at:
                break
            assert crc32(data[at : at + 8]) == checksum
            end = at + length - 4
            assert crc32(data[at:end]) == int.from_bytes(data[end : end + 4])
            yield data[at + 12 + headers : end]
            at += length
        rest = data[at:]


def bare(chunks: list[bytes], loads: Loads) -> int:
    fragments = []
    for payload in payloads(chunks):
        delta = loads(payload).get("delta")
        if delta:
            fragments.append(delta["toolUse"]["input"])
    return len("".join(fragments))


def ours(chunks: list[bytes]) -> int:
    decoder = bedrock.Decoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    (end,) = [event for event in (*events, *decoder.finish()) if isinstance(event, ReplyEnd)]
    return len(end.reply.calls[0].arguments)


def main() -> None:
    chunks = stream()
    works: dict[str, Callable[[], int]] = {
        "bare: struct + zlib + json": lambda: bare(chunks, json.loads),
        "bare: struct + zlib + msgspec": lambda: bare(chunks, msgspec.json.Decoder().decode),
        "rightcall": lambda: ours(chunks),
    }
    print(f"Python {platform.python_version()}, msgspec {version('msgspec')}; {DELTAS:,} deltas")
    floor = 0.0
    for name, work in works.items():
        samples = []
        for _ in range(ROUNDS):
            begun = time.process_time()
            assert work() == SIZE
            samples.append(time.process_time() - begun)
        median = statistics.median(samples)
        floor = floor or median
        print(
            f"  {name:30} {median * 1e6 / DELTAS:6.2f} µs an event {median / floor:6.2f} x bare (aim: 2)"
        )


if __name__ == "__main__":
    main()
