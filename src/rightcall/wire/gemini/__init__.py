"""Gemini's generateContent, on the Developer API and on Vertex: requests into bytes, bytes into events.

A function call comes whole, as an object, and often without an id, which is then left empty. What only
Gemini understands (thought signatures, server-side tool calls, code it ran) is kept with its part and
returned on that part, and to Gemini alone.
"""

from rightcall.wire.gemini.decode import Decoder, decode, decoder
from rightcall.wire.gemini.encode import authorize, encode, encoder, strict_mode
from rightcall.wire.gemini.tables import NAME, error

__all__ = [
    "Decoder", "authorize", "decode", "decoder", "encode", "encoder", "error", "name", "strict_mode",
]  # fmt: skip

name = NAME
