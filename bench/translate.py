"""A streamed reply of one vendor into a stream for the clients of another: microseconds a delta.

Bytes in, bytes out, and nothing else: the vendor's decoder, the client's writer, one event a read. A
reply ten times as long must take ten times as long, so both are timed. Run it by itself:
``python bench/translate.py``.
"""

import time

from rightcall.core.events import reply_events
from rightcall.core.message import Reply, user_text
from rightcall.core.parts import Call, Text, Usage
from rightcall.core.request import ClientRequest, ReplyHeader, Request
from rightcall.wire.dialects import SERVED, load, load_server

SHORT, LONG = 2_000, 20_000
ROUNDS = 3
PIECE = "word "
ASKED = ClientRequest(request=Request(messages=(user_text("Hi"),)), model="m", stream=True)
ANSWER = ReplyHeader(id="abc123", model="m", created=5)
USAGE = Usage(input_tokens=9, output_tokens=4)


def pieces(vendor: str, deltas: int, *, calls: bool) -> list[bytes]:
    """A vendor's stream, event by event."""
    text = PIECE * deltas
    call = Call(id="c", name="write", arguments='{"t": "' + text[9:] + '"}')
    said_by_it = Reply((call,), "calls", usage=USAGE) if calls else Reply((Text(text),), usage=USAGE)
    writer = load_server(vendor).writer(ASKED, ANSWER)
    return [writer.write(event) for event in reply_events(said_by_it, len(PIECE))]


def seconds(vendor: str, client: str, stream: list[bytes]) -> float:
    """The CPU time of one translation, the best of a few."""
    best = float("inf")
    for _ in range(ROUNDS):
        decoder, writer = load(vendor).decoder(), load_server(client).writer(ASKED, ANSWER)
        began = time.process_time()
        for piece in stream:
            for event in decoder.feed(piece):
                writer.write(event)
        for event in decoder.finish():
            writer.write(event)
        best = min(best, time.process_time() - began)
    return best


def main() -> None:
    """Print a table."""
    print(f"{'from':18}{'to':18}{'what':7}{f'{SHORT:,}':>9}{f'{LONG:,}':>9}  microseconds a delta")
    for vendor in SERVED:
        for calls in (False, True):
            if vendor == "gemini" and calls:
                # Its calls come whole.
                continue
            streams = [pieces(vendor, deltas, calls=calls) for deltas in (SHORT, LONG)]
            for client in SERVED:
                short, long = [seconds(vendor, client, stream) for stream in streams]
                what = "calls" if calls else "text"
                times = f"{short / SHORT * 1e6:9.2f}{long / LONG * 1e6:9.2f}"
                print(f"{vendor:18}{client:18}{what:7}{times}")


if __name__ == "__main__":
    main()
