"""Vendors that answer with what no vendor should, as bytes over HTTP on loopback."""

import asyncio
import gzip
import json
import struct
import zlib
from functools import cache

from chaos.openai_stream import CALLS, DONE, TEXT, calling, chunk, event
from request.server import Answer, dropped, endless, head, streamed, whole

PIECES = b"".join(CALLS)


def raw(*pieces: bytes, pause: float = 0.0) -> Answer:
    """These bytes in place of an answer, and then the end of the connection."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)
        writer.close()

    return answer


def slow(data: bytes, pause: float) -> Answer:
    """An answer byte by byte."""
    return streamed(*[bytes([byte]) for byte in data], pause=pause)


def compressed(body: bytes, how: str) -> Answer:
    """A whole answer that says that it is compressed."""
    return whole(body, kind="text/event-stream", content_encoding=how)


@cache
def bomb() -> bytes:
    """Some hundred kB that become 200 MB: one packed piece 200 times, as each begins anew."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece, many = b": nothing\n" * 100_000, 200
    packed = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    sum_ = 0
    for _ in range(many):
        sum_ = zlib.crc32(piece, sum_)
    head = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    return head + packed * many + packer.flush() + struct.pack("<II", sum_, len(piece) * many)


async def bombing(writer: asyncio.StreamWriter) -> None:
    """A gzip bomb, which is made when it is first asked for."""
    await compressed(bomb(), "gzip")(writer)


def body(**more: object) -> bytes:
    """A whole reply, with something changed."""
    message = {"role": "assistant", "content": "Done."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"id": "r", "model": "m", "choices": [choice]} | more).encode()


def used(**usage: object) -> bytes:
    """The end of a stream, with what was used."""
    return event({"id": "r", "model": "m", "choices": [], "usage": usage})


DEEP = "[" * 100_000
LONG = "x" * 200_000

STREAMS: dict[str, tuple[bytes, ...]] = {
    "nothing": (),
    "only the end mark": (DONE,),
    "no end mark and no reason": TEXT[:2],
    "no json": (b"data: {nonsense\n\n",),
    "a list for an event": (event([1, 2]), DONE),
    "a number for an event": (event(7), DONE),
    "null for an event": (event(None), DONE),
    "bottomless json": (b'data: {"choices": ' + DEEP.encode() + b"\n\n", DONE),
    "choices that are none": (event({"choices": "yes"}), DONE),
    "choices of nothing": (event({"choices": [None, 1, {}]}), DONE),
    "a delta that is text": (event({"choices": [{"index": 0, "delta": "hi"}]}), DONE),
    "two choices": (event({"choices": [{"index": 5, "delta": {"content": "x"}}]}), *TEXT),
    "calls that are none": (chunk({"tool_calls": "look"}), chunk({}, "tool_calls"), DONE),
    "a call of null": (chunk({"tool_calls": [None]}), chunk({}, "tool_calls"), DONE),
    "a call without anything": (chunk({"tool_calls": [{}]}), chunk({}, "tool_calls"), DONE),
    "a call at no place": (calling("look", "{}", index=None), chunk({}, "tool_calls"), DONE),
    "a call at a far place": (calling("look", "{}", index=10**12), chunk({}, "tool_calls"), DONE),
    "a call at a negative place": (calling("look", "{}", index=-1), chunk({}, "tool_calls"), DONE),
    "arguments that are an object": (
        chunk({"tool_calls": [{"index": 0, "function": {"name": "look", "arguments": {"a": 1}}}]}),
        chunk({}, "tool_calls"),
        DONE,
    ),
    "one id for two calls": (
        calling("look", "{}"),
        calling("look", '{"place": "x"}', index=1),
        chunk({}, "tool_calls"),
        DONE,
    ),
    "an unknown tool": (calling("rm", "{}"), chunk({}, "tool_calls"), DONE),
    "a tool without a name": (calling("", "{}"), chunk({}, "tool_calls"), DONE),
    "a thousand calls": (
        *[calling("look", '{"place": "x"}', index=n, id=f"c{n}") for n in range(1000)],
        chunk({}, "tool_calls"),
        DONE,
    ),
    "half a call": (calling("look", '{"place": "at'), chunk({}, "tool_calls"), DONE),
    "a call and the word for an answer": (CALLS[0], chunk({}, "stop"), DONE),
    "a reason that nobody knows": (CALLS[0], chunk({}, "because"), DONE),
    "more after the end": (*TEXT, *CALLS),
    "half a surrogate pair": (b'data: {"choices": [{"delta": {"content": "\\ud83d"}}]}\n\n', *TEXT),
    "bytes that are no text": (b'data: {"choices": [{"delta": {"content": "\xff\xfe"}}]}\n\n', *TEXT),
    "null bytes": (b"\x00" * 10_000, *TEXT),
    "events of other kinds": (b"event: delete\nid: 1\nretry: 0\ndata: {}\n\n", b": hi\n\n", *TEXT),
    "an error in the middle": (TEXT[0], event({"error": {"message": "overloaded"}})),
    "an error that is none": (TEXT[0], event({"error": ["?"]}), *TEXT[1:]),
    "negative usage": (*CALLS[:-1], used(prompt_tokens=-5, completion_tokens=-(10**9)), DONE),
    "usage of no number": (*CALLS[:-1], used(prompt_tokens="many", completion_tokens=None), DONE),
    "usage beyond all numbers": (*CALLS[:-1], used(prompt_tokens=10**40), DONE),
    "a long line": (b"data: " + LONG.encode() + b"\n\n",),
    "a long id": (calling("look", "{}", id=LONG), chunk({}, "tool_calls"), DONE),
}

ANSWERS: dict[str, Answer] = {
    "never answers": lambda _: asyncio.sleep(1.0),
    "hangs up": dropped,
    "hangs up after the head": raw(head() + b"transfer-encoding: chunked\r\n\r\n"),
    "hangs up in a call": streamed(PIECES[:40], end=False),
    "a chunk that is shorter than it says": raw(
        head() + b"transfer-encoding: chunked\r\n\r\n", b"ffff\r\nabc"
    ),
    "a chunk of no size": raw(head() + b"transfer-encoding: chunked\r\n\r\n", b"zz\r\nabc\r\n"),
    "a body that is shorter than it says": raw(head() + b"content-length: 99999\r\n\r\n" + PIECES),
    "a length that is no number": raw(head() + b"content-length: many\r\n\r\n" + PIECES),
    "two lengths": raw(head() + b"content-length: 5\r\ncontent-length: 9\r\n\r\n" + PIECES),
    "no http": raw(b"SSH-2.0-OpenSSH_9.0\r\n"),
    "a status that is no number": raw(b"HTTP/1.1 OK fine\r\n\r\n"),
    "a status beyond all": raw(b"HTTP/1.1 999 what\r\ncontent-length: 0\r\n\r\n"),
    "a head without end": raw(*[b"x-a: " + b"y" * 8000 + b"\r\n"] * 200),
    "a thousand headers": raw(head() + b"x-n: 1\r\n" * 1000 + b"content-length: 0\r\n\r\n"),
    "headers that are no text": raw(head() + b"x-a: \xff\x00\xfe\r\ncontent-length: 0\r\n\r\n"),
    "informal answers without end": raw(*[b"HTTP/1.1 100 Continue\r\n\r\n"] * 1000),
    "a redirect to another": whole(b"", 307, location="http://127.0.0.1:9/"),
    "a redirect to itself": whole(b"", 302, location="/v1/chat/completions"),
    "a redirect to a file": whole(b"", 301, location="file:///etc/passwd"),
    "a redirect to nowhere": whole(b"", 308),
    "a page": whole(b"<html>Log in</html>", 200, "text/html"),
    "an empty page": whole(b"", 200, "text/html"),
    "a refusal without words": whole(b"", 400),
    "a refusal that is no json": whole(b"\xff\xfe", 400),
    "a bottomless refusal": whole(DEEP.encode(), 400),
    "a long refusal": whole(json.dumps({"error": {"message": LONG * 20}}).encode(), 400),
    "wait for ever": whole(b"{}", 429, retry_after="9" * 400),
    "wait for no time": whole(b"{}", 429, retry_after="-1"),
    "no content": whole(b"", 204),
    "a whole reply of nothing": whole(body(choices=[])),
    "a whole reply of null": whole(b"null"),
    "a whole reply that is cut": whole(body()[:30]),
    "no gzip": compressed(b"not packed", "gzip"),
    "a gzip that is cut": compressed(gzip.compress(PIECES)[:20], "gzip"),
    "an encoding that nobody knows": compressed(PIECES, "rot13"),
    "a gzip bomb": bombing,
    "byte by byte, too slowly": slow(PIECES, 0.02),
    "comments without end": endless(b": keep-alive\n\n"),
    "text without end": endless(chunk({"content": "x" * 5000})),
    "arguments without end": endless(calling("look", "x" * 5000)),
    "thoughts without end": endless(chunk({"reasoning_content": "x" * 5000})),
    "calls without end": endless(b"".join(calling("look", "{}", index=n, id=None) for n in range(50))),
    **{name: streamed(*pieces) for name, pieces in STREAMS.items()},
}
